"""What the transcribe stage costs over bare faster-whisper: `make bench-hearing`.

    python -m tests.bench.hearing [--rounds 3] [--every 1] [--out FILE] [--transcripts FILE] [--keep-memory]

Each recording (the shipped samples and tests/golden/audio) is heard in turns by the stage, as a worker runs
it, and by faster-whisper alone in a process of its own: the same weights, options and threads, the file given
to the library, which decodes it in process. Which of the two goes first changes with each round, so that a
busy machine slows both alike. A recording's figure is the fastest of its rounds, since what else runs on a
machine only ever adds.

`--transcripts` writes what the stage heard, to compare two versions of the code word by word. With
`--keep-memory` the bare library has the stage's own setting of memory, too.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from infra.settings import REPOSITORY, Settings, settings
from schemas.lifecycle import State
from schemas.menu import Menu
from schemas.records.menus import MenuVersion
from schemas.records.orders import OrderRecord
from services.bootstrap import bootstrap
from services.decoding.hosts.variables import QUIET_OPENMP
from services.pipeline import stages
from services.pipeline.ports import Tools
from services.transcription.adapted import known_as, of_name
from services.transcription.memory import keep_memory
from services.transcription.whisper import COMPUTE, OPTIONS, WhisperTranscriber

OUT = REPOSITORY / "docs" / "benchmarks" / "hearing.json"
SAMPLES = REPOSITORY / "infra" / "samples" / "recordings"
GOLDEN = REPOSITORY / "tests" / "golden" / "audio"
MENUS = {"hc": "harbor-coffee", "cs": "copper-skillet"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass
class Calls:
    """Seconds of each call of a model since the last `clear`, by what it was for."""

    seconds: dict[str, list[float]] = field(default_factory=dict)

    def watch(self, ears: WhisperTranscriber, name: str) -> WhisperTranscriber:
        """`ears`, whose calls of the model are written down from now on."""
        hear = ears.hear

        def timed(samples: Any, language: str, **options: Any) -> Any:
            began = time.perf_counter()
            try:
                return hear(samples, language, **options)
            finally:
                kind = f"{name} fitted" if options.pop("fitted", False) else "quiet" if options else name
                self.seconds.setdefault(kind, []).append(time.perf_counter() - began)

        ears.hear = timed  # type: ignore[method-assign]
        return ears

    def clear(self) -> dict[str, float]:
        """Seconds by kind (`first`, `second`, these two `fitted`, `quiet`), and begin anew."""
        found = {kind: round(sum(all_), 4) for kind, all_ in self.seconds.items()}
        self.seconds.clear()
        return found


def recordings(every: int) -> Iterator[Path]:
    """The shipped samples, then each `every`-th golden recording."""
    yield from sorted(SAMPLES.glob("*.flac"))
    yield from sorted(GOLDEN.glob("*.opus"))[::every]


def wired(home: Path, calls: Calls) -> Tools:
    """A worker's own tools, with menus from files and both recognisers loaded."""
    container = bootstrap(Settings(home=home, **settings().model_dump(include={"models_dir"})))
    first = calls.watch(container.transcriber, "first")  # type: ignore[arg-type]
    first.load()
    second = container.second_transcriber
    if second is not None:
        calls.watch(second, "second").load()  # type: ignore[arg-type]
    menus = {name: Menu.parse(json.loads(_menu_file(name).read_text())) for name in MENUS.values()}
    return replace(
        container.tools,
        menu=lambda shop, name, version: MenuVersion(shop, menus[name], version, "", _EPOCH),
        recording=lambda key: nullcontext(Path(key)),
    )


def order(path: Path) -> OrderRecord:
    return OrderRecord(
        id=path.stem,
        shop="main",
        state=State.RECEIVED,
        version=1,
        menu_id=MENUS[path.stem[:2]],
        menu_version=1,
        language="en",
        audio_key=str(path),
        attempt=1,
        created_at=_EPOCH,
        updated_at=_EPOCH,
    )


class Bare:
    """faster-whisper by itself, in a process of its own as anybody would run it: seconds of each hearing."""

    def __init__(self, *, keeps_memory: bool) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.hearing", "--bare", *["--keep-memory"] * keeps_memory],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def hear(self, path: Path) -> float:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(path, file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())

    def end(self) -> None:
        self._process.communicate()


def hear_bare(*, keeps_memory: bool) -> None:
    """What that process does with each path that it reads."""
    from faster_whisper import WhisperModel

    if keeps_memory:
        keep_memory()
    config = settings()
    model = WhisperModel(
        of_name(known_as(config.whisper_model), config.models_dir),
        device=config.whisper_device,
        compute_type=COMPUTE[config.whisper_device],
        cpu_threads=config.threads,
    )
    for line in sys.stdin:
        began = time.perf_counter()
        segments, _ = model.transcribe(line.strip(), language="en", **OPTIONS)
        list(segments)
        print(time.perf_counter() - began, flush=True)


def measure(paths: list[Path], rounds: int, keep: Path | None, *, keeps_memory: bool) -> list[dict[str, Any]]:
    """A row a recording: seconds of the stage and of the bare library, and which hearings there were."""
    calls, alone = Calls(), Bare(keeps_memory=keeps_memory)
    rows = {path: {"id": path.stem, "bare": math.inf, "stage": math.inf} for path in paths}
    heard: dict[Path, str] = {}
    with tempfile.TemporaryDirectory() as home:
        tools = wired(Path(home), calls)
        for path in (paths[0], paths[-1]):  # both warm before anything counts
            alone.hear(path)
            stages.transcribe(order(path), tools)
        calls.clear()
        for turn in range(rounds):
            for path, row in rows.items():
                for who in ("bare", "stage") if turn % 2 else ("stage", "bare"):
                    if who == "bare":
                        row["bare"] = min(row["bare"], round(alone.hear(path), 4))
                        continue
                    began = time.perf_counter()
                    outcome = stages.transcribe(order(path), tools)
                    took, model = round(time.perf_counter() - began, 4), calls.clear()
                    if took < row["stage"]:
                        row |= {"stage": took, "model": model}
                    transcript = outcome.transcript
                    assert transcript is not None
                    row["audio_s"] = round(transcript.duration_s or 0.0, 2)
                    heard[path] = json.dumps({"id": path.stem, **transcript.model_dump(mode="json")})
                    if keep is not None:
                        keep.write_text("\n".join(heard.values()) + "\n")
                print(json.dumps(row), flush=True)
    alone.end()
    return list(rows.values())


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Over all rows, and over those that needed one hearing: sums, their ratio, and the median ratio."""
    groups = {
        "all": rows,
        "heard once": [row for row in rows if len(row["model"]) == 1],
        "a fitted hearing stands": [row for row in rows if "first" not in row["model"]],
        "quiet speech": [row for row in rows if "quiet" in row["model"]],
        "second recogniser asked": [row for row in rows if {"second", "second fitted"} & set(row["model"])],
        "second recogniser heard it whole": [row for row in rows if "second" in row["model"]],
    }
    return {name: _figures(group) for name, group in groups.items() if group}


def _figures(rows: list[dict[str, Any]]) -> dict[str, Any]:
    bare_s, stage_s = (sum(row[who] for row in rows) for who in ("bare", "stage"))
    model = sum(sum(row["model"].values()) for row in rows)
    return {
        "recordings": len(rows),
        "bare_s": round(bare_s / len(rows), 3),
        "stage_s": round(stage_s / len(rows), 3),
        "ratio_of_sums": round(stage_s / bare_s, 3),
        "median_ratio": round(statistics.median(row["stage"] / row["bare"] for row in rows), 3),
        "beside_the_models_s": round((stage_s - model) / len(rows), 3),
    }


def _menu_file(name: str) -> Path:
    return REPOSITORY / "infra" / "samples" / "menus" / f"{name}.json"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--every", type=int, default=1, help="of the golden recordings")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--transcripts", type=Path)
    parser.add_argument("--keep-memory", action="store_true")
    parser.add_argument("--bare", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    os.environ.update(QUIET_OPENMP)  # as a stack's workers have it; read when the libraries load
    if args.bare:
        hear_bare(keeps_memory=args.keep_memory)
        return
    paths = list(recordings(args.every))
    rows = measure(paths, args.rounds, args.transcripts, keeps_memory=args.keep_memory)
    document = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        "models": [settings().whisper_model, settings().whisper_second],
        "rounds": args.rounds,
        "bare_keeps_memory": args.keep_memory,
        "summary": summary(rows),
        "rows": rows,
    }
    args.out.write_text(json.dumps(document, indent=1) + "\n")
    print(json.dumps(document["summary"], indent=1))


if __name__ == "__main__":
    main()
