"""No span holds what a customer said, whatever goes wrong: as test_logs_words.py, of all that is exported."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from infra.observability import tracing
from tests.integration.api_world import running
from tests.integration.marked import SAID, TELLS, WORD, Marked, faults
from tests.servers.collector import collecting, traced


def test_the_word_is_in_nothing_that_is_sent(tmp_path: Path) -> None:
    with collecting() as collector, traced(collector), running(tmp_path, **TELLS) as world:
        marked = Marked.of(world)
        made = marked.all()
        page = world.link(made[0])
        assert world.http.get(page, follow_redirects=True).status_code == 200
        world.http.get("/v1/orders", params={"status": WORD})
        world.http.get(f"/{WORD}", headers={"X-Request-ID": f"{WORD}-12345", "tracestate": f"a={WORD}"})
        world.http.request(WORD.upper(), "/v1/orders")
        faults(marked)
        with suppress(ValueError), tracing.span("stage read", kind="consumer"):
            raise ValueError(SAID)
        for order_id in made:
            assert world.http.delete(f"/v1/orders/{order_id}/data").status_code == 200
    sent = b"".join(collector.bodies).lower()
    for word in (WORD, SAID, "latte", "mocha", page, world.http.headers["authorization"].split()[1]):
        assert word.lower().encode() not in sent
    # Names, prices and errors' words are not there because nothing puts a value in that is not one of these.
    names = {name for span in collector.spans for name in span.attributes}
    assert names == {
        "error.type", "http.request.method", "http.response.status_code", "http.route",
        "messaging.destination.name", "messaging.operation.type", "messaging.system",
        "saycart.action", "saycart.attempt", "saycart.order.id", "saycart.outcome", "saycart.shop",
        "saycart.waited_s",
    }  # fmt: skip
    # It would prove nothing if these had not been sent.
    assert {span.name for span in collector.spans} >= {
        "accept", "receive recording", "store recording", "store order", "decide review",
        "stage transcribe", "stage read", "stage decode", "stage validate",
    }  # fmt: skip
    failed = {span.attributes.get("error.type") for span in collector.spans if span.failed}
    assert failed >= {"decode_invalid", "audio_damaged", "ValidationError", "500"}
