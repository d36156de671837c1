"""Authentication and authorization: the credential of a call, its scopes, and the `ShopScope` that it opens.

Every route declares its scopes by a parameter of one of the types at the end (`ReadsOrders`, `WritesMenus`,
...), placed before its body; the OpenAPI document has them too. The app doesn't start with a route that
`undeclared` finds.
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
from services.api.gate.rates import count_refusal, rates_of
from services.api.problems import invalid, request_id_of
from services.shop_scope import ShopScope

_BEARER = HTTPBearer(
    scheme_name="key", description="a shop's key, made by `saycart keys add`", auto_error=False
)

# Paths that need no credential: probes, documentation, assets and sign-in.
PUBLIC = frozenset(
    {
        "/livez", "/readyz", "/docs", "/openapi.json", "/problems/{code}", "/at/{page_key}", "/static",
        "/sign-in", "/sign-in/code", "/sign-in/oidc", "/sign-in/oidc/callback",
    }
)  # fmt: skip


async def credential(request: Request) -> Access:
    """Return the access of the call's key, and count the call for it; without a valid key for its address.

    Raises:
        Unauthorized: no key, or an unknown, expired or revoked one.
        TooManyRequests: over a limit.
    """
    box, rates = container(request), rates_of(request)
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        access = await run_in_threadpool(box.keys.access, token.strip())
        if access is None:
            raise await count_refusal(request, Unauthorized("Unknown or expired key."))
        await rates.count(("key", access.actor), ("shop", access.shop))
        return access
    raise await count_refusal(request, Unauthorized("This call needs a key."))


def check(access: Access, scopes: Iterable[Scope]) -> None:
    """Raise Forbidden, naming the missing scopes."""
    missing = [scope for scope in scopes if scope not in access.scopes]
    if missing:
        raise Forbidden(f"This needs the scope {', '.join(missing)}, which {access.actor} doesn't have.")


def _check_query(request: Request) -> None:
    """Raise RequestRefused for unknown query parameters."""
    route = dependants(request.scope["route"].dependant)
    known = {field.alias for dependant in route for field in dependant.query_params}
    if unknown := sorted(set(request.query_params) - known):
        listed = f"this call takes {', '.join(sorted(known))}" if known else "this call takes none"
        raise invalid(
            [(f"/query/{name[:80]}", f"unknown parameter; {listed}") for name in unknown[:MAX_PROBLEMS]]
        )


def undeclared(app: FastAPI) -> list[str]:
    """Return routes that declare no scopes and are not public; there must be none."""
    return [
        f"{'/'.join(sorted(methods))} {path}"
        for path, methods, scopes in declared(app)
        if path not in PUBLIC and not scopes
    ]


def declared(app: FastAPI) -> list[tuple[str, frozenset[str], frozenset[str]]]:
    """Return path, methods and scopes of every route."""
    return [
        (
            getattr(route, "path", "?"),
            frozenset(getattr(route, "methods", None) or ()),
            _scopes(route.dependant) if hasattr(route, "dependant") else frozenset(),
        )
        for route in iter_route_contexts(app.routes)
    ]


def _scopes(root: Dependant) -> frozenset[str]:
    return frozenset(scope for one in dependants(root) for scope in getattr(one.call, "scopes", ()))


def requiring(dependency: Callable[..., Any], *scopes: Scope) -> Any:
    """Return `dependency` for FastAPI, declared to require these scopes."""
    dependency.scopes = tuple(scopes)  # type: ignore[attr-defined]
    return Depends(dependency)


async def _cached_credential(request: Request) -> Access:
    """As `credential`; while the database is away, the earlier access of the same key, so that monitoring
    goes on."""
    cache: dict[str, Access] = request.app.state.scrapers
    digest = hashlib.sha256(request.headers.get("authorization", "").encode()).hexdigest()
    try:
        cache[digest] = await credential(request)
    except StorageUnavailable:
        if digest not in cache:
            raise
    except Unauthorized:
        cache.pop(digest, None)
        raise
    return cache[digest]


def actor_of(request: Request, name: str) -> Actor:
    """Return `name` (`key:...`, `staff:...`) with the client's address and request id, for the audit log."""
    address = request.client.host if request.client else ""
    valid = 1 <= len(address) <= MAX_CHARS and address.isprintable()
    return Actor(name, address if valid else None, request_id_of(request))


def shop_scope(request: Request, access: Access) -> ShopScope:
    """Return the shop's services for this request, as far as the credential grants them."""
    return ShopScope(container(request), access, actor_of(request, access.actor))


def _needs(*scopes: Scope, authenticate: Callable[[Request], Awaitable[Access]] = credential) -> Any:
    """Return a dependency that yields the caller's shop if `authenticate` finds a key with these scopes.

    It raises as `credential`, and Forbidden if the key lacks a scope.
    """

    # A default value, since FastAPI can't resolve annotations with local names.
    security = Security(_BEARER, scopes=[scope.value for scope in scopes])

    async def open_shop(request: Request, _security: object = security) -> ShopScope:
        access = await authenticate(request)
        check(access, scopes)
        _check_query(request)
        structlog.contextvars.bind_contextvars(shop=access.shop, actor=access.actor)
        return shop_scope(request, access)

    return requiring(open_shop, *scopes)


ReadsOrders = Annotated[ShopScope, _needs(Scope.ORDERS_READ)]
WritesOrders = Annotated[ShopScope, _needs(Scope.ORDERS_WRITE)]
Reviews = Annotated[ShopScope, _needs(Scope.REVIEWS)]
ReadsMenus = Annotated[ShopScope, _needs(Scope.MENUS_READ)]
WritesMenus = Annotated[ShopScope, _needs(Scope.MENUS_WRITE)]


async def _count_menu(request: Request, box: WritesMenus) -> ShopScope:
    await rates_of(request).count(("menus", box.shop))
    return box


ImportsMenus = Annotated[ShopScope, Depends(_count_menu)]
"""As `WritesMenus`, for changes that the model has to read, which are limited by the hour."""
CallsMasked = Annotated[ShopScope, _needs(Scope.MASKED)]
Administers = Annotated[ShopScope, _needs(Scope.ADMIN)]
ReadsMetrics = Annotated[ShopScope, _needs(Scope.METRICS, authenticate=_cached_credential)]
