"""The shop's accounts, as `saycart staff` has them."""

from __future__ import annotations

from typing import Any

from infra.passwords import readable_secret
from schemas.errors import Conflict, InputError, NotFound
from schemas.shops.access import Role
from services.shop_scope import ShopScope
from services.web.pages import Form


def content(shop: ShopScope) -> dict[str, Any]:
    """Return the context of the page."""
    return {"people": shop.staff.list(), "roles": list(Role)}


def _add(shop: ShopScope, form: Form) -> tuple[str, str] | None:
    """Add a person with a new password, or invite one by email address through the provider."""
    name, email = form.get("name"), form.get("email")
    password = None if email and _issuer(shop) else readable_secret()
    shop.staff.add(name, password, shop=shop.shop, role=_role(form), by=shop.by)
    if password is None:
        _invite(shop, name, email)
    return None if password is None else (f"Password for {name}", password)


def _change_role(shop: ShopScope, form: Form) -> None:
    shop.staff.set_role(_other(shop, form), _role(form), by=shop.by)


def _reset_password(shop: ShopScope, form: Form) -> tuple[str, str]:
    name, password = _other(shop, form), readable_secret()
    shop.staff.set_password(name, password, by=shop.by)
    return f"New password for {name}", password


def _invite_again(shop: ShopScope, form: Form) -> None:
    _invite(shop, _other(shop, form), form.get("email"))


def _block(shop: ShopScope, form: Form) -> None:
    shop.staff.disable(_other(shop, form), by=shop.by)


def _sign_out(shop: ShopScope, form: Form) -> None:
    shop.sessions.end_all(_other(shop, form), shop=shop.shop, by=shop.by)


def _unbind(shop: ShopScope, form: Form) -> None:
    shop.provider_accounts.unbind(_other(shop, form), by=shop.by)


def _reset_second_step(shop: ShopScope, form: Form) -> None:
    """Turn two-step sign-in off for someone who lost phone and codes."""
    shop.second_steps.off(_other(shop, form), shop=shop.shop, by=shop.by)


def _invite(shop: ShopScope, name: str, email: str) -> None:
    shop.provider_accounts.invite(name, _issuer(shop), email=email, by=shop.by)


def _issuer(shop: ShopScope) -> str:
    if (provider := shop.settings.oidc) is None:
        raise NotFound("No sign-in provider is set up here", hint="Give them a password instead.")
    return provider.issuer


def _other(shop: ShopScope, form: Form) -> str:
    """Return the account to change, never one's own, so that an admin remains."""
    if (name := form.get("account")) == shop.access.person:
        hint = "Ask another administrator; your password is changed at /account."
        raise Conflict("You can't change your own account here", hint=hint)
    return name


def _role(form: Form) -> Role:
    if (role := Role.stored(form.get("role"))) is None:
        raise InputError("Unknown role", hint=f"Choose one of {', '.join(Role)}.")
    return role


ACTIONS = {
    "add": _add,
    "role": _change_role,
    "password": _reset_password,
    "invite": _invite_again,
    "sign-out": _sign_out,
    "unbind": _unbind,
    "second-step": _reset_second_step,
    "block": _block,
}
