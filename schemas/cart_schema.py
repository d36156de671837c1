"""The JSON Schema of `CartDraft`, from which the mask is made and which the API publishes."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from schemas.cart import CartDraft

SCHEMA: dict[str, Any] = CartDraft.model_json_schema()
SCHEMA_VERSION = hashlib.sha256(json.dumps(SCHEMA, sort_keys=True).encode()).hexdigest()[:12]
"""Changes when and only when the shape of a cart does, and with it each of its spellings."""
PUBLISHED = {
    **SCHEMA,
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "version": SCHEMA_VERSION,
}
