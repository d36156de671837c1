// The page of one order: its recording, its words and its forms.
"use strict";

(() => {
  const SPEEDS = [0.5, 0.75, 1, 1.25, 1.5, 2];
  const box = document.getElementById("wave");
  let wave = null;
  let until = null; // the end of a word or a line in seconds; null plays to the end

  if (box) {
    const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const url = sourceOf(box.dataset.utterance);
    const media = Object.assign(document.createElement("audio"), { src: url, preload: "auto" });
    wave = WaveSurfer.create({
      container: box, media, url, cspNonce: box.dataset.nonce, height: 72,
      waveColor: colour("--line-strong"), progressColor: colour("--accent"), cursorColor: colour("--ink"),
      barWidth: 3, barGap: 2, barRadius: 2, normalize: true,
    });
    const play = document.getElementById("play");
    const clock = document.getElementById("clock");
    const showTime = (now) => { clock.textContent = `${now.toFixed(1)} / ${wave.getDuration().toFixed(1)} s`; };
    wave.on("ready", () => showTime(0));
    wave.on("timeupdate", (now) => {
      showTime(now);
      mark(now);
      if (until !== null && now >= until) { until = null; wave.pause(); }
    });
    wave.on("play", () => { play.lastChild.textContent = " Pause"; });
    wave.on("pause", () => { play.lastChild.textContent = " Play"; });
    play.addEventListener("click", () => {
      if (wave.isPlaying()) { wave.pause(); return; }
      until = null;
      wave.play();
    });
    document.getElementById("slower").addEventListener("click", () => speed(-1));
    document.getElementById("faster").addEventListener("click", () => speed(1));
  }

  // Each utterance has its own recording; without a number, the newest is served.
  function sourceOf(utterance) {
    return utterance === "" ? box.dataset.src : `${box.dataset.src}?utterance=${utterance}`;
  }

  function speed(step) {
    const at = SPEEDS.indexOf(wave.getPlaybackRate()) + step;
    const rate = SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, at))];
    wave.setPlaybackRate(rate, true);
    document.getElementById("speed").textContent = `${rate}×`;
  }

  async function hear(thing) {
    if (!wave) return;
    if (thing.dataset.utterance !== box.dataset.utterance) {
      box.dataset.utterance = thing.dataset.utterance;
      await wave.load(sourceOf(box.dataset.utterance));
    }
    const start = Math.max(0, Number(thing.dataset.start) - 0.05);
    until = Number(thing.dataset.end) + 0.1;
    wave.setTime(start);
    wave.play();
  }

  function mark(now) {
    for (const word of document.querySelectorAll(".words .word")) {
      const here = word.dataset.utterance === box.dataset.utterance;
      word.classList.toggle("now", here && wave.isPlaying() && Number(word.dataset.start) <= now && now < Number(word.dataset.end));
    }
  }

  // All words are one tab stop; arrow keys, comma and full stop move from word to word.
  let at = -1;
  function step(by, sound) {
    const words = [...document.querySelectorAll(".words .word")];
    if (!words.length) return;
    at = Math.min(words.length - 1, Math.max(0, at + by));
    words.forEach((word, index) => { word.tabIndex = index === at ? 0 : -1; });
    words[at].focus();
    if (sound) hear(words[at]);
  }

  document.addEventListener("click", (event) => {
    const thing = event.target.closest?.("[data-play]");
    if (thing) {
      if (thing.matches(".word")) at = [...document.querySelectorAll(".words .word")].indexOf(thing);
      hear(thing);
    }
    const by = event.target.closest?.("[data-step]");
    if (by) step(Number(by.dataset.step), true);
  });

  document.querySelector("[data-words]")?.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by) { event.preventDefault(); step(by, false); }
  });

  // Forms are sent once. A change to the cart may still be on its way to the server: a decision waits for the
  // new cart, or it would be about the old one.
  for (const form of document.querySelectorAll("form[method=post]")) {
    form.addEventListener("submit", (event) => {
      const waits = form.querySelector(".htmx-request") !== null;
      if (form.dataset.sent || waits) event.preventDefault();
      form.toggleAttribute("data-waits", waits);
      if (!waits) form.dataset.sent = "yes";
    });
  }
  document.addEventListener("htmx:afterRequest", (event) => {
    const form = document.querySelector("form[data-waits]");
    if (!form || form.querySelector(".htmx-request")) return;
    form.removeAttribute("data-waits");
    if (event.detail.successful) form.requestSubmit();
  });
})();
