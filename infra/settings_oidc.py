"""Settings of signing in through your own identity provider (OpenID Connect); part of `Settings`.

Light: `oidc.py`, which talks to the provider, is imported only where one is set.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from infra.addresses import LOOPBACK, parameters


class OidcProvider(BaseModel):
    """What `SAYCART_OIDC_URL` names: the provider's issuer, and the parameters behind it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    issuer: str
    client_id: str = Field(min_length=1)
    name: str = Field("your organisation", min_length=1, max_length=60)
    scope: str = "openid email profile"
    only: bool = False

    @field_validator("issuer")
    @classmethod
    def _encrypted(cls, issuer: str) -> str:
        parts = urlsplit(issuer)
        if not is_safe(issuer) or parts.query or parts.fragment:
            raise ValueError("the issuer must be an https address; http works on loopback only")
        return issuer


class OidcSettings(BaseSettings):
    """Taken over by `Settings`."""

    model_config = SettingsConfigDict(use_attribute_docstrings=True)

    oidc_url: str = ""
    """The provider by which staff may sign in, as it names itself, and what saycart is registered as there,
    with the redirect URI `.../sign-in/oidc/callback`: `https://login.example/realms/cafe?client_id=saycart`.
    Empty: none, staff sign in by name and password. More parameters: docs/operations.md."""

    oidc_client_secret: str = ""
    """The secret of that registration. Empty: a public client, which PKCE alone protects."""

    @field_validator("oidc_url")
    @classmethod
    def _readable(cls, url: str) -> str:
        _provider(url)
        return url

    @property
    def oidc(self) -> OidcProvider | None:
        return _provider(self.oidc_url)


def is_safe(url: object) -> bool:
    """Return whether requests to `url` are encrypted, or stay on this machine."""
    try:
        parts = urlsplit(str(url))
    except ValueError:
        return False
    local = parts.scheme == "http" and parts.hostname in LOOPBACK
    return bool(parts.hostname) and (parts.scheme == "https" or local)


def _provider(url: str) -> OidcProvider | None:
    if not url:
        return None
    issuer, given = parameters(url, *OidcProvider.model_fields)
    return OidcProvider.model_validate({**given, "issuer": issuer})
