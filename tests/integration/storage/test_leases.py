"""Leases, late results and database outages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import chain, repeat
from typing import Any
from unittest.mock import Mock

import pytest
from sqlalchemy import select
from structlog.testing import capture_logs

from schemas.errors import StorageUnavailable
from schemas.lifecycle import State
from schemas.records.orders import OrderRecord
from services.pipeline.heartbeat import Heartbeat
from services.pipeline.runner import Runner
from services.storage.base.tables import TurnRow
from services.storage.orders.store import OrderStore
from tests.stand_ins import AWAY, Pipeline, claim_order
from tests.waiting import until

GONE = StorageUnavailable("The database can't take it now")


def held(world: Pipeline, lease_s: float = 60) -> OrderRecord:
    order = claim_order(world.orders, world.typed(), State.TRANSCRIBED, owner="h:1:2", lease_s=lease_s)
    assert order is not None
    return order


def test_renewing_changes_only_the_lease(world: Pipeline) -> None:
    order = held(world, lease_s=5)
    assert world.orders.renew(order, 600)
    renewed = world.orders.get(order.id)
    assert order.lease_until is not None
    assert renewed.lease_until is not None
    assert (renewed.lease_until - order.lease_until).total_seconds() > 500
    assert replace(renewed, lease_until=order.lease_until) == order


def test_an_order_in_another_state_is_not_renewed(world: Pipeline) -> None:
    order = held(world)
    assert not world.orders.renew(replace(order, lease_owner="h:1:3"), 60)
    world.drop_lease(order.id)
    assert world.orders.renew(order, 60), "a lapsed lease that was not taken is held again"
    world.drop_lease(order.id)
    assert claim_order(world.orders, order.id, State.TRANSCRIBED, owner="h:1:2", lease_s=60) is not None
    assert not world.orders.renew(order, 60), "the same worker's next claim is another claim"
    world.orders.cancel(order.id)
    assert not world.orders.renew(order, 60)


def test_a_heartbeat_survives_outages_and_errors(world: Pipeline) -> None:
    leases = Mock()
    leases.renew.side_effect = chain([GONE, ValueError("a fault of ours")], repeat(True))
    with Heartbeat(leases, held(world), lease_s=0.03, limit_s=60) as beat:
        until(lambda: leases.renew.call_count > 5)
        assert not beat.lost.is_set()


def test_a_heartbeat_notices_a_cancellation_at_once(world: Pipeline) -> None:
    order = held(world)
    with Heartbeat(world.orders, order, lease_s=30, limit_s=60) as beat:
        assert not beat.lost.wait(1), "ours, and looked at twice"
        world.orders.cancel(order.id)
        assert beat.lost.wait(2), "a beat is ten seconds away"


def test_a_hung_stage_loses_its_order_at_the_time_limit(world: Pipeline) -> None:
    order = held(world, lease_s=0.4)
    with capture_logs() as logs, Heartbeat(world.orders, order, lease_s=0.4, limit_s=1.0):
        until(lambda: "lease.stage_hangs" in [entry["event"] for entry in logs])
        until(lambda: claim_order(world.orders, order.id, State.TRANSCRIBED, owner="next", lease_s=60))
    assert world.orders.get(order.id).lease_owner == "next", "the hung stage kept or took it back"


def faulty(world: Pipeline, **script: list[str]) -> Runner:
    """A runner whose store fails by a script: `before` an operation, or `after` it, so that only its answer
    is lost."""
    orders = OrderStore(world.database, "main")

    def scripted(steps: list[str], call: Callable[..., Any], *args: Any, **more: Any) -> Any:
        step = steps.pop(0) if steps else ""
        if step == "before":
            raise GONE
        done = call(*args, **more)
        if step == "after":
            raise GONE
        return done

    for name, steps in script.items():
        setattr(orders, name, partial(scripted, steps, getattr(orders, name)))
    return replace(world.runner(), orders=orders)


@pytest.mark.parametrize(
    ("commit", "release", "state"),
    [
        (["before"], [], State.TRANSCRIBED),
        (["before"], ["before"], None),
        (["before"], ["after"], None),
        (["after"], [], None),
    ],
)
def test_an_order_goes_on_though_its_result_was_not_stored(
    world: Pipeline, commit: list[str], release: list[str], state: State | None
) -> None:
    """Also if a commit succeeded and only its answer was lost: the next stage runs once."""
    order_id = world.typed()
    assert faulty(world, commit=[*commit], release=[*release]).run(order_id, "decode") is state
    world.drop_lease(order_id)
    assert world.until_settled(order_id).state is State.COMPLETED
    types = [kind for kind in world.types(order_id) if kind != "retry"]
    assert types == ["received", "transcribed", "decoded", "accepted"]


def test_work_is_charged_once_though_the_answer_is_lost(world: Pipeline) -> None:
    world.decoder.script = [AWAY]
    assert faulty(world, release=["after"]).run(world.typed(), "decode") is None
    with world.database.read() as session:
        assert min(session.scalars(select(TurnRow.spent))) >= 0, "the estimate was taken back twice"


def test_a_claim_is_left_to_the_sweeper(world: Pipeline) -> None:
    order_id, runner = world.typed(), faulty(world, claim_next=["before"])
    assert [runner.run(order_id, "decode") for _ in range(2)] == [None, State.COMPLETED]


def test_a_stopped_worker_releases_its_orders(world: Pipeline) -> None:
    mine = held(world)
    others = claim_order(world.orders, world.typed(), State.TRANSCRIBED, owner="h:12:2", lease_s=60)
    assert others is not None
    assert world.orders.release_all("h:1") == [(mine.id, State.TRANSCRIBED)]
    free = world.orders.get(mine.id)
    assert (free.lease_owner, free.lease_until, free.attempt) == (None, None, 0)
    assert free.version == mine.version + 1
    assert world.orders.get(others.id) == others
