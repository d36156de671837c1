"""A model's own tokenizer is read as its server reads it; what does not conform is found, with a hint."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from gguf import GGUFReader
from llguidance import LLTokenizer
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from typer.testing import CliRunner

from infra.settings import Settings
from infra.settings import settings as configured
from infra.weights.models import resolve
from schemas.errors import EngineMisconfigured
from schemas.menu import Menu
from services.cli.commands import doctor_engine
from services.cli.main import app
from services.decoding import conformance
from services.decoding.conformance import AWKWARD, marks, strings, takes, whole
from services.decoding.mask import BYTES
from services.decoding.server.vocabulary import Vocabulary, read_vocabulary
from tests.stand_ins import CAFE

MODEL = "smollm2-135m-instruct-q4_1.gguf"


MARK = "<|im_end|>"


def as_json(folder: Path, change: Callable[[Any], None] = lambda _: None) -> Vocabulary:
    """A tokenizer of single bytes in the files of Hugging Face."""
    alphabet = sorted(ByteLevel.alphabet())
    made = Tokenizer(BPE(vocab={sign: number for number, sign in enumerate(alphabet)}, merges=[]))
    made.pre_tokenizer, made.decoder = ByteLevel(add_prefix_space=False), ByteLevelDecoder()
    made.add_special_tokens([MARK])
    document = json.loads(made.to_str())
    change(document)
    (folder / "tokenizer.json").write_text(json.dumps(document), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": MARK}), encoding="utf-8")
    return read_vocabulary(folder)


@pytest.mark.models
def test_a_gguf_files_tokenizer_has_the_models_own_numbers() -> None:
    file = Path(resolve(MODEL, configured().models_dir))
    vocabulary, fields = read_vocabulary(file), GGUFReader(file).fields
    tokens, written = vocabulary.tokenizer(), fields["tokenizer.ggml.tokens"].contents()
    assert tokens.vocab_size == len(written) == vocabulary.size
    assert tokens.eos_token == fields["tokenizer.ggml.eos_token_id"].contents() == vocabulary.end
    for text in ("two", "large", "{"):
        assert tokens.tokenize_str(text) == [written.index(text)]
    assert tokens.is_special_token(written.index(MARK))
    assert MARK in vocabulary.marks
    assert tokens.is_canonical, "or no token is forced"


def test_a_tokenizer_json_is_read(tmp_path: Path) -> None:
    vocabulary = as_json(tmp_path)
    assert (vocabulary.size, vocabulary.end, vocabulary.marks) == (257, 256, (MARK,))
    tokens = vocabulary.tokenizer()
    assert [tokens.decode_str(tokens.tokenize_str(text)) for text in AWKWARD] == list(AWKWARD)


@pytest.mark.parametrize("content", [b"", b"GGUF", b"junk" * 10, b"GGUF" + struct.pack("<IQQ", 3, 0, 1)])
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
    assert {"tokenizer", "strings"} <= looked_at
    assert {"server's mask", "server's cart", "server's grammar", "truncated answer"} <= looked_at
    assert "server's tokenizer" in looked_at
    assert sum(what.startswith("names of") for what in looked_at) == 2


@pytest.mark.parametrize("feature", conformance.FEATURES)
def test_each_feature_of_our_grammars_is_one_of_the_locked_llguidance(feature: str) -> None:
    lark, texts = conformance.FEATURES[feature]
    assert all(takes(BYTES, whole(lark), text) for text in texts)


def test_a_tokenizer_that_normalizes_is_found(tmp_path: Path) -> None:
    def normalizing(form: str) -> LLTokenizer:
        return as_json(tmp_path, partial(dict.update, normalizer={"type": form})).tokenizer()

    assert not strings(as_json(tmp_path).tokenizer(), CAFE).hint
    assert not strings(normalizing("NFC"), CAFE).hint, "what we write is composed already"
    found = strings(normalizing("NFKC"), CAFE)
    assert found.hint
    assert found.figures["lost"] == ["½ ﬁ ß"]


def test_a_name_with_a_control_mark_that_stays_whole_is_found(tmp_path: Path) -> None:
    def tea(name: str) -> Menu:
        document = CAFE.model_dump(mode="json")
        document["items"][0]["name"] = name
        return Menu.parse(document)

    vocabulary = as_json(tmp_path)
    assert not marks(vocabulary, tea(f"{MARK} tea")).hint
    other = replace(vocabulary, marks=("[INST]",))  # type: ignore[type-var]
    assert not marks(other, tea("tea")).hint
    assert marks(other, tea("[INST] tea")).figures["names"] == ["[INST] tea"]


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
