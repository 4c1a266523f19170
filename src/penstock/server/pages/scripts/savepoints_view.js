// Savepoints that were asked for, with where they are or why there is none, and how to go on from one.

import { command, copyButton, el, emptyState, show } from "./dom.js";
import * as format from "./format.js";
import { stopJob, takeSavepoint } from "./actions.js";
import { Table } from "./table.js";

export class SavepointsView {
  constructor(refresh, session) {
    const act = (label, action, style) => el("button", { type: "button", class: style, onclick: () => action(this.model, refresh) }, label);
    // Hidden until the job is known, which they ask.
    this.buttons = el("div", { class: "row", hidden: true }, act("Take a savepoint", takeSavepoint, "primary"), act("Stop with a savepoint", stopJob, ""));
    this.isReader = session.role !== "operate";
    this.table = new Table([
      { label: "Asked", value: (row) => format.time(row.began_ms), title: (row) => format.exactTime(row.began_ms) },
      { label: "Took", number: true, value: (row) => format.duration(row.ended_ms - row.began_ms) },
      { label: "Kind", value: (row) => (row.stops ? "stop" : "savepoint") },
      { label: "Outcome", value: (row) => (row.path ? "written" : "failed") },
      { label: "Where, or why not", class: "path", make: (row) => el("span", {}, el("code", {}, row.path ?? row.error), row.path && copyButton(row.path)), update: () => {} },
    ], { key: (row) => `${row.began_ms} ${row.path ?? row.error}`, caption: "Savepoints", rowClass: (row) => (row.path ? "" : "bad") });
    this.empty = emptyState("No savepoint yet.", "A savepoint holds the state of all operators and the positions of all sources. Start a changed program from one:");
    this.hint = el("p", { class: "hint" }, "Start again from one: ", command("penstock run --from-savepoint PATH program.py"));
    this.element = el("div", {}, this.buttons, this.empty, this.table.element, this.hint);
  }

  update(model) {
    this.model = model;
    const rows = model.part.checkpoints.savepoints;
    show(this.buttons, !model.isOver && !this.isReader);
    show(this.empty, rows.length === 0);
    show(this.table.element, rows.length > 0);
    this.table.update(rows);
  }
}
