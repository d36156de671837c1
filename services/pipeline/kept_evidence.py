"""Evidence kept on its order: worked out once for each transcript, and the same for every stage after it.

What is kept has the version of the reading code that made it. A stage that goes by the evidence takes what is
kept, whatever release made it, so that a draft is judged by the evidence that made its mask. Only where it
can't be read any more (an older release wrote it in another shape, or none was kept) is it worked out anew.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import structlog
from pydantic import ValidationError

from schemas.evidence import Evidence
from schemas.records.menus import MenuVersion
from schemas.records.orders import OrderRecord
from schemas.transcript import Transcript
from services.reading.order import read_order

READING = Path(__file__).parents[1] / "reading"

log = structlog.get_logger()


@cache
def reader_version() -> str:
    """Changes whenever the code that reads an order's words does: 12 hexadecimal digits."""
    digest = hashlib.sha256()
    for file in sorted(READING.rglob("*")):
        if file.suffix in (".py", ".toml"):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def kept(evidence: Evidence) -> dict[str, Any]:
    """The document that an order keeps: all but the menu, whose version the order names anyway."""
    told = evidence.model_dump(mode="json", exclude={"menu", "menu_version"}, exclude_defaults=True)
    return {"reader": reader_version(), "evidence": told}


def evidence_of(order: OrderRecord, menu: MenuVersion) -> Evidence:
    """The evidence of an order that has been heard: as it was kept, or worked out now.

    Raises:
        ValueError: it has no transcript.
    """
    return _restored(order, menu) or read_order(heard(order).text, menu.menu, menu.version)


def to_keep(order: OrderRecord, menu: MenuVersion) -> tuple[Evidence, dict[str, Any]]:
    """`evidence_of` an order, and the document that it is to keep: the one that it has, where that stands."""
    restored = _restored(order, menu)
    if restored is not None and order.evidence is not None:
        return restored, order.evidence
    made = read_order(heard(order).text, menu.menu, menu.version)
    return made, kept(made)


def _restored(order: OrderRecord, menu: MenuVersion) -> Evidence | None:
    if order.evidence is None:
        return None
    try:
        told = order.evidence["evidence"] | {"menu": menu.menu, "menu_version": menu.version}
        # What an older release's second reading by rules left in doubt stays in doubt (ADR 37).
        doubted = {"shared": True} if told.get("retold") or told.get("otherwise") else {}
        return Evidence.model_validate(told | doubted)
    except (KeyError, TypeError, ValidationError):
        log.warning("evidence.worked_out_anew", order_id=order.id, reader=order.evidence.get("reader"))
        return None


def heard(order: OrderRecord) -> Transcript:
    """What an order that has been heard says; raises ValueError where it has not."""
    if order.transcript is None:
        raise ValueError("A transcribed order must have a transcript")
    return order.transcript
