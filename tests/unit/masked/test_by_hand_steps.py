"""The worked example of docs/masking.md: logits by hand, and each figure that the page shows."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from infra.settings import REPOSITORY
from schemas.errors import EngineError
from services.examples.by_hand.steps import (
    ORDER,
    Logits,
    draw,
    masked,
    penalised,
    reshaped,
    softmax,
    tempered,
    top_p,
)

PAGE = (REPOSITORY / "docs/masking.md").read_text(encoding="utf-8")
TOKENS = ("The", "9", "0", "1", "-")
LOGITS = np.array([4.0, 2.5, 2.0, 1.0, 0.0])
ALLOWED = np.array([False, False, True, True, False])
NONE = "—"


def shown(logits: Logits) -> list[str]:
    return [f"{p:.1%}" if p else NONE for p in softmax(logits)]


def row(name: str, cells: list[str]) -> str:
    return f"| {name} | {' | '.join(cells)} |"


def test_the_pages_table_is_what_comes_out() -> None:
    halved = tempered(masked(LOGITS, ALLOWED), 0.5)
    for line in (
        row("logit", [f"{logit:.1f}" for logit in LOGITS]),
        row("softmax", shown(LOGITS)),
        row("masked, softmax", shown(masked(LOGITS, ALLOWED))),
        row("and temperature 0.5", shown(halved)),
        row("and top-p 0.8", shown(top_p(halved, 0.8))),
    ):
        assert line in PAGE, line


@pytest.mark.parametrize("order", list(permutations(ORDER)), ids=", ".join)
def test_the_pages_orders_are_what_comes_out(order: tuple[str, ...]) -> None:
    try:
        cells = shown(reshaped(LOGITS, ALLOWED, temperature=0.5, share=0.8, order=order))[2:4]
    except EngineError:
        cells = ["nothing is left"] * 2
    assert row(", ".join(order), cells) in PAGE


def test_by_hand() -> None:
    """The same figures without numpy's help: e² of e² + e¹, and e⁴ of e⁴ + e²."""
    assert softmax(masked(LOGITS, ALLOWED))[2] == pytest.approx(7.389 / (7.389 + 2.718), abs=1e-4)
    assert softmax(tempered(masked(LOGITS, ALLOWED), 0.5))[2] == pytest.approx(
        54.598 / (54.598 + 7.389), abs=1e-4
    )


def test_masking_before_softmax_is_masking_after_it_and_sharing_anew() -> None:
    after = np.where(ALLOWED, softmax(LOGITS), 0)
    assert softmax(masked(LOGITS, ALLOWED)) == pytest.approx(after / after.sum())


def test_a_mask_keeps_the_odds_of_what_it_allows() -> None:
    before, after = softmax(LOGITS), softmax(masked(LOGITS, ALLOWED))
    assert after[2] / after[3] == pytest.approx(before[2] / before[3])


def test_a_constant_makes_no_difference() -> None:
    """Why log-probabilities do in place of logits."""
    logprobs = np.log(softmax(LOGITS))
    assert not np.allclose(logprobs, LOGITS)
    for order in (ORDER, ("mask", "top-p", "temperature")):
        ways = [reshaped(x, ALLOWED, temperature=0.7, share=0.9, order=order) for x in (LOGITS, logprobs)]
        assert softmax(ways[0]) == pytest.approx(softmax(ways[1]))


def test_top_p_first_can_silently_take_a_choice_away() -> None:
    """At 0.9 nothing fails, and "1" can never be drawn again."""
    assert shown(reshaped(LOGITS, ALLOWED, share=0.9))[2:4] == ["73.1%", "26.9%"]
    assert shown(reshaped(LOGITS, ALLOWED, share=0.9, order=("top-p", "mask")))[2:4] == ["100.0%", NONE]


def test_no_penalty_brings_a_masked_token_back_or_takes_the_last_one_away() -> None:
    harsh = penalised(masked(LOGITS, ALLOWED), [0, 2, 3], 1e6)
    assert harsh[0] == -np.inf
    assert np.isfinite(harsh[[2, 3]]).all()
    assert penalised(masked(LOGITS, ALLOWED), [0, 1, 4], 1e-6)[0] == -np.inf
    assert (masked(LOGITS, ALLOWED) + 100)[0] == -np.inf, "nor does a bias"


def test_a_large_finite_penalty_is_no_mask() -> None:
    biased = np.where(ALLOWED, LOGITS, LOGITS - 5)
    assert softmax(biased).argmax() == 2
    assert f"{softmax(biased)[~ALLOWED].sum():.1%}" == "4.3%"
    assert "4.3%" in PAGE


def test_temperature_0_takes_the_likeliest_allowed_token() -> None:
    assert shown(reshaped(LOGITS, ALLOWED, temperature=0)) == [NONE, NONE, "100.0%", NONE, NONE]
    with pytest.raises(EngineError, match="No token is left"):
        softmax(reshaped(LOGITS, ALLOWED, temperature=0, order=("temperature", "mask")))


def test_a_huge_logit_does_not_overflow() -> None:
    assert softmax(np.array([1000.0, 1000.0])) == pytest.approx([0.5, 0.5])


def test_draws_come_as_often_as_they_are_likely() -> None:
    rng = np.random.default_rng(7)
    drawn = [draw(reshaped(LOGITS, ALLOWED), rng) for _ in range(2000)]
    assert set(drawn) == {2, 3}
    assert drawn.count(2) / 2000 == pytest.approx(0.731, abs=0.03)
