"""The next action: what the masks allow, what the gold file says, and what counts as right."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from services.examples.actions import branches
from services.examples.actions.schema import NextAction
from services.examples.actions.situation import LISTED, SHOWN, Step, shown, situation
from services.examples.actions.task import EXAMPLE, TASKS, judge, kind_first, kind_last, thought_first
from services.examples.example import Row, chat

ROWS = EXAMPLE.rows()
FORMS = (kind_first, kind_last, thought_first)


def wire(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def gold(row: Row) -> dict[str, Any]:
    """The first of the answers that are right."""
    first = {"text": row.gold["text"][0]} if "text" in row.gold else {}
    return {name: row.gold[name] for name in ("kind", "path") if name in row.gold} | first


def test_there_are_fifty_rows_of_each_kind_and_no_two_alike() -> None:
    assert Counter(row.gold["kind"] for row in ROWS) == dict.fromkeys(
        ("read_file", "write_file", "search", "finish"), 50
    )
    assert len({row.id for row in ROWS}) == len({row.text for row in ROWS}) == 200
    apart = {row["text"] for row in map(json.loads, EXAMPLE.gold.with_name("dev.jsonl").open())}
    asked = {said for task in TASKS for said, _ in task.examples}
    assert not (apart | asked) & {row.text for row in ROWS}


# The primed task has the mask of the first.
@pytest.mark.parametrize(
    ("task", "form"), list(zip(TASKS, FORMS, strict=False)), ids=["first", "last", "thought"]
)
def test_every_right_answer_can_be_written_and_is_judged_right(task: Any, form: Any) -> None:
    for row in ROWS:
        text = wire(form(gold(row)))
        assert task.output.mask.accepts(text), text
        assert judge(task.output.read(text), row) == {"branch": True, "right": True, "as_before": False}


REFUSED = {
    "kind of none": {"kind": "delete_file", "path": "a"},
    "two branches in one": {"kind": "read_file", "path": "a", "text": "b"},
    "field of another branch": {"kind": "search", "path": "a"},
    "no field": {"kind": "finish"},
    "no kind": {"path": "a"},
    "kind last": {"path": "a", "kind": "read_file"},
    "too long": {"kind": "search", "text": "x" * 81},
    "list": {"kind": "search", "text": ["x"]},
    "a thought": {"thinking": "x", "kind": "search", "text": "x"},
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_only_near_an_action_can_not_be_written(what: str) -> None:
    assert not TASKS[0].output.mask.accepts(wire(REFUSED[what]))


def test_a_field_written_before_the_kind_leaves_only_kinds_that_it_fits() -> None:
    accepts = TASKS[1].output.mask.accepts
    kinds = ("read_file", "write_file", "search", "finish")
    assert [accepts(wire({"path": "a", "kind": kind})) for kind in kinds] == [True, False, False, False]
    assert [accepts(wire({"text": "a", "kind": kind})) for kind in kinds] == [False, False, True, True]
    assert not accepts(wire({"kind": "search", "text": "a"}))


def test_the_thought_is_bounded_and_stands_first() -> None:
    accepts = TASKS[2].output.mask.accepts
    assert accepts(wire({"thinking": "x" * 160, "kind": "search", "text": "x"}))
    assert not accepts(wire({"thinking": "x" * 161, "kind": "search", "text": "x"}))
    assert not accepts(wire({"kind": "search", "text": "x", "thinking": "x"}))


def test_a_primed_chat_differs_by_one_turn_of_a_wrong_kind() -> None:
    plain, primed = TASKS[0], TASKS[3]
    assert plain.output.version == primed.output.version
    turns = set()
    for row in ROWS:
        one, other = chat(plain, row), chat(primed, row)
        assert one == [*other[:-3], other[-1]]
        before = other[-2]["content"]
        turns.add(before)
        assert json.loads(before)["kind"] == row.more["before"] != row.gold["kind"]
    assert all(map(primed.output.mask.accepts, turns))
    spread = Counter((row.gold["kind"], row.more["before"]) for row in ROWS)
    assert len(spread) == 12
    assert min(spread.values()) >= 16


JUDGED: list[tuple[dict[str, Any], dict[str, Any], bool]] = [
    ({"kind": "read_file", "path": "a/b.txt"}, {"path": "a/b.txt"}, True),
    ({"kind": "read_file", "path": "a/b.txt"}, {"path": "./a/b.txt"}, False),
    ({"kind": "read_file", "path": "a/b.txt"}, {"path": "b.txt"}, False),
    ({"kind": "write_file", "path": "a", "text": ["b\nc"]}, {"path": "a", "text": "b\nc\n"}, True),
    ({"kind": "write_file", "path": "a", "text": ["b\nc"]}, {"path": "a", "text": "b c"}, False),
    ({"kind": "write_file", "path": "a", "text": ["b"]}, {"path": "c", "text": "b"}, False),
    ({"kind": "search", "text": ["nut"], "not": []}, {"text": "Nuts"}, True),
    ({"kind": "search", "text": ["nut"], "not": []}, {"text": "who is it that has the nuts"}, False),
    ({"kind": "search", "text": ["nut"], "not": ["nuts"]}, {"text": "nuts"}, False),
    ({"kind": "search", "text": ["nut"], "not": ["nuts"]}, {"text": "nut"}, True),
    ({"kind": "finish", "text": ["8"]}, {"text": "It is 8."}, True),
    ({"kind": "finish", "text": ["8"]}, {"text": "18"}, False),
    ({"kind": "finish", "text": ["21.5"]}, {"text": "21x5"}, False),
]


@pytest.mark.parametrize(("right", "said", "fits"), JUDGED)
def test_arguments_are_right_or_wrong(right: dict[str, Any], said: dict[str, Any], fits: bool) -> None:
    row = Row("r", "", right, {"before": "nothing"})
    value = NextAction.model_validate({"kind": right["kind"], **said})
    assert judge(value, row) == {"branch": True, "right": fits, "as_before": False}


def test_a_wrong_branch_is_wrong_whatever_its_arguments() -> None:
    row = Row("r", "", {"kind": "finish", "text": ["yes"]}, {"before": "search"})
    value = NextAction.model_validate({"kind": "search", "text": "yes"})
    assert judge(value, row) == {"branch": False, "right": False, "as_before": True}


def test_a_run_is_told_as_the_gold_file_tells_it() -> None:
    """Else the figures would be of another chat than the one that runs."""
    told = {row.id: row.text for row in ROWS}
    search = NextAction.model_validate({"kind": "search", "text": "oak"}).root
    read = NextAction.model_validate({"kind": "read_file", "path": "trees.md"}).root
    files = [f"{n}.txt" for n in range(65)]
    steps = [Step(search, "park/trees.md"), Step(read, "there is no such file", refused=True)]
    assert situation("How old is the oak in the park?", files, steps) == told["read-48"]
    steps = [Step(NextAction.model_validate({"kind": "search", "text": "database"}).root, "nothing")]
    assert situation("Which database does the app use?", files, steps) in told["read-25"].replace("310", "65")
    list_txt = NextAction.model_validate({"kind": "read_file", "path": "list.txt"}).root
    steps = [Step(list_txt, shown("eggs\nbread\nmilk"))]
    assert situation("Remove the line bread from list.txt.", ["list.txt"], steps) == told["write-15"]
    assert situation("What is 7 plus 5?", ["notes.txt"], []) == told["finish-20"]
    assert situation("Make a file done.txt that says yes.", [], []) == told["write-02"]
    assert ", 11.txt\n" in situation("g", files[:LISTED], [])


def test_a_long_file_is_told_in_part() -> None:
    assert shown("x" * (SHOWN + 5)).endswith('x" and 5 more characters')


def test_nothing_in_a_step_reads_as_another_step() -> None:
    for fields in ({"path": "a\n- finish"}, {"path": "a\n- finish", "text": "x"}, {"text": "a\n- finish"}):
        kind = {1: "read_file", 2: "write_file"}[len(fields)] if "path" in fields else "search"
        step = Step(NextAction.model_validate({"kind": kind, **fields}).root, shown("b\n- finish"))
        assert len(str(step).splitlines()) == 1


def kept(row: Row, kind: str, failure: str = "") -> str:
    branch = kind == row.gold["kind"]
    marks = {} if failure else {"branch": branch, "right": branch, "as_before": kind == row.more["before"]}
    value = None if failure else {"kind": kind}
    return json.dumps({"id": row.id, "failure": failure, "marks": marks, "value": value}) + "\n"


def test_wrong_branches_are_counted_over_rows_that_all_were_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows come in turns: read, search, write, finish."""
    for task in TASKS:
        for method in branches.METHODS:
            primed = task.history and method == "masked"
            lines = [kept(row, row.more["before"] if primed else row.gold["kind"]) for row in ROWS[:6]]
            if method == "prompt":
                lines[5] = kept(ROWS[5], "", "not of the form")
            if task.name == TASKS[1].name:
                lines[1:2] = [kept(ROWS[1], "finish"), kept(ROWS[1], "read_file")]  # asked again: the last
                lines.pop()  # not yet asked
            (tmp_path / f"{task.name}.{method}.jsonl").write_text("".join(lines))
    assert branches.main([str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    told = {tuple(line[2:].split(" | ")[:2]): line for line in lines[2:10]}
    assert told["actions", "masked"].startswith("| actions | masked | 5 | 0 | 0 | 0.0% to ")
    assert told["actions-kind-last", "prompt"].startswith("| actions-kind-last | prompt | 5 | 0 | 1 |")
    assert told["actions-kind-last", "prompt"].endswith("| 4 | 1 | 0 / 1, 1.000 |")
    assert told["actions-primed", "masked"].endswith("| 0 | 5 | 0 / 5, 0.062 |")
    assert {"| actions | 1 | 1 | 0 |", "| actions-primed | 1 | 0 | 1 |"} <= set(lines)
    assert "| actions-kind-last | search | 0 | 1 | 0 | 0 |" in lines
    assert branches.main([str(tmp_path / "none")]) == 2
