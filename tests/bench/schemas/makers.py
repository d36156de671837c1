"""One matcher for each library that masks: the next mask, whether a token is taken, whether a text may end.

For measurements only; each maker imports its library when it is called, and nothing of the product is
imported, so that an interpreter of another environment can run this.

`tokenizer` is one of transformers, and `vocabulary` the number of tokens that the mask has.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

Schema = dict[str, Any]


class Matcher(NamedTuple):
    """Fill the mask of the next token; take a token, False if it is refused; may the text end here?"""

    fill: Callable[[], object]
    take: Callable[[int], bool]
    ended: Callable[[], bool]


Maker = Callable[[Any], Matcher]
"""Makes a matcher of a schema, or raises what the library raises; what is shared is kept between calls."""


class Refused(Exception):
    """The library told in words why it does not take a schema."""


def llguidance_maker(tokenizer: Any, vocabulary: int) -> Maker:
    """Of a JSON Schema, or of a grammar that is a text."""
    import llguidance
    import llguidance.hf
    import llguidance.torch

    own = llguidance.hf.from_tokenizer(tokenizer, vocabulary)
    bitmask = llguidance.torch.allocate_token_bitmask(1, vocabulary)
    compact = {"whitespace_flexible": False}

    def make(source: Schema | str) -> Matcher:
        grammar = source
        if not isinstance(source, str):
            grammar = llguidance.LLMatcher.grammar_from_json_schema(source, overrides=compact)
        matcher = llguidance.LLMatcher(own, grammar)
        if matcher.get_error():
            raise Refused(matcher.get_error())
        fill = llguidance.torch.fill_next_token_bitmask
        return Matcher(lambda: fill(matcher, bitmask, 0), matcher.consume_token, matcher.is_accepting)

    return make


def guidance_maker(tokenizer: Any, vocabulary: int) -> Maker:
    """Guidance's own `json` template, which hands its grammar to llguidance."""
    import guidance

    inner = llguidance_maker(tokenizer, vocabulary)

    def make(schema: Schema) -> Matcher:
        return inner(guidance.json(schema=schema, separators=(",", ":")).ll_grammar())

    return make


def xgrammar_maker(tokenizer: Any, vocabulary: int, *, strict: bool = True) -> Maker:
    """`strict` is the library's default: objects are closed and arrays too, unless the schema opens them."""
    import xgrammar

    info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=vocabulary)
    compiler = xgrammar.GrammarCompiler(info, max_threads=1)
    bitmask = xgrammar.allocate_token_bitmask(1, vocabulary)
    end = tokenizer.eos_token_id

    def make(schema: Schema) -> Matcher:
        grammar = compiler.compile_json_schema(
            json.dumps(schema), any_whitespace=False, separators=(",", ":"), strict_mode=strict
        )
        matcher = xgrammar.GrammarMatcher(grammar)
        fill = matcher.fill_next_token_bitmask
        return Matcher(lambda: fill(bitmask, 0), matcher.accept_token, lambda: matcher.accept_token(end))

    return make


def outlines_maker(tokenizer: Any, vocabulary: int) -> Maker:
    import outlines_core
    import torch
    from outlines_core import json_schema
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    byte_of = {sign: byte for byte, sign in bytes_to_unicode().items()}
    words: dict[bytes, list[int]] = {}
    for word, number in tokenizer.get_vocab().items():
        if word not in tokenizer.all_special_tokens and all(sign in byte_of for sign in word):
            words.setdefault(bytes(byte_of[sign] for sign in word), []).append(number)
    own = outlines_core.Vocabulary(tokenizer.eos_token_id, words)
    bitmask = torch.zeros((vocabulary + 31) // 32, dtype=torch.int32)
    known: dict[str, Any] = {}

    def make(schema: Schema) -> Matcher:
        regex = json_schema.build_regex_from_schema(json.dumps(schema), "")
        if regex not in known:
            known[regex] = outlines_core.Index(regex, own)
        guide = outlines_core.Guide(known[regex])

        def take(token: int) -> bool:
            if not guide.accepts_tokens([token]):
                return False
            guide.advance(token)
            return True

        size = bitmask.element_size()
        return Matcher(
            lambda: guide.write_mask_into(bitmask.data_ptr(), bitmask.numel(), size), take, guide.is_finished
        )

    return make


def enforcer_maker(tokenizer: Any, vocabulary: int) -> Maker:
    """lm-format-enforcer. Its own builder of the tokenizer's data wants an older transformers; this is what
    it does: a word's text, and whether it begins with a space."""
    from lmformatenforcer import JsonSchemaParser, TokenEnforcer, TokenEnforcerTokenizerData

    zero = tokenizer.encode("0")[-1]
    regular = []
    for number in range(vocabulary):
        if number in tokenizer.all_special_ids:
            continue
        after, alone = tokenizer.decode([zero, number])[1:], tokenizer.decode([number])
        regular.append((number, after, len(after) > len(alone)))
    data = TokenEnforcerTokenizerData(regular, tokenizer.decode, tokenizer.eos_token_id, False, vocabulary)

    def make(schema: Schema) -> Matcher:
        enforcer = TokenEnforcer(data, JsonSchemaParser(schema))
        so_far: list[int] = []
        allowed = enforcer.get_allowed_tokens(so_far).allowed_tokens

        def take(token: int) -> bool:
            nonlocal allowed
            if token not in allowed:
                return False
            so_far.append(token)
            allowed = enforcer.get_allowed_tokens(so_far).allowed_tokens
            return True

        return Matcher(lambda: allowed, take, lambda: tokenizer.eos_token_id in allowed)

    return make


def gbnf_maker(weights: str, end: int) -> Maker:
    """llama.cpp's converter and its own grammar, with the vocabulary of `weights`."""
    from tests.bench.schemas.llama_samplers import Llama, gbnf_of

    llama = Llama(weights)

    def make(schema: Schema) -> Matcher:
        sampler = llama.gbnf(gbnf_of(schema))
        if sampler is None:
            raise Refused("llama.cpp can't parse its converter's grammar: see standard error")

        def take(token: int) -> bool:
            if not sampler.open_to(token):
                return False
            sampler.accept(token)
            return True

        return Matcher(lambda: None, take, lambda: sampler.open_to(end))

    return make
