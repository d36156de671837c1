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

from infra.settings import settings
from schemas.errors import SaycartError
from services.engines.calls import Calls
from services.engines.completion import Completions
from services.engines.embedded import decode_server
from services.engines.ports import Message
from services.examples.conjugation.conjugate import conjugate
from services.examples.conjugation.schema import Found
from services.examples.conjugation.task import CONJUGATION
from services.examples.conjugation.tutor import Lesson, tutor
from services.masked.call import answer
from services.masked.output import OutputType

T = TypeVar("T")


def main(argv: list[str] | None = None) -> int:
    """Exit codes: 0 answered, 2 no server or no answer."""
    args = _parser().parse_args(argv)
    here = settings().model_copy(update={"llm_url": args.url, "llm_dialect": args.dialect, "reader": "off"})
    if args.model:
        here = here.model_copy(update={"llm_model": args.model})
    try:
        with decode_server(here) as config:
            calls = Calls(config.llm_url, timeout_s=config.llm_timeout_s, api_key=config.llm_api_key)
            engine = Completions(calls, config.llm_dialect, config.llm_model)

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
    parser.add_argument("--model", default="", help="a name in the model lock, in place of the default model")
    parser.add_argument("--url", default="", help="a server that runs, in place of the embedded one")
    parser.add_argument("--dialect", default="llama.cpp", choices=["llama.cpp", "vllm"])
    return parser


if __name__ == "__main__":
    sys.exit(main())
