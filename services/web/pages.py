"""Shared by all pages: templates, the Content-Security-Policy, forms, and error pages.

Pages load scripts and styles from this server alone, and have none inline: the policy forbids both, so text
from a customer or a menu can never run. All HTML is rendered by `page()`.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import secrets
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.datastructures import UploadFile
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
# NUL, and halves of characters, which neither database stores.
_NO_TEXT = re.compile("[\0\ud800-\udfff]")

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'{nonce}; img-src 'self' data:; "
    "media-src 'self' blob:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS = {
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "microphone=(self), camera=(), geolocation=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Vary": "HX-Request, Cookie, Accept-Encoding",
}
# Pages that grow with the menu. Not the queue: the length would tell whether one customer's words repeat
# another's (BREACH).
_COMPRESSED = ("customer/", "menu/", "docs/", "review/one", "review/cart")
_GZIP_LEVEL = 4
POLL_HEADER = "x-saycart-poll"
"""Marks requests that a page makes by itself."""


@cache
def static(path: str) -> str:
    """Return the URL of a static file, with a digest so that browsers may cache it forever."""
    digest = hashlib.sha256((STATIC / path).read_bytes()).hexdigest()[:12]
    return f"/static/{path}?v={digest}"


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"static": static, "least": wording.least}
    environment.filters |= {"money": wording.money, "amount": wording.amount, "sentence": wording.capitalized}
    environment.filters |= {"option": wording.option, "note": wording.note, "tax": wording.tax}
    return environment


TEMPLATES = _environment()


def page(
    request: Request,
    template: str,
    *,
    status: int = 200,
    headers: dict[str, str] | None = None,
    **context: Any,
) -> HTMLResponse:
    """Render `template`. Its `style_nonce` allows the styles of wavesurfer.js and of a shop's colour."""
    nonce, staff = secrets.token_urlsafe(16), getattr(request.state, "staff", None)
    context = {"path": request.url.path, "staff": staff, "style_nonce": nonce, **context}
    text = TEMPLATES.get_template(template).render(context)
    # The nonce is sent only if the page uses it; otherwise no inline style is allowed.
    policy = _POLICY.format(nonce=f" 'nonce-{nonce}'" if nonce in text else "")
    headers = {"Content-Security-Policy": policy, "Cache-Control": "no-store", **(headers or {})}
    body = text.encode()
    if template.startswith(_COMPRESSED) and "gzip" in request.headers.get("accept-encoding", ""):
        body, headers["Content-Encoding"] = gzip.compress(body, _GZIP_LEVEL), "gzip"
    return HTMLResponse(body, status_code=status, headers=_HEADERS | headers)


def is_fragment(request: Request) -> bool:
    """Return True if htmx sent the request, to update part of a page."""
    return "hx-request" in request.headers


def in_main(request: Request) -> dict[str, str]:
    """Return headers that make htmx replace the content of the page rather than the form's target."""
    swap = {"HX-Retarget": "#main", "HX-Reselect": "#main", "HX-Reswap": "outerHTML"}
    return swap if is_fragment(request) else {}


def redirect(request: Request, where: str) -> Response:
    """Redirect to another page, so that a reload doesn't resend a form."""
    if is_fragment(request):
        return Response(status_code=204, headers={"HX-Redirect": where})
    return Response(status_code=303, headers={"Location": where})


def filled(
    request: Request, template: str, error: SaycartError | None, *, status: int | None = None, **shown: Any
) -> Response:
    """Return a page with forms. `error`: what was wrong in one; it sets the status unless `status` does."""
    if error is None:
        return page(request, template, **shown)
    problem, headers = problems.describe(request, error)
    return page(request, template, status=status or problem.status, headers=headers, **shown)


def problem_page(
    request: Request, error: SaycartError, template: str = "problem.html", **more: Any
) -> Response:
    """Return an error with its hint: a whole page, or the box `#problem` for htmx."""
    problem, headers = problems.describe(request, error)
    if is_fragment(request):
        swap = "innerHTML" if POLL_HEADER in request.headers else "innerHTML show:window:top"
        template = "parts/problem.html"
        headers |= {"HX-Retarget": "#problem", "HX-Reselect": ".notice", "HX-Reswap": swap}
    return page(request, template, status=problem.status, headers=headers, problem=problem, **more)


class PageRoute(APIRoute):
    """A route whose errors are pages rather than JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        inner = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                return await inner(request)
            except (HTTPException, SaycartError, RequestValidationError) as error:
                if isinstance(error, HTTPException) and 300 <= error.status_code < 400:  # "sign in first"
                    return redirect(request, (error.headers or {}).get("Location", "/"))
                return problem_page(request, problems.refusal(request, error))

        return handled


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form, each with all its values in the page's order; and its files."""

    fields: dict[str, list[str]]
    files: dict[str, UploadFile] = field(default_factory=dict)

    def get(self, name: str, default: str = "") -> str:
        return self.fields.get(name, [default])[0].strip()

    def password(self, name: str) -> str:
        """Return a password, which may begin with a space."""
        return self.fields.get(name, [""])[0]

    def all(self, name: str) -> list[str]:
        return self.fields.get(name, [])

    def __contains__(self, name: str) -> bool:
        return name in self.fields

    @property
    def version(self) -> int:
        """The version that the page showed; raises RequestRefused without one."""
        if not re.fullmatch(r"\d{1,9}", self.get("version"), re.ASCII):
            raise problems.invalid([("/version", "is missing; reload the page")])
        return int(self.get("version"))


async def read_form(request: Request) -> Form:
    """Return the request's form, which Starlette caches for later readers; raises RequestRefused."""
    kind = media_type(request)
    if kind not in ("application/x-www-form-urlencoded", "multipart/form-data"):
        raise RequestRefused(
            "unsupported_media_type", 415, f"This page expects a form, not {kind or 'nothing'!r}."
        )
    length = declared_length(request)
    if length is None or length > MAX_JSON_BYTES:
        raise RequestRefused("body_too_large", 413, f"The form is over {MAX_JSON_BYTES} bytes.")
    fields: dict[str, list[str]] = {}
    files: dict[str, UploadFile] = {}
    for name, value in (await request.form()).multi_items():
        if isinstance(value, str):
            fields.setdefault(name, []).append(value)
        else:
            files[name] = value
    texts = [*fields, *files, *chain.from_iterable(fields.values())]
    texts += [file.filename or "" for file in files.values()]
    if any(_NO_TEXT.search(text) for text in texts):
        raise RequestRefused("malformed_body", 400, "The form has a character that is not text.")
    return Form(fields, files)


Fields = Annotated[Form, Depends(read_form)]


class Shipped(StaticFiles):
    """The static files. With a digest in its URL a file never changes."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        answer = await super().get_response(path, scope)
        cached = b"v=" in scope["query_string"]
        answer.headers["Cache-Control"] = "public, max-age=31536000, immutable" if cached else "no-cache"
        return answer
