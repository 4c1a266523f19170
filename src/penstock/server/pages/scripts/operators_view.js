// The first tab of a job: the graph, all operators as plain numbers, and the subtasks of the one that is chosen.

import { el, emptyState, keep, setText, show } from "./dom.js";
import * as format from "./format.js";
import { chainName, Graph } from "./graph.js";
import { loadOf } from "./model.js";
import { barColumn, Table } from "./table.js";

const watermarkTitle = (row) => (row.watermark === null ? "no watermark yet" : format.exactTime(row.watermark));
const COUNTED = new Set(["records_in", "records_out", "side_records_out", "bytes_in", "busy_ms"]);

export class OperatorsView {
  constructor() {
    this.chosen = null;
    this.graph = new Graph((id) => this.choose(id));
    const number = (label, value, rest = {}) => ({ label, value, number: true, ...rest });
    this.all = new Table([
      { label: "Operator", value: (row) => chainName(row.name), title: (row) => row.name, class: "name" },
      { label: "Load", make: () => el("span"), update: (badge, row) => { badge.className = `load load-${row.load}`; setText(badge, row.load); } },
      number("Subtasks", (row) => row.parallelism),
      number("In", (row) => format.rate(row.inRate), { title: (row) => `${format.count(row.recordsIn)} records in all` }),
      number("Out", (row) => format.rate(row.outRate), { title: (row) => `${format.count(row.recordsOut)} records in all` }),
      number("Busy", (row) => format.percent(row.busy), { hint: "of its busiest subtask" }),
      number("Backpressure", (row) => format.percent(row.backpressured)),
      number("Watermark", (row) => (row.watermark === null ? format.UNKNOWN : format.time(row.watermark)), { title: watermarkTitle }),
      number("Lag", (row) => format.duration(row.lagMs)),
      number("State", (row) => (row.stateBytes ? format.bytes(row.stateBytes) : format.UNKNOWN)),
      number("Skew", (row) => format.skew(row.skew), { hint: "how much more than the mean the largest subtask got" }),
      number("Late", (row) => format.count(row.late), { hint: "records that came too late and went nowhere" }),
      number("Side out", (row) => format.count(row.side), { hint: "records that went to side outputs" }),
    ], { key: (row) => row.id, caption: "Operators", onChoose: (row) => this.choose(row.id), isChosen: (row) => row.id === this.chosen });
    this.subtasks = new Table([
      { label: "Subtask", value: (row) => row.subtask },
      barColumn("Records in", (row) => row.share, (row) => format.count(row.records_in)),
      number("In", (row) => format.rate(row.inRate)),
      number("Records out", (row) => format.count(row.records_out)),
      number("Out", (row) => format.rate(row.outRate)),
      number("Busy", (row) => format.percent(row.busy)),
      number("Watermark", (row) => (row.watermark === null ? format.UNKNOWN : format.time(row.watermark, true)), { title: watermarkTitle }),
      number("Lag", (row) => format.duration(row.lagMs)),
      number("State", (row) => (row.state_bytes ? format.bytes(row.state_bytes) : format.UNKNOWN)),
      { label: "", value: (row) => (row.has_ended ? "ended" : "") },
    ], { key: (row) => row.subtask, caption: "Subtasks" });
    this.title = el("h2");
    this.chain = el("ul", { class: "chain" });
    this.figures = new Table([
      { label: "Operator", value: (row) => row.operator, class: "name" },
      { label: "Metric", value: (row) => row.name },
      number("Value", (row) => format.short(row.value), { title: (row) => String(row.value) }),
    ], { key: (row) => row.key, caption: "Metrics of the operators" });
    const close = el("button", { type: "button", class: "quiet small", onclick: () => this.choose(null) }, "Close");
    this.panel = el("section", { class: "panel", hidden: true, "aria-live": "off" }, el("div", { class: "panel-head" }, this.title, close), this.chain, this.subtasks.element, this.figures.element);
    this.hint = el("p", { class: "hint" }, "Choose an operator to see its subtasks.");
    this.element = el("div", {}, this.graph.element, this.panel, el("section", {}, el("div", { class: "row" }, el("h2", {}, "All operators"), this.hint), this.all.element));
  }

  choose(id) {
    this.chosen = id === this.chosen ? null : id;
    if (this.model) this.update(this.model);
    if (this.chosen) this.panel.scrollIntoView({ block: "nearest", behavior: "auto" });
  }

  update(model) {
    this.model = model;
    if (!model.vertices.length) {
      this.element.replaceChildren(emptyState("This job has no operators."));
      return;
    }
    this.graph.update(model, this.chosen);
    this.all.update(model.vertices.map((vertex) => ({ ...vertex, load: loadOf(vertex, model.isOver) })));
    const vertex = model.vertices.find((each) => each.id === this.chosen);
    show(this.panel, Boolean(vertex));
    show(this.hint, !vertex);
    if (vertex) this.#updatePanel(vertex);
  }

  #updatePanel(vertex) {
    setText(this.title, chainName(vertex.name));
    keep(this.chain, vertex.operators, (each) => `${vertex.id} ${each.uid}`, (each) => el("li", {}, el("b", {}, each.name), " ", el("small", {}, `${each.kind} · uid ${each.uid}`)));
    const most = Math.max(1, ...vertex.subtasks.map((each) => each.records_in));
    this.subtasks.update(vertex.subtasks.map((each) => ({ ...each, share: each.records_in / most })));
    const rows = operatorFigures(vertex).filter((row) => !COUNTED.has(row.name));
    show(this.figures.element, rows.length > 0);
    this.figures.update(rows);
  }
}

/** Figures of the operators of a vertex, combined over its subtasks: sums, but for what has an extreme as its name. */
export function operatorFigures(vertex) {
  const names = new Map(vertex.operators.map((each) => [each.uid, each.name]));
  const found = new Map();
  for (const subtask of vertex.subtasks) {
    for (const [uid, figures] of Object.entries(subtask.figures)) {
      for (const [name, value] of Object.entries(figures)) {
        const key = `${uid}\n${name}`;
        const known = found.get(key);
        if (known) known.value = combined(name, known.value, value);
        else found.set(key, { key, uid, operator: names.get(uid) ?? uid, name, value });
      }
    }
  }
  return [...found.values()];
}

function combined(name, one, other) {
  if (name.endsWith(".min")) return Math.min(one, other);
  if (name.endsWith(".max") || name === "batch_limit") return Math.max(one, other);
  return one + other;
}
