// The output of the driver of a job: its end, and what is written while one looks.

import { get } from "./api.js";
import { command, el, emptyState, setText, show } from "./dom.js";
import * as format from "./format.js";

const MOST_CHARACTERS = 1_000_000;
// Colours and cursor moves for terminals are of no use here.
const TERMINAL_CODES = /\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b[@-Z\\-_]/g;

export class LogView {
  constructor(id) {
    this.path = `penstock/jobs/${encodeURIComponent(id)}/log`;
    this.next = null;
    this.text = "";
    this.follow = el("input", { type: "checkbox", checked: true });
    this.wrap = el("input", { type: "checkbox", onchange: () => this.output.classList.toggle("wraps", this.wrap.checked) });
    this.filter = el("input", { type: "search", placeholder: "Only lines with…", "aria-label": "Filter lines", oninput: () => this.#show() });
    this.size = el("span", { class: "hint" });
    this.output = el("pre", { class: "log", tabindex: "0", role: "log", "aria-label": "Log", "aria-live": "off" });
    this.problem = el("div");
    this.bar = el("div", { class: "row" }, el("label", { class: "check" }, this.follow, "Follow"), el("label", { class: "check" }, this.wrap, "Wrap lines"), this.filter, this.size);
    this.element = el("div", {}, this.bar, this.problem, this.output);
  }

  async update(model) {
    if (!model.part.process?.log) {
      this.#showProblem("The output of this job goes to a terminal, not to a file");
      return;
    }
    if (this.isAsking || this.isMissing || (this.next !== null && !this.follow.checked)) return;
    this.isAsking = true;
    try {
      this.#take(await get(this.next === null ? this.path : `${this.path}?offset=${this.next}`));
    } catch (error) {
      if (error.status !== 404) return; // the page itself tells that the server is away
      this.isMissing = true;
      this.#showProblem(error.message);
    } finally {
      this.isAsking = false;
    }
  }

  #take(part) {
    if (this.next !== null && part.size < this.next) {
      this.next = null; // a new file: begin with it
      this.text = "";
      return;
    }
    this.next = part.next;
    setText(this.size, `${format.bytes(part.size)} in all`);
    if (!part.text && this.output.textContent) return;
    this.text = (this.text + part.text.replace(TERMINAL_CODES, "")).slice(-MOST_CHARACTERS);
    this.#show();
  }

  #show() {
    const wanted = this.filter.value.toLowerCase();
    const shown = wanted ? this.text.split("\n").filter((line) => line.toLowerCase().includes(wanted)).join("\n") : this.text;
    const isAtEnd = this.output.scrollHeight - this.output.scrollTop - this.output.clientHeight < 40;
    setText(this.output, shown || (wanted ? "No line has that." : "Nothing was written yet."));
    if (this.follow.checked && isAtEnd) this.output.scrollTop = this.output.scrollHeight;
  }

  #showProblem(text) {
    if (this.problem.firstChild) return;
    show(this.bar, false);
    show(this.output, false);
    this.problem.replaceChildren(emptyState("There is no log to show.", `${text}.`, el("span", {}, "Started in the background, a job writes to a file: ", command("penstock run --detached --log job.log program.py"))));
  }
}
