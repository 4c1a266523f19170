// Sources: how far each partition is behind, the largest lag first, and how the intake is paced.

import { el, emptyState, setAttribute, setText, show } from "./dom.js";
import * as format from "./format.js";
import { barColumn, Table } from "./table.js";

export class SourcesView {
  constructor() {
    this.facts = el("dl", { class: "facts" });
    this.table = new Table([
      { label: "Topic", value: (row) => row.topic, class: "name" },
      { label: "Partition", value: (row) => row.partition, number: true },
      barColumn("Lag (records)", (row) => row.share, (row) => format.count(row.lag)),
      { label: "Source", value: (row) => row.source, class: "name" },
      { label: "Subtask", value: (row) => row.subtask, number: true },
    ], { key: (row) => row.key, caption: "Lag per partition" });
    this.subtasks = new Table([
      { label: "Source", value: (row) => row.source, class: "name" },
      { label: "Subtask", value: (row) => row.subtask, number: true },
      { label: "Records", value: (row) => format.count(row.records_in), number: true },
      { label: "Now", value: (row) => format.rate(row.inRate), number: true },
      { label: "Watermark", value: (row) => (row.watermark === null ? format.UNKNOWN : format.time(row.watermark, true)), title: (row) => format.exactTime(row.watermark), number: true },
      barColumn("Behind now", (row) => row.behind, (row) => format.duration(row.lagMs)),
      { label: "", value: (row) => (row.has_ended ? "ended" : "") },
    ], { key: (row) => `${row.id} ${row.subtask}`, caption: "Source subtasks" });
    this.empty = emptyState("No source of this job tells its lag.", "Kafka sources do, for every partition. Other sources are paced as above.");
    this.holders = el("ul", { class: "holders", "aria-label": "What holds event time back" });
    this.held = el("section", { hidden: true }, el("h2", {}, "What holds event time back"), this.holders);
    this.element = el("div", {}, el("h2", {}, "Intake"), this.facts, this.held, el("h2", {}, "Watermarks of the sources"), this.subtasks.element, el("h2", {}, "Lag per Kafka partition"), this.empty, this.table.element);
  }

  update(model) {
    const rows = lagRows(model);
    show(this.empty, rows.length === 0);
    show(this.table.element, rows.length > 0);
    this.table.update(rows);
    this.subtasks.update(sourceRows(model));
    const held = model.part.progress.event_time_holders ?? []; // drivers of earlier versions name none
    show(this.held, held.length > 0);
    if (this.holders.childElementCount !== held.length) this.holders.replaceChildren(...held.map(() => el("li")));
    held.forEach((each, index) => {
      setText(this.holders.children[index], each.text);
      setAttribute(this.holders.children[index], "class", each.is_quiet ? "hint" : "held");
    });
    const facts = intakeFacts(model, rows);
    if (this.facts.childElementCount !== facts.length) this.facts.replaceChildren(...facts.map(() => el("div", {}, el("dt"), el("dd"))));
    facts.forEach(([label, text], index) => {
      setText(this.facts.children[index].firstChild, label);
      setText(this.facts.children[index].lastChild, text);
    });
  }
}

/** The subtasks of all sources, the one that is furthest behind first: it holds up all windows. */
function sourceRows(model) {
  const rows = model.vertices.filter((each) => each.is_source).flatMap((each) => each.subtasks.map((subtask) => ({ ...subtask, id: each.id, source: each.operators[0].name })));
  const most = Math.max(1, ...rows.map((row) => row.lagMs ?? 0));
  return rows.map((row) => ({ ...row, behind: (row.lagMs ?? 0) / most })).sort((one, other) => (other.lagMs ?? -1) - (one.lagMs ?? -1));
}

function lagRows(model) {
  const found = new Map();
  for (const vertex of model.vertices) {
    for (const subtask of vertex.subtasks) {
      for (const [uid, figures] of Object.entries(subtask.figures)) {
        for (const [name, lag] of Object.entries(figures)) {
          const parts = /^lag\.(.*)-(\d+)$/.exec(name);
          if (!parts) continue;
          const key = `${uid} ${name}`;
          const source = vertex.operators.find((each) => each.uid === uid)?.name ?? uid;
          found.set(key, { key, topic: parts[1], partition: Number(parts[2]), lag, source, subtask: subtask.subtask });
        }
      }
    }
  }
  const most = Math.max(1, ...[...found.values()].map((row) => row.lag));
  return [...found.values()].map((row) => ({ ...row, share: row.lag / most })).sort((one, other) => other.lag - one.lag || one.partition - other.partition);
}

function intakeFacts(model, rows) {
  const progress = model.part.progress, pace = progress.pace;
  const facts = [["Read", `${format.count(progress.records)} records`], ["Now", format.rate(model.recordsPerSecond)]];
  if (rows.length) facts.push(["Largest lag", format.count(rows[0].lag)], ["Lag in all", format.count(rows.reduce((sum, row) => sum + row.lag, 0))]);
  if (pace) facts.push(["Waiting", pace.backlog === null ? format.UNKNOWN : format.count(pace.backlog)], ["Next batch takes at most", format.count(pace.limit)], ["Backpressured", format.percent(pace.backpressured)]);
  return facts;
}
