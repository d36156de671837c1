"""The OpenAPI document: FastAPI's, plus the errors of each call and the bodies that FastAPI can't see.

Routes declare only errors of their own, such as a conflict. The errors that follow from a route's parameters
and body are added here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from services.api.deps import dependants
from services.api.gate.bodies import takes
from services.api.problems import MEDIA_TYPE, RETRY_AFTER

_PROBLEM = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
_REST = "an RFC 9457 problem with another status, such as 421 for an unknown host name"
_NAMES = {
    "order_id": "ord_01kb5s9v0x",
    "review_id": "rev_01kb5s9v7c",
    "menu_id": "corner-cafe",
    "name": "ticket",
}
# Statuses with a Retry-After header.
_LATER = ("429", "503", "507")


def openapi(app: FastAPI, more_models: Sequence[type[BaseModel]]) -> dict[str, Any]:
    """Return the cached document of `app`; `more_models` are those that FastAPI can't find."""
    if app.openapi_schema:
        return app.openapi_schema
    document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    models = dict.fromkeys(more_models)
    for path, method, model in _bodies(app):
        models[model] = None
        document["paths"][path][method.lower()].update(takes(model))
    _, schemas = models_json_schema(
        [(model, "validation") for model in models], ref_template="#/components/schemas/{model}"
    )
    components = schemas["$defs"] | document["components"]["schemas"]
    del components["HTTPValidationError"], components["ValidationError"]
    _close(components)
    document["components"]["schemas"] = components
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            operation["summary"] = re.split(r"\.|(?<=\?)", operation["description"], maxsplit=1)[0]
            operation["responses"] = _responses(path, operation)
            source = _command(path, method, operation, components)
            operation["x-codeSamples"] = [{"lang": "Shell", "source": source}]
    app.openapi_schema = document
    return document


def _bodies(app: FastAPI) -> Iterator[tuple[str, str, type[BaseModel]]]:
    """Yield path, method and model of each call with a body read by `bodies.body`."""
    for route in iter_route_contexts(app.routes):
        for dependant in dependants(route.dependant) if hasattr(route, "dependant") else ():
            if model := getattr(dependant.call, "takes", None):
                yield from ((str(route.path), method, model) for method in route.methods or ())


def _close(node: Any) -> None:
    """Forbid other keys in maps with a key pattern: pydantic refuses them, but its schema doesn't say so."""
    if isinstance(node, dict):
        if "patternProperties" in node:
            node.setdefault("additionalProperties", False)
        node = list(node.values())
    if isinstance(node, list):
        for inner in node:
            _close(inner)


def _command(path: str, method: str, operation: dict[str, Any], schemas: dict[str, Any]) -> str:
    """Return the call as a shell command."""
    words = ["curl", *([] if method == "get" else ["-X", method.upper()])]
    if operation.get("security"):
        words.append('-H "Authorization: Bearer $KEY"')
    content = operation.get("requestBody", {}).get("content", {})
    if media := content.get("application/json"):
        example = media.get("example") or schemas[media["schema"]["$ref"].rpartition("/")[2]]["examples"][0]
        words.append(f"--json '{json.dumps(example)}'")
    return " ".join([*words, f'"$SAYCART{path.format_map(_NAMES)}"'])


def _responses(path: str, operation: dict[str, Any]) -> dict[str, Any]:
    """Return the declared responses, without FastAPI's own 422, and the common errors, by status."""
    responses = dict(operation["responses"])
    if "HTTPValidationError" in str(responses.get("422")):
        del responses["422"]
    for status, description in _common_errors(path, operation):
        responses.setdefault(status, {"description": description})
    for status, response in responses.items():
        if status >= "400":
            response.setdefault("content", _PROBLEM)
        if status in _LATER:
            response.setdefault("headers", RETRY_AFTER)
    return dict(sorted(responses.items())) | {"default": {"description": _REST, "content": _PROBLEM}}


def _common_errors(path: str, operation: dict[str, Any]) -> Iterator[tuple[str, str]]:
    body = "requestBody" in operation
    yield "400", "the request can't be read"
    if operation.get("security"):
        yield "401", "no key, or an unknown or expired one"
        yield "403", "the key lacks the scope, or a cross-site request"
        yield "429", "over a limit of requests, bytes or open streams"
        yield "503", "the database is unavailable"
    if "{" in path:
        yield "404", "not found in this shop"
    if body:
        yield "413", "the body is too large"
        yield "415", "unsupported content type"
    if body or operation.get("security"):
        yield "422", "a field, parameter or id is invalid or unknown; `errors` lists each place"
