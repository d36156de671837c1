"""What both halves of the mask's tests write: masks of a transcript, and the text that a model would send."""

from __future__ import annotations

import json
from typing import Any

from schemas.evidence import Evidence
from schemas.menu import Menu
from services.decoding.mask import Mask
from services.engines.masks.grammar import build_mask
from services.engines.masks.labels import Labels
from services.reading.order import read_order
from tests.stand_ins import CAFE

SAID = "can I get two large lattes with oat milk and extra foam and a blueberry muffin please"


def mask_of(evidence: Evidence) -> Mask:
    return build_mask(evidence, Labels(evidence.menu), "v")


def said(text: str, menu: Menu = CAFE) -> Evidence:
    return read_order(text, menu, 1)


def wire(*lines: dict[str, Any], **more: Any) -> str:
    return json.dumps({"lines": lines, **more}, ensure_ascii=False, separators=(",", ":"))


def off_menu(heard: str, quantity: int = 1) -> dict[str, Any]:
    return {"kind": "not_on_menu", "heard": heard, "quantity": quantity}


def item(heard: str, sku: str, quantity: int = 1, **more: Any) -> dict[str, Any]:
    return {"kind": "item", "heard": heard, "sku": sku, "quantity": quantity, **more}


def oat(**more: Any) -> dict[str, Any]:
    return {"group": "milk", "id": "oat milk", **more}


def foam(**more: Any) -> dict[str, Any]:
    return {"group": "extras", "id": "foam", "amount": "extra", **more}


LATTES = item("two large lattes", "latte", 2, size="large", options=[oat(), foam()])
MUFFIN = item("a blueberry muffin", "blueberry muffin")
