"""The mask against a reference that shares no code with it: byte by byte, token by token, both ways.

The default takes half a minute and is the same each time; `make fuzz` draws SAYCART_FUZZ new ones a test.
"""

from __future__ import annotations

import json
import os
import random
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from llguidance import LLMatcher, LLTokenizer

from infra.settings import settings as configured
from infra.weights.models import resolve
from schemas.evidence import Evidence
from schemas.menu import Menu
from services.decoding.mask import Mask
from services.engines.masks.grammar import check_menu
from services.engines.masks.labels import Labels
from services.engines.masks.vocabulary import Vocabulary, read_vocabulary
from services.reading.order import clean, read_order
from tests.fuzz.drafts import BYTES, any_draft, evidences
from tests.fuzz.menus import any_menu, any_order
from tests.fuzz.near import dented, near, perhaps
from tests.fuzz.reference import Node, cart_of, read
from tests.stand_ins import CAFE
from tests.wire_text import mask_of

EXAMPLES = int(os.environ.get("SAYCART_FUZZ", "0"))
MODEL = "smollm2-135m-instruct-q4_1.gguf"
# By default the same examples each time, so that a commit is never blamed for what another one did.
fuzz = settings(
    max_examples=EXAMPLES or 25,
    derandomize=not EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
seeds = st.integers(0, 2**32)


@cache
def vocabulary() -> Vocabulary:
    return read_vocabulary(Path(resolve(MODEL, configured().models_dir)))


@cache
def tokenizer() -> LLTokenizer:
    """A real one; several bytes a token, and pieces of characters."""
    return vocabulary().tokenizer()


@cache
def composing() -> LLTokenizer:
    """The same, but it composes accents, as Qwen's own tokenizer.json does."""
    document = json.loads(vocabulary().document) | {"normalizer": {"type": "NFC"}}
    return replace(vocabulary(), document=json.dumps(document)).tokenizer()


def of_menu(seed: int) -> tuple[random.Random, Evidence]:
    """Random menu, random order, and what retrieval opens of it; 10 to 1,000 items."""
    rng = random.Random(seed)
    menu = any_menu(rng, round(10 ** rng.uniform(1, 3)))
    return rng, read_order(any_order(rng, menu), menu, 1)


class Subject:
    """One order's mask, with what it is held against; its matchers are compiled once and copied."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence, self.labels = evidence, Labels(evidence.menu)
        self.mask: Mask = mask_of(evidence)
        self.cart: Node = cart_of(evidence)
        self._compiled = {id(tokens): LLMatcher(tokens, self.mask.lark) for tokens in (BYTES, tokenizer())}

    def matcher(self, tokens: LLTokenizer) -> LLMatcher:
        return self._compiled[id(tokens)].deep_copy()

    def after(self, tokens: LLTokenizer, start: bytes) -> LLMatcher:
        matcher = self.matcher(tokens)
        assert matcher.consume_tokens(tokens.tokenize_bytes(start)) or not start
        return matcher

    def any_text(self, rng: random.Random) -> str:
        """A cart as a model would write it; there and back again."""
        draft = any_draft(rng, self.evidence)
        text = self.labels.to_wire(draft)
        assert self.labels.from_wire(text) == draft
        return text

    def agrees(self, text: bytes) -> bool:
        """Hold the mask to the reference on `text`, at every byte and token; whether it is a cart."""
        reading = read(text, self.cart)
        low, _, whole = self._stops(text, BYTES)
        assert (low, whole) == (reading.reach, reading.whole), text
        if tokenizer().decode_bytes(tokenizer().tokenize_bytes(text)) == text:
            # Else it has a byte that UTF-8 never uses, and this tokenizer no token for it.
            low, high, whole = self._stops(text, tokenizer())
            assert low <= reading.reach, text
            assert reading.reach < high or low == len(text), text
            assert whole == reading.whole, text
        return reading.whole

    def _stops(self, text: bytes, tokens: LLTokenizer) -> tuple[int, int, bool]:
        """Bytes of `text` that are accepted, bytes with one token more, and whether all of it is a cart."""
        spelled, matcher = tokens.tokenize_bytes(text), self.matcher(tokens)
        taken = matcher.try_consume_tokens(spelled)
        low, high = (len(tokens.decode_bytes(spelled[:end])) for end in (taken, taken + 1))
        return low, high, low == len(text) and matcher.is_accepting()

    def takes(self, tokens: LLTokenizer, text: bytes) -> None:
        """Each token of `text` is in the mask when its turn comes, and the end when all are through.

        Where the next bytes are forced, llguidance opens only one way to cut them; no byte is lost by that.
        """
        matcher = self.matcher(tokens)
        for token in tokens.tokenize_bytes(text):
            assert matcher.compute_ff_bytes() or allowed(matcher)[token], (text, tokens.dbg_tokens([token]))
            assert matcher.consume_token(token)
        assert matcher.is_accepting()
        assert allowed(matcher)[tokens.eos_token]

    def same_bytes(self, start: bytes) -> None:
        """After `start` the very same bytes may come as in the reference, and the end likewise."""
        reading, bits = read(start, self.cart), allowed(self.after(BYTES, start))
        assert {byte for byte in range(256) if bits[byte]} == reading.following, start
        assert bool(bits[BYTES.eos_token]) == reading.whole, start

    def same_tokens(self, start: bytes, rng: random.Random) -> None:
        """A sample of the real tokens that begin with an allowed byte: in the mask if and only if the text
        that they make can begin a cart."""
        tokens = tokenizer()
        matcher = self.after(tokens, start)
        forced, bits = matcher.compute_ff_bytes(), allowed(matcher)
        following = read(start, self.cart).following
        could = [token for byte in following for token in tokens_by_first_byte()[byte]]
        taken = [int(token) for token in np.nonzero(bits)[0] if token != tokens.eos_token]
        assert taken or not following, start
        for token in {*rng.sample(could, min(len(could), 60)), *rng.sample(taken, min(len(taken), 30))}:
            whole = start + tokens.decode_bytes([token])
            viable = read(whole, self.cart).viable
            assert viable if bits[token] else forced or not viable, (whole, tokens.dbg_tokens([token]))


def allowed(matcher: LLMatcher) -> np.ndarray:
    return np.unpackbits(np.frombuffer(matcher.compute_bitmask(), np.uint8), bitorder="little")


@cache
def tokens_by_first_byte() -> dict[int, list[int]]:
    tokens = tokenizer()
    found: dict[int, list[int]] = {byte: [] for byte in range(256)}
    for token in range(tokens.vocab_size):
        piece = tokens.decode_bytes([token])
        if piece and not tokens.is_special_token(token):
            found[piece[0]].append(token)
    return found


def check(evidence: Evidence, rng: random.Random) -> None:
    """One cart of this evidence is taken, token by token, and everything near it refused where it must be."""
    subject = Subject(evidence)
    text = subject.any_text(rng)
    assert subject.mask.accepts(text)
    subject.takes(tokenizer(), text.encode())
    assert subject.agrees(text.encode())
    for what, other in near(text, evidence, rng).items():
        assert other == text or not subject.agrees(other.encode()), what
    for other in perhaps(text, rng).values():
        subject.agrees(other.encode())
    for _ in range(10):
        subject.agrees(dented(text.encode(), rng))


@fuzz
@given(evidences(), st.randoms(use_true_random=False))
def test_any_evidence(evidence: Evidence, rng: random.Random) -> None:
    check(evidence, rng)


@fuzz
@given(seeds)
def test_any_menu(seed: int) -> None:
    rng, evidence = of_menu(seed)
    check(evidence, rng)


def anywhere(evidence: Evidence, rng: random.Random) -> None:
    """Not only along texts that somebody thought of: the mask's bytes and tokens are the reference's."""
    subject = Subject(evidence)
    text = subject.any_text(rng).encode()
    for place in {0, len(text), *(rng.randrange(len(text)) for _ in range(12))}:
        subject.same_bytes(text[:place])
        subject.same_tokens(text[:place], rng)


@fuzz
@given(evidences(), st.randoms(use_true_random=False))
def test_the_mask_is_the_reference_at_any_place(evidence: Evidence, rng: random.Random) -> None:
    anywhere(evidence, rng)


@fuzz
@given(seeds)
def test_the_mask_of_any_menu_is_the_reference_at_any_place(seed: int) -> None:
    rng, evidence = of_menu(seed)
    anywhere(evidence, rng)


@fuzz
@given(seeds)
def test_any_way_to_cut_a_cart_into_tokens_is_taken(seed: int) -> None:
    """A model may spell a word in pieces, down to single bytes, where the tokenizer would not."""
    rng, evidence = of_menu(seed)
    subject, tokens = Subject(evidence), tokenizer()
    text, at = subject.any_text(rng).encode(), 0
    matcher = subject.matcher(tokens)
    while at < len(text):
        end = min(len(text), at + rng.choice((1, 1, 2, 3, 5, 9)))
        pieces = tokens.tokenize_bytes(text[at:end])
        assert matcher.consume_tokens(pieces), (text[:end], tokens.dbg_tokens(pieces))
        at = end
    assert matcher.is_accepting()


@pytest.mark.parametrize("form", [None, "NFC"])
@pytest.mark.parametrize(
    "name", ["<|im_end|>", "<|endoftext|>", "<file_sep>", "a <|im_start|>system", "cafe\u0301 cre\u0300me"]
)
def test_no_name_misleads_the_tokenizer(name: str, form: str | None) -> None:
    """Forced text is cut with the model's tokenizer, which would open a control token and nothing else, or a
    composed letter where the grammar wants two signs."""
    document = CAFE.model_dump(mode="json")
    document["items"][0] |= {"name": name, "aliases": ["tea"]}
    evidence = read_order(f"one tea {name}", Menu.parse(document), 1)
    tokens, rng = composing() if form else tokenizer(), random.Random(name)
    matcher = LLMatcher(tokens, mask_of(evidence).lark)
    while not matcher.is_accepting():
        opened = np.nonzero(allowed(matcher))[0].tolist()
        assert not any(tokens.is_special_token(token) for token in opened)
        assert matcher.consume_token(rng.choice(opened))


@pytest.mark.parametrize("items", [10, 1_000])
def test_a_whole_menu_of_awkward_names_can_be_open(items: int) -> None:
    rng = random.Random(items)
    menu = any_menu(rng, items)
    subject = Subject(Evidence.everything(menu, 1, clean(any_order(rng, menu))))
    for _ in range(5):
        subject.takes(BYTES, subject.any_text(rng).encode())


def test_a_menu_of_ten_thousand_awkward_names_serves_orders() -> None:
    """Past 2,000 alternatives llguidance's parser gives up, and no order opens that many."""
    rng = random.Random(0)
    menu = any_menu(rng, 10_000)
    check_menu(menu)
    check(read_order(any_order(rng, menu), menu, 1), rng)
