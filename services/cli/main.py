"""`saycart`: the command line. Each command is a file of its own."""

from __future__ import annotations

from typing import Annotated

import typer

from infra.observability.telemetry import configure_logging
from services.cli import stack
from services.cli.commands import (
    audit,
    doctor,
    evaluate,
    explain,
    keys,
    masked,
    menu,
    migrate,
    models,
    order,
    privacy,
    replay,
    reviews,
    shops,
    staff,
    till,
    webhooks,
)
from services.cli.version import show_version

app = typer.Typer(name="saycart", no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=show_version, is_eager=True, help="Print version, commit and models."
        ),
    ] = False,
) -> None:
    """Turns spoken orders into priced carts; a person reviews doubtful ones."""


app.command("migrate")(migrate.migrate)
app.command("run")(stack.run)
app.command("demo")(stack.demo)
app.command("order")(order.order)
app.command("explain")(explain.explain)
app.command("masked")(masked.masked)
app.command("replay")(replay.replay)
app.command("erase")(privacy.erase)
app.command("export")(privacy.export)
app.add_typer(menu.app, name="menu", help="Import and export menus of the running stack.")
app.add_typer(reviews.app, name="reviews", help="Export what staff corrected.")
app.add_typer(shops.app, name="shops", help="Manage shops.")
app.add_typer(keys.app, name="keys", help="Manage API keys and their scopes.")
app.add_typer(staff.app, name="staff", help="Manage staff accounts.")
app.add_typer(audit.app, name="audit", help="Show and verify the append-only audit log.")
app.add_typer(webhooks.app, name="webhooks", help="Manage webhook endpoints and messages.")
app.add_typer(till.app, name="till", help="Try what a till would be sent.")
app.add_typer(models.app, name="models", help="Fetch and check model weights.")
app.command("eval")(evaluate.evaluate)
app.command("doctor")(doctor.doctor)


def main() -> None:
    configure_logging("warning", as_json=False)
    app()


if __name__ == "__main__":
    main()
