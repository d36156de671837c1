/* The order's page: hear the words of one line. The rest is htmx. */
"use strict";
document.addEventListener("click", (event) => {
  const play = event.target.closest("button.play");
  if (play) {
    const recording = document.getElementById("recording");
    const end = Number(play.dataset.end);
    const pause = () => {
      if (recording.currentTime < end) return;
      recording.pause();
      recording.removeEventListener("timeupdate", pause);
    };
    recording.currentTime = Number(play.dataset.start);
    recording.addEventListener("timeupdate", pause);
    recording.play();
  }
});

// Those who do not see the page hear how it goes on: the headline, whenever a new panel has come.
document.addEventListener("htmx:afterSettle", () => {
  const news = document.getElementById("news");
  const headline = document.querySelector("#order h1").textContent;
  if (news.textContent !== headline) news.textContent = headline;
});
