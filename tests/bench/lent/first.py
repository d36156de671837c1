"""The first run on a lent GPU, on that machine: weights arrive, the 1.5B learns cart JSON, and answers.

    python first.py receive weights-NN     # joins a piece of the GGUF; the first call begins the run
    python first.py wait SECONDS           # until the run is over or the time is up; prints the log's end
    python first.py collect OUT            # adapter and answers, in files that the door lets out

`first.tgz` was unpacked in `HERE` before (docs/training.md, "On a lent GPU"). The run goes on by itself
between calls: unpack while the pieces come, train for `--train` seconds, then answer each part's questions.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

HERE = Path("/tmp/lent")
GGUF, MARKS, LOG, OVER = HERE / "model.gguf", HERE / "marks", HERE / "log", HERE / "over"
BASE, ADAPTER = HERE / "base", HERE / "adapter"
PIECE = 62_000_000
MOST_OUT = 15_000_000  # bytes of a file that comes back


def receive(piece: Path, bytes_in_all: int, train_s: int) -> None:
    """Put a piece in its place. The first begins the run."""
    MARKS.mkdir(parents=True, exist_ok=True)
    begun = GGUF.exists()
    with GGUF.open("r+b" if begun else "wb") as file:
        if not begun:
            file.truncate(bytes_in_all)
        number = int(piece.name.rpartition("-")[2])
        file.seek(number * PIECE)
        file.write(piece.read_bytes())
    (MARKS / str(number)).touch()
    if not begun:
        command = [sys.executable, __file__, "run", "--train", str(train_s)]
        with LOG.open("wb") as log:
            subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)


def run(train_s: int) -> None:
    """All of it, one step after the other; says in the log how long each took."""
    code = HERE / "code"
    training = code / "services" / "training"
    unpack = code / "tests" / "bench" / "lent" / "unpack.py"
    steps = [
        (unpack, GGUF, HERE / "config", BASE, MARKS, PIECE),
        (
            *(training / "fit.py", BASE, HERE / "packed.npz", ADAPTER, "--device", "cuda"),
            *("--rank", 8, "--rate", 3e-4, "--step", 4096, "--within", train_s),
            *("--start", HERE / "start", "--name", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
        ),
        *(
            (training / "answer.py", BASE, ADAPTER, asked, HERE / f"{asked.stem}.jsonl", "--device", "cuda")
            for asked in sorted(HERE.glob("asked-*.json"))
        ),
    ]
    for step in steps:
        began = time.monotonic()
        done = subprocess.run([sys.executable, *map(str, step)], check=False)
        print(f"{Path(step[0]).name}: {time.monotonic() - began:.0f} s, exit {done.returncode}", flush=True)
        if done.returncode:
            break
    OVER.touch()


def wait(seconds: float) -> None:
    until = time.monotonic() + seconds
    while not OVER.exists() and time.monotonic() < until:
        time.sleep(1)
    print("over" if OVER.exists() else "still running")
    print(LOG.read_text()[-3000:] if LOG.exists() else "no log: this is another machine than before")


def collect(out: Path) -> None:
    """What is there of adapter and answers, with large files in pieces."""
    for file in [*ADAPTER.glob("*.json"), *ADAPTER.glob("*.safetensors"), *HERE.glob("asked-*.jsonl"), LOG]:
        whole = file.read_bytes()
        for number, start in enumerate(range(0, len(whole), MOST_OUT)):
            name = file.name if len(whole) <= MOST_OUT else f"{file.name}-{number}"
            (out / name).write_bytes(whole[start : start + MOST_OUT])


def main() -> int:
    parser = argparse.ArgumentParser(prog="first")
    parser.add_argument("do", choices=("receive", "run", "wait", "collect"))
    parser.add_argument("what", nargs="?")
    parser.add_argument("--bytes", type=int, default=0, help="of the whole GGUF")
    parser.add_argument("--train", type=int, default=480, help="seconds")
    args = parser.parse_args()
    if args.do == "receive":
        receive(Path(args.what), args.bytes, args.train)
    elif args.do == "run":
        run(args.train)
    elif args.do == "wait":
        wait(float(args.what))
    else:
        collect(Path(args.what))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
