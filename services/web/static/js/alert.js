// A sound and a browser notification, if turned on, when an order joins the queue or returns to it with the
// customer's answer.
"use strict";

(() => {
  const toggle = document.getElementById("alert");
  const rows = () => [...document.querySelectorAll("#queue [data-row]:not(:has(.asked))")].map((row) => row.id);
  let known = new Set(rows());
  let on = localStorage.getItem("alert") === "true";
  let context = null; // browsers allow sound only after a click on the page

  const show = () => toggle.setAttribute("aria-pressed", String(on));
  toggle.hidden = false;
  show();

  toggle.addEventListener("click", async () => {
    on = !on;
    localStorage.setItem("alert", String(on));
    show();
    if (!on) return;
    beep();
    if (window.Notification?.permission === "default") await Notification.requestPermission();
  });

  function beep() {
    context ??= new AudioContext();
    const tone = context.createOscillator();
    const volume = context.createGain();
    volume.gain.setValueAtTime(0.15, context.currentTime);
    volume.gain.exponentialRampToValueAtTime(0.001, context.currentTime + 0.5);
    tone.frequency.value = 880;
    tone.connect(volume).connect(context.destination);
    tone.start();
    tone.stop(context.currentTime + 0.5);
  }

  document.addEventListener("htmx:afterSwap", () => {
    const now = rows();
    const fresh = now.filter((id) => !known.has(id));
    known = new Set(now);
    if (!on || !fresh.length) return;
    beep();
    if (window.Notification?.permission !== "granted" || document.hasFocus()) return;
    const why = document.querySelector(`#${fresh[0]} .queue-why .badge`)?.textContent ?? "";
    const title = fresh.length === 1 ? "An order to check" : `${fresh.length} orders to check`;
    new Notification(title, { body: why, tag: "saycart-review" });
  });
})();
