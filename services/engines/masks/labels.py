"""Between ids and the names that a model reads and writes.

A model is asked for names ("blueberry muffin"), never for codes ("SKU-0417"), since names carry meaning
and codes invite guessing. Menus allow a name once among items, sizes and the options of a group, by its
letters and digits, so the mapping is exact both ways even with control marks taken apart. The wire text has
no spaces outside strings and leaves defaults out.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import ValidationError

from schemas.cart import CartDraft, ItemLine
from schemas.errors import DecodeInvalid
from schemas.menu import Menu
from schemas.writable import writable


class Labels:
    """The two-way map of one menu version."""

    def __init__(self, menu: Menu) -> None:
        self.menu = menu
        self.items = {item.sku: writable(item.name) for item in menu.items}
        self.sizes = {size.id: writable(size.name) for size in menu.sizes}
        self.groups = {group.id: writable(group.name) for group in menu.option_groups}
        self.options = {
            (group.id, option.id): writable(option.name)
            for group in menu.option_groups
            for option in group.options
        }
        self._skus = {name: sku for sku, name in self.items.items()}
        self._size_ids = {name: size_id for size_id, name in self.sizes.items()}
        self._group_ids = {name: group_id for group_id, name in self.groups.items()}
        self._option_ids = {
            (group_id, name): option_id for (group_id, option_id), name in self.options.items()
        }

    def to_wire(self, draft: CartDraft) -> str:
        """The text that a model would write for `draft`: names, fixed order, defaults left out."""
        lines = []
        for line in draft.lines:
            fields: dict[str, Any] = line.model_dump(mode="json", exclude_defaults=True)
            if isinstance(line, ItemLine):
                fields["sku"] = self.items[line.sku]
                if line.size is not None:
                    fields["size"] = self.sizes[line.size]
                for option in fields.get("options", ()):
                    option["id"] = self.options[option["group"], option["id"]]
                    option["group"] = self.groups[option["group"]]
            lines.append(fields)
        return json.dumps({"lines": lines}, ensure_ascii=False, separators=(",", ":"))

    def from_wire(self, text: str) -> CartDraft:
        """Read a decoded text back into ids.

        Raises:
            DecodeInvalid: not JSON, a name outside the menu, or not a `CartDraft`.
        """
        try:
            document = json.loads(text)
            for fields in document["lines"]:
                if fields["kind"] != "item":
                    continue
                fields["sku"] = self._skus[fields["sku"]]
                if fields.get("size") is not None:
                    fields["size"] = self._size_ids[fields["size"]]
                for option in fields.get("options", ()):
                    option["group"] = self._group_ids[option["group"]]
                    option["id"] = self._option_ids[option["group"], option["id"]]
            return CartDraft.model_validate(document)
        except (ValueError, KeyError, TypeError, RecursionError, ValidationError) as error:
            raise DecodeInvalid(
                "The decoded text is not a cart of this menu", quoted=f"{error!r:.200}"
            ) from None
