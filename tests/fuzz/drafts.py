"""Random evidence, and random carts that it backs: drawn from evidence and menu, never from a grammar."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
from hypothesis import strategies as st
from llguidance import LLMatcher, LLTokenizer

from schemas.cart import (
    MAX_COUNT,
    MAX_LINES,
    MAX_OPTIONS,
    MAX_QUANTITY,
    Amount,
    CartDraft,
    ItemLine,
    NotOnMenuLine,
    OptionDraft,
)
from schemas.evidence import Evidence, LineEvidence, OffMenuEvidence, OptionEvidence
from services.decoding.mask import Mask
from tests.fuzz.reference import spans
from tests.stand_ins import CAFE, NASTY, sample_menu

BYTES = LLTokenizer("byte")
WORDS = st.lists(st.text("aé🍵\"\\ñ'/{<", min_size=1, max_size=6), min_size=1, max_size=7)


# Past the schema's bounds as well: what was said may be more than anybody may order.
MAYBE_TOO_MANY, FEW = st.integers(1, MAX_QUANTITY + 200), st.integers(1, MAX_COUNT + 3)


@st.composite
def line_evidences(draw: st.DrawFn, menu: Any) -> LineEvidence:
    words = draw(WORDS)
    first = draw(st.integers(0, len(words) - 1))
    last = draw(st.integers(first, len(words) - 1))
    pairs = [(g.id, o.id) for g in menu.option_groups for o in g.options]
    amounts = st.lists(st.sampled_from(list(Amount)), unique=True, min_size=1).map(tuple)
    counts = st.builds(
        lambda one, more: tuple(sorted({one, *more})), st.integers(1, 12), st.sets(FEW, max_size=1)
    )
    return LineEvidence(
        items=tuple(draw(st.lists(st.sampled_from([i.sku for i in menu.items]), unique=True, min_size=1))),
        region=" ".join(words),
        anchor=" ".join(words[first : last + 1]) if draw(st.booleans()) else "",
        quantities=tuple(sorted({draw(st.integers(1, 999)), *draw(st.sets(MAYBE_TOO_MANY, max_size=2))})),
        sizes=tuple(draw(st.lists(st.sampled_from([s.id for s in menu.sizes]), unique=True))),
        size_required=draw(st.booleans()),
        options=tuple(
            OptionEvidence(
                group=g, id=o, amounts=draw(amounts), counts=draw(counts), required=draw(st.booleans())
            )
            for g, o in draw(st.lists(st.sampled_from(pairs), unique=True, max_size=12))
        ),
        copies=draw(st.integers(1, 2)),
        required=draw(st.booleans()),
    )


@st.composite
def evidences(draw: st.DrawFn) -> Evidence:
    menu = draw(st.sampled_from([CAFE, NASTY, sample_menu("copper-skillet")]))
    lines = draw(st.lists(line_evidences(menu), max_size=4))
    words = draw(WORDS) + [word for line in lines for word in line.region.split()]
    quantities = (1, *sorted(draw(st.sets(st.integers(2, 999), max_size=2))))
    off_menu = st.builds(
        OffMenuEvidence,
        words=st.sampled_from(words),
        quantities=st.just(quantities),
        required=st.booleans(),
    )
    return Evidence(
        transcript=" ".join(words),
        menu=menu,
        menu_version=1,
        lines=tuple(lines),
        off_menu=tuple(draw(st.lists(off_menu, max_size=2))),
        off_menu_quantities=quantities,
    )


def span(rng: random.Random, region: str, anchor: str) -> str:
    """A run of whole words of the region that holds the anchor."""
    text: str = json.loads(f'"{rng.choice(spans(region, anchor))}"')
    return text


def any_item(rng: random.Random, evidence: Evidence, line: LineEvidence) -> ItemLine:
    chosen = evidence.menu.item(rng.choice(line.items))
    assert chosen is not None
    sizes = [s for s in chosen.size_ids if s in line.sizes]
    open_ones = [o for o in line.options if o.group in chosen.option_groups]
    needed = len(open_ones) <= MAX_OPTIONS
    taken = [o for o in open_ones if (needed and o.required) or rng.random() < 0.5][:MAX_OPTIONS]
    return ItemLine(
        kind="item",
        heard=span(rng, line.region, line.anchor),
        sku=chosen.sku,
        quantity=rng.choice([n for n in line.quantities if n <= MAX_QUANTITY]),
        size=rng.choice(sizes if line.size_required else [None, *sizes]) if sizes else None,
        options=tuple(
            OptionDraft(
                group=o.group,
                id=o.id,
                amount=rng.choice(o.amounts),
                count=rng.choice([n for n in o.counts if n <= MAX_COUNT]),
            )
            for o in taken
        ),
    )


def any_draft(rng: random.Random, evidence: Evidence) -> CartDraft:
    """A cart that the evidence allows."""
    lines: list[ItemLine | NotOnMenuLine] = [
        any_item(rng, evidence, line)
        for line in evidence.lines
        if line.region.strip()
        for _ in range(rng.randint(int(line.required), line.copies))
    ]
    lines += [
        NotOnMenuLine(
            kind="not_on_menu",
            heard=span(rng, evidence.transcript, off_menu.words),
            quantity=rng.choice(off_menu.quantities),
        )
        for off_menu in evidence.off_menu
        or (OffMenuEvidence(words="", quantities=evidence.off_menu_quantities),)
        if evidence.transcript.strip() and rng.random() < 0.5
    ]
    return CartDraft(lines=tuple(lines[:MAX_LINES]))


def walk(mask: Mask, rng: random.Random) -> bytes:
    """Bytes chosen at random among those that the mask allows, until it says that they are whole."""
    matcher = LLMatcher(BYTES, mask.lark)
    assert not matcher.get_error()
    out = bytearray()
    while not matcher.is_accepting():
        bits = np.unpackbits(np.frombuffer(matcher.compute_bitmask(), np.uint8), bitorder="little")
        allowed = [token for token in np.nonzero(bits)[0].tolist() if token < 256]
        assert allowed, f"a dead end after {bytes(out)!r}"
        token = rng.choice(allowed)
        assert matcher.consume_token(token)
        out.append(token)
        assert len(out) <= mask.longest
    return bytes(out)
