/* Reads the order's page aloud with the browser's own voice while the toggle is on. A kiosk starts with it
   on; other browsers remember it. Silent while the microphone is open. */
"use strict";
// The words of the order's panel for a voice or a screen reader.
window.wordsOfPage = () => {
  const parts = ["#order h1", "#not-caught", "#read-back"].map((one) => document.querySelector(one)?.textContent.trim());
  return parts.filter(Boolean).map((part) => (/[.!?…]$/.test(part) ? part : `${part}.`)).join(" ");
};
(() => {
  const toggle = document.getElementById("read-aloud");
  if (!toggle || !window.speechSynthesis) return;
  const kept = toggle.hasAttribute("data-on") ? sessionStorage : localStorage;
  let on = (kept.getItem("read-aloud") ?? String(toggle.hasAttribute("data-on"))) === "true";
  let listening = false;
  let last = "";
  toggle.hidden = false;

  function read() {
    const words = window.wordsOfPage();
    if (!on || listening || words === last) return;
    last = words;
    speechSynthesis.cancel();
    if (words) {
      const utterance = new SpeechSynthesisUtterance(words);
      utterance.lang = document.documentElement.lang;
      speechSynthesis.speak(utterance);
    }
  }

  const show = () => toggle.setAttribute("aria-pressed", String(on));
  toggle.addEventListener("click", () => {
    on = !on;
    kept.setItem("read-aloud", String(on));
    last = "";
    show();
    if (!on) speechSynthesis.cancel();
    read();
  });
  document.addEventListener("mic", (event) => {
    listening = event.detail;
    if (listening) speechSynthesis.cancel();
  });
  document.addEventListener("htmx:afterSettle", read);
  addEventListener("pagehide", () => speechSynthesis.cancel());
  show();
  read();
})();
