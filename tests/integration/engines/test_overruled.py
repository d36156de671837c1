"""Where the mask overruled the model: kept with the order, counted for `/metrics`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry

from infra.blobs.folder import BlobFolder
from infra.observability import measures
from infra.sql.database import Database
from services.engines.masks.labels import Labels
from tests.servers.staged_server import Answer, completion, staged_server
from tests.shown import shown_by
from tests.stand_ins import CAFE, RIGHT, Works

WIRE = Labels(CAFE).to_wire(RIGHT)


def token(text: str, rank: int) -> dict[str, dict[str, Any]]:
    return {"7": {"logprob": -0.5, "rank": rank, "decoded_token": text}}


def test_it_is_kept_with_the_order_and_counted(database: Database, tmp_path: Path) -> None:
    before, sku, after = WIRE.partition('"latte"')
    pieces = [(before, 2), (sku, 3), (after, 1)]

    def vllm(body: dict[str, Any]) -> Answer:
        if "prompt" in body:
            scores = [None, *(token(text, rank) for text, rank in pieces)]
            return 200, json.dumps({"choices": [{"prompt_logprobs": scores}]}).encode()
        document = json.loads(completion(WIRE, prompt_token_ids=[7])[1])
        document["choices"][0]["token_ids"] = [7] * len(pieces)
        return 200, json.dumps(document).encode()

    world = Works(database, BlobFolder(tmp_path / "blobs"))
    order_id, runner = world.to_decode(), world.runner()
    with staged_server(vllm) as server:
        decoder = server.decoder("vllm", score=True)
        measures.open_in(registry := CollectorRegistry(), "decode")
        try:
            replace(runner, tools=replace(runner.tools, decoder=lambda: decoder)).run(order_id, "decode")
        finally:
            measures.close()
    assert shown_by(registry)("saycart_overruled_tokens_total", engine="decoder") == 2
    engine = world.orders.get(order_id).engine
    assert engine["overruled"] == 2
    assert engine["overruled_fields"] == {"": 1, "/lines/0/sku": 1}
    assert engine["unmasked_probability"] == {"/lines/0/sku": 0.6065}
    counted = world.orders.code_counts()
    assert (counted["overruled", "sku"], counted["overruled", "structure"]) == (1, 1)


def test_an_order_that_was_not_scored_says_nothing_of_it(database: Database, tmp_path: Path) -> None:
    world = Works(database, BlobFolder(tmp_path / "blobs"))
    order_id = world.to_decode()
    world.runner().run(order_id, "decode")
    assert not {"overruled", "unmasked_probability"} & set(world.orders.get(order_id).engine)
    assert not [kind for kind, _ in world.orders.code_counts() if kind == "overruled"]
