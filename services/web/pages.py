"""What every page shares: templates, the strict policy, forms, and errors told in words.

A page loads scripts and styles from this process alone, and has none inside its HTML: the policy forbids
both, so that text from a customer or a menu can never run. `page()` is the only way out for HTML.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from schemas import wording
from schemas.errors import SaycartError
from services.api import problems
from services.api.gate.bodies import MAX_JSON_BYTES, declared_length, media_type
from services.api.problems import RequestRefused

HERE = Path(__file__).parent
STATIC = HERE / "static"

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'{nonce}; img-src 'self' data:; "
    "media-src 'self' blob:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS = {
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "microphone=(self), camera=(), geolocation=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@cache
def static(path: str) -> str:
    """The address of a shipped file, with its digest in it so that browsers may keep it for good."""
    digest = hashlib.sha256((STATIC / path).read_bytes()).hexdigest()[:12]
    return f"/static/{path}?v={digest}"


def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"static": static}
    made.filters |= {"money": wording.money, "amount": wording.amount}
    made.filters |= {"option": wording.option, "note": wording.note}
    return made


TEMPLATES = _environment()


def page(
    request: Request,
    template: str,
    *,
    status: int = 200,
    headers: dict[str, str] | None = None,
    **context: Any,
) -> HTMLResponse:
    """Render `template` under the strict policy.

    `style_nonce` in the context is for wavesurfer.js, which puts a style element into its shadow root.
    """
    nonce = secrets.token_urlsafe(16)
    text = TEMPLATES.get_template(template).render(
        {
            "path": request.url.path,
            "staff": getattr(request.state, "staff", None),
            "style_nonce": nonce,
            **context,
        }
    )
    # The nonce is sent only where a page hands it on: elsewhere no inline style at all is allowed.
    policy = _POLICY.format(nonce=f" 'nonce-{nonce}'" if nonce in text else "")
    return HTMLResponse(
        text,
        status_code=status,
        headers={
            **_HEADERS,
            "Content-Security-Policy": policy,
            "Cache-Control": "no-store",
            "Vary": "HX-Request, Cookie",
            **(headers or {}),
        },
    )


def is_fragment(request: Request) -> bool:
    """Whether htmx asks, which puts the answer into a page that is there."""
    return "hx-request" in request.headers


def go(request: Request, where: str) -> Response:
    """Send the browser to another page; a form that was sent is not sent again by a reload."""
    if is_fragment(request):
        return Response(status_code=204, headers={"HX-Redirect": where})
    return Response(status_code=303, headers={"Location": where})


def problem_page(
    request: Request, error: SaycartError, template: str = "problem.html", **more: Any
) -> Response:
    """An error in words with its hint: a whole page, or the box `#problem` of the page that htmx fills."""
    problem, headers = problems.describe(request, error)
    if is_fragment(request):
        template, headers = (
            "parts/problem.html",
            headers | {"HX-Retarget": "#problem", "HX-Reswap": "innerHTML"},
        )
    return page(request, template, status=problem.status, headers=headers, problem=problem, **more)


class PageRoute(APIRoute):
    """A route whose refusals are pages and not JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        inner = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                return await inner(request)
            except HTTPException as error:
                if 300 <= error.status_code < 400:  # such as "sign in first"
                    return go(request, (error.headers or {}).get("Location", "/"))
                return problem_page(request, problems.refusal(request, error))
            except (SaycartError, RequestValidationError) as error:
                return problem_page(request, problems.refusal(request, error))

        return handled


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a plain form, each with all of its values in the order of the page."""

    fields: dict[str, list[str]]

    def get(self, name: str, default: str = "") -> str:
        return self.fields.get(name, [default])[0].strip()

    def all(self, name: str) -> list[str]:
        return self.fields.get(name, [])

    def __contains__(self, name: str) -> bool:
        return name in self.fields


async def read_form(request: Request) -> Form:
    """The request's form, without its files. Starlette keeps it, so the sign-in may read it for its token.

    Raises:
        RequestRefused: another content type (415), too long or of unknown length (413), or unreadable (400).
    """
    kind = media_type(request)
    if kind not in ("application/x-www-form-urlencoded", "multipart/form-data"):
        raise RequestRefused(
            "unsupported_media_type", 415, f"This page takes a form, not {kind or 'nothing'!r}."
        )
    length = declared_length(request)
    if length is None or length > MAX_JSON_BYTES:
        raise RequestRefused("body_too_large", 413, f"The form is over {MAX_JSON_BYTES} bytes.")
    fields: dict[str, list[str]] = {}
    for name, value in (await request.form()).multi_items():
        if isinstance(value, str):
            fields.setdefault(name, []).append(value)
    if any("\0" in value for values in fields.values() for value in values):
        raise RequestRefused("malformed_body", 400, "The form has a NUL character.")
    return Form(fields)


Fields = Annotated[Form, Depends(read_form)]


class Shipped(StaticFiles):
    """Files of this package. One that is asked for by its digest never changes."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        answer = await super().get_response(path, scope)
        kept = b"v=" in scope["query_string"]
        answer.headers["Cache-Control"] = "public, max-age=31536000, immutable" if kept else "no-cache"
        return answer
