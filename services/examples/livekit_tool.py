"""A tool for a LiveKit voice agent: passes recordings of the customer to saycart.

Needs saycart-client. docs/first-order.md shows an agent that uses it.
"""

from saycart_client import AsyncLiveOrder, AsyncSaycart

AMOUNTS = {"none": "no ", "light": "light ", "extra": "extra "}
YES = "true only if the customer just said yes to the cart and total that you read out"
SCHEMA = {
    "name": "order",
    "description": "Call this when the customer orders, answers, changes or confirms; say its result.",
    "parameters": {
        "type": "object",
        "properties": {"yes": {"type": "boolean", "description": YES}},
        "required": ["yes"],
        "additionalProperties": False,
    },
}


class SpokenOrder:
    """The order of one conversation."""

    def __init__(self, saycart: AsyncSaycart, menu: str) -> None:
        self._saycart, self._menu = saycart, menu
        self._order: AsyncLiveOrder | None = None

    async def add(self, wav: bytes, yes: bool) -> str:
        """Pass the recording of the customer's turn to saycart; return the reply to say.

        With `yes`, the cart and total that were returned last are confirmed.
        """
        order = self._order
        if order is None or order.status == "completed":
            order = await self._saycart.order(wav, self._menu, confirm=True)
        elif yes and order.status == "needs_confirmation":
            order = await order.confirm()
        else:
            order = await order.say(wav)
        self._order = await order.wait()
        return spoken(self._order)


def spoken(order: AsyncLiveOrder) -> str:
    """Return the question, the cart with its total, or the outcome."""
    if order.question:
        return order.question.text
    if order.status == "needs_confirmation" and order.cart:
        lines = []
        for line in order.cart.lines:
            options = [AMOUNTS.get(one.amount, "") + one.name for one in line.options]
            lines.append(" ".join(filter(None, (str(line.quantity), line.size_name, line.name, *options))))
        total = f"{order.cart.total / 100:.2f} {order.cart.currency}"
        return f"{', '.join(lines)}. That is {total}. Is that right?"
    if order.status == "completed":
        return "Your order is being made."
    return "A colleague will look at your order."
