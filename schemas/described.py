"""The base of models whose fields the documents describe by the docstrings that follow them."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Described(BaseModel):
    """A model with documented fields."""

    model_config = ConfigDict(use_attribute_docstrings=True)
