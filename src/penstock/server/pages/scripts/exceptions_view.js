// Failures of a job, the latest first: the Python traceback, where it was, and the record it was about.

import { copyButton, el, emptyState, keep, setText, show } from "./dom.js";
import * as format from "./format.js";

export class ExceptionsView {
  constructor() {
    this.empty = emptyState("Nothing has failed.", "If something does, its Python traceback and the record that was being processed are shown here.");
    this.list = el("div", { class: "failures" });
    this.count = el("p", { class: "hint" });
    this.element = el("div", {}, this.empty, this.count, this.list);
  }

  update(model) {
    show(this.empty, model.exceptions.length === 0);
    show(this.count, model.exceptions.length > 0);
    setText(this.count, `Failures: ${model.exceptions.length} since this process started the job · ${model.part.restart_strategy}`);
    keep(this.list, model.exceptions, (each) => `${each.at_ms} ${each.attempt}`, (each) => card(each), (element, each) => {
      setText(element.querySelector("time"), `${format.time(each.at_ms)} (${format.ago(each.at_ms, model.clock)})`);
    });
  }
}

function card(failure) {
  const outcome = failure.restart_in_ms === null || failure.restart_in_ms === undefined ? "the job failed" : `restarted after ${format.duration(failure.restart_in_ms)}`;
  const place = failure.operator === null ? [] : [el("div", {}, el("dt", {}, "Operator"), el("dd", {}, failure.operator)), el("div", {}, el("dt", {}, "Subtask"), el("dd", {}, String(failure.subtask)))];
  return el("article", { class: "failure" },
    el("header", {}, el("h3", {}, headline(failure)), copyButton(failure.text, "Copy traceback")),
    el("p", { class: "hint" }, el("time", { datetime: format.exactTime(failure.at_ms), title: format.exactTime(failure.at_ms) }), ` · attempt ${failure.attempt} · ${outcome}`),
    el("pre", { class: "traceback", tabindex: "0" }, ...traceback(failure.text)),
    place.length > 0 && el("dl", { class: "facts" }, place),
    failure.record !== null && el("div", { class: "record" }, el("strong", {}, "Record"), el("pre", { tabindex: "0" }, failure.record)));
}

/** The line that names the exception, or what the job says of it. */
function headline(failure) {
  const end = failure.summary.indexOf(", in operator '");
  return end > 0 ? failure.summary.slice(0, end) : failure.summary;
}

/** Lines of a traceback; files are made fainter than code, and the exception stands out. */
function traceback(text) {
  return text.split("\n").map((line) => {
    const kind = /^\s+File "/.test(line) ? "file" : /^[\w.]+(Error|Exception|Warning|Interrupt|Exit)\b/.test(line) ? "raised" : /^(in operator |record: |job ')/.test(line) ? "file" : null;
    return el("span", { class: kind }, `${line}\n`);
  });
}
