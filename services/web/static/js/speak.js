/* Hold to talk: press the button (mouse, finger, space or enter), speak, let go. A tap of less than TAP_MS
   starts a recording that another tap ends, for those who cannot hold. The recording goes to the same
   address as the plain form; the answer is either where to go next, or what was wrong in words. */
"use strict";
(() => {
  const TAP_MS = 350;
  const box = document.getElementById("speak");
  const canRecord = window.MediaRecorder && navigator.mediaDevices && navigator.mediaDevices.getUserMedia;
  if (!box) return;
  const drop = document.getElementById("drop");
  takeDrops(drop, drop.querySelector("input"));
  if (!canRecord) return;

  const button = document.getElementById("mic");
  const state = document.getElementById("mic-state");
  const problem = document.getElementById("problem");
  const types = ["audio/webm;codecs=opus", "audio/ogg;codecs=opus", "audio/mp4"];
  let recorder = null;
  let wanted = false; // whether the button is down, or was tapped
  let pressedAt = 0;
  let timer = 0;
  let key = "";
  box.hidden = false;

  const say = (words, mode) => {
    state.textContent = words;
    box.dataset.mode = mode;
    button.setAttribute("aria-pressed", String(mode === "on"));
  };

  async function start() {
    wanted = true;
    problem.replaceChildren();
    say("One moment…", "wait");
    let stream;
    try {
      stream = await navigator.mediaDevices.getUserMedia({ audio: true });
    } catch {
      wanted = false;
      say("We can't use the microphone. Allow it in your browser, or type your order below.", "off");
      return;
    }
    if (!wanted) {
      // Let go while the browser was still asking.
      stream.getTracks().forEach((track) => track.stop());
      say("Hold to talk", "off");
      return;
    }
    const parts = [];
    recorder = new MediaRecorder(stream, { mimeType: types.find((t) => MediaRecorder.isTypeSupported(t)) });
    recorder.ondataavailable = (event) => parts.push(event.data);
    recorder.onstop = () => {
      stream.getTracks().forEach((track) => track.stop());
      clearTimeout(timer);
      const type = recorder.mimeType;
      recorder = null;
      send(new Blob(parts, { type }));
    };
    recorder.start();
    key = crypto.getRandomValues(new Uint32Array(4)).join("-");
    timer = setTimeout(stop, Number(box.dataset.maxS) * 1000 - 500);
    say("Listening…", "on");
  }

  function stop() {
    wanted = false;
    if (recorder && recorder.state !== "inactive") recorder.stop();
  }

  async function send(blob) {
    say("Sending…", "wait");
    button.disabled = true;
    const form = new FormData();
    form.append("menu", box.dataset.menu);
    form.append("audio", blob, "order");
    try {
      const headers = { "HX-Request": "true", "Idempotency-Key": key };
      const answer = await fetch("/orders", { method: "POST", body: form, headers });
      const next = answer.headers.get("HX-Redirect");
      if (next) {
        location.assign(next);
        return;
      }
      htmx.swap("#problem", await answer.text(), { swapStyle: "innerHTML" });
      say("Hold to talk", "off");
    } catch {
      say("Your order wasn't sent. Check your connection and try again.", "off");
    }
    button.disabled = false;
  }

  const press = () => {
    if (recorder) {
      pressedAt = -Infinity; // the tap that ends
      return;
    }
    if (wanted) return;
    pressedAt = performance.now();
    start();
  };
  const release = () => {
    if (!wanted) return;
    if (performance.now() - pressedAt > TAP_MS) stop();
  };
  button.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    button.setPointerCapture(event.pointerId);
    press();
  });
  button.addEventListener("pointerup", release);
  button.addEventListener("pointercancel", release);
  button.addEventListener("contextmenu", (event) => event.preventDefault());
  document.addEventListener("keydown", (event) => {
    if (!isTalkKey(event)) return;
    event.preventDefault();
    if (!event.repeat) press();
  });
  document.addEventListener("keyup", (event) => {
    if (!isTalkKey(event)) return;
    event.preventDefault();
    release();
  });

  // Space talks from anywhere but where it means something else; enter only on the button itself.
  function isTalkKey(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return false;
    if (event.target === button) return event.key === " " || event.key === "Enter";
    return event.key === " " && !event.target.closest("input, textarea, select, button, a, summary");
  }

  // Anywhere on the page: a file dropped next to the field would be opened by the browser in the page's place.
  function takeDrops(zone, input) {
    const files = (event) => event.dataTransfer.types.includes("Files");
    for (const kind of ["dragenter", "dragover"]) {
      document.addEventListener(kind, (event) => {
        if (!files(event)) return;
        event.preventDefault();
        zone.classList.add("over");
      });
    }
    for (const kind of ["dragleave", "drop"]) {
      document.addEventListener(kind, () => zone.classList.remove("over"));
    }
    document.addEventListener("drop", (event) => {
      if (!files(event)) return;
      event.preventDefault();
      input.files = event.dataTransfer.files;
      input.form.requestSubmit();
    });
  }
})();
