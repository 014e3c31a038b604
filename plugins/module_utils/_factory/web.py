# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""HTTP to a factory or mirror, as the importer does it: no ranges needed, redirects followed, the system's CAs and one more.

urllib3 comes with the kubernetes library. Only the first bytes of a body are ever read.
"""

from __future__ import annotations

import base64
import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

from . import facts
from .facts import Answer, NoAnswer, shown_url

# The importer's name in it: some mirrors let nobody else pass.
USER_AGENT = "cozystack.worker_image (cdi-golang-importer)"
CONNECT_SECONDS, MOST_REDIRECTS = 10.0, 5
_LEADS_ON = (301, 302, 303, 307, 308)


@dataclass(frozen=True)
class Access:
    """How to ask. Credentials go to the origin of ``base`` only, and never along a redirect to another."""

    base: str
    validate_certs: bool = True
    ca_cert: str = ""
    username: str = ""
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)

    def authorization(self, url: str) -> dict[str, str]:
        """The header for an address; none for another origin."""
        if _origin(url) != _origin(self.base):
            return {}
        if self.token:
            return {"Authorization": f"Bearer {self.token}"}
        if self.username or self.password:
            pair = base64.b64encode(f"{self.username}:{self.password}".encode()).decode()
            return {"Authorization": f"Basic {pair}"}
        return {}

    def tls(self) -> ssl.SSLContext:
        """The system's CAs and ``ca_cert``. Errors: OSError (ssl.SSLError too) for a file that is no CA certificate."""
        context = ssl.create_default_context()
        # The importer is written in Go, which takes certificates that Python's strict mode (3.13) refuses, and a single
        # certificate of a chain as its root.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        if self.ca_cert:
            context.load_verify_locations(cafile=self.ca_cert)
        if not self.validate_certs:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context


class Web:
    """Asks, through the proxies that the environment names. May be used by several threads at once."""

    def __init__(self, access: Access) -> None:
        import urllib3

        self._access, self._library = access, urllib3
        self._tls = access.tls()
        if str(getattr(urllib3, "__version__", "")).startswith("1."):
            # It compares names and addresses itself then; with the context doing so it cannot ask for an address.
            self._tls.check_hostname = False
        self._direct = urllib3.PoolManager(ssl_context=self._tls, maxsize=8)
        self._proxies = {
            scheme: self._through(proxy) for scheme, proxy in getproxies().items() if scheme in ("http", "https")
        }

    def _through(self, proxy: str) -> Any:
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        headers = None
        if parts.username:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            headers = self._library.make_headers(proxy_basic_auth=pair)
        address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        return self._library.ProxyManager(address, proxy_headers=headers, ssl_context=self._tls, maxsize=8)

    def _manager(self, url: str) -> Any:
        parts = urlsplit(url)
        manager = self._proxies.get(parts.scheme)
        return self._direct if manager is None or proxy_bypass(parts.netloc) else manager

    def ask(
        self,
        method: str,
        url: str,
        seconds: float,
        first: int = 512,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        follow: int = MOST_REDIRECTS,
    ) -> Answer:
        """One question, redirects followed. Reads the first ``first`` bytes of the body and hangs up. Errors: NoAnswer."""
        led: tuple[str, ...] = ()
        while True:
            answer = self._once(method, url, seconds, first, body, headers or {}, led)
            location = answer.headers.get("location", "")
            if answer.status not in _LEADS_ON or not location or follow == 0:
                return answer
            if len(led) == follow:
                raise NoAnswer(facts.REDIRECTS, f"more than {follow} redirects, the last to {led[-1]}", led)
            try:
                url = urljoin(url, location)
                scheme, led = urlsplit(url).scheme, (*led, shown_url(url))
            except ValueError as error:
                raise NoAnswer(facts.REDIRECTS, f"leads to an address that is none: {error}", led) from error
            if scheme not in ("http", "https"):
                raise NoAnswer(facts.REDIRECTS, f"leads to {led[-1]}, which is no http address", led)

    def _once(
        self,
        method: str,
        url: str,
        seconds: float,
        first: int,
        body: bytes | None,
        headers: Mapping[str, str],
        led: tuple[str, ...],
    ) -> Answer:
        timeout = self._library.Timeout(connect=min(CONNECT_SECONDS, seconds), read=seconds)
        try:
            sent = {
                "User-Agent": USER_AGENT,
                # The file as it lies there: a server that packs it once more is found out by this.
                "Accept-Encoding": "identity",
                **headers,
                **self._access.authorization(url),
            }
            response = self._manager(url).request(
                method, url, body=body, headers=sent, timeout=timeout, retries=False, redirect=False, preload_content=False,
                decode_content=False, enforce_content_length=True,
            )  # fmt: skip
            try:
                tls = _tls_of(response, self._access.validate_certs) if url.startswith("https:") else None
                content = b"" if method == "HEAD" else _beginning(response, first)
            finally:
                # Not back to the pool: the rest of the body is not wanted.
                response.close()
        except (self._library.exceptions.HTTPError, OSError, ValueError) as error:
            raise NoAnswer(*_trouble(error, self._library.exceptions), led) from error
        return Answer(
            response.status, {key.lower(): value for key, value in response.headers.items()}, content, led, tls
        )


def _beginning(response: Any, first: int) -> bytes:
    """Up to so many bytes. A body that ends before its announced length raises one of the library's errors."""
    content = b""
    while len(content) < first and (piece := response.read(first - len(content))):
        content += piece
    return content


def _origin(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    return scheme, parts.hostname or "", parts.port or {"http": 80, "https": 443}.get(scheme)


def _tls_of(response: Any, verified: bool) -> dict[str, Any] | None:
    connected: Any = getattr(getattr(response, "connection", None), "sock", None)
    if connected is None:
        # A server that closes after its answer: only the body still holds the socket.
        connected = response
        for name in ("_fp", "fp", "raw", "_sock"):
            connected = getattr(connected, name, None)
    if not isinstance(connected, ssl.SSLSocket):
        return None
    certificate: Any = connected.getpeercert() or {}
    found: dict[str, Any] = {"protocol": connected.version(), "verified": verified}
    for key in ("subject", "issuer"):
        pairs = [pair for part in certificate.get(key, ()) for pair in part]
        found[key] = ", ".join(f"{name}={value}" for name, value in pairs)
    return {**found, "not_after": certificate.get("notAfter", "")}


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and what it wraps, outermost first."""
    pending, seen = [error], set()
    while pending:
        one = pending.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        inner = [getattr(one, "reason", None), one.__cause__, one.__context__, *getattr(one, "args", ())]
        pending += [other for other in inner if isinstance(other, BaseException)]


def _trouble(error: BaseException, library: Any) -> tuple[str, str]:
    """Kind and text of what the library raised."""
    found = list(_chain(error))
    # Looked for in this order: a DNS failure is wrapped in a "new connection" error, a TLS failure may be inside a proxy's.
    for types, kind in (
        ((ssl.SSLCertVerificationError,), facts.TLS),
        ((ssl.SSLError, library.SSLError), facts.TLS),
        ((socket.gaierror,), facts.DNS),
        ((library.ProxyError,), facts.PROXY),
        ((ConnectionRefusedError,), facts.REFUSED),
        ((library.ConnectTimeoutError,), facts.TIMEOUT),
        ((library.ReadTimeoutError,), facts.SILENCE),
        ((library.LocationParseError, library.LocationValueError), facts.ADDRESS),
        ((library.NewConnectionError,), facts.TIMEOUT),
    ):
        for one in found:
            if isinstance(one, types):
                return kind, _plain(one)
    if isinstance(error, ValueError) and not isinstance(error, library.HTTPError):
        return facts.ADDRESS, _plain(error)
    return facts.RESET, _plain(error)


def _plain(error: BaseException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError) and error.verify_message:
        return str(error.verify_message)
    if isinstance(error, OSError) and error.strerror and not isinstance(error, ssl.SSLError):
        return str(error.strerror)
    text = re.sub(r"^\[SSL[^\]]*\] |\s*\(_ssl\.c:[0-9]+\)", "", " ".join(str(error).split())).rsplit(
        "establish a new connection: ", 1
    )[-1]
    return text if len(text) <= 200 else text[:197] + "..."
