/* The order's page: hear the words of one line, and let go of the events when they end. The rest is htmx. */
"use strict";
// The server ends the stream with the event that ends the order. A browser that still listens takes that for
// a lost connection: it reports an error and comes back, again and again.
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

// An event that comes while a panel is under way belongs to the one that is replaced, and would be lost: an
// order can be read, validated and shown within milliseconds. So each new panel asks whether it is late.
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

// Those who do not see the page hear how it goes on: the headline, and what is read back.
document.addEventListener("htmx:afterSettle", () => {
  const news = document.getElementById("news");
  const words = window.wordsOfPage();
  if (news.textContent !== words) news.textContent = words;
});
