"""What the transcribe stage costs over bare faster-whisper: `make bench-hearing`.

    python -m tests.bench.hearing [--rounds 3] [--every 1] [--out FILE] [--transcripts FILE]

Each recording (the shipped samples and tests/golden/audio) is heard in turns by the stage, as a worker runs
it, and by faster-whisper alone: the same weights, options and threads, the file given to the library, which
decodes it in process. Which of the two goes first changes with each round, so that a busy machine slows both
alike. A recording's figure is the fastest of its rounds, for what else runs on a machine only ever adds.

`--transcripts` writes what the stage heard, to compare two versions of the code word by word.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from infra.models import resolve
from infra.settings import REPOSITORY, Settings, settings
from schemas.lifecycle import State
from schemas.menu import Menu
from services.bootstrap import bootstrap
from services.engines.whisper import COMPUTE, OPTIONS, WhisperTranscriber
from services.pipeline import stages
from services.pipeline.ports import Tools
from services.storage.records import MenuVersion, OrderRecord

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
                kind = "again" if options else name
                self.seconds.setdefault(kind, []).append(time.perf_counter() - began)

        ears.hear = timed  # type: ignore[method-assign]
        return ears

    def clear(self) -> dict[str, float]:
        """Seconds by kind (`first`, `again`, `second`), and begin anew."""
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
        menu=lambda name, version: MenuVersion(menus[name], version, "", _EPOCH),
        recording=Path,
    )


def order(path: Path) -> OrderRecord:
    return OrderRecord(
        id=path.stem,
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


def bare() -> Callable[[Path], Any]:
    """faster-whisper by itself."""
    from faster_whisper import WhisperModel

    config = settings()
    model = WhisperModel(
        resolve(config.whisper_model, config.models_dir),
        device=config.whisper_device,
        compute_type=COMPUTE[config.whisper_device],
        cpu_threads=config.whisper_threads,
    )

    def hear(path: Path) -> Any:
        segments, _ = model.transcribe(str(path), language="en", **OPTIONS)
        return list(segments)

    return hear


def measure(paths: list[Path], rounds: int, keep: Path | None) -> list[dict[str, Any]]:
    """A row a recording: seconds of the stage and of the bare library, and which hearings there were."""
    calls, alone, rows = Calls(), bare(), []
    with tempfile.TemporaryDirectory() as home:
        tools = wired(Path(home), calls)
        for path in (paths[0], paths[-1]):  # both warm before anything counts
            alone(path)
            stages.transcribe(order(path), tools)
        calls.clear()
        heard: list[str] = []
        for path in paths:
            seconds: dict[str, list[float]] = {"bare": [], "stage": []}
            for turn in range(rounds):
                for who in ("bare", "stage") if turn % 2 else ("stage", "bare"):
                    began = time.perf_counter()
                    if who == "bare":
                        alone(path)
                    else:
                        outcome = stages.transcribe(order(path), tools)
                    took = time.perf_counter() - began
                    seconds[who].append(took)
                    if who == "stage":
                        model = calls.clear()
                        if took == min(seconds["stage"]):
                            best = model
            transcript = outcome.transcript
            assert transcript is not None
            rows.append(
                {
                    "id": path.stem,
                    "audio_s": round(transcript.duration_s or 0.0, 2),
                    **{who: round(min(all_), 4) for who, all_ in seconds.items()},
                    "model": best,
                }
            )
            heard.append(json.dumps({"id": path.stem, **transcript.model_dump(mode="json")}))
            if keep is not None:
                keep.write_text("\n".join(heard) + "\n")
            print(json.dumps(rows[-1]), flush=True)
    return rows


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Over all rows, and over those that needed one hearing: sums, their ratio, and the median ratio."""
    groups = {
        "all": rows,
        "heard once": [row for row in rows if set(row["model"]) == {"first"}],
        "heard again, with the menu's words": [row for row in rows if "again" in row["model"]],
        "second recogniser asked": [row for row in rows if "second" in row["model"]],
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
    args = parser.parse_args()
    rows = measure(list(recordings(args.every)), args.rounds, args.transcripts)
    document = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        "models": [settings().whisper_model, settings().whisper_second],
        "rounds": args.rounds,
        "summary": summary(rows),
        "rows": rows,
    }
    args.out.write_text(json.dumps(document, indent=1) + "\n")
    print(json.dumps(document["summary"], indent=1))


if __name__ == "__main__":
    main()
