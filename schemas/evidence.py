"""What one transcript gives reason to say: the only values that the mask opens for this order.

Made by `services/pipeline/retrieve.py` from the menu and the transcript, read by
`services/engines/grammar.py` (what may be decoded) and `services/pipeline/validate.py` (was it heard?).
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from schemas.cart import MAX_LINES, Amount
from schemas.menu import Menu


class Mention(BaseModel):
    """A place in the transcript that names something of the menu.

    `start` and `end` are character offsets. Several `ids` mean that the words fit each of them. `strong`
    is a full name or alias, as written or one sound off; otherwise only a part of the name was said.
    """

    model_config = ConfigDict(frozen=True)

    kind: Literal["item", "option", "size"]
    ids: tuple[str, ...]
    groups: tuple[str, ...] = ()
    start: int
    end: int
    text: str
    score: float
    strong: bool


class OptionEvidence(BaseModel):
    """One option that may be meant, with the amounts and counts that were said beside it.

    `required` leaves the model nothing to decide: the order names one item, and this was said of it.
    """

    model_config = ConfigDict(frozen=True)

    group: str
    id: str
    amounts: tuple[Amount, ...] = (Amount.NORMAL,)
    counts: tuple[int, ...] = (1,)
    required: bool = False


class Evidence(BaseModel):
    """The transcript, the menu version it is read against, and what may be meant by it.

    `items`, `sizes` and `options` hold ids of the menu; `quantities` always holds 1; `numbers` are those
    said that count something, `corrected` tells that a word of taking back was said, `unexplained` holds
    the words that nothing accounts for. `options` stand in the order in which they were said.
    """

    model_config = ConfigDict(frozen=True)

    transcript: str
    menu: Menu
    menu_version: int
    items: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()
    options: tuple[OptionEvidence, ...] = ()
    quantities: tuple[int, ...] = (1,)
    max_lines: int = MAX_LINES
    mentions: tuple[Mention, ...] = ()
    numbers: tuple[int, ...] = ()
    size_required: bool = False
    corrected: bool = False
    unexplained: tuple[str, ...] = ()

    @classmethod
    def everything(cls, menu: Menu, version: int, transcript: str) -> Evidence:
        """The whole menu, open. For checking a menu's grammar at import, and for comparison."""
        return cls(
            transcript=transcript,
            menu=menu,
            menu_version=version,
            items=tuple(item.sku for item in menu.items),
            sizes=tuple(size.id for size in menu.sizes),
            options=tuple(
                OptionEvidence(group=group.id, id=option.id, amounts=tuple(Amount), counts=(1, 2, 3, 4))
                for group in menu.option_groups
                for option in group.options
            ),
            quantities=tuple(range(1, 13)),
        )
