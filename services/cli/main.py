"""`saycart`: the command line. Each command lives in a file of its own and imports what it needs when run."""

from __future__ import annotations

import typer

from services.cli import recordings, stack
from services.cli.commands import (
    audit,
    backup,
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
    webhooks,
)

app = typer.Typer(
    name="saycart",
    help="A spoken order comes out as a correct, priced cart, or a human is asked.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command("migrate")(migrate.migrate)
app.command("run")(stack.run)
app.command("demo")(stack.demo)
app.command("order")(order.order)
app.command("explain")(explain.explain)
app.command("masked")(masked.masked)
app.command("replay")(replay.replay)
app.command("backup")(backup.backup)
app.command("restore")(backup.restore)
app.command("erase")(privacy.erase)
app.command("export")(privacy.export)
app.add_typer(menu.app, name="menu", help="Import and export menus of the running stack.")
app.add_typer(reviews.app, name="reviews", help="What staff corrected, to learn from.")
app.add_typer(recordings.app, name="recordings", help="What customers said, where it is kept.")
app.add_typer(shops.app, name="shops", help="Shops, to which everything belongs.")
app.add_typer(keys.app, name="keys", help="Keys of a shop's machines, with what they may do.")
app.add_typer(staff.app, name="staff", help="Accounts of those who settle doubts at /review.")
app.add_typer(audit.app, name="audit", help="Who did what: the log that is only ever added to.")
app.add_typer(
    webhooks.app,
    name="webhooks",
    help="Where shops are told of orders, and what they are told.",
)
app.add_typer(models.app, name="models", help="Fetch and check model weights.")
app.add_typer(evaluate.app, name="eval", help="Score the pipeline on gold rows, in process.")
app.command("doctor")(doctor.doctor)


def main() -> None:
    app()


if __name__ == "__main__":
    main()
