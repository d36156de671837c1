"""By which names this server goes, whether a request comes from a page of its own, and whether by https.

A page of another site can make its visitor's browser send requests here, and by letting its own name point
to this server's address (DNS rebinding) it can read the answers too. So a request must name one of our
hosts, and one that may change something must not come from another site's page.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import Scope

from infra.outward import is_this_machine
from infra.settings import Settings
from services.api.problems import RequestRefused

ANY = "*"
_PORTS = {"http": 80, "https": 443}
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{0,5}))?")
# Asked by probes, which know an address and no name; it says that the process answers and nothing else.
_NAMELESS = frozenset({"/livez"})
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# Where no cookie counts, and no page of a browser calls.
_OF_PROGRAMS = ("/v1/", "/livez", "/readyz", "/metrics")


def authority(text: str) -> tuple[str, int | None]:
    """Host and port of `host[:port]`. The host is in lower case and without the dot that may end a name; an
    IPv6 address is in its short form and without brackets.

    Raises:
        ValueError: it is none.
    """
    match = _AUTHORITY.fullmatch(text)
    if match is None or int(match[2] or 0) > 65_535:
        raise ValueError(f"{text[:80]!r} is not a host name")
    port = int(match[2]) if match[2] else None
    if match[1].startswith("["):
        address = ipaddress.IPv6Address(match[1][1:-1])
        return str(address.ipv4_mapped or address), port
    name = match[1].lower().removesuffix(".")
    if not name or name.startswith(".") or ".." in name:
        raise ValueError(f"{text[:80]!r} is not a host name")
    return name, port


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port of a page."""

    scheme: str
    host: str
    port: int

    @classmethod
    def parse(cls, url: str) -> Origin:
        """
        Raises:
            ValueError: it is no http(s) URL, as `null` is none.
        """
        parts = urlsplit(url)
        if parts.scheme not in _PORTS:
            raise ValueError(f"{url[:80]!r} is not an http or https URL")
        host, port = authority(parts.netloc)
        return cls(parts.scheme, host, _PORTS[parts.scheme] if port is None else port)


@dataclass(frozen=True, slots=True)
class Own:
    """What this server goes by. `hosts` are names without ports, None any; `public` is the address that
    browsers know it by, where that was set. Loopback names are always ours: no other machine can own them."""

    hosts: frozenset[str] | None
    public: Origin | None

    @classmethod
    def of(cls, wanted: Settings) -> Own:
        """
        Raises:
            ValueError: a setting can't be read; the message names its variable.
        """
        public = None
        if wanted.public_url:
            try:
                public = Origin.parse(wanted.public_url)
            except ValueError as error:
                raise ValueError(f"SAYCART_PUBLIC_URL: {error}") from None
        names = [name.strip() for name in wanted.hosts.split(",") if name.strip()]
        if ANY in names:
            return cls(None, public)
        try:
            hosts = {authority(name)[0] for name in names}
        except ValueError as error:
            raise ValueError(f"SAYCART_HOSTS: {error}; it is a comma-separated list of names") from None
        bound = wanted.api_host.lower()
        return cls(frozenset(hosts | {bound} | ({public.host} if public else set())), public)

    def is_https(self, scope: Scope) -> bool:
        """Whether the client's side of this request is encrypted, as far as can be known: by the scheme,
        which trusted proxies tell, or by the public address."""
        return scope["scheme"] == "https" or (self.public is not None and self.public.scheme == "https")

    def refusal(self, scope: Scope) -> RequestRefused | None:
        """Why a request is not for us, or may come from a page that has no business here; else None."""
        headers = Headers(scope=scope)
        if not scope["path"].startswith("/"):
            return _malformed("The request target must be a path.")
        if scope["path"] not in _NAMELESS:
            given = headers.getlist("host")
            try:
                (text,) = given
                host, _ = authority(text)
            except ValueError:
                return _malformed("The request must name exactly one host.")
            if self.hosts is not None and host not in self.hosts and not is_this_machine(host):
                what, hint = (
                    f"This server doesn't serve {host[:80]}.",
                    "If it should, add it to SAYCART_HOSTS.",
                )
                return RequestRefused("misdirected", 421, what, hint=hint)
        return None if scope["method"] in _SAFE_METHODS else self._foreign(scope, headers)

    def _foreign(self, scope: Scope, headers: Headers) -> RequestRefused | None:
        # Browsers send it to https and loopback; no page can set it. "none": the visitor's own doing.
        if sites := headers.getlist("sec-fetch-site"):
            return None if sites in (["same-origin"], ["none"]) else _cross_site()
        if pages := headers.getlist("origin"):
            return None if all(self._is_own(page, scope, headers) for page in pages) else _cross_site()
        # No browser of the last years leaves both out with a change.
        # A program may: no cookie counts where programs ask, so it can do there only what it can do anyway.
        if scope["path"].startswith(_OF_PROGRAMS):
            return None
        hint = "Let your browser send Origin. Programs call the API under /v1."
        return RequestRefused(
            "cross_site", 403, "The request doesn't say which page it comes from.", hint=hint
        )

    def _is_own(self, page: str, scope: Scope, headers: Headers) -> bool:
        try:
            origin = Origin.parse(page)
            host, port = authority(headers["host"])
        except (ValueError, KeyError):
            return False
        if origin == self.public:
            return True
        if self.is_https(scope) and origin.scheme == "http":
            return False  # anyone on the wire may have made that page
        # A proxy that no setting names may have ended TLS, so the page's own scheme decides.
        return (origin.host, origin.port) == (host, _PORTS[origin.scheme] if port is None else port)


def is_https(request: HTTPConnection) -> bool:
    """Whether cookies of this answer are to be Secure."""
    own: Own = request.app.state.own
    return own.is_https(request.scope)


def _malformed(what: str) -> RequestRefused:
    return RequestRefused("malformed_body", 400, what, headers={"Connection": "close"})


def _cross_site() -> RequestRefused:
    what, hint = "Pages from other sites can't change anything here.", "Call the API from your own server."
    return RequestRefused("cross_site", 403, what, hint=hint)
