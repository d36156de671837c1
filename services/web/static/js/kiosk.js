/* A kiosk's page starts over when nobody touches it, after a countdown. */
"use strict";
(() => {
  const IDLE_S = 60;
  const WARNED_S = 15;
  const words = document.getElementById("words");

  const idle = document.getElementById("idle");
  let left = IDLE_S;
  let listening = false;

  // True while the page waits for the customer.
  function waits() {
    const panel = document.getElementById("panel");
    if (listening) return false;
    if (!panel) return [...words.querySelectorAll("textarea, #name")].some((field) => field.value);
    const { status, asks } = panel.dataset;
    return !["queued", "processing"].includes(status) && (status !== "needs_review" || asks !== undefined);
  }

  function touched() {
    left = IDLE_S;
    idle.hidden = true;
    document.getElementById("idle-there").textContent = "";
  }

  function startOver() {
    const again = document.getElementById("again");
    if (again) again.submit(); // cancels an order that isn't confirmed
    else location.replace(document.body.dataset.home);
  }

  for (const kind of ["pointerdown", "keydown", "input"]) document.addEventListener(kind, touched);
  document.addEventListener("mic", (event) => {
    listening = event.detail;
    touched();
  });
  idle.querySelector("button").addEventListener("click", touched);
  setInterval(() => {
    if (!words || !waits()) {
      touched();
      return;
    }
    left -= 1;
    if (left === 0) startOver();
    if (left > WARNED_S || left <= 0) return;
    const there = document.getElementById("idle-there");
    if (idle.hidden) there.textContent = there.dataset.words;
    idle.hidden = false;
    document.getElementById("idle-s").textContent = String(left);
  }, 1000);
})();
