// The operator graph, drawn once a plan and updated in place: cards for vertices over lines for what flows.

import { el, setAttribute, setText, svg } from "./dom.js";
import * as format from "./format.js";
import { layOut } from "./layout.js";
import { loadOf } from "./model.js";

// Where there are many layers, cards are small and tell less; the table below has all of it.
const LARGE = { width: 232, height: 132, between: 76, along: 22 };
const SMALL = { width: 172, height: 78, between: 54, along: 16 };
const MANY_LAYERS = 6;
const NARROW = 640;
const WORDS = { HASH: "keyed", FORWARD: "forward", REBALANCE: "rebalance", RESCALE: "rescale", SHUFFLE: "shuffle", BROADCAST: "broadcast", GLOBAL: "global", CUSTOM: "custom" };
const LEAST_SCALE = 0.72;

export class Graph {
  /** `onChoose` is called with the id of a vertex. */
  constructor(onChoose) {
    this.onChoose = onChoose;
    this.cards = new Map();
    this.lines = [];
    this.zoom = null; // fits by itself until somebody zooms
    this.canvas = el("div", { class: "graph-canvas" });
    this.viewport = el("div", { class: "graph-viewport", tabindex: "0", role: "region", "aria-label": "Operator graph; scrolls" }, el("div", { class: "graph-extent" }, this.canvas));
    const tool = (label, text, act) => el("button", { type: "button", class: "quiet small", "aria-label": label, title: label, onclick: act }, text);
    this.element = el("div", { class: "graph" }, this.viewport, el("div", { class: "graph-foot" }, 
      el("ul", { class: "legend", "aria-label": "Colours" }, ...["idle", "running", "busy", "saturated", "backpressured"].map((word) => el("li", { class: `load-${word}` }, el("i"), word))),
      el("div", { class: "graph-tools" }, tool("Zoom out", "−", () => this.#zoomBy(0.8)), tool("Zoom in", "+", () => this.#zoomBy(1.25)), tool("Show the whole graph", "Fit", () => this.#zoomBy(null)))));
    new ResizeObserver(() => this.#resized()).observe(this.viewport);
  }

  update(model, chosen) {
    const shape = JSON.stringify(model.part.plan.map((each) => [each.id, each.inputs]));
    if (shape !== this.shape) {
      this.shape = shape;
      this.vertices = model.vertices;
      this.#draw();
    }
    this.last = [model, chosen];
    for (const vertex of model.vertices) this.#updateCard(this.cards.get(vertex.id), vertex, model, chosen);
    this.#updateLines(model);
  }

  // ---- drawing ----

  #draw() {
    this.isVertical = this.viewport.clientWidth > 0 && this.viewport.clientWidth < NARROW;
    const plan = layOut(this.vertices);
    this.card = !this.isVertical && plan.layers > MANY_LAYERS ? SMALL : LARGE;
    this.canvas.classList.toggle("small-cards", this.card === SMALL);
    const { card } = this;
    const along = (this.isVertical ? card.width : card.height) + card.along, across = (this.isVertical ? card.height : card.width) + (this.isVertical ? 40 : card.between);
    const corner = (place) => (this.isVertical ? { x: place.along * along, y: place.layer * across } : { x: place.layer * across, y: place.along * along });
    const [layers, breadth] = [(plan.layers - 1) * across, (plan.breadth - 1) * along];
    this.size = this.isVertical ? { width: breadth + card.width, height: layers + card.height } : { width: layers + card.width, height: breadth + card.height };
    this.cards.clear();
    const drawing = svg("svg", { class: "graph-lines", width: this.size.width, height: this.size.height, "aria-hidden": "true" });
    this.lines = plan.routes.map((each) => this.#line(each, corner, drawing));
    this.canvas.replaceChildren(drawing);
    for (const vertex of this.vertices) {
      const made = this.#card(vertex);
      const { x, y } = corner(plan.places.get(vertex.id));
      Object.assign(made.style, { left: `${x}px`, top: `${y}px`, width: `${card.width}px`, height: `${card.height}px` });
      this.cards.set(vertex.id, made);
      this.canvas.append(made);
    }
    this.#scale();
    // The first source is what one looks for first.
    const first = this.cards.values().next().value;
    this.viewport.scrollLeft = this.isVertical ? (first.offsetLeft + card.width / 2) * this.scale - this.viewport.clientWidth / 2 : 0;
  }

  #card(vertex) {
    const cell = (label, name, hint) => el("span", { title: hint }, el("small", {}, label), el("b", { "data-figure": name }, format.UNKNOWN));
    return el("button", { type: "button", class: "card", "data-vertex": vertex.id, onclick: () => this.onChoose(vertex.id) },
      el("span", { class: "card-name" }, el("b", { title: vertex.name }, chainName(vertex.name)), el("small", { title: `${vertex.parallelism} subtasks` }, `×${vertex.parallelism}`)),
      el("span", { class: "card-load" }, el("i"), el("em")),
      el("span", { class: "card-figures" },
        cell("in", "in", "records a second that come in"), cell("out", "out", "records a second that are sent on"),
        cell("lag", "lag", "how far the watermark is behind now"), cell("state", "state", "size of the keyed state in the checkpoint"),
        cell("skew", "skew", "how much more than the mean the largest subtask got"), cell("backpr.", "back", "backpressure: share of the time in which the source had more to give than was taken")));
  }

  #line(each, corner, drawing) {
    const { width, height } = this.card;
    const middle = { x: width / 2, y: height / 2 };
    const points = each.points.map((place, index) => {
      const { x, y } = corner(place);
      if (place.isBend) return [{ x: x + middle.x, y: y + middle.y }];
      const isFirst = index === 0;
      return [this.isVertical ? { x: x + middle.x, y: isFirst ? y + height : y } : { x: isFirst ? x + width : x, y: y + middle.y }];
    }).flat();
    const path = svg("path", { class: `flow ${each.edge.tag ? "side" : ""}`, d: curve(points, this.isVertical) });
    // Beside the sender, where lines of one receiver have not met yet.
    const [one, two] = points;
    const at = { x: (one.x + two.x) / 2, y: (one.y + two.y) / 2 };
    const label = svg("text", { class: "flow-label", x: at.x, y: at.y - (this.isVertical ? -4 : 6), "text-anchor": "middle" });
    label.textContent = each.edge.tag ?? WORDS[each.edge.ship_strategy] ?? each.edge.ship_strategy.toLowerCase();
    if (label.textContent.length > 14) label.textContent = `${label.textContent.slice(0, 13)}…`;
    drawing.append(path, label);
    return { ...each, path };
  }

  // ---- updating ----

  #updateCard(card, vertex, model, chosen) {
    const load = loadOf(vertex, model.isOver);
    setAttribute(card, "class", `card load-${load}`);
    setAttribute(card, "aria-pressed", String(vertex.id === chosen));
    const busy = vertex.busy === null ? "" : ` · busy ${format.percent(vertex.busy)}`;
    const [bar, word] = card.querySelector(".card-load").children;
    bar.style.width = `${Math.round((vertex.busy ?? 0) * 100)}%`;
    setText(word, `${load}${busy}`);
    const figures = {
      in: format.rate(vertex.inRate), out: format.rate(vertex.outRate), lag: format.duration(vertex.lagMs), state: vertex.stateBytes ? format.bytes(vertex.stateBytes) : format.UNKNOWN,
      skew: format.skew(vertex.skew), back: format.percent(vertex.backpressured),
    };
    for (const cell of card.querySelectorAll("[data-figure]")) setText(cell, figures[cell.dataset.figure]);
    setAttribute(card, "aria-label", `${vertex.name}: ${load}${busy}, in ${figures.in}, out ${figures.out}, lag ${figures.lag}, state ${figures.state}`);
  }

  #updateLines(model) {
    const byId = new Map(model.vertices.map((vertex) => [vertex.id, vertex]));
    for (const { edge, path } of this.lines) {
      const flows = byId.get(edge.id)?.outRate ?? 0;
      path.style.strokeWidth = `${(1.25 + Math.min(4, Math.log10(1 + flows) * 0.7)).toFixed(1)}px`;
      path.classList.toggle("flows", flows > 0);
    }
  }

  // ---- size ----

  #resized() {
    const width = this.viewport.clientWidth;
    if (!this.vertices || width === 0) return;
    if ((width < NARROW) !== this.isVertical) {
      this.#draw();
      if (this.last) this.update(...this.last);
    } else if (this.zoom === null) this.#scale();
  }

  #zoomBy(factor) {
    const whole = Math.min(1, (this.viewport.clientWidth - 32) / this.size.width, 720 / this.size.height);
    this.zoom = factor === null ? whole : Math.max(0.2, Math.min(2, this.scale * factor));
    this.#scale();
  }

  #scale() {
    const room = this.viewport.clientWidth - 32;
    const fitting = Math.max(LEAST_SCALE, Math.min(1, room / this.size.width, 720 / this.size.height));
    this.scale = this.zoom ?? fitting;
    this.canvas.style.transform = `scale(${this.scale})`;
    const extent = this.canvas.parentElement;
    extent.style.width = `${this.size.width * this.scale}px`;
    extent.style.height = `${this.size.height * this.scale}px`;
  }
}

/** The name of a chain with its arrows as arrows. */
export const chainName = (name) => name.replaceAll(" -> ", " → ");

function curve(points, isVertical) {
  const [first, ...rest] = points;
  let path = `M${first.x},${first.y}`, from = first;
  for (const to of rest) {
    const half = isVertical ? (to.y - from.y) / 2 : (to.x - from.x) / 2;
    path += isVertical ? `C${from.x},${from.y + half} ${to.x},${to.y - half} ${to.x},${to.y}` : `C${from.x + half},${from.y} ${to.x - half},${to.y} ${to.x},${to.y}`;
    from = to;
  }
  return path;
}
