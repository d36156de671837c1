"""What verb form a sentence has; or what a tutor says of it.

    python -m services.examples.conjugation [--tutor] [--model FILE] [--url URL [--dialect vllm]]
        "She wrote a book"

Starts the embedded server unless `--url` names one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TypeVar

from schemas.errors import SaycartError
from services.engines.ports import Message
from services.examples.conjugation.conjugate import conjugate
from services.examples.conjugation.schema import Found
from services.examples.conjugation.task import CONJUGATION
from services.examples.conjugation.tutor import Lesson, tutor
from services.examples.serving import add_server, serving
from services.masked.call import answer
from services.masked.output import OutputType

T = TypeVar("T")


def main(argv: list[str] | None = None) -> int:
    """Exit codes: 0 answered, 2 no server or no answer."""
    args = _parser().parse_args(argv)
    try:
        with serving(args) as engine:

            def ask(output: OutputType[T], chat: Sequence[Message]) -> T:
                return answer(output, chat, engine=engine).value

            if args.tutor:
                print(taught(tutor(args.sentence, ask)))
            else:
                print(told(ask(CONJUGATION.output, CONJUGATION.messages(args.sentence))))
    except SaycartError as error:
        print(f"{error.detail} {error.hint}", file=sys.stderr)
        return 2
    return 0


def told(found: Found) -> str:
    """One line: "write, past, third person: she wrote"."""
    form = found.form
    if form is None:
        return "none of the 20 verbs in one of the 5 tenses"
    said = conjugate(form.verb, form.tense, form.person)
    return f"{form.verb}, {form.tense}, {form.person} person: {said}"


def taught(lesson: Lesson) -> str:
    """The error and the sentence put right, or that there is none."""
    if not lesson.error:
        return "No error found."
    return f'{lesson.error}: "{lesson.by}" instead of "{lesson.replace}". {lesson.corrected}'


def _parser() -> argparse.ArgumentParser:
    about = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="services.examples.conjugation", description=about)
    parser.add_argument("sentence")
    parser.add_argument("--tutor", action="store_true", help="look for an error instead")
    add_server(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
