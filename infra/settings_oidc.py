"""Settings of the sign-in by a provider of one's own (OpenID Connect); part of `Settings`."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class OidcSettings(BaseSettings):
    """As `Settings`, which takes these over."""

    model_config = SettingsConfigDict(use_attribute_docstrings=True)

    oidc_issuer: str = ""
    """The provider by which staff may sign in, as it names itself: `https://login.example/realms/cafe`.
    Empty: none, staff sign in by name and password."""

    oidc_client_id: str = ""
    """What saycart is registered as there, with the redirect URI `.../sign-in/oidc/callback`."""

    oidc_client_secret: str = ""
    """The secret of that registration. Empty: a public client, which PKCE alone protects."""

    oidc_name: str = Field("your organisation", min_length=1, max_length=60)
    """What the provider is called on pages: the button says `Sign in with NAME`."""

    oidc_scopes: str = "openid email profile"
    """What is asked for, spaces between; some providers tell groups only under a scope of their own."""

    oidc_claim: str = "groups"
    """The claim of the ID token that names somebody's groups; `realm_access.roles` reaches into objects."""

    oidc_roles: str = ""
    """Which group is which role of which shop, a comma list: `baristas=main:reviewer, leads=main:manager`.
    Whoever is in one gets an account, and their role anew at each sign-in. Empty: invited accounts alone
    (`saycart staff invite`), with the role that they have here."""

    oidc_only: bool = False
    """Accounts that are bound to the provider can't sign in by password any more; all others still can."""
