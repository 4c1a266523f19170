// Elements made and changed. What comes from jobs is data: it becomes text, never markup.

/** Makes an element: `el("p", {class: "note", onclick: f}, "text", child)`. */
export function el(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** The same for parts of drawings. */
export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else setAttribute(element, name, value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined && child !== false) element.append(child);
  return element;
}

/** Sets an attribute only if it changes; false, null and undefined remove it. */
export function setAttribute(element, name, value) {
  if (value === false || value === null || value === undefined) {
    if (element.hasAttribute(name)) element.removeAttribute(name);
    return;
  }
  const text = value === true ? "" : String(value);
  if (element.getAttribute(name) !== text) element.setAttribute(name, text);
}

/** Sets the text of an element only if it changes, so that what a reader has marked stays marked. */
export function setText(element, text) {
  const wanted = text === null || text === undefined ? "" : String(text);
  if (element.textContent !== wanted) element.textContent = wanted;
}

/** Puts a text or an element into a cell; an element that is there already stays. */
export function setContent(element, content) {
  if (content instanceof Node) {
    if (element.firstChild !== content || element.childNodes.length !== 1) element.replaceChildren(content);
  } else setText(element, content);
}

export function show(element, isShown) {
  if (element.hidden === isShown) element.hidden = !isShown;
}

/** Keeps the children of an element in step with items: one child a key, made once, updated after. */
export function keep(parent, items, key, make, update) {
  const known = parent.keptChildren ?? (parent.keptChildren = new Map());
  const wanted = new Set();
  let place = parent.firstChild;
  for (const item of items) {
    const name = key(item);
    wanted.add(name);
    let child = known.get(name);
    if (child === undefined) {
      child = make(item);
      known.set(name, child);
    }
    update?.(child, item);
    if (child === place) place = place.nextSibling;
    else parent.insertBefore(child, place);
  }
  for (const [name, child] of known) {
    if (wanted.has(name)) continue;
    known.delete(name);
    child.remove();
  }
}

/** A button that puts a text on the clipboard. */
export function copyButton(text, label = "Copy") {
  const button = el("button", { type: "button", class: "quiet small" }, label);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(typeof text === "function" ? text() : text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Cannot copy";
    }
    setTimeout(() => (button.textContent = label), 1500);
  });
  return button;
}

/** What to see where there is nothing yet: a sentence, and what to do about it. */
export function emptyState(title, ...hints) {
  return el("div", { class: "empty" }, el("strong", {}, title), ...hints.map((hint) => el("p", {}, hint)));
}

/** A command that a reader types elsewhere, with a button to copy it. */
export function command(text) {
  return el("span", { class: "command" }, el("code", {}, text), copyButton(text));
}
