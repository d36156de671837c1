// Keyboard shortcuts. An element names its key (`data-key`) and what it does (`data-help`); the list behind `?`
// is built from the page, so it can't differ from what works.
"use strict";

(() => {
  const typing = (at) => at instanceof HTMLElement && at.closest("input, select, textarea, [contenteditable]");
  const dialogs = () => document.querySelector("dialog[open]");
  const shown = (thing) => !thing.disabled && thing.getClientRects().length > 0;
  const keyed = (fits) => [...document.querySelectorAll("[data-key]")].find((t) => fits(t.dataset.key) && shown(t));
  let begun = ""; // the first character of a shortcut of two, such as "d1"

  function open(id) {
    const dialog = document.getElementById(id);
    if (id === "keys") list(dialog.querySelector("dl"));
    dialog.showModal();
    dialog.querySelector("input:not([type=hidden])")?.focus();
  }

  function list(into) {
    into.replaceChildren();
    const rows = document.querySelectorAll("[data-row]").length ? [["j, k", "Next, previous row"]] : [];
    for (const thing of document.querySelectorAll("[data-key]")) {
      if (shown(thing)) rows.push([thing.dataset.keyName ?? thing.dataset.key, thing.dataset.help]);
    }
    for (const [key, help] of [...rows, ["Esc", "Leave a field or close a window"]]) {
      const term = document.createElement("dt");
      term.append(Object.assign(document.createElement("kbd"), { textContent: key }));
      into.append(term, Object.assign(document.createElement("dd"), { textContent: help }));
    }
  }

  function act(thing) {
    if (thing.dataset.focus) document.querySelector(thing.dataset.focus)?.focus();
    else if (thing.matches("input, select")) thing.focus();
    else thing.click();
  }

  function row(step) {
    const rows = [...document.querySelectorAll("[data-row]")];
    const at = rows.indexOf(document.activeElement);
    rows[Math.min(rows.length - 1, Math.max(0, at + step))]?.focus();
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "Escape" && typing(event.target)) event.target.blur();
    // Enter in a field of the cart confirms the value; it never approves.
    if (event.key === "Enter" && event.target.closest?.("#settle") && typing(event.target)) event.preventDefault();
    const before = begun;
    if (event.key !== "Shift") begun = "";
    if (typing(event.target) || dialogs()) return;
    // The space bar presses the focused button.
    if (event.key === " " && event.target instanceof HTMLButtonElement && event.target.dataset.key !== " ") return;
    const named = (key) => keyed((k) => k === before + key) ?? keyed((k) => k === key);
    // Shift and a digit differ by keyboard layout, so the digit is taken from the key's position.
    const digit = event.shiftKey && !/^\d$/.test(event.key) && event.code.startsWith("Digit");
    const thing = named(event.key) ?? (digit ? named(`⇧${event.code.slice(5)}`) : undefined);
    if (!thing && event.key.length === 1 && keyed((k) => k.length > 1 && k.startsWith(event.key))) begun = event.key;
    if (!thing && event.key !== "j" && event.key !== "k") return;
    event.preventDefault();
    if (event.repeat) return;
    if (thing) act(thing);
    else row(event.key === "j" ? 1 : -1);
  });

  document.addEventListener("click", (event) => {
    const dialog = event.target.closest?.("[data-dialog]");
    if (dialog) open(dialog.dataset.dialog);
    event.target.closest?.("[data-close]")?.closest("dialog").close();
  });
})();
