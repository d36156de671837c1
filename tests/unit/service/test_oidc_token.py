"""ID tokens that do not hold: each claim, each way to sign them that is none of ours, and what they name."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, OKPKey, RSAKey

from infra.oidc_token import UnknownKey, checked
from schemas.shops.staff import Identity

ISSUER, CLIENT, SECRET = "https://login.example", "saycart", "a secret of the client's, long enough"
OWN = RSAKey.generate_key(2048, {"kid": "own"})
OTHER = RSAKey.generate_key(2048, {"kid": "other"})
SMALL = RSAKey.generate_key(1024, {"kid": "small"})
CURVE = ECKey.generate_key("P-256", {"kid": "curve"})
EDWARDS = OKPKey.generate_key("Ed25519", {"kid": "edwards"})
# What a provider may name beside the key that it signs with.
KEYS = {
    "keys": [
        *(key.as_dict(private=False) for key in (OWN, SMALL, CURVE, EDWARDS)),
        {"kty": "oct", "k": "c2F5Y2FydA", "kid": "secret"},
        {**OTHER.as_dict(private=False), "use": "enc"},
    ]
}
Claims = dict[str, Any]


def honest() -> Claims:
    now = int(time.time())
    times = {"iat": now, "exp": now + 300}
    return {"iss": ISSUER, "sub": "ann-1", "aud": CLIENT, "nonce": "n", "email": "ann@example.com", **times}


def signed(claims: Claims, key: Any = OWN, alg: str = "RS256", **header: str) -> str:
    return jwt.encode({"alg": alg, "kid": key.kid, **header}, claims, key, [alg])


def check(token: str, keys: Any = None) -> Claims:
    return checked(
        token, keys or KEYS, issuer=ISSUER, client_id=CLIENT, nonce="n", access_token="of another kind"
    )


@pytest.mark.parametrize(
    ("key", "alg"),
    [(OWN, "RS256"), (OWN, "PS512"), (CURVE, "ES256"), (EDWARDS, "EdDSA"), (EDWARDS, "Ed25519")],
)
@pytest.mark.filterwarnings("ignore:EdDSA")
def test_an_honest_token_is_believed(key: Any, alg: str) -> None:
    assert check(signed(honest(), key, alg))["sub"] == "ann-1"


def test_one_for_several_names_us_as_who_asked() -> None:
    assert check(signed({**honest(), "aud": [CLIENT, "till"], "azp": CLIENT}))["sub"] == "ann-1"


def without(name: str) -> Callable[[Claims], Claims]:
    return lambda claims: {key: value for key, value in claims.items() if key != name}


def saying(**lies: Any) -> Callable[[Claims], Claims]:
    return lambda claims: {**claims, **lies}


def timed(name: str, seconds: int) -> Callable[[Claims], Claims]:
    """A time so far from when the token was made: the suite may run for long before this test does."""
    return lambda claims: {**claims, name: claims["iat"] + seconds}


@pytest.mark.parametrize(
    ("lie", "named"),
    [
        (saying(iss="https://evil.example"), "iss"),
        (lambda claims: {**claims, "iss": [claims["iss"], "https://evil.example"]}, "iss"),
        (without("iss"), "iss"),
        (saying(aud="another"), "aud"),
        (saying(aud=["another"]), "aud"),
        (saying(aud=["saycart", "another"]), "azp"),
        (saying(aud=["saycart", "another"], azp="another"), "azp"),
        (saying(azp="another"), "azp"),
        (without("aud"), "aud"),
        (timed("exp", -90), "exp"),
        (saying(exp="tomorrow"), "exp"),
        (without("exp"), "exp"),
        (timed("iat", 900), "iat"),
        (timed("nbf", 900), "nbf"),
        (saying(nonce="another"), "nonce"),
        (without("nonce"), "nonce"),
        (saying(at_hash="another"), "at_hash"),
        (without("sub"), "sub"),
        (saying(sub=7), "sub"),
        (saying(sub=""), "sub"),
        (saying(sub="a\nb"), "sub"),
        (saying(sub="\u00e9"), "sub"),
        (saying(sub="a" * 256), "sub"),
    ],
)
def test_a_claim_that_does_not_hold(lie: Callable[[Claims], Claims], named: str) -> None:
    with pytest.raises(ValueError, match="ID token") as refused:
        check(signed(lie(honest())))
    assert named in str(refused.value) or "expired_token" in str(refused.value)
    assert "another" not in str(refused.value)


def by_hand(header: Claims, key: bytes) -> str:
    """Signed with HMAC over whatever is taken for the secret."""
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in (header, honest())]
    mac = hmac.new(key, b".".join(parts), hashlib.sha256).digest() if key else b""
    return b".".join([*parts, base64.urlsafe_b64encode(mac).rstrip(b"=")]).decode()


# Made in the test: one that had expired meanwhile would be refused for that, whatever its signature.
FORGED: dict[str, Callable[[], str]] = {
    "no algorithm": lambda: by_hand({"alg": "none"}, b""),
    "no algorithm, our key named": lambda: by_hand({"alg": "none", "kid": "own"}, b""),
    "with the client's secret": lambda: by_hand({"alg": "HS256", "kid": "own"}, SECRET.encode()),
    "with the public key as secret": lambda: by_hand(
        {"alg": "HS256", "kid": "own"}, OWN.as_pem(private=False)
    ),
    "with a secret that is named": lambda: by_hand({"alg": "HS256", "kid": "secret"}, b"saycart"),
    "an extension that nobody knows": lambda: by_hand(
        {"alg": "RS256", "kid": "own", "crit": ["x"], "x": 1}, b""
    ),
    "a key for another use": lambda: signed(honest(), OTHER),
    "another's key under our name": lambda: jwt.encode({"alg": "RS256", "kid": "own"}, honest(), OTHER),
    "no key named": lambda: jwt.encode({"alg": "RS256"}, honest(), OWN),
    "a key too small": lambda: signed(honest(), SMALL),
    "cut short": lambda: signed(honest(), CURVE, "ES256", jku="https://evil.example/keys")[:-4],
    "much too long": lambda: signed({**honest(), "x": "y" * 200_000}),
    "no token": lambda: "no.token.at-all",
    "dots": lambda: "..",
    "nothing": lambda: "",
    "not ASCII": lambda: "\u00e9" * 20,
    "one letter": lambda: "a" * 300_000,
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
def test_a_signature_that_does_not_hold(forged: Callable[[], str]) -> None:
    with pytest.raises((ValueError, UnknownKey)):
        check(forged())


@pytest.mark.parametrize(
    "keys", [{"keys": None}, {"keys": []}, {"keys": {}}, {"x": 1}, {"keys": [{"kty": []}]}]
)
def test_keys_that_are_none_open_nothing(keys: Any) -> None:
    with pytest.raises((ValueError, UnknownKey)):
        check(signed(honest()), keys)


@pytest.mark.parametrize(
    ("told", "email"),
    [
        ({"email_verified": True}, "ann@example.com"),
        ({"email_verified": True, "email": " Ann@Example.com "}, "ann@example.com"),
        ({"email_verified": True, "email": 7}, ""),
        *(({"email_verified": verified}, "") for verified in (False, None, "true", "false", 1)),
        ({}, ""),
    ],
)
def test_an_address_counts_only_where_it_was_verified(told: Claims, email: str) -> None:
    assert Identity.of(honest() | told, "t") == Identity(ISSUER, "ann-1", email, "t")
