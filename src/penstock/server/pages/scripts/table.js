// Tables that are updated in place: rows are kept by key, cells change only where their text does.

import { el, keep, setAttribute, setContent, setText } from "./dom.js";

/**
 * A column: {label, value(row), title?(row), number?, class?}. `value` gives a text or an element.
 * `onChoose` makes rows something to click or press Enter on; with `stacks`, a row becomes a block on a narrow screen.
 */
export class Table {
  constructor(columns, { key, caption, onChoose = null, isChosen = () => false, rowClass = () => "", stacks = false }) {
    this.columns = columns;
    this.options = { key, onChoose, isChosen, rowClass };
    this.body = el("tbody");
    const heads = columns.map((each) => el("th", { scope: "col", class: each.number ? "number" : each.class, title: each.hint }, each.label));
    const table = el("table", {}, el("caption", { class: "unseen" }, caption), el("thead", {}, el("tr", {}, heads)), this.body);
    this.element = el("div", { class: stacks ? "scrolls stacks" : "scrolls", tabindex: "0", role: "region", "aria-label": caption }, table);
  }

  update(rows) {
    keep(this.body, rows, this.options.key, (row) => this.#made(row), (element, row) => this.#update(element, row));
  }

  #made(row) {
    const { onChoose } = this.options;
    const element = el("tr");
    element.row = row;
    this.columns.forEach((column, index) => {
      const cell = el(index === 0 ? "th" : "td", { class: [column.number ? "number" : "", column.class ?? ""].join(" ").trim() || null });
      if (index === 0) cell.scope = "row";
      cell.dataset.label = column.label;
      element.append(cell);
    });
    if (onChoose) {
      element.classList.add("choosable");
      element.tabIndex = 0;
      element.addEventListener("click", (event) => event.target.closest("a, button") || onChoose(element.row));
      element.addEventListener("keydown", (event) => {
        if (event.target !== element || !["Enter", " "].includes(event.key)) return;
        event.preventDefault();
        onChoose(element.row);
      });
    }
    return element;
  }

  #update(element, row) {
    element.row = row;
    const { isChosen, onChoose, rowClass } = this.options;
    if (onChoose) {
      setAttribute(element, "aria-selected", String(isChosen(row)));
      element.className = `choosable ${rowClass(row)}`.trim();
    } else setAttribute(element, "class", rowClass(row) || null);
    this.columns.forEach((column, index) => {
      const cell = element.cells[index];
      if (column.update) {
        if (!cell.firstChild) cell.append(column.make(row));
        column.update(cell.firstChild, row);
      } else setContent(cell, column.value(row));
      if (column.title) setAttribute(cell, "title", column.title(row));
    });
  }
}

/** A bar with a number: how large a figure is beside the largest one. */
export function barColumn(label, share, text, options = {}) {
  return {
    label,
    number: true,
    class: "bar-cell",
    ...options,
    make: () => el("span", { class: "bar" }, el("i"), el("b")),
    update: (bar, row) => {
      bar.firstChild.style.width = `${Math.round(Math.max(0, Math.min(1, share(row) || 0)) * 100)}%`;
      setText(bar.lastChild, text(row));
    },
  };
}
