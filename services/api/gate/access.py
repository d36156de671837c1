"""Who asks, and whether they may: the credential of a call, its scope, and the shop's scope that it opens.

Every route names what it asks for by one of the types at the end (`ReadsOrders`, `WritesMenus`, ...), in
front of whatever reads the body; that puts it into the OpenAPI document as well. `undeclared` finds routes
that name nothing; the app refuses to start with one, so that a new route is closed until its author
opens it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterable
from typing import Annotated, Any

import structlog
from fastapi import Depends, FastAPI, Request, Security
from fastapi.dependencies.models import Dependant
from fastapi.routing import iter_route_contexts
from fastapi.security import HTTPBearer
from starlette.concurrency import run_in_threadpool

from schemas.errors import Forbidden, StorageUnavailable, Unauthorized
from schemas.field_problems import MAX_PROBLEMS
from schemas.shops.access import Access, Scope
from schemas.shops.audit import MAX_CHARS, Actor
from services.api.deps import container, dependants
from services.api.gate.rates import counted, rates_of
from services.api.problems import invalid, request_id_of
from services.shop_scope import ShopScope

_BEARER = HTTPBearer(
    scheme_name="key", description="a shop's key, made by `saycart keys add`", auto_error=False
)

# What needs no credential: probes of orchestrators, what a problem's `type` explains, and ways to get one.
PUBLIC = frozenset(
    {
        "/livez", "/readyz", "/docs", "/openapi.json", "/problems/{code}", "/at/{page_key}", "/static",
        "/sign-in", "/sign-in/code", "/sign-in/oidc", "/sign-in/oidc/callback",
    }
)  # fmt: skip


async def credential(request: Request) -> Access:
    """What the call's key comes to; counted against its limits, as a wrong one or none against its address's.

    Raises:
        Unauthorized: there is none, or it is unknown, expired or revoked; all of these alike.
        TooManyRequests: over a limit.
    """
    box, rates = container(request), rates_of(request)
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        found = await run_in_threadpool(box.keys.access, token.strip())
        if found is None:
            raise await counted(request, Unauthorized("Unknown or expired key."))
        await rates.count(("key", found.actor), ("shop", found.shop))
        return found
    raise await counted(request, Unauthorized("This call needs a key."))


def check(access: Access, scopes: Iterable[Scope]) -> None:
    """Raises Forbidden, which names the scopes that are missing."""
    missing = [scope for scope in scopes if scope not in access.scopes]
    if missing:
        raise Forbidden(f"This needs the scope {', '.join(missing)}, which {access.actor} doesn't have.")


def _check_query(request: Request) -> None:
    """Raises RequestRefused for parameters that the call doesn't know: none is passed over in silence."""
    found = dependants(request.scope["route"].dependant)
    known = {field.alias for one in found for field in one.query_params}
    if unknown := sorted(set(request.query_params) - known):
        listed = f"this call takes {', '.join(sorted(known))}" if known else "this call takes none"
        raise invalid(
            [(f"/query/{name[:80]}", f"unknown parameter; {listed}") for name in unknown[:MAX_PROBLEMS]]
        )


def undeclared(app: FastAPI) -> list[str]:
    """Routes that ask for nothing and are not listed as open. Empty in an app that may serve."""
    return [
        f"{'/'.join(sorted(methods))} {path}"
        for path, methods, scopes in declared(app)
        if path not in PUBLIC and not scopes
    ]


def declared(app: FastAPI) -> list[tuple[str, frozenset[str], frozenset[str]]]:
    """Path, methods and scopes of every route of the app."""
    return [
        (
            getattr(found, "path", "?"),
            frozenset(getattr(found, "methods", None) or ()),
            _asked(found.dependant) if hasattr(found, "dependant") else frozenset(),
        )
        for found in iter_route_contexts(app.routes)
    ]


def _asked(of: Dependant) -> frozenset[str]:
    return frozenset(scope for one in dependants(of) for scope in getattr(one.call, "asks", ()))


def asking(opened: Callable[..., Any], *scopes: Scope) -> Any:
    """`opened` as a dependency that is known to ask for these scopes."""
    opened.asks = tuple(scopes)  # type: ignore[attr-defined]
    return Depends(opened)


async def remembered(request: Request) -> Access:
    """As `credential`; while the database is away, what the same key came to before: who watches the
    deployment must see that it is away."""
    known: dict[str, Access] = request.app.state.scrapers
    shown = hashlib.sha256(request.headers.get("authorization", "").encode()).hexdigest()
    try:
        known[shown] = await credential(request)
    except StorageUnavailable:
        if shown not in known:
            raise
    except Unauthorized:
        known.pop(shown, None)
        raise
    return known[shown]


def acting(request: Request, name: str) -> Actor:
    """`name` (`key:...`, `staff:...`) for the audit log, with the peer's address and the id that the logs
    have."""
    address = request.client.host if request.client else ""
    fit = 1 <= len(address) <= MAX_CHARS and address.isprintable()
    return Actor(name, address if fit else None, request_id_of(request))


def shop_scope(request: Request, access: Access) -> ShopScope:
    """What a credential opens of its shop, for this request."""
    return ShopScope(container(request), access, acting(request, access.actor))


def _needs(*scopes: Scope, known: Callable[[Request], Awaitable[Access]] = credential) -> Any:
    """A dependency on the caller's shop, for a key with these scopes; `known` tells whose it is.

    Raises (when it is called): Unauthorized, as `credential`; Forbidden, where the key lacks one of them.
    """

    # Not as an annotation: inside of a function FastAPI can't find the names in it.
    shown = Security(_BEARER, scopes=[scope.value for scope in scopes])

    async def opened(request: Request, _shown: object = shown) -> ShopScope:
        access = await known(request)
        check(access, scopes)
        _check_query(request)
        structlog.contextvars.bind_contextvars(shop=access.shop, actor=access.actor)
        return shop_scope(request, access)

    return asking(opened, *scopes)


ReadsOrders = Annotated[ShopScope, _needs(Scope.ORDERS_READ)]
WritesOrders = Annotated[ShopScope, _needs(Scope.ORDERS_WRITE)]
Reviews = Annotated[ShopScope, _needs(Scope.REVIEWS)]
ReadsMenus = Annotated[ShopScope, _needs(Scope.MENUS_READ)]
WritesMenus = Annotated[ShopScope, _needs(Scope.MENUS_WRITE)]


async def _brings(request: Request, box: WritesMenus) -> ShopScope:
    await rates_of(request).count(("menus", box.shop))
    return box


BringsMenus = Annotated[ShopScope, Depends(_brings)]
"""As `WritesMenus`, for a change that is new to the model; also TooManyRequests."""
AsksMasked = Annotated[ShopScope, _needs(Scope.MASKED)]
Administers = Annotated[ShopScope, _needs(Scope.ADMIN)]
ReadsMetrics = Annotated[ShopScope, _needs(Scope.METRICS, known=remembered)]
