/* Hold to talk: press the button (mouse, finger, space or enter), speak, release. A tap of less than TAP_MS
   starts a recording that another tap ends, for those who cannot hold. The recording is sent to the URL of
   the plain form, which answers with the next page or a problem. The document's event `mic` tells when the
   microphone opens and closes, so that nothing is read aloud into it. */
"use strict";
(() => {
  const TAP_MS = 350;
  const box = document.getElementById("speak");
  const canRecord = window.MediaRecorder && navigator.mediaDevices && navigator.mediaDevices.getUserMedia;
  if (!box) return;
  const drop = document.getElementById("drop");
  if (drop) takeDrops(drop, drop.querySelector("input"));
  if (!canRecord) return;

  const button = document.getElementById("mic");
  const state = document.getElementById("mic-state");
  const problem = document.getElementById("problem");
  const types = ["audio/webm;codecs=opus", "audio/ogg;codecs=opus", "audio/mp4"];
  let recorder = null;
  let wanted = false; // the button is down, or was tapped
  let pressedAt = 0;
  let timer = 0;
  let key = "";
  const words = box.dataset;
  box.hidden = false;

  const say = (words, mode) => {
    state.textContent = words;
    box.dataset.mode = mode;
    button.setAttribute("aria-pressed", String(mode === "on"));
    document.dispatchEvent(new CustomEvent("mic", { detail: mode === "on" }));
  };

  async function start() {
    wanted = true;
    problem.replaceChildren();
    say(words.wait, "wait");
    document.dispatchEvent(new CustomEvent("mic", { detail: true }));
    let stream;
    try {
      stream = await navigator.mediaDevices.getUserMedia({ audio: true });
    } catch {
      wanted = false;
      say(words.denied, "off");
      return;
    }
    if (!wanted) {
      // Released while the browser was still asking for permission.
      stream.getTracks().forEach((track) => track.stop());
      say(words.hold, "off");
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
      quiet();
      send(new Blob(parts, { type }));
    };
    recorder.start();
    const quiet = meter(stream);
    key = crypto.getRandomValues(new Uint32Array(4)).join("-");
    timer = setTimeout(stop, Number(words.maxS) * 1000 - 500);
    say(words.listening, "on");
  }

  function stop() {
    wanted = false;
    if (recorder && recorder.state !== "inactive") recorder.stop();
  }

  // Show the level, so that customers see that the microphone works; no sound leaves the page.
  function meter(stream) {
    const bar = document.querySelector("#level i");
    const context = new AudioContext();
    const analyser = context.createAnalyser();
    analyser.fftSize = 512;
    context.createMediaStreamSource(stream).connect(analyser);
    const samples = new Float32Array(analyser.fftSize);
    let frame = 0;
    const draw = () => {
      analyser.getFloatTimeDomainData(samples);
      const loud = Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length);
      bar.style.transform = `scaleX(${Math.min(1, loud * 6).toFixed(2)})`;
      frame = requestAnimationFrame(draw);
    };
    draw();
    return () => {
      cancelAnimationFrame(frame);
      context.close();
      bar.style.transform = "";
    };
  }

  // Return the next page's URL, or null after showing a problem.
  async function post(url, body) {
    const headers = { "HX-Request": "true", "Idempotency-Key": key };
    const answer = await fetch(url, { method: "POST", body, headers });
    const next = answer.headers.get("HX-Redirect");
    if (!next) htmx.swap("#problem", await answer.text(), { swapStyle: "innerHTML" });
    return next;
  }

  // On a kiosk, send what was tapped first: it belongs to the spoken order.
  async function sendTapped() {
    const form = document.getElementById("words");
    if (!document.body.matches(".kiosk") || !form.elements.transcript.value.trim()) return words.action;
    const next = await post(words.action, new URLSearchParams(new FormData(form)));
    key += "-spoken";
    return next && `${next.split("?")[0]}/utterances`;
  }

  async function send(blob) {
    say(words.sending, "wait");
    button.disabled = true;
    try {
      const action = await sendTapped();
      const form = new FormData();
      const name = document.getElementById("name")?.value.trim();
      if (action === "/orders") {
        form.append("menu", words.menu);
        if (name) form.append("metadata", JSON.stringify({ name }));
      }
      form.append("audio", blob, "order");
      const next = action && (await post(action, form));
      if (next) {
        location.assign(next);
        return;
      }
      say(words.hold, "off");
    } catch {
      say(words.unsent, "off");
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

  // Anywhere on the page: the browser would open a file that is dropped next to the field.
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
