/* Taps on the menu become words in the order's text field. */
"use strict";
(() => {
  const taps = document.getElementById("taps");
  const words = document.getElementById("words");
  if (!taps || !words) return;

  const field = words.elements.transcript;
  const counts = new Map(); // of each tile
  let typed = field.value;
  // "latte" to "lattes", where that has the stem of the menu's name (`retrieval/words.py`).
  const plural = (name) => {
    const known = document.documentElement.lang === "en" && /[a-rt-y]$/.test(name);
    return known && !/(ie|che|se|oe|y)$/.test(name) ? name.replace(/(ch|sh|x)$/, "$1e") + "s" : name;
  };
  const phrase = ([tile, count]) => (count === 1 ? tile.value : `${count} ${plural(tile.dataset.name)}`);
  const show = () => {
    for (const tile of taps.querySelectorAll(".tile")) {
      const badge = tile.querySelector(".tile-count");
      badge.hidden = !counts.has(tile);
      badge.textContent = `× ${counts.get(tile)}`;
    }
  };
  taps.addEventListener("submit", (event) => {
    event.preventDefault();
    counts.set(event.submitter, (counts.get(event.submitter) ?? 0) + 1);
    field.value = [typed.trim(), ...[...counts].map(phrase)].filter(Boolean).join(", ");
    show();
    const column = words.closest(".ask"); // scrolls by itself where it is next to the menu
    if (column) column.scrollTop = column.scrollHeight;
  });
  const own = () => {
    typed = field.value;
    counts.clear();
    show();
  };
  field.addEventListener("input", own);
  words.addEventListener("reset", () => setTimeout(own));
})();
