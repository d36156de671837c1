"""`/docs`, `/openapi.json` and `/problems/<code>`, open to all: plain pages, made of the OpenAPI document.

FastAPI's own page loads its script from another host. This one loads nothing, and its policy forbids it to.
"""

from __future__ import annotations

import base64
import hashlib
from html import escape
from typing import Any

from fastapi import APIRouter, Depends, Request
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse

from schemas import errors
from services.api.gate.rates import by_address
from services.api.problem_codes import TITLES

router = APIRouter(include_in_schema=False)

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color:#1a1a1a;background:#fff}code,pre,.m{font-family:ui-monospace,monospace}.m{font-weight:700}"
    "section{border-top:1px solid #ccc;padding:.6rem 0}h2{font-size:1rem;margin:0}p,ul,pre{margin:.3rem 0}"
    "@media(prefers-color-scheme:dark){body{color:#eee;background:#161616}a{color:#8cb4ff}}"
)
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)


def page(title: str, inner: str, status: int = 200) -> HTMLResponse:
    """A page under the strict policy. `inner` is HTML, made by callers from escaped pieces only."""
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body><h1>{escape(title)}</h1>{inner}</body></html>"
    )
    return HTMLResponse(text, status_code=status, headers={"Content-Security-Policy": _POLICY})


def rendered(document: dict[str, Any]) -> HTMLResponse:
    """The page of an OpenAPI document: every call with its parameters, its answers, and its scope."""
    inner = [
        f"<p>{escape(document['info']['description'])}</p>",
        '<p>Machine-readable: <a href="/openapi.json">/openapi.json</a>. Problems: ',
        ", ".join(f'<a href="/problems/{code}">{code}</a>' for code in sorted(TITLES)),
        "</p>",
    ]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            inner.append(_operation(path, method, operation))
    return page(f"{document['info']['title']} {document['info']['version']}", "".join(inner))


def _operation(path: str, method: str, operation: dict[str, Any]) -> str:
    scopes = sorted(
        scope for asked in operation.get("security", []) for given in asked.values() for scope in given
    )
    lines = [_parameter(parameter) for parameter in operation.get("parameters", [])]
    lines += [f"body {media}" for media in operation.get("requestBody", {}).get("content", {})]
    lines += [f"scope {scope}" for scope in scopes]
    lines.append(f"answers {', '.join(operation['responses'])}")
    listed = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return (
        f'<section><h2><span class="m">{method.upper()}</span> <code>{escape(path)}</code></h2>'
        f"<p>{escape(operation['description'])}</p><ul>{listed}</ul>"
        f"<pre>{escape(operation['x-codeSamples'][0]['source'])}</pre></section>"
    )


def _parameter(parameter: dict[str, Any]) -> str:
    needed = ", required" if parameter.get("required") else ""
    return f"{parameter['name']} ({parameter['in']}{needed}) {parameter.get('description', '')}"


@router.get("/docs", dependencies=[Depends(by_address)])
def reference(request: Request) -> HTMLResponse:
    """Every call, its parameters, its body and its answers."""
    return rendered(request.app.openapi())


@router.get("/openapi.json", dependencies=[Depends(by_address)])
def document(request: Request) -> JSONResponse:
    """The same for machines."""
    return JSONResponse(request.app.openapi())


@router.get("/problems/{code}")
def problem(code: str) -> HTMLResponse:
    """What a problem type means and how to fix it."""
    title = TITLES.get(code)
    if title is None:
        raise HTTPException(404)  # counted as any address that leads nowhere
    hint = next((cls.hint for cls in _tree(errors.SaycartError) if cls.code == code), None)
    again = "yes, the same request may work later" if code in _RETRYABLE else "no, fix the request first"
    inner = (
        f"<p><code>{escape(code)}</code></p><p>{escape(hint or errors.InputError.hint)}</p>"
        f'<p>Worth a retry: {again}.</p><p><a href="/docs">All calls and problems</a></p>'
    )
    return page(title, inner)


def _tree(root: type[errors.SaycartError]) -> list[type[errors.SaycartError]]:
    return [root, *(leaf for child in root.__subclasses__() for leaf in _tree(child))]


_RETRYABLE = {cls.code for cls in _tree(errors.SaycartError) if cls.retryable} | {"storage_full"}
