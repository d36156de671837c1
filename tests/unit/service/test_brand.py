"""A shop's colour and logo: what is taken, and the ink that is readable on the colour."""

from __future__ import annotations

import pytest

from schemas.errors import InputError
from schemas.shops.settings import MAX_LOGO_BYTES, Brand, logo_url, parse_colour

SVG = b"<svg xmlns='http://www.w3.org/2000/svg'/>"


@pytest.mark.parametrize(
    ("written", "colour", "ink"),
    [("#0a7", "#00aa77", "#000000"), ("#FC0", "#ffcc00", "#000000"), ("#1f6b50", "#1f6b50", "#ffffff")],
)
def test_a_colour_has_an_ink(written: str, colour: str, ink: str) -> None:
    assert parse_colour(written) == colour
    assert Brand("Harbor", colour).ink == ink


@pytest.mark.parametrize("written", ["red", "#12", "#0a7;", "#00aa7g"])
def test_another_colour_is_refused(written: str) -> None:
    with pytest.raises(InputError):
        parse_colour(written)


@pytest.mark.parametrize("picture", [b"<html>", b"", b"GIF89a", SVG + b" " * MAX_LOGO_BYTES])
def test_another_logo_is_refused(picture: bytes) -> None:
    with pytest.raises(InputError):
        logo_url(picture)


def test_a_logo_becomes_a_data_url() -> None:
    assert logo_url(SVG).startswith("data:image/svg+xml;base64,PHN2Z")
