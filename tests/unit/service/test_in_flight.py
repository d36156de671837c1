"""How many messages may be in flight to each endpoint."""

from __future__ import annotations

from services.workers.in_flight import EACH, IN_FLIGHT, InFlight


def fill(messages: InFlight, endpoints: list[str]) -> dict[str, int]:
    """Send as many as may be sent."""
    taken = {}
    for endpoint, room in messages.capacities(endpoints):
        messages.sent(endpoint, room)
        taken[endpoint] = room
    return taken


def made_slow(messages: InFlight, endpoints: list[str]) -> None:
    for endpoint in endpoints:
        messages.sent(endpoint, 1)
        messages.returned(endpoint, slow=True)


def test_one_endpoint_never_has_all_the_room() -> None:
    messages = InFlight()
    assert fill(messages, ["a"]) == {"a": EACH}
    assert fill(messages, ["a"]) == {}
    assert fill(messages, ["a", "b"]) == {"b": EACH}
    messages.returned("a", slow=False)
    assert fill(messages, ["a"]) == {"a": 1}


def test_however_many_are_slow_half_of_the_room_is_for_the_rest() -> None:
    messages, dead = InFlight(), [f"dead-{i}" for i in range(100)]
    made_slow(messages, dead)
    taken = fill(messages, dead)
    assert (len(taken), set(taken.values())) == (IN_FLIGHT // 2, {1})
    assert fill(messages, [*dead, "well", "other"]) == {"well": EACH, "other": EACH}


def test_an_answer_in_time_gives_the_room_back() -> None:
    messages = InFlight()
    made_slow(messages, ["a"])
    assert fill(messages, ["a"]) == {"a": 1}
    messages.returned("a", slow=None)  # nothing was posted, so nothing was learned
    assert fill(messages, ["a"]) == {"a": 1}
    messages.returned("a", slow=False)
    assert fill(messages, ["a"]) == {"a": EACH}


def test_the_room_ends() -> None:
    messages = InFlight()
    assert sum(fill(messages, [str(i) for i in range(9)]).values()) == IN_FLIGHT
    assert fill(messages, ["late"]) == {}
