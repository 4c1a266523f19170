// State of a job by operator, state and key, as of its last sealed version; asked of a read replica, not of the job.

import { get } from "./api.js";
import { el, emptyState, keep, setText, show } from "./dom.js";
import * as format from "./format.js";
import { Table } from "./table.js";

const KEYS_AT_ONCE = 100;

export class StateView {
  constructor(id) {
    this.id = id;
    this.choice = el("select", { "aria-label": "Operator and state", onchange: () => this.#choose() });
    this.key = el("input", { type: "search", placeholder: "Key: a word, a number or JSON", "aria-label": "Key" });
    this.form = el("form", { class: "row", onsubmit: (event) => { event.preventDefault(); this.#look(this.key.value); } }, this.choice, this.key, el("button", { class: "primary" }, "Look up"));
    this.version = el("p", { class: "hint" });
    this.problem = el("p", { class: "problem", role: "alert" });
    this.answer = el("div", { class: "answer" });
    this.keys = new Table([{ label: "Key", value: (row) => row.text, class: "value" }], { key: (row) => row.text, caption: "Keys", onChoose: (row) => this.#look(row.text) });
    this.more = el("button", { type: "button", hidden: true, onclick: () => this.#listKeys() }, "More keys");
    this.empty = emptyState("No keyed state yet.", "Operators that keep state by key are listed here when the first checkpoint is there.");
    this.body = el("div", {}, this.form, this.version, this.problem, this.answer, el("h2", {}, "Keys"), this.keys.element, this.more);
    this.element = el("div", {}, this.empty, this.body);
  }

  async update(model) {
    if (!model.part.checkpoint) {
      this.element.replaceChildren(emptyState("The state of this job cannot be looked at.", "Its checkpoint directory is a temporary one. Set execution.checkpointing.dir, and its keys and values are shown here."));
      return;
    }
    if (this.isAsking || (this.described && Date.now() - this.asked < 3000)) return;
    this.isAsking = true;
    this.asked = Date.now();
    try {
      this.#describe(await get(`queryable/job?job=${encodeURIComponent(this.id)}`));
    } catch (error) {
      setText(this.problem, error.message);
    } finally {
      this.isAsking = false;
    }
  }

  #describe(told) {
    const isFirst = !this.described;
    this.described = told;
    const states = told.operators.flatMap((operator) => operator.states.map((state) => ({ value: JSON.stringify([operator.uid, state.name]), text: `${operator.name} · ${state.name} (${state.kind})` })));
    show(this.empty, states.length === 0);
    show(this.body, states.length > 0);
    keep(this.choice, states, (each) => each.value, (each) => el("option", { value: each.value }, each.text));
    setText(this.version, `As of version ${told.version}, sealed ${format.ago(told.sealed_ms, told.sealed_ms + told.age_ms)}${told.problem ? `; ${told.problem}` : ""}`);
    if (isFirst && states.length) this.#choose();
  }

  #choose() {
    this.listed = [];
    this.after = null;
    this.answer.replaceChildren();
    this.#listKeys();
  }

  #asked() {
    const [operator, state] = JSON.parse(this.choice.value);
    return `job=${encodeURIComponent(this.id)}&operator=${encodeURIComponent(operator)}&state=${encodeURIComponent(state)}`;
  }

  async #listKeys() {
    const listed = this.listed; // another choice starts another list; answers to the one before are late
    setText(this.problem, "");
    try {
      const told = await get(`queryable/keys?${this.#asked()}&limit=${KEYS_AT_ONCE}${this.after ? `&after=${encodeURIComponent(this.after)}` : ""}`);
      if (listed !== this.listed) return;
      listed.push(...told.keys.map((key) => ({ text: JSON.stringify(key) })));
      this.after = told.next;
      show(this.more, Boolean(told.next));
      this.keys.update(this.listed);
    } catch (error) {
      setText(this.problem, error.message);
    }
  }

  async #look(key) {
    if (!key.trim()) return;
    const asked = (this.lookedUp = `${this.#asked()}&key=${encodeURIComponent(key)}`);
    this.key.value = key;
    setText(this.problem, "");
    try {
      const told = await get(`queryable/state?${asked}`);
      if (asked !== this.lookedUp) return;
      this.answer.replaceChildren(...told.results.map((result) => answerOf(result, told)));
    } catch (error) {
      this.answer.replaceChildren();
      setText(this.problem, error.message);
    }
  }
}

function answerOf(result, told) {
  const head = el("p", { class: "hint" }, `version ${told.version} · key ${JSON.stringify(result.key)}`);
  if (!result.found) return el("section", { class: "panel" }, head, emptyState("This key has nothing in the state."));
  const { key, found, ...rest } = result;
  return el("section", { class: "panel" }, head, el("pre", { tabindex: "0" }, JSON.stringify("value" in rest && Object.keys(rest).length === 1 ? rest.value : rest, null, 2)));
}
