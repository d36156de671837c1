"""Settings of the sign-in by a provider of one's own (OpenID Connect); part of `Settings`."""

from __future__ import annotations

from pydantic import field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from infra.oidc_url import OidcProvider


class OidcSettings(BaseSettings):
    """As `Settings`, which takes these over."""

    model_config = SettingsConfigDict(use_attribute_docstrings=True)

    oidc_url: str = ""
    """The provider by which staff may sign in, as it names itself, and what saycart is registered as there,
    with the redirect URI `.../sign-in/oidc/callback`: `https://login.example/realms/cafe?client_id=saycart`.
    Empty: none, staff sign in by name and password. More parameters: docs/operations.md."""

    oidc_client_secret: str = ""
    """The secret of that registration. Empty: a public client, which PKCE alone protects."""

    oidc_roles: str = ""
    """Which group is which role of which shop, a comma list: `baristas=main:reviewer, leads=main:manager`.
    Whoever is in one gets an account, and their role anew at each sign-in. Empty: invited accounts alone
    (`saycart staff invite`), with the role that they have here."""

    @field_validator("oidc_url")
    @classmethod
    def _readable(cls, url: str) -> str:
        OidcProvider.of(url)
        return url

    @property
    def oidc(self) -> OidcProvider | None:
        return OidcProvider.of(self.oidc_url)
