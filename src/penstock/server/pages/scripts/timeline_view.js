// Batches and checkpoints: how long each took, and where the time went.

import { get } from "./api.js";
import { BatchBars, phaseBar, PHASES, totalMs } from "./charts.js";
import { el, emptyState, setText, show } from "./dom.js";
import * as format from "./format.js";
import { Table } from "./table.js";

const LISTED = 50;

export class TimelineView {
  constructor(id) {
    this.id = id;
    this.chosen = null;
    this.bars = new BatchBars((version) => this.choose(version));
    const number = (label, value, rest = {}) => ({ label, value, number: true, ...rest });
    this.table = new Table([
      number("Version", (row) => row.version),
      { label: "Sealed", value: (row) => format.time(row.sealed_ms), title: (row) => format.exactTime(row.sealed_ms) },
      number("Took", (row) => format.duration(totalMs(row))),
      { label: "Where the time went", class: "phases-cell", make: phaseBar, update: () => {} },
      ...PHASES.map(([name, field]) => number(name[0].toUpperCase() + name.slice(1), (row) => format.duration(row[field]))),
      number("Records", (row) => format.count(row.records)),
      number("State", (row) => format.bytes(row.state_bytes)),
      number("Written", (row) => format.bytes(row.written_bytes)),
    ], { key: (row) => row.version, caption: "Checkpoints", onChoose: (row) => this.choose(row.version), isChosen: (row) => row.version === this.chosen });
    this.parts = new Table([
      { label: "Operator", value: (row) => row.name, class: "name" },
      number("Subtasks", (row) => row.num_subtasks),
      number("State", (row) => format.bytes(row.state_size)),
      number("Written", (row) => format.bytes(row.checkpointed_size)),
    ], { key: (row) => row.key, caption: "What the operators wrote" });
    this.title = el("h2");
    this.note = el("p", { class: "hint" });
    this.panel = el("section", { class: "panel", hidden: true }, el("div", { class: "panel-head" }, this.title, el("button", { type: "button", class: "quiet small", onclick: () => this.choose(null) }, "Close")), this.note, this.parts.element);
    this.figures = el("dl", { class: "facts" });
    this.empty = emptyState("No checkpoint yet.", "The first one is there when the first batch has been worked on.");
    this.body = el("div", {}, this.bars.element, this.figures, this.panel, el("h2", {}, "Last checkpoints"), this.table.element);
    this.element = el("div", {}, this.empty, this.body);
  }

  update(model) {
    this.model = model;
    show(this.empty, model.history.length === 0);
    show(this.body, model.history.length > 0);
    this.bars.update(model.history, model.part.checkpoints.savepoints, model.exceptions, this.chosen);
    this.table.update(model.history.slice(0, LISTED));
    const facts = summaryOf(model);
    if (this.figures.childElementCount !== facts.length) this.figures.replaceChildren(...facts.map(([label]) => el("div", {}, el("dt", {}, label), el("dd"))));
    facts.forEach(([, text], index) => setText(this.figures.children[index].lastChild, text));
  }

  async choose(version) {
    this.chosen = version === this.chosen ? null : version;
    this.update(this.model);
    show(this.panel, this.chosen !== null);
    if (this.chosen === null) return;
    setText(this.title, `Checkpoint of version ${version}`);
    setText(this.note, "");
    this.parts.update([]);
    try {
      const told = await get(`jobs/${encodeURIComponent(this.id)}/checkpoints/details/${version + 1}`);
      const names = new Map(this.model.vertices.map((each) => [each.id, each.name]));
      const rows = Object.entries(told.tasks).map(([key, task]) => ({ ...task, key, name: names.get(key) ?? key }));
      this.parts.update(rows);
      if (!rows.length) setText(this.note, "What each operator wrote is kept for the last 20 checkpoints only.");
    } catch (error) {
      setText(this.note, error.message);
    }
  }
}

function summaryOf(model) {
  const times = model.history.map(totalMs).sort((one, other) => one - other);
  const at = (share) => times[Math.min(times.length - 1, Math.floor(share * times.length))];
  const whole = Math.max(1, times.reduce((sum, each) => sum + each, 0));
  const shares = PHASES.map(([name, field]) => `${name} ${format.percent(model.history.reduce((sum, each) => sum + each[field], 0) / whole)}`);
  const told = model.part.checkpoints;
  return [
    ["Checkpoints", format.count(told.completed)],
    ["Median", format.duration(at(0.5))],
    ["99 %", format.duration(at(0.99))],
    ["Where the time goes", shares.join(" · ")],
    ["State", format.bytes(model.last?.state_bytes)],
    ["Restored from", told.restored === null ? "nothing" : `version ${told.restored}`],
  ];
}
