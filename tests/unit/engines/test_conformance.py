"""A model's own tokenizer is read as its server reads it; what does not conform is found, with a hint."""

from __future__ import annotations

import copy
import json
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from llguidance import LLTokenizer
from typer.testing import CliRunner

from infra.settings import Settings
from infra.settings import settings as configured
from infra.weights.models import resolve
from schemas.errors import EngineMisconfigured
from schemas.menu import Menu
from services.cli.commands import doctor_engine
from services.cli.main import app
from services.decoding import conformance
from services.decoding.conformance import AWKWARD, marks, schema_features, strings, timings
from services.decoding.hosts.gguf import metadata
from services.decoding.hosts.vocabulary import Vocabulary, read_vocabulary
from tests.stand_ins import CAFE

MODEL = "smollm2-135m-instruct-q4_1.gguf"


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return read_vocabulary(Path(resolve(MODEL, configured().models_dir)))


def as_json(vocabulary: Vocabulary, folder: Path, change: Callable[[Any], None] = lambda _: None) -> Path:
    """The same tokenizer in the files of Hugging Face."""
    document = json.loads(vocabulary.document)
    change(document)
    (folder / "tokenizer.json").write_text(json.dumps(document), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text('{"eos_token": "<|im_end|>"}', encoding="utf-8")
    return folder


def text_of(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


@pytest.mark.models
def test_a_gguf_files_tokenizer_has_the_models_own_numbers(vocabulary: Vocabulary) -> None:
    tokens = vocabulary.tokenizer()
    head = metadata(Path(resolve(MODEL, configured().models_dir)))
    assert tokens.vocab_size == len(head["tokenizer.ggml.tokens"]) == vocabulary.size
    assert tokens.eos_token == head["tokenizer.ggml.eos_token_id"]
    for text in ("two", "large", "{"):
        assert tokens.tokenize_str(text) == [head["tokenizer.ggml.tokens"].index(text)]
    assert tokens.is_special_token(head["tokenizer.ggml.tokens"].index("<|im_end|>"))


@pytest.mark.models
def test_a_tokenizer_json_is_read_alike(vocabulary: Vocabulary, tmp_path: Path) -> None:
    again = read_vocabulary(as_json(vocabulary, tmp_path))
    assert (again.size, again.end) == (vocabulary.size, vocabulary.end)
    one, other = vocabulary.tokenizer(), again.tokenizer()
    for text in AWKWARD:
        assert other.tokenize_str(text) == one.tokenize_str(text)


@pytest.mark.parametrize(
    "content",
    [
        b"", b"GGUF", b"junk" * 10, b"GGUF" + struct.pack("<IQQ", 9, 0, 0),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text_of("a") + struct.pack("<I", 99),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + text_of("a") + struct.pack("<II", 4, 1),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text_of("tokenizer.ggml.model") + struct.pack("<I", 8)
        + text_of("llama"),
    ],
    ids=["empty", "cut", "other", "version", "kind", "cut pairs", "family"],
)  # fmt: skip
def test_a_file_that_holds_no_known_tokenizer_is_an_error_with_a_hint(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(content)
    with pytest.raises(EngineMisconfigured) as caught:
        read_vocabulary(file)
    assert caught.value.hint
    with pytest.raises(EngineMisconfigured, match="No tokenizer"):
        read_vocabulary(tmp_path)


@pytest.mark.models
def test_the_embedded_engine_conforms() -> None:
    config = Settings(llm_model=MODEL)
    results = list(doctor_engine.checks(config, None, ask=True))
    assert not [result for result in results if result.hint], results
    looked_at = {result.what for result in results}
    assert {"schema", "tokenizer", "grammar", "strings", "numbers"} <= looked_at
    assert {"server's mask", "server's cart", "server's grammar", "truncated answer"} <= looked_at
    assert "server's tokenizer" in looked_at
    decode = [result.figures for result in results if result.what.startswith("decode of")]
    assert len(decode) == 2
    for figures in decode:
        assert figures["tokens"] > 100
        assert 0 < figures["forced_share"] < 1
        assert figures["orders"] == doctor_engine.ORDERS


def test_a_keyword_that_the_walk_does_not_hold_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not schema_features().hint
    schema = copy.deepcopy(dict(conformance.SCHEMA))
    schema["$defs"]["ItemLine"]["properties"]["sku"]["pattern"] = "^a"
    monkeypatch.setattr(conformance, "SCHEMA", schema)
    found = schema_features()
    assert found.hint
    assert found.figures["not_held"] == ["pattern"]


def test_a_grammar_that_does_not_do_as_it_should_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = LLTokenizer("byte")
    assert not conformance.grammar_features(tokens).hint
    monkeypatch.setitem(conformance.FEATURES, "bounded repetition", ('start: "ix"{2,2}', ("ix",)))
    monkeypatch.setitem(conformance.FEATURES, "of tomorrow", ("start: %tomorrow {}", ("ix",)))
    assert conformance.grammar_features(tokens).figures["failed"] == ["bounded repetition", "of tomorrow"]


@pytest.mark.models
def test_a_tokenizer_that_normalizes_is_found(vocabulary: Vocabulary, tmp_path: Path) -> None:
    def normalizing(form: str) -> LLTokenizer:
        change = partial(dict.update, normalizer={"type": form})
        return read_vocabulary(as_json(vocabulary, tmp_path, change)).tokenizer()

    assert not strings(vocabulary.tokenizer(), CAFE).hint
    assert not strings(normalizing("NFC"), CAFE).hint, "what we write is composed already"
    found = strings(normalizing("NFKC"), CAFE)
    assert found.hint
    assert found.figures["lost"] == ["½ ﬁ ß"]


@pytest.mark.models
def test_a_name_with_a_control_mark_that_stays_whole_is_found(vocabulary: Vocabulary, tmp_path: Path) -> None:
    def tea(name: str) -> Menu:
        document = CAFE.model_dump(mode="json")
        document["items"][0]["name"] = name
        return Menu.parse(document)

    assert not marks(vocabulary, tea("<|im_end|> tea")).hint

    def instructed(document: Any) -> None:
        document["added_tokens"][0] |= {"id": document["model"]["vocab"]["["], "content": "[INST]"}

    other = read_vocabulary(as_json(vocabulary, tmp_path, instructed))
    assert not marks(other, tea("tea")).hint
    assert marks(other, tea("[INST] tea")).figures["names"] == ["[INST] tea"]


def test_a_cart_that_the_mask_refuses_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens, orders = LLTokenizer("byte"), ["two lattes"]
    assert not timings(tokens, CAFE, orders).hint
    monkeypatch.setattr(conformance, "any_text", lambda mask, rng: b'{"lines":[]}x')
    assert "make fuzz" in timings(tokens, CAFE, orders).hint


@pytest.mark.models
def test_the_command_says_so_and_ends_accordingly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAYCART_HOME", str(tmp_path))
    monkeypatch.setenv("SAYCART_LLM_MODEL", MODEL)
    good = CliRunner().invoke(app, ["doctor", "--engine", "--no-probe", "--json"])
    assert good.exit_code == 0, good.output
    report = json.loads(good.output)
    assert report["failed"] == 0
    assert not list(tmp_path.iterdir()), "a look changes nothing"
    lost = CliRunner().invoke(
        app, ["doctor", "--engine", "--no-probe", "--tokenizer", str(tmp_path / "tokenizer.json")]
    )
    assert lost.exit_code == 1
    assert "--tokenizer" in lost.output
