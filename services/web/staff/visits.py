"""Where staff come from: their address, and their browser in a few words."""

from __future__ import annotations

from fastapi import Request

from schemas.shops.staff import Visit

# The first that is found counts: Edge says that it is Chrome, and Chrome that it is Safari.
_BROWSERS = {
    "Edg": "Edge", "OPR/": "Opera", "SamsungBrowser": "Samsung Internet", "Firefox": "Firefox",
    "FxiOS": "Firefox", "Chrome": "Chrome", "CriOS": "Chrome", "Safari": "Safari",
}  # fmt: skip
_SYSTEMS = {
    "Android": "Android", "iPhone": "iPhone", "iPad": "iPad", "Windows": "Windows", "CrOS": "ChromeOS",
    "Mac OS": "macOS", "Linux": "Linux",
}  # fmt: skip


def visit_of(request: Request) -> Visit:
    """Where this attempt to sign in comes from; uvicorn decides whose X-Forwarded-For counts."""
    return Visit(
        address=request.client.host if request.client else "local",
        browser=browser_of(request.headers.get("user-agent", "")),
    )


def browser_of(agent: str) -> str:
    """A User-Agent in words such as `Firefox on Linux`: enough to tell one's own sessions apart, and nothing
    of what a caller may write into it."""
    browser = next((name for mark, name in _BROWSERS.items() if mark in agent), "A program")
    system = next((name for mark, name in _SYSTEMS.items() if mark in agent), "")
    return f"{browser} on {system}" if system else browser
