"""An agent with four tools works towards a goal, on a copy of a folder.

    python -m services.examples.actions "goal" --folder DIR [--most N] [--model FILE] [--url URL]

The copy is a temporary folder, and gone afterwards; each step is shown, and what was written, whole. Starts
the embedded server unless `--url` names one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from schemas.errors import SaycartError
from services.examples.actions.agent import MOST_ACTIONS, run
from services.examples.actions.folder import Folder
from services.examples.actions.schema import WriteFile
from services.examples.serving import add_server, serving


def main(argv: list[str] | None = None) -> int:
    """Exit codes: 0 the model finished, 1 the bound ended it, 2 no folder or no server."""
    args = _parser().parse_args(argv)
    try:
        with tempfile.TemporaryDirectory(prefix="saycart-") as copy:
            _copied(args.folder, Path(copy))
            with serving(args) as engine, Folder(Path(copy)) as folder:
                outcome = run(args.goal, folder, engine=engine, most=args.most, tell=print)
                wrote = {
                    s.action.path for s in outcome.steps if isinstance(s.action, WriteFile) and not s.refused
                }
                for path in sorted(wrote):
                    print(f"--- {path}\n{folder.read(path)}")
    except SaycartError as error:
        print(f"{error.detail} {error.hint}", file=sys.stderr)
        return 2
    if outcome.answer is None:
        print(f"Not finished after {args.most} actions.")
    return 0 if outcome.answer is not None else 1


def _copied(source: Path, copy: Path) -> None:
    """By the agent's own tools, so that what they may not read or write does not come along: links, pipes,
    large files, files beyond their number."""
    with Folder(source) as old, Folder(copy) as new:
        for path in old.files():
            try:
                new.write(path, old.read(path))
            except SaycartError as error:
                print(f"left out: {path}: {error.detail}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="services.examples.actions", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("goal", help="a question about the files, or a change to be made")
    parser.add_argument("--folder", type=Path, required=True, help="copied; itself it stays as it is")
    parser.add_argument("--most", type=int, default=MOST_ACTIONS, help="actions")
    add_server(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
