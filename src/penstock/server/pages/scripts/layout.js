// Where the vertices of a graph go: layers by the longest way from a source, few crossings, straight lines if possible.

const SWEEPS = 8;

/**
 * Gives {places: Map id -> {layer, along}, routes: [{edge, points: [{layer, along}]}], layers, breadth}.
 * `along` counts in nodes; who draws decides which way layers go and how large a node is.
 */
export function layOut(vertices) {
  const layerOf = longestWays(vertices);
  const layers = Array.from({ length: Math.max(0, ...layerOf.values()) + 1 }, () => []);
  const nodes = new Map();
  const add = (id, layer, isBend = false) => {
    const node = { id, layer, isBend, before: [], after: [], along: 0 };
    nodes.set(id, node);
    layers[layer].push(node);
    return node;
  };
  for (const vertex of vertices) add(vertex.id, layerOf.get(vertex.id));
  const routes = [];
  for (const vertex of vertices) for (const edge of vertex.inputs) routes.push(route(edge, vertex, nodes, add));
  order(layers);
  straighten(layers);
  const breadth = Math.max(1, ...layers.flat().map((node) => node.along + 1));
  const place = (node) => ({ layer: node.layer, along: node.along, isBend: node.isBend });
  return {
    places: new Map(vertices.map((vertex) => [vertex.id, place(nodes.get(vertex.id))])),
    routes: routes.map((each) => ({ ...each, points: each.nodes.map(place) })),
    layers: layers.length,
    breadth,
  };
}

function longestWays(vertices) {
  const found = new Map();
  const byId = new Map(vertices.map((vertex) => [vertex.id, vertex]));
  const visit = (id) => {
    if (found.has(id)) return found.get(id);
    found.set(id, 0); // a plan has no circles; if one had, this ends it
    const before = byId.get(id).inputs.filter((edge) => byId.has(edge.id)).map((edge) => visit(edge.id));
    found.set(id, before.length ? Math.max(...before) + 1 : 0);
    return found.get(id);
  };
  for (const vertex of vertices) visit(vertex.id);
  return found;
}

/** An edge over several layers gets a bend in each, so that it goes round what is between. */
function route(edge, vertex, nodes, add) {
  const from = nodes.get(edge.id), to = nodes.get(vertex.id);
  const chain = [from];
  for (let layer = from.layer + 1; layer < to.layer; layer++) chain.push(add(`${edge.id}>${vertex.id}:${edge.number}@${layer}`, layer, true));
  chain.push(to);
  for (let index = 1; index < chain.length; index++) {
    chain[index - 1].after.push(chain[index]);
    chain[index].before.push(chain[index - 1]);
  }
  return { edge, to: vertex.id, nodes: chain };
}

function order(layers) {
  const number = (layer) => layer.forEach((node, index) => (node.along = index));
  layers.forEach(number);
  const mean = (neighbours, node) => (neighbours.length ? neighbours.reduce((sum, each) => sum + each.along, 0) / neighbours.length : node.along);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isDown = sweep % 2 === 0;
    for (const layer of isDown ? layers : [...layers].reverse()) {
      const wanted = new Map(layer.map((node) => [node, mean(isDown ? node.before : node.after, node)]));
      layer.sort((one, other) => wanted.get(one) - wanted.get(other));
      number(layer);
    }
  }
}

/** Moves every node towards its neighbours without changing the order. */
function straighten(layers) {
  const gap = (one, other) => (one.isBend && other.isBend ? 0.3 : one.isBend || other.isBend ? 0.65 : 1);
  for (let round = 0; round < SWEEPS * 2; round++) {
    for (const layer of round % 2 === 0 ? layers : [...layers].reverse()) {
      const wanted = layer.map((node) => {
        const near = [...node.before, ...node.after];
        return near.length ? near.reduce((sum, each) => sum + each.along, 0) / near.length : node.along;
      });
      const forwards = [], backwards = [];
      layer.forEach((node, i) => (forwards[i] = i ? Math.max(wanted[i], forwards[i - 1] + gap(layer[i - 1], node)) : wanted[i]));
      for (let i = layer.length - 1; i >= 0; i--) {
        backwards[i] = i < layer.length - 1 ? Math.min(wanted[i], backwards[i + 1] - gap(layer[i], layer[i + 1])) : wanted[i];
      }
      layer.forEach((node, i) => (node.along = (forwards[i] + backwards[i]) / 2));
    }
  }
  const least = Math.min(...layers.flat().map((node) => node.along));
  for (const node of layers.flat()) node.along -= least;
}
