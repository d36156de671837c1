"""Words that were said too quietly are a doubt of their own, and a person's."""

from __future__ import annotations

from schemas.open_questions import open_question
from schemas.review import ReviewReason
from schemas.transcript import Transcript
from services.validation.quiet import check_quiet


def test_quiet_words_block_and_no_question_settles_them() -> None:
    (finding,) = check_quiet(Transcript(text="a latte", confidence=0.9, quiet="and a muffin"))
    assert (finding.code, finding.blocks) == ("heard_quietly", True)
    assert "and a muffin" in finding.message
    assert open_question([finding], [ReviewReason.BLOCKING_FINDING]) is None


def test_nothing_quiet_is_no_doubt() -> None:
    assert check_quiet(Transcript(text="a latte", confidence=0.9)) == []
