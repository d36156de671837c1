"""Keys, shops and roles from the command line; the machine's key; the secret that signs links."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from itsdangerous import BadSignature, URLSafeTimedSerializer
from sqlalchemy import text
from typer.testing import CliRunner

from infra.secret import read_key, signing_keys
from infra.settings import Settings
from infra.sql.database import Database
from schemas.errors import InputError
from schemas.shops.access import ALL_SCOPES, Scope
from schemas.shops.audit import Actor
from services.cli import client
from services.cli.main import app
from services.storage.audit.log import AuditLog
from services.storage.people.api_keys import KeyStore
from services.workers.stack import _first_key

BY = Actor("tests")
PASSWORD = "correct horse battery"
Saycart = Callable[..., Result]


@pytest.fixture
def saycart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str) -> Saycart:
    """Run the command line in process on this database."""
    config = Settings(home=tmp_path / "home", database_url=database_url)
    monkeypatch.setattr(client, "settings", lambda: config)
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *words, **more: CliRunner().invoke(app, list(words), **more)


@pytest.fixture
def keys(database: Database) -> KeyStore:
    return KeyStore(database)


def token_in(result: Result) -> str:
    assert result.exit_code == 0, result.output
    found = re.search(r"saycart_\S+", result.output)
    assert found is not None, result.output
    return found[0]


def opens(keys: KeyStore, token: str) -> set[str]:
    access = keys.access(token)
    return set() if access is None else {str(scope) for scope in access.scopes}


def test_the_life_of_a_key(saycart: Saycart, keys: KeyStore, database: Database) -> None:
    token = token_in(saycart("keys", "add", "till [/3]", "--scope", "orders:read,orders:write"))
    assert opens(keys, token) == {"orders:read", "orders:write"}
    key_id, secret = token.split("_", 2)[1:]
    listed = saycart("keys", "list").output
    assert key_id in listed
    assert "till [/3]" in listed, "no markup"
    assert secret not in listed
    # The command also accepts a whole token.
    assert saycart("keys", "revoke", token).exit_code == 0
    assert opens(keys, token) == set()
    entries = list(AuditLog(database).entries())
    assert [entry.action for entry in entries] == ["key.added", "key.revoked"]
    assert all(entry.actor.startswith("operator:") for entry in entries)
    with database.read() as session:
        for table in ("api_keys", "audit_log"):
            assert secret not in str(session.execute(text(f"SELECT * FROM {table}")).all())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("x",), "needs a scope"),
        (("x", "--scope", "everything"), "is not a scope"),
        (("", "--scope", "admin"), "1 to 80 printable"),
        (("x", "--scope", "admin", "--shop", "nowhere"), "No shop nowhere"),
        (("x", "--scope", "reviews"), "needs a person"),
        (("x", "--scope", "reviews", "--person", "nobody"), "No account 'nobody'"),
        (("x", "--page", "--shop", "nowhere"), "No shop nowhere"),
    ],
)
def test_invalid_key_requests(saycart: Saycart, keys: KeyStore, words: tuple[str, ...], said: str) -> None:
    done = saycart("keys", "add", *words)
    assert done.exit_code == 1
    assert said in done.output
    assert keys.list() == []


def test_shops_have_their_own_staff_and_keys(saycart: Saycart, keys: KeyStore) -> None:
    assert saycart("shops", "add", "harbor-1", "--name", "Harbor One").exit_code == 0
    assert "Harbor One" in saycart("shops", "list").output
    for bad, said in (
        ("harbor-1", "already exists"),
        ("Harbor", "is not a valid shop id"),
        ("*", "is not a valid shop id"),
        ("", "is not a valid shop id"),
    ):
        done = saycart("shops", "add", bad)
        assert (done.exit_code, said in done.output) == (1, True), done.output

    def add(name: str, *words: str) -> str:
        return str(saycart("staff", "add", name, "--password-stdin", *words, input=PASSWORD + "\n").output)

    assert "ann, admin of harbor-1" in add("ann", "--shop", "harbor-1")
    assert "ben, reviewer of harbor-1" in add("ben", "--shop", "harbor-1")
    assert "cleo, manager of main" in add("cleo", "--role", "manager")
    assert "ben is now manager" in saycart("staff", "role", "ben", "manager").output
    assert "No shop nowhere" in add("dan", "--shop", "nowhere")
    # Staff of another shop can't review here.
    assert "No account 'ann'" in saycart("keys", "add", "x", "--scope", "reviews", "--person", "ann").output
    token = token_in(
        saycart("keys", "add", "x", "--scope", "reviews", "--person", "ann", "--shop", "harbor-1")
    )
    access = keys.access(token)
    assert access is not None
    assert (access.shop, access.person) == ("harbor-1", "ann")
    page = saycart("keys", "add", "kiosk", "--page", "--shop", "harbor-1").output
    found = keys.page_access(page.strip().rpartition("/at/")[2])
    assert found is not None
    assert found.shop == "harbor-1"


def test_the_machine_has_its_own_key(keys: KeyStore, tmp_path: Path) -> None:
    token = _first_key(tmp_path, keys)
    assert read_key(tmp_path) == token
    assert opens(keys, token) == {str(scope) for scope in ALL_SCOPES - {Scope.REVIEWS}}
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert _first_key(tmp_path, keys) == token, "the same at the next start"
    keys.revoke(token.split("_")[1], by=BY)
    again = _first_key(tmp_path, keys)
    assert again != token
    assert read_key(tmp_path) == again
    (tmp_path / "key").unlink()
    assert _first_key(tmp_path, keys) not in (token, again)


def test_concurrent_processes_create_one_secret(tmp_path: Path, race: Callable[..., list[Any]]) -> None:
    made = race(12, lambda _: signing_keys("", tmp_path))
    assert len({tuple(found) for found in made}) == 1
    assert len(made[0][0]) == 64
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600


def test_a_secret_can_be_rotated(tmp_path: Path) -> None:
    old, new = "a" * 32, "b" * 32
    signed = URLSafeTimedSerializer(signing_keys(old, tmp_path), salt="s").dumps("x")
    both = URLSafeTimedSerializer(signing_keys(f"{new} {old}", tmp_path), salt="s")
    assert both.loads(signed) == "x"
    assert URLSafeTimedSerializer(signing_keys(new, tmp_path), salt="s").loads(both.dumps("y")) == "y"
    with pytest.raises(BadSignature):
        URLSafeTimedSerializer(signing_keys(new, tmp_path), salt="s").loads(signed)
    with pytest.raises(InputError):
        signing_keys("short", tmp_path)
