// Sets the theme before anything is drawn; loaded in the head, so no module. `auto` follows the system.
"use strict";
window.penstockTheme = {
  names: ["auto", "light", "dark"],
  current() {
    try {
      const stored = localStorage.getItem("penstock-theme");
      return this.names.includes(stored) ? stored : "auto";
    } catch {
      return "auto"; // storage may be switched off
    }
  },
  set(name) {
    document.documentElement.dataset.theme = name;
    try {
      localStorage.setItem("penstock-theme", name);
    } catch {
      // lasts until the page is left
    }
  },
};
document.documentElement.dataset.theme = window.penstockTheme.current();
