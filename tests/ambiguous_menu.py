"""A menu with ambiguous names, for tests of how carts write them."""

from __future__ import annotations

from schemas.menu import Menu

CAFE = Menu.parse(
    {
        "id": "cafe",
        "name": "Café",
        "currency": "EUR",
        "sizes": [{"id": "S", "name": "small"}, {"id": "L", "name": "large"}],
        "option_groups": [
            {
                "id": "heat",
                "name": "heat",
                "choose": "many",
                "options": [{"id": "hot", "name": "hot"}, {"id": "xhot", "name": "extra hot"}],
            },
            {
                "id": "fill",
                "name": "filling",
                "choose": "many",
                "options": [{"id": "cheese", "name": "cheese"}, {"id": "ham", "name": "ham"}],
            },
            {
                "id": "top",
                "name": "topping",
                "choose": "many",
                "options": [{"id": "grated", "name": "Cheese"}, {"id": "nuts", "name": "nuts; salted"}],
            },
        ],
        "items": [
            {"sku": "latte", "name": "Latte", "prices": {"S": 300, "L": 400}, "option_groups": ["heat"]},
            {"sku": "toast", "name": "Toast + Jam", "price": 300, "option_groups": ["fill", "top"]},
            {"sku": "roll", "name": "Roll", "price": 200, "option_groups": ["fill"]},
        ],
    }
)
