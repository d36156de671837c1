/* The order's page: play the words of a line, and close the event stream when it ends. The rest is htmx. */
"use strict";
// The server closes the stream after the event that ends the order. A browser that still listens reports a
// lost connection and reconnects forever.
let newest = 0;
htmx.createEventSource = (url) => {
  const source = new EventSource(url, { withCredentials: true });
  const { events, ends } = document.getElementById("order").dataset;
  for (const name of events.split(" ")) {
    source.addEventListener(name, (event) => (newest = Math.max(newest, Number(event.lastEventId))));
  }
  for (const name of ends.split(" ")) source.addEventListener(name, () => source.close());
  return source;
};

// An event that arrives while a panel is being loaded goes to the old panel and would be lost: an order can
// pass several stages within milliseconds. So each new panel checks whether it is out of date.
document.addEventListener("htmx:afterSettle", () => {
  const panel = document.getElementById("panel");
  if (panel?.hasAttribute("hx-get") && Number(panel.dataset.version) < newest) htmx.trigger(panel, "newer");
});

document.addEventListener("click", async (event) => {
  const play = event.target.closest("button.play");
  if (!play) return;
  const recording = document.getElementById("recording");
  const source = `${location.pathname}/audio?utterance=${play.dataset.utterance}`;
  if (recording.getAttribute("src") !== source) {
    recording.src = source;
    await new Promise((loaded) => recording.addEventListener("loadedmetadata", loaded, { once: true }));
  }
  const end = Number(play.dataset.end);
  const pause = () => {
    if (recording.currentTime < end) return;
    recording.pause();
    recording.removeEventListener("timeupdate", pause);
  };
  recording.currentTime = Number(play.dataset.start);
  recording.addEventListener("timeupdate", pause);
  recording.play();
});

// For screen readers: the headline and what is read back.
document.addEventListener("htmx:afterSettle", () => {
  const news = document.getElementById("news");
  const words = window.wordsOfPage();
  if (news.textContent !== words) news.textContent = words;
});
