"""The OpenAPI document: FastAPI's, with every refusal that a call may meet and the bodies that it can't see.

What a route refuses on its own account (a conflict, a range) it declares itself. What follows from what it
takes is added here, so that a new route says it without anybody thinking of it.
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
from services.api.problems import AGAIN, MEDIA_TYPE

_PROBLEM = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
_REST = "an RFC 9457 problem: none of these, such as 421 for a name that is not ours, 408 for a slow client"
_NAMES = {
    "order_id": "ord_01kb5s9v0x",
    "review_id": "rev_01kb5s9v7c",
    "menu_id": "corner-cafe",
    "name": "ticket",
}
# Those that say when to come again.
_LATER = ("429", "503", "507")


def written(app: FastAPI, unseen: Sequence[type[BaseModel]]) -> dict[str, Any]:
    """The document of `app`, made once; `unseen` are models of bodies that its routes read by themselves."""
    if app.openapi_schema:
        return app.openapi_schema
    document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    models = dict.fromkeys(unseen)
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
            operation["responses"] = _answers(path, operation)
            source = _command(path, method, operation, components)
            operation["x-codeSamples"] = [{"lang": "Shell", "source": source}]
    app.openapi_schema = document
    return document


def _bodies(app: FastAPI) -> Iterator[tuple[str, str, type[BaseModel]]]:
    """Yield path, method and model of each call whose body is read by `bodies.body`."""
    for found in iter_route_contexts(app.routes):
        for below in dependants(found.dependant) if hasattr(found, "dependant") else ():
            if model := getattr(below.call, "takes", None):
                yield from ((str(found.path), method, model) for method in found.methods or ())


def _close(node: Any) -> None:
    """Say that maps whose keys have a form take no others: pydantic refuses them, and does not say so."""
    if isinstance(node, dict):
        if "patternProperties" in node:
            node.setdefault("additionalProperties", False)
        node = list(node.values())
    if isinstance(node, list):
        for inner in node:
            _close(inner)


def _command(path: str, method: str, operation: dict[str, Any], schemas: dict[str, Any]) -> str:
    """The call as one line of a shell."""
    words = ["curl", *([] if method == "get" else ["-X", method.upper()])]
    if operation.get("security"):
        words.append('-H "Authorization: Bearer $KEY"')
    content = operation.get("requestBody", {}).get("content", {})
    if media := content.get("application/json"):
        example = media.get("example") or schemas[media["schema"]["$ref"].rpartition("/")[2]]["examples"][0]
        words.append(f"--json '{json.dumps(example)}'")
    return " ".join([*words, f'"$SAYCART{path.format_map(_NAMES)}"'])


def _answers(path: str, operation: dict[str, Any]) -> dict[str, Any]:
    """What a route declares, FastAPI's own 422 put aside, and what follows; lowest status first."""
    answers = dict(operation["responses"])
    if "HTTPValidationError" in str(answers.get("422")):
        del answers["422"]
    for status, description in _following(path, operation):
        answers.setdefault(status, {"description": description})
    for status, answer in answers.items():
        if status >= "400":
            answer.setdefault("content", _PROBLEM)
        if status in _LATER:
            answer.setdefault("headers", AGAIN)
    return dict(sorted(answers.items())) | {"default": {"description": _REST, "content": _PROBLEM}}


def _following(path: str, operation: dict[str, Any]) -> Iterator[tuple[str, str]]:
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
