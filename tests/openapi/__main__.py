"""`python -m tests.openapi`: run new random cases with each key; print their number and the failures."""

from __future__ import annotations

import argparse
import secrets
import sys
import tempfile
from pathlib import Path

from tests.openapi.run import SCOPES, attacked
from tests.openapi.served import served


def main() -> int:
    """Exit with status 1 if a case failed."""
    parser = argparse.ArgumentParser(prog="tests.openapi", description=__doc__)
    parser.add_argument("--examples", type=int, default=60, help="random cases of each call and key")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**31), help="to repeat a run")
    args = parser.parse_args()
    cases, failures = 0, 0
    with tempfile.TemporaryDirectory(prefix="saycart-openapi-") as folder, served(Path(folder)) as api:
        for key in SCOPES:
            done = attacked(api, key, Path(folder), "-n", str(args.examples), "--seed", str(args.seed))
            cases, failures = cases + done.cases, failures + len(done.failures)
            print(f"key of {key} scope(s): {done.cases} cases, {len(done.failures)} failures", flush=True)
            if done.failures:
                print(done.output, *done.failures, sep="\n", flush=True)
    print(f"{cases} cases over the OpenAPI document, {failures} failures (--seed {args.seed})")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
