"""What the models of the API share: documented fields, and times as RFC 3339 UTC with milliseconds."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict


class Described(BaseModel):
    """A model whose fields are described by the docstrings that follow them."""

    model_config = ConfigDict(use_attribute_docstrings=True)


def _text(value: Any) -> Any:
    if not isinstance(value, datetime):
        return value
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


Moment = Annotated[str, BeforeValidator(_text)]
"""A text field that also accepts a datetime."""
