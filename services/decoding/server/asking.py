"""What a request says beside its messages and its grammar: whether the adapter is at work, how the answer is
drawn, and how it begins. A field that would change an answer here is obeyed or refused, never passed over: a
mask that nobody held would look like one that was.
"""

from __future__ import annotations

from typing import Any

from schemas.errors import InputError
from services.decoding.ports import Sampling

Document = dict[str, Any]
HOTTEST = 5.0
# Field -> values that ask for nothing; None always does.
_NOT_HERE: dict[str, tuple[Any, ...]] = {
    "stream": (False,),
    "n": (1,),
    "top_p": (1,),
    "stop": ([],),
    "tools": ([],),
    "logit_bias": ({}, []),
    "response_format": ({"type": "text"},),
    "json_schema": (),
    "structured_outputs": (),
    "guided_json": (),
    "guided_grammar": (),
    "guided_regex": (),
    "guided_choice": (),
}


def checked(body: Document) -> None:
    """Raises InputError for a field that this server can't obey."""
    for name, neutral in _NOT_HERE.items():
        asked = body.get(name)
        if asked is not None and asked not in neutral:
            raise InputError(
                f"This server can't obey {name}", hint="It takes `grammar`, in llguidance's Lark."
            )


def sampling(body: Document) -> Sampling:
    """Raises InputError."""
    temperature, seed = body.get("temperature", 0), body.get("seed")
    if isinstance(temperature, bool) or not isinstance(temperature, int | float):
        raise InputError("temperature is a number")
    if not 0 <= temperature <= HOTTEST:
        raise InputError(f"temperature is a number of 0 to {HOTTEST:g}")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        raise InputError("seed is a whole number, 0 or more")
    return Sampling(float(temperature), seed)


def adapted(body: Document) -> bool:
    """Whether the one adapter is to be at work, by llama.cpp's field `lora`; raises InputError."""
    asked = body.get("lora") or []
    if not isinstance(asked, list) or not all(
        isinstance(one, dict) and one.get("id") == 0 and one.get("scale") in (0, 1) for one in asked
    ):
        raise InputError('lora is [{"id": 0, "scale": 1}], or is left out')
    return any(one["scale"] == 1 for one in asked)


def begun(messages: list[dict[str, str]]) -> tuple[list[dict[str, str]], str]:
    """The messages, and the beginning of an answer that a last one of the assistant is; raises InputError."""
    if messages[-1]["role"] != "assistant":
        return messages, ""
    if len(messages) == 1:
        raise InputError("messages begin with another turn than the assistant's")
    return messages[:-1], messages[-1]["content"]
