// Small drawings: a line of the last minute, and bars of batches by where their time went.

import { el, setAttribute, svg } from "./dom.js";
import * as format from "./format.js";

/** A line over time without axes; the numbers stand beside it. */
export class Sparkline {
  constructor(label, width = 120, height = 26) {
    this.size = { width, height };
    this.area = svg("path", { class: "spark-area" });
    this.line = svg("path", { class: "spark-line" });
    this.element = svg("svg", { class: "spark", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": label }, this.area, this.line);
  }

  update(values) {
    const { width, height } = this.size;
    const most = Math.max(1e-9, ...values);
    const points = values.map((value, index) => `${((index / Math.max(1, values.length - 1)) * width).toFixed(1)},${(height - 1.5 - (value / most) * (height - 3)).toFixed(1)}`);
    setAttribute(this.line, "d", `M${points.join("L")}`);
    setAttribute(this.area, "d", `M0,${height}L${points.join("L")}L${width},${height}Z`);
  }
}

export const PHASES = [["work", "work_ms"], ["seal", "seal_ms"], ["publish", "publish_ms"]];
export const totalMs = (version) => version.work_ms + version.seal_ms + version.publish_ms;

const HEIGHT = 190;
const LEFT = 52, BOTTOM = 20, TOP = 8;

/** A bar for every version, the latest on the right, its phases stacked; marks below for savepoints and failures. */
export class BatchBars {
  constructor(onChoose) {
    this.onChoose = onChoose;
    this.drawing = svg("svg", { class: "bars", role: "img" });
    this.element = el("figure", { class: "chart" }, this.drawing, el("figcaption", { class: "legend" }, ...PHASES.map(([name]) => el("span", { class: `phase-${name}` }, el("i"), name)), el("span", { class: "mark-savepoint" }, el("i"), "savepoint"), el("span", { class: "mark-failure" }, el("i"), "failure")));
    this.tip = el("div", { class: "tip", hidden: true });
    this.element.append(this.tip);
    this.drawing.addEventListener("pointermove", (event) => this.#point(event));
    this.drawing.addEventListener("pointerleave", () => (this.tip.hidden = true));
    this.drawing.addEventListener("click", (event) => {
      const found = this.#under(event);
      if (found) this.onChoose(found.version);
    });
    new ResizeObserver(() => this.versions && this.update(...this.versions)).observe(this.element);
  }

  update(history, savepoints, failures, chosen) {
    this.versions = [history, savepoints, failures, chosen];
    const width = this.element.clientWidth;
    if (!width) return;
    const step = Math.max(5, Math.min(16, (width - LEFT) / Math.max(1, history.length)));
    this.shown = history.slice(0, Math.floor((width - LEFT) / step)).reverse();
    Object.assign(this, { step, width });
    const most = niceCeiling(Math.max(1, ...this.shown.map(totalMs)));
    const y = (ms) => TOP + (1 - ms / most) * (HEIGHT - TOP - BOTTOM);
    const parts = [0, 0.5, 1].map((share) => this.#tick(share * most, y(share * most)));
    const start = width - this.shown.length * step;
    this.start = start;
    this.shown.forEach((version, index) => parts.push(...bar(version, start + index * step, step, y, version.version === chosen)));
    parts.push(...this.#marks(savepoints, (each) => each.began_ms, "mark-savepoint", start), ...this.#marks(failures, (each) => each.at_ms, "mark-failure", start));
    this.drawing.replaceChildren(...parts);
    setAttribute(this.drawing, "viewBox", `0 0 ${width} ${HEIGHT}`);
    setAttribute(this.drawing, "height", HEIGHT);
    setAttribute(this.drawing, "aria-label", `How long the last ${this.shown.length} batches took; the longest ${format.duration(Math.max(0, ...this.shown.map(totalMs)))}`);
  }

  #tick(ms, y) {
    const text = svg("text", { class: "axis", x: LEFT - 8, y: y + 4, "text-anchor": "end" });
    text.textContent = format.duration(ms);
    return svg("g", {}, svg("line", { class: "grid", x1: LEFT, x2: this.width, y1: y, y2: y }), text);
  }

  #marks(events, timeOf, name, start) {
    return events.flatMap((event) => {
      const index = this.shown.findIndex((version) => version.sealed_ms >= timeOf(event));
      if (index < 0 || (index === 0 && timeOf(event) < this.shown[0].began_ms - 60_000)) return [];
      const x = start + index * this.step + this.step / 2, y = HEIGHT - BOTTOM + 4;
      return [svg("path", { class: name, d: `M${x},${y}l5,9h-10z` })];
    });
  }

  #under(event) {
    const x = event.clientX - this.drawing.getBoundingClientRect().left;
    return this.shown?.[Math.floor((x - this.start) / this.step)];
  }

  #point(event) {
    const found = this.#under(event);
    this.tip.hidden = !found;
    if (!found) return;
    const lines = [`version ${found.version} · ${format.time(found.sealed_ms)}`, ...PHASES.map(([name, field]) => `${name} ${format.duration(found[field])}`), `${format.count(found.records)} records`];
    this.tip.replaceChildren(...lines.map((line) => el("div", {}, line)));
    const box = this.element.getBoundingClientRect();
    this.tip.style.left = `${Math.max(0, Math.min(event.clientX - box.left + 12, box.width - 170))}px`;
    this.tip.style.top = `${event.clientY - box.top + 12}px`;
  }
}

function bar(version, x, step, y, isChosen) {
  let below = 0;
  return PHASES.map(([name, field]) => {
    const from = y(below), to = y((below += version[field]));
    return svg("rect", { class: `phase-${name} ${isChosen ? "chosen" : ""}`, x: x + 1, width: Math.max(1, step - 2), y: to, height: Math.max(0, from - to) });
  });
}

function niceCeiling(value) {
  const size = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((each) => each * size).find((each) => each >= value);
}

/** One batch as a bar of its phases. */
export function phaseBar(version) {
  const whole = Math.max(1, totalMs(version));
  const parts = PHASES.map(([name, field]) => {
    const part = el("i", { class: `phase-${name}` });
    part.style.width = `${(version[field] / whole) * 100}%`;
    return part;
  });
  return el("span", { class: "phases", title: PHASES.map(([name, field]) => `${name} ${format.duration(version[field])}`).join(", ") }, parts);
}
