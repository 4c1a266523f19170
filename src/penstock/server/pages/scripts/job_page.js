// One job: how it is doing, what can be done to it, and a tab for each thing to look at.

import { cancelJob, stopJob, takeSavepoint } from "./actions.js";
import { get } from "./api.js";
import { Sparkline } from "./charts.js";
import { copyButton, el, setAttribute, setText, show } from "./dom.js";
import { ExceptionsView } from "./exceptions_view.js";
import * as format from "./format.js";
import { LogView } from "./log_view.js";
import { MetricsView } from "./metrics_view.js";
import { JobModel } from "./model.js";
import { OperatorsView } from "./operators_view.js";
import { SavepointsView } from "./savepoints_view.js";
import { SettingsView } from "./settings_view.js";
import { SourcesView } from "./sources_view.js";
import { StateView } from "./state_view.js";
import { TimelineView } from "./timeline_view.js";

export const TABS = {
  graph: ["Graph", () => new OperatorsView()],
  timeline: ["Timeline", (page) => new TimelineView(page.id)],
  exceptions: ["Exceptions", () => new ExceptionsView()],
  metrics: ["Late & metrics", () => new MetricsView()],
  sources: ["Sources", () => new SourcesView()],
  state: ["State", (page) => new StateView(page.id)],
  savepoints: ["Savepoints", (page) => new SavepointsView(page.refresh, page.session)],
  log: ["Log", (page) => new LogView(page.id)],
  settings: ["Settings", (page) => new SettingsView(page.id)],
};

export class JobPage {
  constructor(id, session, refresh) {
    Object.assign(this, { id, session, refresh, everyMs: 1000, views: new Map(), model: new JobModel(id) });
    this.heading = el("h1", { class: "job-name" });
    this.status = el("span", { class: "status" });
    this.facts = el("p", { class: "hint job-facts" });
    this.reason = el("p", { class: "health-line", role: "status" }, el("span"));
    this.buttons = el("div", { class: "row actions", hidden: true });
    for (const [label, action, style] of [["Savepoint", takeSavepoint, ""], ["Stop", stopJob, ""], ["Cancel", cancelJob, "danger"]]) {
      this.buttons.append(el("button", { type: "button", class: style, onclick: () => action(this.model, this.refresh) }, label));
    }
    this.spark = el("a", { class: "button", target: "_blank", rel: "noopener noreferrer", hidden: true }, "Spark UI ↗");
    this.sparkOff = el("span", { class: "hint", hidden: true }, "Spark's UI is off; set spark.ui.enabled=true");
    this.tiles = new Tiles();
    this.tabs = el("nav", { class: "tabs", "aria-label": "Parts of the job" });
    this.content = el("div", { class: "tab-content" });
    const head = el("div", { class: "job-head" }, el("div", { class: "job-title" }, el("div", { class: "row" }, this.heading, this.status), el("div", { class: "row" }, this.facts, copyButton(id, "Copy id"))), el("div", { class: "row" }, this.spark, this.sparkOff, this.buttons));
    this.element = el("div", { class: "page" }, head, this.reason, this.tiles.element, this.tabs, this.content);
  }

  get crumbs() {
    return [this.model.part?.name ?? this.id];
  }

  get title() {
    return this.model.part ? `${this.model.part.status === "RUNNING" ? "" : `(${this.model.part.status.toLowerCase()}) `}${this.model.part.name}` : "Job";
  }

  /** Shows a tab; the page is updated at the next answer, or at once if there was one. */
  open(tab) {
    this.tab = tab in TABS ? tab : "graph";
    if (!this.views.has(this.tab)) this.views.set(this.tab, TABS[this.tab][1](this));
    const view = this.views.get(this.tab);
    this.content.replaceChildren(view.element);
    this.#showTabs();
    if (this.model.part) view.update(this.model);
  }

  #showTabs() {
    const names = Object.keys(TABS);
    if (this.tabs.childElementCount !== names.length) {
      this.tabs.replaceChildren(...names.map((name) => el("a", { href: `#/jobs/${encodeURIComponent(this.id)}/${name}`, "data-tab": name }, TABS[name][0], el("span", { class: "count", hidden: true }))));
    }
    for (const anchor of this.tabs.children) setAttribute(anchor, "aria-current", anchor.dataset.tab === this.tab ? "page" : null);
    this.tabs.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  async load() {
    const isSame = this.model.take(await get(this.model.path()));
    if (!isSame) this.model.take(await get(this.model.path()));
    this.#show();
    await this.views.get(this.tab)?.update(this.model);
  }

  #show() {
    const { part } = this.model;
    setText(this.heading, part.name);
    setAttribute(this.heading, "title", part.name);
    setText(this.status, part.status.toLowerCase());
    setAttribute(this.status, "class", `status health-${part.health.word}`);
    const span = this.model.isOver ? `ran for ${format.duration(part.ended_ms - part.started_ms)}, ended ${format.time(part.ended_ms)}` : `running for ${format.duration(part.now_ms - part.started_ms)}`;
    setText(this.facts, `${part.type.toLowerCase()} · ${part.cluster.engine}${part.cluster.master ? ` on ${part.cluster.master}` : ""} · parallelism ${part.parallelism} · ${span} · ${part.id}`);
    setText(this.reason.firstChild, part.health.reason);
    setAttribute(this.reason, "class", `health-line health-${part.health.word}`);
    show(this.reason, part.health.word === "bad" || part.health.word === "warning");
    show(this.buttons, !this.model.isOver && this.session.role === "operate");
    const address = part.cluster.web_url ?? "";
    show(this.spark, /^https?:\/\//.test(address) && !this.model.isOver);
    setAttribute(this.spark, "href", this.spark.hidden ? null : address);
    // Spark has told of its executors, so it would have told of its pages.
    show(this.sparkOff, part.cluster.engine === "spark" && part.cluster.workers.length > 0 && this.spark.hidden && !this.model.isOver);
    const count = this.tabs.querySelector("[data-tab=exceptions] .count");
    setText(count, this.model.exceptions.length);
    show(count, this.model.exceptions.length > 0);
    this.tiles.update(this.model);
  }
}

/** The figures that tell most of a job, in large. */
class Tiles {
  constructor() {
    this.spark = new Sparkline("Records a second over the last minute");
    const tile = (label, hint) => el("div", { class: "tile", title: hint }, el("dt", {}, label), el("dd"), el("small"));
    this.parts = {
      rate: tile("Throughput", "records a second that sources read"), records: tile("Records", "read since this process started the job"),
      lag: tile("Watermark lag", "how far event time is behind now"), checkpoint: tile("Last checkpoint", "how old it is"),
      state: tile("State", "keyed state in the checkpoint"), busy: tile("Busy", "share of the last seconds in which the job worked"),
      restarts: tile("Restarts", "since this process started the job"),
    };
    this.parts.rate.append(this.spark.element);
    this.element = el("dl", { class: "tiles" }, Object.values(this.parts));
  }

  update(model) {
    const { part, last } = model;
    const { progress } = part;
    const pace = progress.pace;
    this.spark.update(model.throughput().map(([, records]) => records));
    this.#set("rate", format.rate(model.recordsPerSecond), model.isOver ? "the job has ended" : "");
    this.#set("records", format.short(progress.records), pace?.backlog ? `${format.short(pace.backlog)} waiting` : "");
    this.#set("lag", format.duration(progress.lag_ms === null || progress.watermark === null ? null : Math.max(0, model.now - progress.watermark)), progress.watermark === null ? "no watermark" : `at ${format.time(progress.watermark)}`);
    this.#set("checkpoint", last ? format.ago(last.sealed_ms, model.clock) : "none yet", last ? `took ${format.duration(last.work_ms + last.seal_ms + last.publish_ms)}, version ${last.version}` : "");
    this.#set("state", format.bytes(last?.state_bytes), last ? `${format.bytes(last.written_bytes)} last time` : "");
    this.#set("busy", format.percent(model.busy), pace && pace.backpressured >= 0.005 ? `backpressured ${format.percent(pace.backpressured)}` : "");
    this.#set("restarts", String(progress.restarts), model.exceptions.length ? `last failure ${format.ago(model.exceptions[0].at_ms, model.clock)}` : "");
  }

  #set(name, value, note) {
    setText(this.parts[name].querySelector("dd"), value);
    setText(this.parts[name].querySelector("small"), note);
  }
}
