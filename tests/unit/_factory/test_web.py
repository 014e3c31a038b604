# SPDX-License-Identifier: Apache-2.0
"""Real sockets on loopback: what is sent where, and what is not read."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._factory.facts import NoAnswer
from ansible_collections.cozystack.worker_image.plugins.module_utils._factory.web import Access, Web
from cryptography.x509.oid import ExtendedKeyUsageOID

from lab import certs
from tests.unit._factory.scripted import XZ


class Server:
    """``answer`` writes the answer; every request is kept as (method, path, headers)."""

    def __init__(self, answer: Callable[[BaseHTTPRequestHandler], None], certificate: Path | None = None) -> None:
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                outer.requests.append((self.command, self.path, dict(self.headers)))
                answer(self)

            do_GET = do_HEAD = do_POST = handle_any

            def log_message(self, *_: Any) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        if certificate:
            tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            tls.load_cert_chain(certificate.with_suffix(".crt"), certificate.with_suffix(".key"))
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
            self.url = self.url.replace("http:", "https:")

    @contextmanager
    def running(self) -> Iterator[Server]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()


def reply(status: int, body: bytes = b"", **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for key, value in (
            {"Content-Length": str(len(body))} | {k.replace("_", "-"): v for k, v in headers.items()}
        ).items():
            handler.send_header(key, value)
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(body)

    return answer


@pytest.fixture(autouse=True)
def without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_only_the_first_bytes_are_read() -> None:
    written, closed = [], threading.Event()

    def endless(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(10**12))
        handler.end_headers()
        try:
            while len(written) < 10_000:
                handler.wfile.write(bytes(65536))
                written.append(1)
        except OSError:
            closed.set()

    with Server(endless).running() as server:
        answer = Web(Access(server.url)).ask("GET", server.url, 5)
        assert (answer.length, len(answer.body)) == (10**12, 512)
        assert closed.wait(5)


def test_what_is_sent() -> None:
    with Server(reply(200, XZ)).running() as server:
        Web(Access(server.url)).ask("GET", f"{server.url}/x", 5, headers={"Range": "bytes=0-5"})
    method, path, headers = server.requests[0]
    assert (method, path, headers["Range"], headers["Accept-Encoding"]) == ("GET", "/x", "bytes=0-5", "identity")
    assert headers["User-Agent"].startswith("cozystack.worker_image")
    assert "Authorization" not in headers


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"token": "t0ken"}, "Bearer t0ken"),
        ({"username": "user", "password": "p:w"}, "Basic dXNlcjpwOnc="),
        ({"username": "user", "password": "grüße"}, "Basic dXNlcjpncsO8w59l"),
    ],
)
def test_credentials_go_to_the_origin_and_to_nobody_else(options: dict[str, str], expected: str) -> None:
    with Server(reply(200, XZ)).running() as storage:
        moved = reply(302, Location=f"{storage.url}/blob?signature=s3cret")
        with Server(moved).running() as factory:
            access = Access(factory.url, **options)
            answer = Web(access).ask("GET", f"{factory.url}/image", 5)
            assert "t0ken" not in repr(access)
            assert "p:w" not in repr(access)
    assert answer.status == 200
    assert answer.redirects == (f"{storage.url}/blob?...",)
    assert factory.requests[0][2]["Authorization"] == expected
    assert storage.requests[0][1] == "/blob?signature=s3cret"
    assert "Authorization" not in storage.requests[0][2]


def test_another_port_of_the_same_host_is_another_origin() -> None:
    access = Access("https://f.example", token="t0ken")
    assert access.authorization("https://F.example:443/x")
    assert not access.authorization("https://f.example:8443/x")
    assert not access.authorization("http://f.example/x")
    assert not access.authorization("https://f.example.evil/x")


def test_five_redirects_are_followed_and_the_sixth_is_not() -> None:
    def chain(handler: BaseHTTPRequestHandler) -> None:
        step = int(handler.path.strip("/"))
        (reply(200, XZ) if step == 0 else reply(307, Location=f"/{step - 1}"))(handler)

    with Server(chain).running() as server:
        web = Web(Access(server.url))
        assert len(web.ask("GET", f"{server.url}/5", 5).redirects) == 5
        with pytest.raises(NoAnswer, match="more than 5 redirects") as caught:
            web.ask("GET", f"{server.url}/6", 5)
        assert (caught.value.kind, len(caught.value.redirects)) == ("redirects", 5)
        assert web.ask("POST", f"{server.url}/1", 5, body=b"x", follow=0).status == 307


@pytest.mark.parametrize("location", ["ftp://f.example/x", "file:///etc/passwd", "http://[f.example/"])
def test_redirects_lead_to_http_only(location: str) -> None:
    with (
        Server(reply(302, Location=location)).running() as server,
        pytest.raises(NoAnswer, match=r"no http address|is none"),
    ):
        Web(Access(server.url)).ask("GET", server.url, 5)


def closed_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("http://nowhere.invalid/", "dns"),
        (f"http://127.0.0.1:{closed_port()}/", "refused"),
        ("http://127.0.0.1:99999999/", "address"),
    ],
    ids=["name", "closed port", "no port"],
)
def test_no_answer(url: str, kind: str) -> None:
    with pytest.raises(NoAnswer) as caught:
        Web(Access(url)).ask("GET", url, 2)
    assert caught.value.kind == kind
    assert "object at 0x" not in caught.value.text


def test_silence_and_broken_connections() -> None:
    def drop(handler: BaseHTTPRequestHandler) -> None:
        handler.connection.shutdown(socket.SHUT_RDWR)

    def cut(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(bytes(10))

    for answer, kind in ((lambda handler: time.sleep(0.6), "silence"), (drop, "reset"), (cut, "reset")):
        with Server(answer).running() as server, pytest.raises(NoAnswer) as caught:
            Web(Access(server.url)).ask("GET", server.url, 0.3)
        assert caught.value.kind == kind


def test_plain_http_on_a_tls_port_is_a_tls_failure() -> None:
    with Server(reply(200)).running() as server, pytest.raises(NoAnswer) as caught:
        Web(Access(server.url)).ask("GET", server.url.replace("http", "https"), 2)
    assert caught.value.kind == "tls"
    assert "_ssl.c" not in caught.value.text


@pytest.mark.parametrize(
    ("hosts", "trusted", "word"),
    [
        (("127.0.0.1", "localhost"), True, ""),
        (("127.0.0.1",), False, "issuer"),
        (("other.example",), True, "127.0.0.1"),
    ],
)
@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_certificates(tmp_path: Path, hosts: tuple[str, ...], trusted: bool, word: str) -> None:
    certs.Authority(tmp_path, "ca", "test-ca").issue("server", "server", (ExtendedKeyUsageOID.SERVER_AUTH,), hosts)
    with Server(reply(200, XZ), tmp_path / "server").running() as server:
        web = Web(Access(server.url, ca_cert=str(tmp_path / "ca.crt") if trusted else ""))
        if word:
            with pytest.raises(NoAnswer, match=word) as caught:
                web.ask("GET", server.url, 5)
            assert caught.value.kind == "tls"
        else:
            tls = web.ask("GET", server.url, 5).tls
            assert tls is not None
            assert (tls["verified"], tls["issuer"]) == (True, "commonName=test-ca")
        unverified = Web(Access(server.url, validate_certs=False)).ask("GET", server.url, 5)
        assert (unverified.status, (unverified.tls or {})["verified"]) == (200, False)


def test_the_environment_names_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with Server(reply(200, XZ)).running() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url.replace("://", "://us%40er:s3cret@"))
        monkeypatch.setenv("NO_PROXY", "inside.example")
        web = Web(Access("http://outside.example"))
        assert web.ask("GET", "http://outside.example/x", 5).status == 200
        with pytest.raises(NoAnswer):
            web.ask("GET", "http://inside.example/x", 1)
    assert [request[1] for request in proxy.requests] == ["http://outside.example/x"]
    assert proxy.requests[0][2]["proxy-authorization"] == "Basic dXNAZXI6czNjcmV0"


def test_a_ca_file_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("nothing")
    with pytest.raises(OSError, match="no certificate"):
        Web(Access("https://f.example", ca_cert=str(tmp_path / "ca.pem")))
