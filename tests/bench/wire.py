"""The cart's JSON Schema with a menu's names as enums: what a general JSON Schema masker is given.

The prompt teaches names, as the product's does, so the published schema's ids are put into names here. Keys
that only describe (titles, our own marks) are left out: some libraries refuse what they do not know. For
the same reason `oneOf` becomes `anyOf`; `kind` tells the branches apart, so both allow the same carts.
"""

from __future__ import annotations

from typing import Any

from schemas.menu import Menu
from services.engines.masks.json_schema import cart_schema
from services.engines.masks.labels import Labels

# `default` says nothing of what may be written, and `discriminator` repeats the constants of `kind`.
_SILENT = {"title", "description", "version", "default", "discriminator", "$schema", "x-values", "x-each"}


def wire_schema(menu: Menu) -> dict[str, Any]:
    """The schema of the text that a model writes for `menu`: items, sizes, groups and options by name."""
    labels = Labels(menu)
    names: dict[str, list[str]] = {
        "items": list(labels.items.values()),
        "sizes": list(labels.sizes.values()),
        "groups": list(labels.groups.values()),
        "options": sorted(set(labels.options.values())),
    }
    return _named(cart_schema(menu, 1), names)


def _named(node: Any, names: dict[str, list[str]]) -> Any:
    if isinstance(node, list):
        return [_named(part, names) for part in node]
    if not isinstance(node, dict):
        return node
    found = {
        {"oneOf": "anyOf"}.get(key, key): {name: _named(field, names) for name, field in value.items()}
        if key in ("properties", "$defs")
        else _named(value, names)
        for key, value in node.items()
        if key not in _SILENT
    }
    own = names.get(node.get("x-values", ""))
    if own is not None:
        target = found["anyOf"][0] if "anyOf" in found else found
        target["enum"] = own
    return found
