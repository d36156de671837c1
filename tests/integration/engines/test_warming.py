"""Menu prompts are warmed in the background, one at a time and never before an order."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from infra.processes.ports import any_free
from infra.processes.supervisor import Child, SupervisorError
from infra.settings import Settings
from infra.sql.database import Database
from schemas.errors import DecodeCancelled, EngineUnavailable
from schemas.menu import Menu, MenuVersion
from schemas.shops.access import MAIN_SHOP
from services.storage.shops.menus import MenuStore
from services.workers import warming as module
from services.workers.stack import Stack
from services.workers.warming import Warming
from tests.stand_ins import CAFE
from tests.waiting import until


def version_of(number: int) -> tuple[Menu, int]:
    """A version whose names depend on its number."""
    items = tuple(item.model_copy(update={"name": f"{item.name} {number}"}) for item in CAFE.items)
    return CAFE.model_copy(update={"items": items}), number


MENUS = [version_of(number) for number in (3, 1, 2)]
SOON_S = 20.0


class Prompts:
    """A slow decode server: `begun` is set at each prompt, which ends when `go` is set."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.done: list[int] = []
        self.begun, self.go = threading.Event(), threading.Event()
        self.away = False

    def warm(self, menu: Menu, called_off: threading.Event) -> None:
        version = int(menu.items[0].name.split()[-1])
        self.asked.append(version)
        if self.away:
            raise EngineUnavailable("no answer")
        self.begun.set()
        while not self.go.wait(0.01):
            if called_off.is_set():
                raise DecodeCancelled("an order came")
        self.done.append(version)


def running(prompts: Prompts) -> tuple[Warming, Callable[[], None]]:
    """A running warmer, and a function that waits for its end."""
    warming = Warming(lambda: MENUS, prompts.warm)
    thread = threading.Thread(target=warming.run, daemon=True)
    thread.start()

    def end() -> None:
        until(lambda: len(prompts.done) == len(MENUS))
        warming.stop()
        thread.join(SOON_S)
        assert not thread.is_alive()

    return warming, end


def test_an_order_interrupts_warming() -> None:
    prompts = Prompts()
    warming, end = running(prompts)
    assert prompts.begun.wait(SOON_S)
    prompts.begun.clear()
    with warming.order():
        with warming.order():  # threads may have several
            assert not prompts.begun.wait(1.5)
        assert not prompts.begun.wait(1.5), "one order is still in progress"
        assert (prompts.asked, prompts.done) == ([3], [])
    assert prompts.begun.wait(SOON_S), "warming did not resume"
    prompts.go.set()
    end()
    assert prompts.asked == [3, 3, 1, 2]
    assert prompts.done == [3, 1, 2]


def test_nothing_is_warmed_between_two_orders() -> None:
    prompts = Prompts()
    prompts.go.set()
    warming = Warming(lambda: MENUS, prompts.warm)
    first = warming.order()
    first.__enter__()
    warming.start()
    first.__exit__(None, None, None)
    with warming.order():
        assert not prompts.begun.wait(1.0)
        assert prompts.asked == []
    assert prompts.begun.wait(SOON_S)


def test_new_and_changed_menus_are_warmed_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "POLL_S", 0.05)
    prompts, wanted = Prompts(), [version_of(1)]
    prompts.go.set()
    looked = 0

    def menus() -> list[tuple[Menu, int]]:
        nonlocal looked
        looked += 1
        return list(wanted)

    warming = Warming(menus, prompts.warm)
    warming.start()
    until(lambda: looked > 3)
    assert prompts.done == [1]
    wanted[:] = [version_of(2)]
    until(lambda: prompts.done == [1, 2])
    # Prices are not in the prompt: shops of a chain that differ only in them share it.
    dearer = tuple(item.model_copy(update={"available": False}) for item in wanted[0][0].items)
    wanted[:] = [(wanted[0][0].model_copy(update={"items": dearer}), 3), version_of(4)]
    until(lambda: prompts.done == [1, 2, 4])
    warming.stop()


def test_a_worker_is_ready_once_its_menus_are_warm() -> None:
    prompts, warm_when_ready = Prompts(), list[list[int]]()
    warming = Warming(lambda: MENUS, prompts.warm, lambda: warm_when_ready.append(list(prompts.done)))
    warming.start()
    assert prompts.begun.wait(SOON_S)
    assert warm_when_ready == []
    prompts.go.set()
    until(lambda: bool(warm_when_ready))
    assert warm_when_ready == [[3, 1, 2]]
    warming.stop()


@pytest.mark.parametrize("why", ["no menu", "no server", "a slow server", "an order"])
def test_a_menu_that_fails_blocks_no_start(monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    """And the worker is ready for orders."""
    if why == "a slow server":
        monkeypatch.setattr(module, "READY_S", 0.05)
    prompts, ready = Prompts(), threading.Event()
    prompts.away = why == "no server"
    warming = Warming(lambda: [] if why == "no menu" else MENUS, prompts.warm, ready.set)
    warming.start()
    with warming.order() if why == "an order" else nullcontext():
        assert ready.wait(SOON_S)
    assert prompts.done == []
    warming.stop()


def test_warming_is_retried_after_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY_S", 0.5)
    monkeypatch.setattr(module, "POLL_S", 0.0)
    prompts = Prompts()
    prompts.away = True
    prompts.go.set()
    _, end = running(prompts)
    until(lambda: prompts.asked == [3])
    prompts.away = False
    assert prompts.asked == [3], "not at once"
    end()
    assert prompts.asked == [3, 3, 1, 2]


class Partless(Stack):
    """A stack that records the stored menus instead of starting its processes."""

    menus_there: list[str]

    def _children(self, *_: Any) -> list[Child]:
        self.menus_there = [stored.menu.id for stored in self.stored()]
        raise SupervisorError("no parts in this test", "")

    def stored(self) -> list[MenuVersion]:
        database = Database(self.settings.database)
        try:
            return MenuStore(database, MAIN_SHOP).recently_used(8)
        finally:
            database.close()


def test_menus_are_imported_once_before_the_processes_start(tmp_path: Path) -> None:
    for _ in range(2):
        stack = Partless(Settings(home=tmp_path, api_port=any_free()), menus=[CAFE])
        with pytest.raises(SupervisorError):
            stack.start()
        assert stack.menus_there == [CAFE.id]
        assert [stored.version for stored in stack.stored()] == [1]
