"""Fixtures for tests in Chromium.

Every tab is watched: a script error, a violation of the content security policy, or a request to another
host fails its test. `stack` is the whole system with its workers; `cafe` is the API without workers, for
tests that set an order's state themselves.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import av
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect, sync_playwright

from tests.integration.api_world import MENU, World, running
from tests.processes.running_stack import RECORDINGS

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text()
# A busy machine may take long to show a page.
expect.set_options(timeout=20_000)
LONG_MENU = MENU | {"id": "long", "name": "Long Menu", "items": [*MENU["items"], *(
    {"sku": f"dish-{n}", "name": f"dish number {n}", "prices": {"S": 450 + n, "L": 600 + n},
     "category": f"course {n // 20}", "description": f"Roasted {n} times with herbs and a small salad."}
    for n in range(148)
)]}  # fmt: skip
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
INSTALL = "Chromium is missing: apt-get install chromium (Debian), or brew install chromium"
FLAGS = [
    "--no-sandbox",  # CI runs as root, and the pages are ours
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-fake-ui-for-media-stream",
    "--use-fake-device-for-media-stream",
]


@dataclass
class Watch:
    """Record what none of our pages may do."""

    host: str
    faults: list[str] = field(default_factory=list)

    def follow(self, context: BrowserContext) -> None:
        context.on("request", lambda request: self._on_request(request.url))
        context.on("weberror", lambda error: self.faults.append(f"script error: {error.error}"))
        context.on("console", lambda message: self._on_console(message.type, message.text))
        context.expose_binding("violated", lambda _source, what: self.faults.append(f"policy: {what}"))
        context.add_init_script(
            "addEventListener('securitypolicyviolation', e =>"
            " violated(`${e.effectiveDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`))"
        )

    def _on_request(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob") and parts.netloc != self.host:
            self.faults.append(f"request to another host: {url}")

    def _on_console(self, kind: str, text: str) -> None:
        # Chromium logs every 4xx response as an error.
        if "Content Security Policy" in text or (kind == "error" and "status of 4" not in text):
            self.faults.append(f"console: {text}")


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    # Not for the whole session: its event loop would conflict with those of other tests.
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="package")
def launch(playwright: Playwright) -> Callable[..., Browser]:
    """Return a function that starts Chromium, with a recording as its microphone or none."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip(INSTALL)

    def start(spoken: Path | None = None) -> Browser:
        fed = [f"--use-file-for-fake-audio-capture={spoken}%noloop"] if spoken else []
        return playwright.chromium.launch(executable_path=found, args=[*FLAGS, *fed])

    return start


@pytest.fixture(scope="package")
def browser(launch: Callable[..., Browser]) -> Iterator[Browser]:
    started = launch()
    yield started
    started.close()


@contextmanager
def watched(browser: Browser, base_url: str, **options: Any) -> Iterator[Page]:
    """Open a tab in a fresh profile, and fail at its end on anything that `Watch` recorded."""
    watch = Watch(urlsplit(base_url).netloc)
    context = browser.new_context(base_url=base_url, viewport=options.pop("viewport", DESKTOP), **options)
    watch.follow(context)
    try:
        yield context.new_page()
    finally:
        context.close()
    assert not watch.faults, "\n".join(watch.faults)


def spoken_wav(name: str, folder: Path) -> Path:
    """Convert a shipped recording to 48 kHz mono WAV for Chromium's fake microphone."""
    target = folder / f"{name}.wav"
    with av.open(str(RECORDINGS / f"{name}.flac")) as source, av.open(str(target), "w") as out:
        stream = out.add_stream("pcm_s16le", rate=48_000, layout="mono")
        resampler = av.AudioResampler("s16", "mono", 48_000)
        for frame in [*source.decode(audio=0), None]:
            for piece in resampler.resample(frame):
                out.mux(stream.encode(piece))
        out.mux(stream.encode(None))
    return target


@pytest.fixture(scope="module")
def cafe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Run the API without workers: orders stay in the state that a test sets."""
    with running(tmp_path_factory.mktemp("cafe"), max_audio_s=4) as world:
        yield world


def assert_accessible(page: Page) -> None:
    """Assert that axe-core finds nothing, in light and in dark."""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.evaluate(AXE)
        # Preload would copy the waveform's style sheets inline, which the policy forbids.
        found = page.evaluate("axe.run({preload: false}).then(r => r.violations)")
        bad = [(v["id"], v["help"], [n["target"] for n in v["nodes"]]) for v in found]
        assert not bad, f"{page.url} in {scheme}: {bad}"
    page.emulate_media(color_scheme="light")


def assert_fits(page: Page) -> None:
    """Assert that the page doesn't scroll sideways."""
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0, f"{page.url} is {wide} px too wide"


def assert_light(page: Page, address: str) -> None:
    """Open a page and assert that it loads at most 60 kB, as transferred, without its recording."""
    page.goto(address, wait_until="load")
    loaded = page.evaluate(
        "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]"
        ".filter(e => !/audio|events/.test(e.name)).map(e => [e.name, e.encodedBodySize])"
    )
    assert 20_000 <= sum(size for _, size in loaded) <= 60_000, loaded


def assert_usable(page: Page) -> None:
    """Assert that the page is accessible and fits its window."""
    assert_accessible(page)
    assert_fits(page)
