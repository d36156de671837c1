"""A chat model's control marks ("<|im_end|>", "</s>", "<file_sep>") are never words of an order or a menu.

A tokenizer reads them as one control token wherever they stand. In a prompt they would mean what they mean.
In an answer they would end it: where the next text is forced, llguidance cuts it with the model's tokenizer,
and opens nothing but the control token.
"""

from __future__ import annotations

import re


def unmarked(text: str) -> str:
    """`text` with a space in whatever a tokenizer might read as a control mark; the same when repeated."""
    return re.sub(r"<(?=[|｜/A-Za-z_])", "< ", text).replace("|>", "| >").replace("｜>", "｜ >")
