"""How much room each endpoint has in a courier."""

from __future__ import annotations

from services.workers.lanes import EACH, IN_FLIGHT, Lanes


def fill(lanes: Lanes, endpoints: list[str]) -> dict[str, int]:
    """Send out what has room."""
    taken = {}
    for endpoint, room in lanes.rooms(endpoints):
        lanes.off(endpoint, room)
        taken[endpoint] = room
    return taken


def made_slow(lanes: Lanes, endpoints: list[str]) -> None:
    for endpoint in endpoints:
        lanes.off(endpoint, 1)
        lanes.back(endpoint, slow=True)


def test_one_endpoint_never_has_all_the_room() -> None:
    lanes = Lanes()
    assert fill(lanes, ["a"]) == {"a": EACH}
    assert fill(lanes, ["a"]) == {}
    assert fill(lanes, ["a", "b"]) == {"b": EACH}
    lanes.back("a", slow=False)
    assert fill(lanes, ["a"]) == {"a": 1}


def test_however_many_are_slow_half_of_the_room_is_for_the_rest() -> None:
    lanes, dead = Lanes(), [f"dead-{i}" for i in range(100)]
    made_slow(lanes, dead)
    taken = fill(lanes, dead)
    assert (len(taken), set(taken.values())) == (IN_FLIGHT // 2, {1})
    assert fill(lanes, [*dead, "well", "other"]) == {"well": EACH, "other": EACH}


def test_those_who_answer_in_time_come_first() -> None:
    lanes, dead = Lanes(), [f"dead-{i}" for i in range(40)]
    made_slow(lanes, dead)
    assert next(lanes.rooms([*dead, "well"])) == ("well", EACH)


def test_an_answer_in_time_gives_the_room_back() -> None:
    lanes = Lanes()
    made_slow(lanes, ["a"])
    assert fill(lanes, ["a"]) == {"a": 1}
    lanes.back("a", slow=None)  # nothing was posted, so nothing was learned
    assert fill(lanes, ["a"]) == {"a": 1}
    lanes.back("a", slow=False)
    assert fill(lanes, ["a"]) == {"a": EACH}


def test_the_room_ends() -> None:
    lanes = Lanes()
    assert sum(fill(lanes, [str(i) for i in range(9)]).values()) == IN_FLIGHT
    assert fill(lanes, ["late"]) == {}
