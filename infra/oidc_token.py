"""Validation of ID tokens: signature, audience, nonce and expiry."""

from __future__ import annotations

from typing import Any

from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet, RSAKey
from joserfc.jws import JWSRegistry

# Asymmetric signatures only: anyone can sign with `none`, and with HS256 anyone who knows the secret.
ALGORITHMS = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
    "Ed25519",
)  # fmt: skip
KEY_TYPES = ("RSA", "EC", "OKP")
MIN_RSA_BITS = 2048
# Allowed difference between two clocks.
LEEWAY_S = 60
MAX_SUBJECT_CHARS = 255  # what OpenID Connect allows


class UnknownKey(Exception):
    """Signed by a key that is not in the set; the provider may have published a newer one."""


def checked(
    id_token: str, keys: dict[str, Any], *, issuer: str, client_id: str, nonce: str, access_token: Any = None
) -> dict[str, Any]:
    """Return the claims of a valid ID token. `keys` is the provider's JWKS.

    Raises:
        UnknownKey: the signing key is not in `keys`.
        ValueError: it is invalid. The message names the claim or the error, without its value.
    """
    expected = {
        name: {"essential": True, "value": value} for name, value in (("iss", issuer), ("aud", client_id))
    }
    try:
        registry = JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
        token = jwt.decode(id_token, _usable(keys), registry=registry)
        sent = {"nonce": nonce, "client_id": client_id, "access_token": access_token}
        claims = CodeIDToken(token.claims, token.header, expected, sent)
        claims.validate(leeway=LEEWAY_S)
        subject = claims["sub"]
        fits = 1 <= len(subject) <= MAX_SUBJECT_CHARS and subject.isascii() and subject.isprintable()
    except InvalidKeyIdError as error:
        raise UnknownKey from error
    except JoseError as error:
        claim = getattr(error, "claim", "")
        raise ValueError(f"invalid ID token: {error.error} {claim}".rstrip()) from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        # Errors of the libraries for malformed tokens.
        raise ValueError(f"unreadable ID token: {type(error).__name__}") from None
    if not fits:
        raise ValueError("invalid ID token: sub")
    return dict(claims)


def _usable(jwks: dict[str, Any]) -> KeySet:
    """Return the signing keys. Providers also publish keys of other uses and types."""
    signing = [key for key in jwks["keys"] if key.get("kty") in KEY_TYPES and key.get("use", "sig") == "sig"]
    found = KeySet.import_key_set({"keys": signing})
    strong = (
        key for key in found.keys if not isinstance(key, RSAKey) or key.public_key.key_size >= MIN_RSA_BITS
    )
    return KeySet([*strong])
