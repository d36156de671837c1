"""Record an order on the running product as an animated WebP: hold the button, speak, check the cart, say
yes.

Waits for the models are shortened; everything else is in real time.
"""

from __future__ import annotations

import io
import shutil
import tempfile
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
from playwright.sync_api import Page, Playwright, ViewportSize, expect

from services.workers.stack import Stack
from tests.browser.conftest import FLAGS, spoken_wav

PHONE: ViewportSize = {"width": 390, "height": 780}
SAMPLE = "hc-03"  # the README's example
FPS = 8
WAIT_S = 3.0  # longest wait shown
SETTLE_MS = 300_000


class Film:
    """A screencast of a page: a PNG for each change, with its time in seconds."""

    def __init__(self, page: Page) -> None:
        self._shots: list[tuple[float, bytes]] = []
        self._waits: list[tuple[float, float]] = []
        self._browser = page.context.new_cdp_session(page)
        self._browser.on("Page.screencastFrame", self._take)
        self._browser.send("Page.startScreencast", {"format": "png"})

    def _take(self, shot: dict[str, Any]) -> None:
        self._shots.append((shot["metadata"]["timestamp"], b64decode(shot["data"])))
        self._browser.send("Page.screencastFrameAck", {"sessionId": shot["sessionId"]})

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Shorten this block to `WAIT_S` seconds if it takes longer."""
        began = time.time()
        yield
        self._waits.append((began, time.time()))

    def save(self, file: Path) -> None:
        """Write the film so far as a looping animated WebP."""
        began, ended = self._shots[0][0], self._shown(time.time())
        with av.open(str(file), "w", format="webp", options={"loop": "0"}) as out:
            stream = out.add_stream("libwebp_anim", rate=FPS, options={"lossless": "1"})
            stream.width, stream.height, stream.pix_fmt = PHONE["width"], PHONE["height"], "bgra"
            for number in range(round((ended - began) * FPS)):
                until = began + number / FPS
                shot = [picture for at, picture in self._shots if self._shown(at) <= until][-1]
                frame = _decoded(shot)
                frame.pts, frame.time_base = number, Fraction(1, FPS)
                out.mux(stream.encode(frame))
            out.mux(stream.encode(None))

    def _shown(self, at: float) -> float:
        """Return when a moment is shown: waits before it are shortened."""
        shown = at
        for began, ended in self._waits:
            cut = 1 - WAIT_S / max(WAIT_S, ended - began)
            shown -= cut * (min(max(at, began), ended) - began)
        return shown


def record(playwright: Playwright, stack: Stack, menu: str, file: Path) -> None:
    """Speak `SAMPLE` on the customer's page on a phone, accept the cart, and write the film to `file`."""
    with tempfile.TemporaryDirectory(prefix="recording-") as folder:
        spoken = spoken_wav(SAMPLE, Path(folder))
        with av.open(str(spoken)) as sound:
            spoken_s = float((sound.duration or 0) / av.time_base)
        microphone = f"--use-file-for-fake-audio-capture={spoken}%noloop"
        chromium = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=[*FLAGS, microphone])
        page = browser.new_page(base_url=stack.base_url, viewport=PHONE)
        page.goto(f"/?menu={menu}")
        film = Film(page)
        page.wait_for_timeout(1500)
        page.get_by_role("button", name="Hold to talk").hover()
        page.mouse.down()
        page.wait_for_timeout(spoken_s * 1000 + 500)
        page.mouse.up()
        with film.waiting():
            expect(page.get_by_role("heading", name="Is this right?")).to_be_visible(timeout=SETTLE_MS)
        page.wait_for_timeout(6000)
        page.get_by_role("button", name="Yes, order for").click()
        with film.waiting():
            expect(page.get_by_role("heading", name="Thanks, your order is in")).to_be_visible()
        page.wait_for_timeout(3000)
        film.save(file)
        browser.close()
    print(file.name)


def _decoded(picture: bytes) -> av.VideoFrame:
    with av.open(io.BytesIO(picture)) as image:
        return next(image.decode(video=0)).reformat(format="bgra")
