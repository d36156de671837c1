"""A decode server that answers what a test wants it to, over real HTTP."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from services.decoding.spellings import ONE_LINE
from services.engines.decoding.decoder import PROBE_WORD, OpenAIDecoder
from tests.servers.loopback import Handler, serving

Answer = tuple[int, bytes]


def completion(text: str | None, reason: str = "stop", **more: Any) -> Answer:
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 11, "completion_tokens": 22}
    document = {"choices": [{"message": message, "finish_reason": reason}], "usage": usage, **more}
    return 200, json.dumps(document).encode()


def begun(body: dict[str, Any]) -> str:
    """The beginning of the answer, where it goes in with the request."""
    last = body["messages"][-1]
    return str(last["content"]) if last["role"] == "assistant" else ""


def model(wish: str, letters: int = 4) -> Callable[[dict[str, Any]], Answer]:
    """As a server whose model would write `wish`: all of it, or so many letters after its beginning."""

    def answer(body: dict[str, Any]) -> Answer:
        beginning = begun(body)
        if not beginning:
            return completion(wish)
        said = wish.removeprefix(beginning)[:letters]
        return completion(beginning + said if "grammar" in body else said, "length")

    return answer


def is_probe(body: dict[str, Any]) -> bool:
    """Is this the question that only a server with the mask on answers rightly?"""
    return PROBE_WORD in json.dumps(body)


@dataclass
class StagedServer:
    """Answers every request by `answer`; remembers path, headers and body of each. `gone` is set when a
    client has left before its answer. `health` is the status of `/health`, `looked_at` set once it was asked
    for; `adapters` are status and body of `/lora-adapters`."""

    answer: Callable[[dict[str, Any]], Answer]
    bodies: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    authorizations: list[str | None] = field(default_factory=list)
    gone: threading.Event = field(default_factory=threading.Event)
    health: int = 200
    adapters: Answer = (404, b"")
    looked_at: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    def decoder(self, dialect: str = "llama.cpp", *, whole: bool = True, **more: Any) -> OpenAIDecoder:
        """Unless told otherwise it decodes whole answers, so that every order is one request."""
        more = {"spelling": ONE_LINE, **more}
        return OpenAIDecoder(self.url, dialect=dialect, model="qwen", whole=whole, **more)


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
            threading.Thread(target=self._watch, daemon=True).start()
            self.answer(*staged.answer(body))

        def _watch(self) -> None:
            """A client that leaves closes its side: the socket reads as ended."""
            try:
                if not self.connection.recv(1, socket.MSG_PEEK):
                    staged.gone.set()
            except OSError:
                staged.gone.set()

    with serving(Engine) as staged.url:
        yield staged
