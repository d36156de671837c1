"""An ID token, checked: by whom it was signed, for whom, for which sign-in, and until when.

The one file that imports what reads signatures (joserfc) and checks claims (authlib); loaded at the first
sign-in by a provider.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import ECKey, Key, KeySet, OKPKey, RSAKey
from joserfc.jws import JWSRegistry

# Signatures by a key pair alone. With `none` anybody signs; with HS256 whoever knows the client's secret, or,
# where a library takes the public key for the secret, everybody.
ALGORITHMS = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
    "Ed25519",
)  # fmt: skip
# How far two clocks may be apart.
LEEWAY_S = 60
MIN_RSA_BITS = 2048
MAX_SUBJECT_CHARS = 255  # what OpenID Connect allows
_KINDS: dict[str, type[RSAKey | ECKey | OKPKey]] = {"RSA": RSAKey, "EC": ECKey, "OKP": OKPKey}


class UnknownKey(Exception):
    """It was signed by a key that is not among those at hand."""


def checked(
    id_token: str, keys: dict[str, Any], *, issuer: str, client_id: str, nonce: str, access_token: Any = None
) -> dict[str, Any]:
    """The claims of an ID token that holds. `keys` is the provider's JWKS.

    Raises:
        UnknownKey: as it says; newer keys may have it.
        ValueError: it does not hold. The message names the claim or the fault, and no value of it.
    """
    try:
        registry = JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
        token = jwt.decode(id_token, _usable(keys), registry=registry)
        claims = CodeIDToken(
            token.claims,
            token.header,
            {"iss": {"essential": True, "value": issuer}, "aud": {"essential": True, "value": client_id}},
            {"nonce": nonce, "client_id": client_id, "access_token": access_token},
        )
        claims.validate(leeway=LEEWAY_S)
    except InvalidKeyIdError as error:
        raise UnknownKey from error
    except JoseError as error:
        raise ValueError(f"the ID token does not hold: {error.error}{_claim(error)}") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        # What a library trips over in a token that is made to trip it.
        raise ValueError(f"the ID token can't be read: {type(error).__name__}") from None
    subject = claims["sub"]
    fit = isinstance(subject, str) and 1 <= len(subject) <= MAX_SUBJECT_CHARS and subject.isascii()
    if not fit or not subject.isprintable():
        raise ValueError("the ID token does not hold: sub")
    return dict(claims)


def _usable(keys: dict[str, Any]) -> KeySet:
    """The keys that may sign. One that can't be read is no reason to do without the others."""
    named = keys.get("keys")
    found: list[Key] = []
    for one in named if isinstance(named, list) else []:
        if isinstance(one, dict) and one.get("kty") in _KINDS and one.get("use", "sig") == "sig":
            with suppress(JoseError, ValueError, TypeError, KeyError):
                key = _KINDS[one["kty"]].import_key(one)
                if not isinstance(key, RSAKey) or key.public_key.key_size >= MIN_RSA_BITS:
                    found.append(key)
    return KeySet(found)


def _claim(error: JoseError) -> str:
    name = getattr(error, "claim", "")
    return f" ({name})" if name else ""
