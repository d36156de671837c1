"""What is counted of particles beside a greedy answer, and what the library's side is told of an order."""

from __future__ import annotations

from typing import Any

import pytest

from services.engines.decoding.prompt import examples
from tests.bench.aligned.__main__ import asked, judged, summary
from tests.bench.orders import Order, labels_of, menu_of

LABELS = labels_of("harbor-coffee")
ORDERED, OTHER = (example.draft for example in examples(LABELS.menu)[:2])
RIGHT, WRONG = LABELS.to_wire(ORDERED), LABELS.to_wire(OTHER)
ORDER = Order("x", "a latte", menu_of("harbor-coffee"), ORDERED.model_dump(mode="json")["lines"])


def particle(text: str, share: float, finish: str = "stop") -> dict[str, Any]:
    return {"text": text, "finish": finish, "share": share, "tokens": 10}


def row(greedy: str, *particles: dict[str, Any]) -> dict[str, Any]:
    first = {"text": greedy, "finish": "stop", "tokens": 20}
    return {"id": "x", "form": "schema", "particles": list(particles), "contexts": 50, "greedy": first}


def test_the_heaviest_text_is_the_sum_of_its_particles() -> None:
    apart = (particle(RIGHT, 0.3), particle(WRONG, 0.4), particle(RIGHT, 0.3))
    found = judged(row(WRONG, *apart), ORDER)
    assert (found["greedy"], found["heaviest"], found["same_text"]) == (False, True, False)
    assert found["weight_on_exact"] == pytest.approx(0.6)
    assert (found["texts"], found["contexts"]) == (2, 2.5)


def test_a_cart_that_was_cut_off_is_not_exact() -> None:
    found = judged(row(RIGHT, particle(RIGHT, 1.0, "length")), ORDER)
    assert (found["greedy"], found["heaviest"], found["weight_on_exact"]) == (True, False, 0)


def test_no_particle_is_no_cart() -> None:
    found = judged(row(WRONG), ORDER)
    assert (found["heaviest"], found["dead_ends"], found["weight_on_exact"]) == (False, True, 0)


def test_heaviest_is_held_against_greedy() -> None:
    won = judged(row(WRONG, particle(RIGHT, 1.0)), ORDER)
    lost = judged(row(RIGHT, particle(WRONG, 1.0)), ORDER)
    dead = judged(row(RIGHT), ORDER)
    found = summary([won, lost, won, dead], 8)
    assert (found["orders"], found["greedy_exact"][0], found["heaviest_exact"][0]) == (4, 2, 2)
    assert found["won_lost_against_greedy"] == [2, 2]
    assert found["weight_on_exact"] == 0.5
    assert (found["no_particle_left"], found["heaviest_is_greedys"]) == (1, 0)


def test_an_order_goes_with_its_own_form() -> None:
    """The whole menu stands in the schema, and the words said bound the grammar of the evidence."""
    schema, evidence = asked(ORDER, "schema"), asked(ORDER, "evidence")
    assert schema["messages"] == evidence["messages"] == ORDER.messages()
    assert set(LABELS.items.values()) <= set(
        schema["schema"]["$defs"]["ItemLine"]["properties"]["sku"]["enum"]
    )
    assert "lark" not in schema
    assert "schema" not in evidence
    assert '"\\"latte\\""' in evidence["lark"]
    assert "croissant" not in evidence["lark"]
