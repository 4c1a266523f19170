// The settings of a job, the process and the cluster that run it, and its plan in words.

import { get } from "./api.js";
import { copyButton, el, setText } from "./dom.js";
import * as format from "./format.js";
import { Table } from "./table.js";

export class SettingsView {
  constructor(id) {
    this.path = `penstock/jobs/${encodeURIComponent(id)}`;
    const pair = (caption) => new Table([{ label: "Setting", value: (row) => row[0], class: "key" }, { label: "Value", value: (row) => row[1], class: "value" }], { key: (row) => row[0], caption });
    this.settings = pair("Settings");
    this.process = pair("Process");
    this.workers = new Table([
      { label: "Worker", value: (row) => row.id }, { label: "Host", value: (row) => row.host, class: "name" },
      { label: "Cores", number: true, value: (row) => row.cores }, { label: "Tasks now", number: true, value: (row) => row.active_tasks },
      { label: "Failed tasks", number: true, value: (row) => row.failed_tasks }, { label: "Memory", number: true, value: (row) => `${format.bytes(row.memory_used_bytes)} of ${format.bytes(row.memory_bytes)}` },
      { label: "Collecting garbage", number: true, value: (row) => format.duration(row.gc_ms) },
    ], { key: (row) => row.id, caption: "Workers" });
    this.filter = el("input", { type: "search", placeholder: "Filter settings", "aria-label": "Filter settings", oninput: () => this.#show() });
    this.plan = el("pre", { class: "plan", tabindex: "0" });
    this.workersPart = el("section", {}, el("h2", {}, "Workers"), this.workers.element);
    this.element = el("div", {}, el("div", { class: "row" }, el("h2", {}, "Settings"), this.filter), this.settings.element, el("h2", {}, "Process"), this.process.element, this.workersPart,
      el("div", { class: "row" }, el("h2", {}, "Plan"), copyButton(() => this.plan.textContent)), this.plan);
  }

  async update(model) {
    this.workers.update(model.part.cluster.workers ?? []);
    this.workersPart.hidden = !model.part.cluster.workers?.length;
    const { cluster, process = {} } = model.part;
    const facts = { engine: `${cluster.engine} ${cluster.version ?? ""}`, master: cluster.master, "application id": cluster.application_id, checkpoint: model.part.checkpoint, "restart strategy": model.part.restart_strategy, ...process };
    this.process.update(Object.entries(facts).filter(([, value]) => value !== null && value !== undefined).map(([name, value]) => [name, String(value)]));
    if (this.document || this.isAsking) return;
    this.isAsking = true;
    try {
      this.document = await get(this.path);
      setText(this.plan, this.document.explanation);
      this.#show();
    } finally {
      this.isAsking = false;
    }
  }

  #show() {
    const wanted = this.filter.value.trim().toLowerCase();
    this.settings.update(Object.entries(this.document?.settings ?? {}).filter((row) => row.join(" ").toLowerCase().includes(wanted)));
  }
}
