"""Text as any model can write it back: what a prompt shows, and what a mask spells, has gone through here.

A tokenizer reads a control mark ("<|im_end|>", "</s>", "<file_sep>") as one control token wherever it stands,
and many, Qwen's among them, compose accents (NFC of Unicode). Where the next text is forced, llguidance cuts
it with the model's tokenizer: it would open the control token alone, and end the answer, or open a composed
letter where the grammar wants two signs, and fail.
"""

from __future__ import annotations

import re
import unicodedata

# Control and format signs (terminal escapes, text direction, what is invisible), line and paragraph breaks.
_UNPRINTED = frozenset({"Cc", "Cf", "Zl", "Zp"})


def one_line(text: str) -> str:
    """Return `text` with a space in place of each control sign, invisible sign and line break."""
    return "".join(" " if unicodedata.category(sign) in _UNPRINTED else sign for sign in text)


def only_printed(text: str) -> str:
    """Return `text` as it is.

    Raises:
        ValueError: it has a sign that `one_line` would replace: terminals and printers act on those.
    """
    odd = next((sign for sign in text if unicodedata.category(sign) in _UNPRINTED), None)
    if odd is not None:
        raise ValueError(f"may not hold control or invisible characters (U+{ord(odd):04X})")
    return text


def writable(text: str) -> str:
    """`text` with accents composed, and a space in what may be a control mark; the same when repeated."""
    composed = unicodedata.normalize("NFC", text)
    apart = re.sub(r"<(?=[|｜/A-Za-z_])", "< ", composed)
    return apart.replace("|>", "| >").replace("｜>", "｜ >")


def whole_words(text: str, most: int) -> str:
    """The first whole words of `text`, as many as `most` characters hold; of a longer word its beginning."""
    words = text.split(" ")
    while len(" ".join(words)) > most and len(words) > 1:
        words.pop()
    return " ".join(words)[:most]


def clean(transcript: str) -> str:
    """One line, single spaces, no control or invisible signs, nor what a model can't write back: what the
    prompt shows and `heard` copies from."""
    return " ".join(writable(one_line(transcript)).split())
