"""The JSON Schema that the API publishes: the one of `CartDraft`, open or closed to one menu's values."""

from __future__ import annotations

import copy
from typing import Any

from schemas.menu import Menu
from services.decoding.spelling import SCHEMA, schema_version


def cart_schema(menu: Menu | None = None, menu_version: int | None = None) -> dict[str, Any]:
    """JSON Schema 2020-12 with `version`. With a menu, ids are enums of that menu version,
    and a line has at most as many options as one of its items offers.

    It is looser than the mask of an order: which size goes with which item is the grammar's to say.
    """
    schema: dict[str, Any] = copy.deepcopy(dict(SCHEMA))
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["version"] = schema_version()
    if menu is None:
        return schema
    schema["version"] = f"{schema_version()}/{menu.id}/{menu_version}"
    groups = menu.nested_groups()
    values: dict[str, list[str]] = {
        "items": [item.sku for item in menu.items],
        "sizes": [size.id for size in menu.sizes],
        "groups": [group.id for group in groups],
        "options": sorted({option.id for group in groups for option in group.options}),
    }
    options = schema["$defs"]["ItemLine"]["properties"]["options"]
    offered = max(sum(len(g.options) for g in menu.groups_of(item)) for item in menu.items)
    options["maxItems"] = min(options["maxItems"], offered)
    for definition in schema["$defs"].values():
        for field in definition.get("properties", {}).values():
            if (allowed := values.get(field.get("x-values", ""))) is not None:
                (field["anyOf"][0] if "anyOf" in field else field)["enum"] = allowed
    return schema
