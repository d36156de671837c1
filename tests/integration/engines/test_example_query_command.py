"""`python -m services.examples.query`: the question goes out with the mask, the query's rows are shown."""

import pytest

from services.examples.query.__main__ import main
from services.examples.query.task import QUERY
from tests.servers.staged_server import completion, staged_server


def test_a_question_comes_back_as_a_query_and_its_rows(capsys: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT country, COUNT(*) FROM customers WHERE country != 'Poland' GROUP BY country"
    with staged_server(lambda _: completion(sql)) as server:
        assert main(["how many customers in each country?", "--url", server.url]) == 0
        assert server.bodies[0]["grammar"] == QUERY.output.mask.lark
        assert server.bodies[0]["messages"][-1]["content"] == "how many customers in each country?"
    shown = capsys.readouterr().out
    assert shown.startswith(sql)
    assert [country for country in ("Germany", "France", "Spain", "Italy") if country not in shown] == []


def test_what_the_mask_did_not_make_is_not_run(capsys: pytest.CaptureFixture[str]) -> None:
    with staged_server(lambda _: completion("DELETE FROM orders")) as server:
        assert main(["forget all orders", "--url", server.url]) == 2
    told = capsys.readouterr()
    assert "outside the mask" in told.err
    assert told.out == ""
