"""`python -m tests.openapi`: new cases each time, with each key; how many, and what did not hold."""

from __future__ import annotations

import argparse
import secrets
import sys
import tempfile
from pathlib import Path

from tests.openapi.run import SCOPES, attacked
from tests.openapi.served import served


def main() -> int:
    """Exit status 1 where anything did not hold."""
    parser = argparse.ArgumentParser(prog="tests.openapi", description=__doc__)
    parser.add_argument("--examples", type=int, default=60, help="random cases of each call and key")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**31), help="to see a run again")
    args = parser.parse_args()
    cases, wrong = 0, 0
    with tempfile.TemporaryDirectory(prefix="saycart-openapi-") as folder, served(Path(folder)) as api:
        for key in SCOPES:
            done = attacked(api, key, Path(folder), "-n", str(args.examples), "--seed", str(args.seed))
            cases, wrong = cases + done.cases, wrong + len(done.wrong)
            print(f"key of {key} scope(s): {done.cases} cases, {len(done.wrong)} did not hold", flush=True)
            if done.wrong:
                print(done.printed, *done.wrong, sep="\n", flush=True)
    print(f"{cases} cases over the OpenAPI document, {wrong} did not hold (--seed {args.seed})")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
