"""`saycart staff`: accounts of those who settle doubts. Works on the database itself, stack or no stack."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.table import Table

from schemas.access import MAIN_SHOP, Role
from schemas.errors import InputError
from services.cli.client import opened, operator, told

app = typer.Typer(no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="the name that is typed to sign in, and shown in records")]
FromStdin = Annotated[bool, typer.Option("--password-stdin", help="Read the password from standard input.")]


@app.command()
def add(
    name: Name,
    password_stdin: FromStdin = False,
    shop: Annotated[str, typer.Option(help="the shop's id; see `saycart shops list`")] = MAIN_SHOP,
    role: Annotated[
        Role | None, typer.Option(help="default: admin for a shop's first account, then reviewer")
    ] = None,
) -> None:
    """Make an account."""
    with told() as console, opened() as box:
        first = not any(one.shop == shop for one in box.staff.list())
        role = role or (Role.ADMIN if first else Role.REVIEWER)
        made = box.staff.add(name, _password(password_stdin), shop=shop, role=role, by=operator())
        console.print(f"{made.name}, {made.role} of {made.shop}, may sign in at /sign-in")


@app.command("list")
def list_() -> None:
    """Show every account."""
    with told() as console, opened() as box:
        table = Table("name", "shop", "role", "since", "disabled", box=None)
        for one in box.staff.list():
            ended = one.disabled_at.strftime("%Y-%m-%d %H:%M") if one.disabled_at else ""
            table.add_row(one.name, one.shop, one.role, one.created_at.strftime("%Y-%m-%d %H:%M"), ended)
        console.print(table)


@app.command()
def disable(name: Name) -> None:
    """Shut an account and end its sessions."""
    with told() as console, opened() as box:
        console.print(f"{box.staff.disable(name, by=operator()).name} can no longer sign in")


@app.command()
def password(name: Name, password_stdin: FromStdin = False) -> None:
    """Set a new password and end the account's sessions."""
    with told() as console, opened() as box:
        changed = box.staff.set_password(name, _password(password_stdin), by=operator())
        console.print(f"{changed.name} has a new password")


def _password(from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\n")
    if not sys.stdin.isatty():
        raise InputError("There is no terminal to ask for a password", hint="Use --password-stdin.")
    return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True))
