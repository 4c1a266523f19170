// The pages put together: which one is open, the theme, and whether the server is there.

import { get } from "./api.js";
import { el, emptyState, setText } from "./dom.js";
import { JobListPage } from "./job_list.js";
import { JobPage } from "./job_page.js";
import { Poll } from "./poll.js";

const main = document.getElementById("main");
let page = null, poll = null;
let session = { role: "read", version: "", is_open: false };

/** What is behind the # of the address: ["jobs", id, tab]. */
function place() {
  return location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
}

function open() {
  const [kind, id, tab] = place();
  if (kind === "main") return; // the link that skips to the content
  if (kind === "jobs" && id && page instanceof JobPage && page.id === id) {
    page.open(tab);
    return;
  }
  poll?.stop();
  page = kind === "jobs" && id ? new JobPage(id, session, () => poll.now()) : new JobListPage();
  main.replaceChildren(page.element);
  page.open?.(tab);
  poll = new Poll(load, showLink, page.everyMs);
  poll.now();
  window.scrollTo(0, 0);
}

async function load() {
  const asked = page;
  try {
    await asked.load();
  } catch (error) {
    if (error.status === 404 && asked === page && !asked.model?.part) {
      main.replaceChildren(emptyState("This job is not known here.", error.message, el("a", { href: "#/" }, "All jobs")));
      poll.stop();
      return;
    }
    throw error;
  }
  if (asked === page) showPlace();
}

function showPlace() {
  document.title = `${page.title} · Penstock`;
  const crumbs = page.crumbs.flatMap((text) => [el("span", { "aria-hidden": "true" }, "/"), el("span", { class: "crumb", title: text }, text)]);
  const shown = document.getElementById("crumbs");
  if (shown.textContent !== crumbs.map((crumb) => crumb.textContent).join("")) shown.replaceChildren(...crumbs);
}

let countdown = null;
function showLink(state, about = {}) {
  const shown = document.getElementById("link-state");
  clearInterval(countdown);
  document.body.dataset.link = state;
  if (state !== "lost") {
    setText(shown, state);
    return;
  }
  const told = () => setText(shown, `${about.error?.message ?? "connection lost"} · next try in ${Math.max(0, Math.ceil((about.nextMs - Date.now()) / 1000))} s`);
  told();
  countdown = setInterval(told, 1000);
}

function prepareTheme() {
  const theme = window.penstockTheme, button = document.getElementById("theme-switch");
  const told = () => {
    button.textContent = { auto: "◐ Auto", light: "○ Light", dark: "● Dark" }[theme.current()];
    button.setAttribute("aria-label", `Theme: ${theme.current()}. Change`);
  };
  button.addEventListener("click", () => {
    theme.set(theme.names[(theme.names.indexOf(theme.current()) + 1) % theme.names.length]);
    told();
  });
  told();
}

async function begin() {
  try {
    session = await get("penstock/session");
  } catch (error) {
    if (error.status === 401) return;
    showLink("lost", { error, nextMs: Date.now() + 2000 });
    setTimeout(begin, 2000);
    return;
  }
  const logOut = document.getElementById("log-out");
  logOut.hidden = session.is_open;
  logOut.addEventListener("submit", () => poll?.stop());
  window.addEventListener("hashchange", open);
  open();
}

prepareTheme();
begin();
