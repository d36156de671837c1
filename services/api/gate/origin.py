"""Checks of Host and Origin: the names of this server, and where a request comes from.

Another site's page can make its visitor's browser send requests here, and by pointing its own name to this
server's address (DNS rebinding) also read the responses. So a request must name one of our hosts, and one
that may change something must not come from another site.
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
# For probes that know only an address; it reveals nothing.
_NAMELESS = frozenset({"/livez"})
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# Without cookies, and not called by pages.
_FOR_PROGRAMS = ("/v1/", "/livez", "/readyz", "/metrics")


def authority(text: str) -> tuple[str, int | None]:
    """Parse `host[:port]`. The host is in lower case and without a final dot; an IPv6 address is in its short
    form and without brackets.

    Raises:
        ValueError: it is invalid.
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
        """Raises ValueError unless it is an http(s) URL, which `null` is not."""
        parts = urlsplit(url)
        if parts.scheme not in _PORTS:
            raise ValueError(f"{url[:80]!r} is not an http or https URL")
        host, port = authority(parts.netloc)
        return cls(parts.scheme, host, _PORTS[parts.scheme] if port is None else port)


@dataclass(frozen=True, slots=True)
class Own:
    """Names of this server. `hosts` are names without ports, None for any; `public` is the configured public
    URL. Loopback names are always ours: no other machine can own them."""

    hosts: frozenset[str] | None
    public: Origin | None

    @classmethod
    def of(cls, config: Settings) -> Own:
        """Raises ValueError, naming the variable, if a setting is invalid."""
        public = None
        if config.public_url:
            try:
                public = Origin.parse(config.public_url)
            except ValueError as error:
                raise ValueError(f"SAYCART_PUBLIC_URL: {error}") from None
        names = [name.strip() for name in config.hosts.split(",") if name.strip()]
        if ANY in names:
            return cls(None, public)
        try:
            hosts = {authority(name)[0] for name in names}
        except ValueError as error:
            raise ValueError(f"SAYCART_HOSTS: {error}; it is a comma-separated list of names") from None
        bound = config.api_host.lower()
        return cls(frozenset(hosts | {bound} | ({public.host} if public else set())), public)

    def is_https(self, scope: Scope) -> bool:
        """Return True if the client's connection is encrypted, by scheme (which trusted proxies set) or
        public URL."""
        return scope["scheme"] == "https" or (self.public is not None and self.public.scheme == "https")

    def refusal(self, scope: Scope) -> RequestRefused | None:
        """Return the error for a request that isn't for us or may come from another site, else None."""
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
                hint = "If it should, add it to SAYCART_HOSTS."
                detail = f"This server doesn't serve {host[:80]}."
                return RequestRefused("misdirected", 421, detail, hint=hint)
        return None if scope["method"] in _SAFE_METHODS else self._foreign(scope, headers)

    def _foreign(self, scope: Scope, headers: Headers) -> RequestRefused | None:
        # Browsers send it over https and to loopback; pages can't set it. "none": the visitor typed the URL.
        if sites := headers.getlist("sec-fetch-site"):
            return None if sites in (["same-origin"], ["none"]) else _cross_site()
        if pages := headers.getlist("origin"):
            return None if all(self._is_own(page, scope, headers) for page in pages) else _cross_site()
        # Current browsers send one of the two. Programs need not: where they call, cookies don't count.
        if scope["path"].startswith(_FOR_PROGRAMS):
            return None
        hint = "Let your browser send Origin. Programs call the API under /v1."
        return RequestRefused(
            "cross_site", 403, "The request doesn't say which page it comes from.", hint=hint
        )

    def _is_own(self, page: str, scope: Scope, headers: Headers) -> bool:
        try:
            origin = Origin.parse(page)
            # A proxy that isn't configured may have terminated TLS, so the page's scheme decides.
            ours = Origin.parse(f"{origin.scheme}://{headers['host']}")
        except (ValueError, KeyError):
            return False
        if self.is_https(scope) and origin.scheme == "http":
            return False  # anyone on the network could have changed that page
        return origin in (ours, self.public)


def is_https(request: HTTPConnection) -> bool:
    """Return True if cookies must be Secure."""
    own: Own = request.app.state.own
    return own.is_https(request.scope)


def _malformed(detail: str) -> RequestRefused:
    return RequestRefused("malformed_body", 400, detail, headers={"Connection": "close"})


def _cross_site() -> RequestRefused:
    detail = "Pages from other sites can't change anything here."
    return RequestRefused("cross_site", 403, detail, hint="Call the API from your own server.")
