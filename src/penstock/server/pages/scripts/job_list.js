// All jobs with how they are doing: what runs first, then what has ended.

import { get } from "./api.js";
import { command, el, emptyState, setText, show } from "./dom.js";
import * as format from "./format.js";
import { Table } from "./table.js";

const number = (label, value, rest = {}) => ({ label, value, number: true, ...rest });
const link = (row) => `#/jobs/${encodeURIComponent(row.id)}`;
const name = {
  label: "Job", class: "name", make: (row) => el("a", { href: link(row) }), update: (anchor, row) => { setText(anchor, row.name); anchor.title = `${row.name}\n${row.id}`; },
};
const badge = { label: "Status", make: () => el("span"), update: (element, row) => { element.className = `status health-${row.health.word}`; setText(element, row.status.toLowerCase()); } };

export class JobListPage {
  constructor() {
    this.everyMs = 2000;
    const open = (row) => location.assign(link(row));
    const options = { key: (row) => row.id, onChoose: open, stacks: true };
    this.running = new Table([
      name, badge,
      { label: "Health", class: "why", value: (row) => row.health.reason, title: (row) => row.health.reason },
      number("Throughput", (row) => format.rate(row.records_per_second)),
      number("Lag", (row) => format.duration(row.lag_ms), { hint: "of the watermark behind now" }),
      number("Checkpoint", (row) => format.ago(row.checkpoint_ms, row.now_ms), { hint: "age of the last one" }),
      number("State", (row) => format.bytes(row.state_bytes)),
      number("Restarts", (row) => row.restarts),
      number("Running for", (row) => format.duration(row.now_ms - row.started_ms)),
    ], { ...options, caption: "Running jobs" });
    this.ended = new Table([
      name, badge,
      { label: "Why", class: "why", value: (row) => (row.status === "FAILED" ? row.health.reason : ""), title: (row) => row.health.reason },
      number("Records", (row) => format.short(row.records)),
      number("Restarts", (row) => row.restarts),
      number("Ran for", (row) => format.duration(row.ended_ms - row.started_ms)),
      number("Ended", (row) => format.ago(row.ended_ms, Date.now()), { title: (row) => format.exactTime(row.ended_ms) }),
    ], { ...options, caption: "Ended jobs" });
    this.filter = el("input", { type: "search", placeholder: "Filter by name", "aria-label": "Filter jobs", oninput: () => this.#show() });
    this.summary = el("p", { class: "health-line", role: "status" });
    this.empty = emptyState("No jobs yet.", el("span", {}, "Start one: ", command("penstock run program.py")), "Every job that you start on this machine shows up here by itself.");
    this.runningPart = el("section", {}, el("h2", {}, "Running"), this.running.element);
    this.endedPart = el("section", {}, el("h2", {}, "Ended"), this.ended.element);
    this.element = el("div", { class: "page" }, el("div", { class: "row title" }, el("h1", {}, "Jobs"), this.filter), this.summary, this.empty, this.runningPart, this.endedPart);
  }

  get crumbs() {
    return [];
  }

  get title() {
    return "Jobs";
  }

  async load() {
    this.jobs = (await get("penstock/overview")).jobs;
    this.#show();
  }

  #show() {
    if (!this.jobs) return;
    const wanted = this.filter.value.trim().toLowerCase();
    const found = this.jobs.filter((job) => `${job.name} ${job.id}`.toLowerCase().includes(wanted));
    const order = { bad: 0, warning: 1, good: 2, over: 3 };
    const running = found.filter((job) => job.ended_ms === null).sort((one, other) => order[one.health.word] - order[other.health.word] || one.name.localeCompare(other.name));
    const ended = found.filter((job) => job.ended_ms !== null).sort((one, other) => other.ended_ms - one.ended_ms);
    this.running.update(running);
    this.ended.update(ended);
    show(this.empty, this.jobs.length === 0);
    show(this.runningPart, running.length > 0);
    show(this.endedPart, ended.length > 0);
    show(this.filter, this.jobs.length > 5);
    const ill = running.filter((job) => job.health.word !== "good").length;
    setText(this.summary, running.length === 0 ? "Nothing is running." : ill === 0 ? `${running.length === 1 ? "The one running job is" : `All ${running.length} running jobs are`} healthy.` : `${ill} of ${running.length} running jobs ${ill === 1 ? "needs" : "need"} a look.`);
    this.summary.className = `health-line health-${running.length === 0 ? "over" : ill ? (running.some((job) => job.health.word === "bad") ? "bad" : "warning") : "good"}`;
    show(this.summary, this.jobs.length > 0);
  }
}
