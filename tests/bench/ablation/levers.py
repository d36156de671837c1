"""The levers, and the variants that switch them: rules off one by one, prompts exchanged.

The product has no such switches. A rule is off while its function is replaced by one that finds nothing and
marks nothing, so what it would have read is neither settled nor noticed. What the mask opens can be changed
apart from what the findings are made from, so that forcing is a lever of the mask alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from schemas.evidence import Evidence
from services.reading.whole.reading import shared as shared_by_rule
from services.reading.whole.revisions import revise as revised_by_rule
from tests.bench.ablation.prompts import PROMPTS, Prompt

Rules = Mapping[str, Callable[..., Any]]
"""What takes a function's place, by the name under which the pipeline calls it."""

CORRECTIONS: Rules = {
    "services.reading.whole.revisions.revise": lambda tokens, mentions, menu: (tokens, mentions)
}
SHARING: Rules = {
    "services.reading.whole.reading.shared": lambda tokens, mentions: [],
    "services.reading.whole.reading.parts": lambda *about: None,
    "services.reading.whole.reading.again": lambda tokens, mentions, places: {},
    "services.reading.whole.reading.summed": lambda tokens, numbers, places: False,
    # Words of sharing that no rule reads would open every value to every line, and be a doubt.
    "services.reading.whole.reading._outside": lambda words, text, mentions: False,
}


def _noticed(tokens: Any, mentions: Any, menu: Any) -> Any:
    """As where a correction is not plain: every value is open to every line, and the model decides."""
    settled = revised_by_rule(tokens, mentions, menu)
    return settled if settled == (tokens, mentions) else None


NOTICED: Rules = {
    "services.reading.whole.revisions.revise": _noticed,
    "services.reading.whole.reading.shared": lambda tokens, mentions: (
        None if shared_by_rule(tokens, mentions) else []
    ),
    "services.reading.whole.reading.parts": lambda *about: None,
    "services.reading.whole.reading.again": lambda tokens, mentions, places: {},
}
"""Corrections, sharing and splits are noticed as ever, and none is settled by rule."""

WHOLE_MENU: Rules = {
    "services.pipeline.kept_evidence.read_order": lambda text, menu, version: Evidence.everything(
        menu, version, text
    ),
    "services.checks.judge.check_evidence": lambda draft, evidence: [],
}
"""Nothing is looked for in the words, so a cart can only be held against the menu."""


def as_it_is(evidence: Evidence) -> Evidence:
    return evidence


def unforced(evidence: Evidence) -> Evidence:
    """The same values open, and none of them required."""
    lines = [
        line.model_copy(
            update={
                "required": False,
                "size_required": False,
                "options": tuple(o.model_copy(update={"required": False}) for o in line.options),
            }
        )
        for line in evidence.lines
    ]
    return evidence.model_copy(update={"lines": tuple(lines)})


def everything(evidence: Evidence) -> Evidence:
    return Evidence.everything(evidence.menu, evidence.menu_version, evidence.transcript)


@dataclass(frozen=True, slots=True)
class Variant:
    """`off` are the rules replaced; `mask` makes what the mask opens of the evidence; `base` names the
    variant that it is compared with."""

    name: str
    says: str
    base: str = ""
    off: Rules = field(default_factory=dict)
    mask: Callable[[Evidence], Evidence] = as_it_is
    prompt: Prompt = PROMPTS["as it is"]

    @property
    def forced(self) -> bool:
        """Whether the mask leaves one cart where the words do, so that no model needs to be asked."""
        return self.mask is as_it_is and self.off is not WHOLE_MENU

    @contextmanager
    def switched(self) -> Iterator[None]:
        """The pipeline with this variant's rules replaced, for as long as the block runs."""
        with ExitStack() as stack:
            for target, stand_in in self.off.items():
                stack.enter_context(patch(target, stand_in))
            yield


_BARE: Rules = {**CORRECTIONS, **SHARING}
FULL = Variant("full", "E: D + required lines, the full system", "sharing")
LADDER = (
    Variant("menu-mask", "A: mask of the whole menu", off=WHOLE_MENU),
    Variant("evidence-mask", "B: mask bound to evidence, no rules", "menu-mask", _BARE, unforced),
    Variant("corrections", "C: B + corrections by rule", "evidence-mask", SHARING, unforced),
    Variant("sharing", "D: C + sharing and splits by rule", "corrections", mask=unforced),
    FULL,
)
BESIDE = (
    Variant("menu-mask-checked", "A, with the full system's findings", "menu-mask", mask=everything),
    Variant(
        "noticed", "B + corrections and sharing noticed, left to the model", "evidence-mask",
        NOTICED, unforced,
    ),
)  # fmt: skip
WITHOUT: tuple[Variant, ...] = (
    Variant("no-corrections", "without corrections by rule", "full", CORRECTIONS),
    Variant("no-sharing", "without sharing and splits by rule", "full", SHARING),
)
PROMPTED = tuple(
    Variant(f"prompt-{name.replace(' ', '-')}", f"B, {name}", "evidence-mask", _BARE, unforced, prompt)
    for name, prompt in PROMPTS.items()
    if name != "as it is"
)
BARE_FULL = Variant("full-no-examples", "E, no examples", "full", prompt=PROMPTS["no examples"])
# The most telling first: a run that is cut short has those.
VARIANTS = (*LADDER[:2], FULL, *LADDER[2:4], *BESIDE, *WITHOUT, *PROMPTED, BARE_FULL)
BY_NAME = {variant.name: variant for variant in VARIANTS}
