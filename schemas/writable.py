"""Clean text for prompts and masks, so that any model can write it back.

Tokenizers read control marks ("<|im_end|>", "</s>", "<file_sep>") as one control token anywhere, and many,
such as Qwen's, compose accents (Unicode NFC). llguidance tokenizes forced text with the model's tokenizer: a
control token would end the answer, and a composed letter fail where the grammar has two characters.
"""

from __future__ import annotations

import re
import unicodedata

from pydantic import AfterValidator, StringConstraints

# Control and format characters (escapes, text direction, invisible ones), line and paragraph breaks.
_UNPRINTED = frozenset({"Cc", "Cf", "Zl", "Zp"})


def one_line(text: str) -> str:
    """Return `text` with control and invisible characters and line breaks replaced by spaces."""
    return "".join(" " if unicodedata.category(sign) in _UNPRINTED else sign for sign in text)


def only_printed(text: str) -> str:
    """Return `text` unchanged.

    Raises:
        ValueError: it has a character that `one_line` would replace: terminals and printers act on those.
    """
    odd = next((sign for sign in text if unicodedata.category(sign) in _UNPRINTED), None)
    if odd is not None:
        raise ValueError(f"may not hold control or invisible characters (U+{ord(odd):04X})")
    return text


def printed(most: int) -> tuple[StringConstraints, AfterValidator]:
    """Return the constraints of a text of 1 to `most` characters, none of them invisible."""
    constraints = StringConstraints(strip_whitespace=True, min_length=1, max_length=most)
    return constraints, AfterValidator(only_printed)


def writable(text: str) -> str:
    """Return `text` with accents composed and possible control marks split by a space; idempotent."""
    composed = unicodedata.normalize("NFC", text)
    apart = re.sub(r"<(?=[|｜/A-Za-z_])", "< ", composed)
    return apart.replace("|>", "| >").replace("｜>", "｜ >")


def whole_words(text: str, most: int) -> str:
    """Return as many whole words of `text` as fit in `most` characters; a longer first word is cut."""
    words = text.split(" ")
    while len(" ".join(words)) > most and len(words) > 1:
        words.pop()
    return " ".join(words)[:most]


def clean(transcript: str) -> str:
    """Return a transcript as the prompt shows it and `heard` copies it: writable, one line, single spaces."""
    return " ".join(writable(one_line(transcript)).split())
