"""The first run on a lent GPU, on that machine: weights arrive, two models learn cart JSON, and answer.

    python first.py begin                       # once `first-NN` are joined and unpacked: tries how to train
    python first.py receive MODEL weights-NN    # a piece of a GGUF; the first piece begins that model's run
    python first.py wait SECONDS OUT            # until all is over or the time is up; prints the logs' ends,
                                                # and puts what is new into OUT, in files the door lets out

MODEL is 1.5b or 0.5b. Runs go on by themselves between the calls: unpack while the pieces come, train for
`SECONDS` (the second model once the first has learned), then answer each part's questions, all parts at once.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

HERE = Path("/tmp/lent")
CODE = HERE / "code"
TRAINING, LENT = CODE / "services" / "training", CODE / "tests" / "bench" / "lent"
HOW = HERE / "how.json"
PIECE = 62_000_000
MOST_OUT, MOST_FILES = 15_000_000, 8  # bytes of a file that comes back, and files of a call
SECONDS = {"1.5b": 400, "0.5b": 110}
REHEARSED_S = 150  # how long a training waits for the rehearsal
PARTS = {"1.5b": ("tune", "tune-bare", "sealed", "held-out", "scored", "golden"), "0.5b": ("tune", "sealed")}
NAME = "qwen2.5-coder-{}-instruct-q4_k_m.gguf"


def apart(log: Path, *words: object) -> None:
    """Start a command that outlives this call."""
    with log.open("ab") as out:
        subprocess.Popen([sys.executable, *map(str, words)], stdout=out, stderr=out, start_new_session=True)


def receive(model: str, piece: Path, size: int) -> None:
    """Put a piece in its place. The first begins the run."""
    folder = HERE / model
    gguf, marks = folder / "model.gguf", folder / "marks"
    marks.mkdir(parents=True, exist_ok=True)
    begun = gguf.exists()
    with gguf.open("r+b" if begun else "wb") as file:
        if not begun:
            file.truncate(size)
        number = int(piece.name.rpartition("-")[2])
        file.seek(number * PIECE)
        file.write(piece.read_bytes())
    (marks / str(number)).touch()
    if not begun:
        apart(folder / "log", __file__, "run", model)


def run(model: str) -> None:
    """All of one model, one step after the other; says how long each took."""
    folder = HERE / model
    base, adapter = folder / "base", folder / "adapter"
    done = _step(
        LENT / "unpack.py", folder / "model.gguf", HERE / f"config-{model}", base, folder / "marks", PIECE
    )
    if done:
        _until(HOW.exists, REHEARSED_S)
        if model != "1.5b":
            _until((HERE / "1.5b" / "fitted").exists, 700)
        how = json.loads(HOW.read_text()) if HOW.exists() else ["--step", "4096"]
        done = _step(
            *(TRAINING / "fit.py", base, HERE / "packed.npz", adapter, "--device", "cuda", "--rank", 16),
            *("--rate", 4e-4, "--within", SECONDS[model], "--start", HERE / f"start-{model}"),
            *("--name", NAME.format(model), *how),
        )
    (folder / "fitted").touch()
    if done:
        _answer(base, adapter, folder, PARTS[model])
    (folder / "over").touch()


def _step(*words: object) -> bool:
    began = time.monotonic()
    code = subprocess.run([sys.executable, *map(str, words)], check=False).returncode
    print(f"{Path(str(words[0])).name}: {time.monotonic() - began:.0f} s, exit {code}", flush=True)
    return code == 0


def _answer(base: Path, adapter: Path, folder: Path, parts: tuple[str, ...]) -> None:
    began = time.monotonic()
    asked = [(HERE / f"asked-{part}.json", folder / f"answers-{part}.jsonl") for part in parts]
    words = [sys.executable, TRAINING / "answer.py", base, adapter]
    started = [subprocess.Popen([*map(str, (*words, *files)), "--device", "cuda"]) for files in asked]
    codes = [process.wait() for process in started]
    print(f"answers: {time.monotonic() - began:.0f} s, exits {codes}", flush=True)


def _until(true: object, seconds: float) -> None:
    until = time.monotonic() + seconds
    while not true() and time.monotonic() < until:  # type: ignore[operator]
        time.sleep(0.5)


def wait(seconds: float, out: Path) -> None:
    over = [HERE / model / "over" for model in SECONDS]
    _until(lambda: all(mark.exists() for mark in over), seconds)
    for log in sorted(HERE.glob("**/log")):
        print(f"--- {log}\n{log.read_text()[-2500:]}")
    collect(out)


def collect(out: Path) -> None:
    """What is there and was not sent yet, adapters first, with large files in pieces."""
    sent = HERE / "sent.json"
    known: dict[str, int] = json.loads(sent.read_text()) if sent.exists() else {}
    room = MOST_FILES
    for pattern in ("*/adapter/*", "*/answers-*.jsonl", "**/log"):
        for file in sorted(HERE.glob(pattern)):
            name = "-".join(file.relative_to(HERE).parts)
            whole = file.read_bytes()
            pieces = [whole[start : start + MOST_OUT] for start in range(0, len(whole), MOST_OUT)]
            if file.suffix == ".pt" or len(pieces) > room or known.get(name) == len(whole):
                continue
            for number, piece in enumerate(pieces):
                (out / (name if len(pieces) == 1 else f"{name}.{number}")).write_bytes(piece)
            room -= len(pieces)
            known[name] = len(whole)
    sent.write_text(json.dumps(known))


def main() -> int:
    do, *words = sys.argv[1:]
    if do == "begin":
        words = [TRAINING, HERE / "config-1.5b", HERE / "packed.npz", HOW]
        (HERE / "rehearsal").mkdir(exist_ok=True)
        apart(HERE / "rehearsal" / "log", LENT / "rehearse.py", *words)
    elif do == "receive":
        receive(words[0], Path(words[1]), int(words[2]))
    elif do == "run":
        run(words[0])
    else:
        wait(float(words[0]), Path(words[1]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
