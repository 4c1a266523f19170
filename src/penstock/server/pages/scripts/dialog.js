// Questions before something is done, and messages after.

import { el } from "./dom.js";

/** Asks; gives the values of the fields, or null if the answer is no. `fields`: [{name, label, value?, kind?, hint?}]. */
export function ask({ title, text, confirm, isDangerous = false, fields = [] }) {
  return new Promise((answered) => {
    const inputs = fields.map((field) => ({ field, input: el("input", { type: field.kind ?? "text", name: field.name, value: field.value ?? "", placeholder: field.placeholder ?? null, autocomplete: "off" }) }));
    const rows = inputs.map(({ field, input }) => el("label", { class: field.kind === "checkbox" ? "check" : "field" }, field.kind === "checkbox" ? [input, field.label] : [field.label, input], field.hint && el("small", {}, field.hint)));
    const dialog = el("dialog", { "aria-labelledby": "dialog-title" },
      el("form", { method: "dialog" }, el("h2", { id: "dialog-title" }, title), text && el("p", {}, text), rows,
        el("div", { class: "dialog-buttons" }, el("button", { value: "no" }, "Go back"), el("button", { value: "yes", class: isDangerous ? "danger" : "primary" }, confirm))));
    dialog.addEventListener("close", () => {
      dialog.remove();
      const values = Object.fromEntries(inputs.map(({ field, input }) => [field.name, field.kind === "checkbox" ? input.checked : input.value.trim()]));
      answered(dialog.returnValue === "yes" ? values : null);
    });
    document.body.append(dialog);
    dialog.showModal();
    // What cannot be undone must not be what Enter does.
    (inputs[0]?.input ?? dialog.querySelector(isDangerous ? "[value=no]" : "[value=yes]")).focus();
  });
}

/** Tells something at the edge of the page; errors stay until they are closed. */
export function tell(text, isError = false) {
  const message = el("div", { class: isError ? "message error" : "message" }, el("span", {}, text), el("button", { type: "button", class: "quiet small", "aria-label": "Close the message", onclick: () => message.remove() }, "×"));
  document.getElementById("messages").append(message);
  if (!isError) setTimeout(() => message.remove(), 8000);
}
