"""`saycart staff`: staff accounts, in the database; needs no running stack."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from schemas.errors import InputError
from schemas.shops.access import MAIN_SHOP, Role
from services.cli.client import errors_shown, opened, operator

app = typer.Typer(no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="sign-in name, also shown in records")]
FromStdin = Annotated[bool, typer.Option("--password-stdin", help="Read the password from standard input.")]


@app.command()
def add(
    name: Name,
    password_stdin: FromStdin = False,
    shop: Annotated[str, typer.Option(help="the shop's id; see `saycart shops list`")] = MAIN_SHOP,
    role: Annotated[
        Role | None, typer.Option(help="default: admin for a shop's first account, then reviewer")
    ] = None,
    no_password: Annotated[
        bool, typer.Option("--no-password", help="Create it without a password; then `staff invite` them.")
    ] = False,
) -> None:
    """Create an account."""
    with errors_shown() as console, opened() as box:
        first = not any(one.shop == shop for one in box.staff.list())
        role = role or (Role.ADMIN if first else Role.REVIEWER)
        password = None if no_password else _password(password_stdin)
        account = box.staff.add(name, password, shop=shop, role=role, by=operator())
        how = f"; invite them: saycart staff invite {account.name!r} --email ..." if no_password else ""
        said = f"{account.name}, {account.role} of {account.shop}, can sign in at /sign-in{how}"
        console.print(said, markup=False)


@app.command("list")
def list_() -> None:
    """List all accounts."""
    with errors_shown() as console, opened() as box:
        table = Table("name", "shop", "role", "since", "two-step", "provider", "disabled", box=None)
        for one in box.staff.list():
            ended = one.disabled_at.strftime("%Y-%m-%d %H:%M") if one.disabled_at else ""
            step, since = "on" if one.second_step else "", one.created_at.strftime("%Y-%m-%d %H:%M")
            cells = (one.name, one.shop, one.role or "unknown", since, step, one.provider or "", ended)
            table.add_row(*map(escape, cells))
        console.print(table)


@app.command()
def invite(
    name: Name,
    email: Annotated[str | None, typer.Option(help="their email address, verified by the provider")] = None,
    subject: Annotated[str | None, typer.Option(help="the provider's id for them (`sub`)")] = None,
) -> None:
    """Let an account sign in through the provider; ends its sessions."""
    with errors_shown() as console, opened() as box:
        if (provider := box.settings.oidc) is None:
            raise InputError("No sign-in provider is set", hint="Set SAYCART_OIDC_URL.")
        box.provider_accounts.invite(name, provider.issuer, email=email, subject=subject, by=operator())
        console.print(f"{name} can sign in with {provider.name}", markup=False)


@app.command()
def unbind(name: Name) -> None:
    """Remove an account's link or invitation to the provider; ends its sessions."""
    with errors_shown() as console, opened() as box:
        box.provider_accounts.unbind(name, by=operator())
        console.print(
            f"{escape(name)} now signs in with a password only; set one with `saycart staff password`"
        )


@app.command()
def disable(name: Name) -> None:
    """Disable an account and end its sessions."""
    with errors_shown() as console, opened() as box:
        console.print(f"{escape(box.staff.disable(name, by=operator()).name)} can no longer sign in")


@app.command()
def role(name: Name, to: Annotated[Role, typer.Argument(help="reviewer, manager or admin")]) -> None:
    """Change an account's role, effective immediately."""
    with errors_shown() as console, opened() as box:
        console.print(f"{escape(name)} is now {box.staff.set_role(name, to, by=operator()).role}")


@app.command()
def password(name: Name, password_stdin: FromStdin = False) -> None:
    """Set a new password and end the account's sessions."""
    with errors_shown() as console, opened() as box:
        changed = box.staff.set_password(name, _password(password_stdin), by=operator())
        console.print(f"{changed.name} has a new password", markup=False)


@app.command("sign-out")
def sign_out(name: Name) -> None:
    """End all sessions of an account."""
    with errors_shown() as console, opened() as box:
        box.sessions.end_all(name, by=operator())
        console.print(f"{name} is signed out everywhere", markup=False)


@app.command("totp-reset")
def totp_reset(name: Name) -> None:
    """Turn off two-step sign-in for someone who lost phone and codes; ends their sessions."""
    with errors_shown() as console, opened() as box:
        box.second_steps.off(name, by=operator())
        console.print(
            f"{escape(name)} now signs in with the password only, until two-step sign-in is set up again"
        )


def _password(from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\n")
    if not sys.stdin.isatty():
        raise InputError("No terminal to read a password from", hint="Use --password-stdin.")
    return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True))
