"""A scripted decode server over real HTTP."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from schemas.cart import CartDraft
from schemas.menu import Menu
from services.decoding import wire
from services.decoding.decoder import OpenAIDecoder
from services.decoding.menu_names import Names
from services.decoding.wire_mask import PROBE_ANSWER, PROBE_WORD
from tests.servers.loopback import Handler, serving

Answer = tuple[int, bytes]


def completion(text: str | None, reason: str = "stop", *, logprob: float = 0.0, **more: Any) -> Answer:
    """A completion of one token, with its score in llama.cpp's format and what vLLM needs for scoring."""
    token = {"id": 5, "token": text, "logprob": logprob, "top_logprobs": [{"id": 5}]}
    choice = {
        "message": {"role": "assistant", "content": text},
        "finish_reason": reason,
        "logprobs": {"content": [token]},
        "token_ids": [5],
    }
    usage = {"prompt_tokens": 11, "completion_tokens": 22}
    document = {"choices": [choice], "prompt_token_ids": [4], "usage": usage, **more}
    return 200, json.dumps(document).encode()


def scores(body: dict[str, Any], text: str, logprob: float = 0.0) -> Answer:
    """vLLM's scores of the answer's token, sent as a prompt."""
    logprobs = [None, *({str(token): _score(text, logprob)} for token in body["prompt"][1:])]
    return 200, json.dumps({"choices": [{"prompt_logprobs": logprobs}]}).encode()


def _score(text: str, logprob: float) -> dict[str, Any]:
    return {"logprob": logprob, "rank": 1, "decoded_token": text}


def spelled(draft: CartDraft, menu: Menu) -> str:
    """Return a draft in the format that models write."""
    return wire.write([line.model_dump(mode="json") for line in draft.lines], Names(menu))


def model(wish: str) -> Callable[[dict[str, Any]], Answer]:
    """Answer like a server that applies the mask to a model that would write `wish`."""

    def answer(body: dict[str, Any]) -> Answer:
        if "prompt_logprobs" in body:
            return scores(body, wish)
        return completion(PROBE_ANSWER if is_probe(body) else wish)

    return answer


def is_probe(body: dict[str, Any]) -> bool:
    """Return True if this is the request that only a server with masks answers correctly."""
    return PROBE_WORD in json.dumps(body)


@dataclass
class StagedServer:
    """Answers every request with `answer` and stores its path, headers and body.

    `gone` is set when a client leaves early. `health` is the status of `/health`, and `looked_at` is set once
    it is requested; `adapters` is the response of `/lora-adapters`.
    """

    answer: Callable[[dict[str, Any]], Answer]
    bodies: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    authorizations: list[str | None] = field(default_factory=list)
    gone: threading.Event = field(default_factory=threading.Event)
    health: int = 200
    adapters: Answer = (404, b"")
    looked_at: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    def decoder(self, dialect: str = "llama.cpp", *, proved: bool = True, **more: Any) -> OpenAIDecoder:
        """Return a client, which has probed the server if `proved`."""
        made = OpenAIDecoder(self.url, dialect=dialect, model="qwen", **more)
        made._verified_at = 0 if proved else -1
        return made


@contextmanager
def staged_server(answer: Callable[[dict[str, Any]], Answer]) -> Iterator[StagedServer]:
    staged = StagedServer(answer)

    class Engine(Handler):
        def do_GET(self) -> None:
            staged.looked_at.set()
            staged.authorizations.append(self.headers.get("Authorization"))
            answers = {"/health": (staged.health, b""), "/lora-adapters": staged.adapters}
            self.answer(*answers.get(self.path, (404, b"")))

        def do_POST(self) -> None:
            body = json.loads(self.body())
            staged.bodies.append(body)
            staged.paths.append(self.path)
            staged.authorizations.append(self.headers.get("Authorization"))
            answered = threading.Event()
            threading.Thread(target=self._watch, args=[answered], daemon=True).start()
            answer = staged.answer(body)
            answered.set()
            self.answer(*answer)

        def _watch(self, answered: threading.Event) -> None:
            """Detect a client that leaves: its socket reads as ended."""
            try:
                left = not self.connection.recv(1, socket.MSG_PEEK)
            except OSError:
                left = True
            if left and not answered.is_set():
                staged.gone.set()

    with serving(Engine) as staged.url:
        yield staged
