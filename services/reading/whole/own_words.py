"""A line's own words: what a person would point at in the transcript, found without a model."""

from __future__ import annotations

from schemas.cart import MAX_HEARD_CHARS
from schemas.evidence import Evidence, LineEvidence
from services.reading.chart.tokens import tokenize
from services.reading.language.language import Language, language_of


def own_words(line: LineEvidence, language: Language) -> str:
    """From its number, article or first value to the end of what belongs to it, as a model would copy them;
    the name alone where that is too long. Empty where no span of whole words holds the name."""
    region, before = line.region, language.before_lines
    first = next((t.start for t in tokenize(region, language) if t.folded not in before), 0)
    words = region[region.rfind(" ", 0, first + 1) + 1 :].strip()
    if line.anchor in words and len(words) <= MAX_HEARD_CHARS:
        return words
    at = region.find(line.anchor)
    end = region.find(" ", at + len(line.anchor))
    words = region[region.rfind(" ", 0, at + 1) + 1 : end if end >= 0 else len(region)].strip()
    return words if len(words) <= MAX_HEARD_CHARS else ""


def with_words(evidence: Evidence) -> Evidence:
    """`evidence` with the own words of each line. Of a place that may give several lines nobody can tell, by
    its words alone, which are whose."""
    language = language_of(evidence.menu)
    lines = (
        line.model_copy(update={"words": own_words(line, language) if line.copies == 1 else ""})
        for line in evidence.lines
    )
    return evidence.model_copy(update={"lines": tuple(lines)})
