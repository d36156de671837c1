"""What `SAYCART_OIDC_URL` says. Light: `oidc.py`, which asks the provider, is imported where one is set."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from infra.addresses import parameters


class OidcProvider(BaseModel):
    """The provider of sign-ins: its issuer, and the parameters behind that."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    issuer: str
    client_id: str = ""
    name: str = Field("your organisation", min_length=1, max_length=60)
    scope: str = "openid email profile"
    claim: str = "groups"
    only: bool = False

    @classmethod
    def of(cls, url: str) -> OidcProvider | None:
        """Read the setting; None where it is empty.

        Raises:
            ValueError: a parameter can't be used.
        """
        if not url:
            return None
        issuer, given = parameters(url, *cls.model_fields)
        return cls.model_validate({**given, "issuer": issuer})
