"""The courier's TLS: the certificate must match the host name, though it connects to an address."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from infra.webhooks import Poster, Target
from tests.endpoints import SECRET
from tests.servers.leading import leads_to
from tests.servers.loopback import Handler


def test_the_certificate_must_match_the_host_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificates(tmp_path, "a.example", "b.example")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    leads_to(monkeypatch, "127.0.0.1")
    with tls(tmp_path) as (port, seen), Poster(connect_s=5, total_s=10) as poster:

        def sent(host: str) -> str:
            return poster.post(Target(f"https://{host}:{port}/x", SECRET, private=True), "msg_1", "{}").error

        assert [sent("a.example"), sent("b.example"), sent("a.example")] == ["", "", ""]
        assert "CERTIFICATE_VERIFY_FAILED" in sent("c.example")
    # Each by a connection of its own: one that is kept is to an address, and another host may be there too.
    assert seen == [(f"{name}.example", f"{name}.example:{port}") for name in "aba"]


@contextmanager
def tls(folder: Path) -> Iterator[tuple[int, list[tuple[str, str]]]]:
    """Serve TLS; yield the port and a list of (SNI, Host) received. The certificate is the named host's, or
    the first."""
    contexts, seen, names = {}, list[tuple[str, str]](), dict[Any, str]()
    for file in sorted(folder.glob("*.example.pem")):
        contexts[file.stem] = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        contexts[file.stem].load_cert_chain(file)
    default = contexts["a.example"]

    def chosen(connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        names["sni"] = name or ""
        connection.context = contexts.get(name or "", default)

    default.sni_callback = chosen

    class Receiver(Handler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.body()
            seen.append((names["sni"], self.headers["Host"]))
            self.answer(204)

    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        server.socket = default.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server.server_port, seen
        finally:
            server.shutdown()
            thread.join()


def certificates(folder: Path, *hosts: str) -> None:
    """Create an authority in `ca.pem` and a key with certificate for each host in `HOST.pem`."""
    authority = ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tests")])
    root = signed(issuer, issuer, authority, authority, x509.BasicConstraints(ca=True, path_length=None))
    pem = serialization.Encoding.PEM
    (folder / "ca.pem").write_bytes(root.public_bytes(pem))
    for host in hosts:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        made = signed(subject, issuer, key, authority, x509.SubjectAlternativeName([x509.DNSName(host)]))
        plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        (folder / f"{host}.pem").write_bytes(key.private_bytes(pem, *plain) + made.public_bytes(pem))


def signed(subject: Any, issuer: Any, key: Any, by: Any, extension: Any) -> x509.Certificate:
    day, now = timedelta(days=1), datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(extension, critical=True)
        .sign(by, hashes.SHA256())
    )
