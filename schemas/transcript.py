"""What was heard: text, words with times and probabilities, and one confidence."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

# Punctuation that recognizers write around words; a cart's line may begin and end without it.
_AROUND = " .,;:!?¡¿…\"“”'()"


class Word(BaseModel):
    """One word as the recogniser wrote it; times in seconds from the start of the recording."""

    model_config = ConfigDict(frozen=True)

    text: str
    start_s: float = Field(ge=0)
    end_s: float = Field(ge=0)
    probability: float = Field(ge=0, le=1)


class Transcript(BaseModel):
    """The words of one order.

    `confidence` is 0..1: for speech, the share of recordings with this mean word probability, transcribed in
    this way, that were right (measured: `services/transcription/confidence.py`), 0 when nothing was
    said; where a second recogniser agreed, the share of such orders that were right, if that is more; for a
    transcript that the caller sent, 1. `words` is empty when the text came without times.
    """

    model_config = ConfigDict(frozen=True)

    text: str
    confidence: float = Field(ge=0, le=1)
    words: tuple[Word, ...] = ()
    language: str = "en"
    source: str = Field(default="caller", description="model and options, or `caller`")
    duration_s: float | None = Field(default=None, ge=0, description="length of the recording")
    with_noise: str | None = Field(
        default=None,
        description="what was heard before, where a hearing with the noise turned down replaced it",
    )
    quiet: str | None = Field(
        default=None,
        description="words said too quietly for this hearing, perhaps by another person; not in `text`",
    )
    second: str | None = Field(
        default=None, description="what a second recognizer heard; null where it was not asked"
    )
    agreed: bool = Field(
        default=False,
        description="whether both recognizers heard the same words, or name the same things",
    )
    agreement: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="measured share of right orders where these two recognisers agree; null without a second",
    )

    @property
    def recogniser(self) -> str:
        """`source` without how the recording was transcribed (fitted, denoised)."""
        return self.source.partition("+")[0]

    @property
    def nothing_was_said(self) -> bool:
        return not self.text.strip()

    def words_of(self, span: str) -> tuple[Word, ...]:
        """Return the words of the first place where `span` stands, whatever the punctuation around a word;
        empty when it stands nowhere, or the text has no times."""
        wanted = [word.strip(_AROUND) for word in span.split()]
        texts = [word.text.strip(_AROUND) for word in self.words]
        for i in range(len(texts) - len(wanted) + 1):
            if wanted and texts[i : i + len(wanted)] == wanted:
                return self.words[i : i + len(wanted)]
        return ()

    def words_between(self, start: int, end: int) -> tuple[Word, ...]:
        """Return the words that stand in characters [`start`, `end`) of the text; empty without times."""
        found: list[Word] = []
        at = 0
        for word in self.words:
            text = word.text.strip()
            begin = self.text.find(text, at)
            if begin < 0:
                continue
            at = begin + len(text)
            if begin < end and at > start:
                found.append(word)
        return tuple(found)
