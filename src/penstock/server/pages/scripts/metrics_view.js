// Counters of operators: late records, side outputs, and every other figure, with a filter.

import { el, emptyState, setText, show } from "./dom.js";
import * as format from "./format.js";
import { operatorFigures } from "./operators_view.js";
import { Table } from "./table.js";

const number = (label, value, rest = {}) => ({ label, value, number: true, ...rest });

export class MetricsView {
  constructor() {
    this.late = new Table([
      { label: "Operator", value: (row) => row.operator, class: "name" },
      number("Late and dropped", (row) => format.count(row.late)),
      number("Of all records", (row) => (row.recordsIn ? format.percent(row.late / row.recordsIn) : format.UNKNOWN)),
      number("To side outputs", (row) => format.count(row.side)),
      { label: "Side outputs", value: (row) => row.tags.join(", ") || format.UNKNOWN, class: "name" },
    ], { key: (row) => row.uid, caption: "Late records and side outputs" });
    this.none = emptyState("Nothing was late, and nothing went to a side output.", "Windows and joins count here what came too late; give them a late side output to keep such records.");
    this.filter = el("input", { type: "search", placeholder: "Filter by operator or metric", "aria-label": "Filter metrics", oninput: () => this.model && this.update(this.model) });
    this.found = el("span", { class: "hint" });
    this.all = new Table([
      { label: "Operator", value: (row) => row.operator, class: "name" },
      { label: "Metric", value: (row) => row.name },
      number("Value", (row) => (Number.isInteger(row.value) ? format.count(row.value) : format.short(row.value)), { title: (row) => String(row.value) }),
    ], { key: (row) => row.key, caption: "All metrics" });
    this.element = el("div", {}, el("h2", {}, "Late records and side outputs"), this.none, this.late.element, el("div", { class: "row" }, el("h2", {}, "All metrics"), this.filter, this.found), this.all.element);
  }

  update(model) {
    this.model = model;
    const figures = model.vertices.flatMap(operatorFigures);
    const rows = lateRows(model, figures);
    show(this.none, rows.length === 0);
    show(this.late.element, rows.length > 0);
    this.late.update(rows);
    const wanted = this.filter.value.trim().toLowerCase();
    const shown = figures.filter((row) => `${row.operator} ${row.name}`.toLowerCase().includes(wanted));
    setText(this.found, wanted ? `${shown.length} of ${figures.length}` : "");
    this.all.update(shown);
  }
}

function lateRows(model, figures) {
  const tags = new Map();
  for (const vertex of model.vertices) {
    for (const edge of vertex.inputs) {
      const sender = model.vertices.find((each) => each.id === edge.id);
      if (edge.tag && sender) for (const uid of sender.sends) tags.set(uid, [...(tags.get(uid) ?? []), edge.tag]);
    }
    for (const each of vertex.operators) {
      if (each.tag && each.parent !== null) {
        const uid = vertex.operators[each.parent].uid;
        tags.set(uid, [...(tags.get(uid) ?? []), each.tag]);
      }
    }
  }
  const byOperator = new Map();
  for (const row of figures) {
    const known = byOperator.get(row.uid) ?? { uid: row.uid, operator: row.operator, tags: [...new Set(tags.get(row.uid) ?? [])], late: 0, side: 0, recordsIn: 0 };
    if (row.name === "numLateRecordsDropped") known.late = row.value;
    if (row.name === "side_records_out") known.side = row.value;
    if (row.name === "records_in") known.recordsIn = row.value;
    byOperator.set(row.uid, known);
  }
  return [...byOperator.values()].filter((row) => row.late > 0 || row.side > 0);
}
