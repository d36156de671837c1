"""A cart that a person chose, priced, with what the menu does not allow. Machines' carts: `decide.py`."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.cart import Cart, CartDraft, Finding
from schemas.records.menus import MenuVersion
from schemas.transcript import Transcript
from services.validation.facts import check_facts
from services.validation.price import price_cart


@dataclass(frozen=True, slots=True)
class Judged:
    """A cart priced from its menu version, and all that a reader of it should know."""

    cart: Cart
    findings: tuple[Finding, ...]


def judge_chosen(draft: CartDraft, menu: MenuVersion, transcript: Transcript) -> Judged:
    """Price a cart that a person chose: it has to be true of the menu, whatever the transcript says."""
    findings = check_facts(draft, menu.menu)
    cart = price_cart(draft, menu.menu, menu.version, transcript, findings)
    return Judged(cart, tuple(findings))
