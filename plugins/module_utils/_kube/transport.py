# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""HTTP to one API server: kept-alive connections of the kubernetes library's pool, JSON in and out, nothing generated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from .connection import Settings, make_api_client

USER_AGENT = "cozystack.worker_image"
# Told apart in the API server's audit log, where anybody can see that check mode writes nothing.
CHECK_MODE_USER_AGENT = f"{USER_AGENT} (check mode)"


class NoAnswer(Exception):
    """No answer came: refused, reset, timed out, TLS. ``sent`` is False when the request cannot have reached anybody."""

    def __init__(self, text: str, sent: bool) -> None:
        self.sent = sent
        super().__init__(text)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport(Protocol):
    """What the client needs; tests put a scripted one here."""

    def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: bytes | None,
        content_type: str,
        accept: str = "application/json",
    ) -> Answer:
        """One exchange. Errors: NoAnswer."""

    def stream(self, path: str, query: Mapping[str, str], seconds: float) -> Iterator[bytes]:
        """Lines of a watch; ends when the server ends it. Errors: NoAnswer; Answer is raised inside StreamRefused."""


class StreamRefused(Exception):
    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        super().__init__(f"status {answer.status}")


class HttpTransport:
    """Transport over the pool manager of kubernetes.client.ApiClient."""

    def __init__(
        self, settings: Settings, agent: str = USER_AGENT, connect_seconds: float = 10, read_seconds: float = 60
    ) -> None:
        import urllib3

        self._api = make_api_client(settings)
        self._configuration = self._api.configuration
        self._pool = self._api.rest_client.pool_manager
        self._timeout = urllib3.Timeout(connect=connect_seconds, read=read_seconds)
        self._impersonate = settings.options.get("impersonate_user"), settings.options.get("impersonate_groups") or []
        self._agent = agent
        self.host = str(self._configuration.host).rstrip("/")
        self.verifies = bool(self._configuration.verify_ssl) or self.host.startswith("http://")

    def _headers(self, content_type: str | None = None, encoding: str = "gzip") -> Any:
        import urllib3

        headers = urllib3.HTTPHeaderDict(self._api.default_headers)
        headers["User-Agent"] = self._agent
        headers["Accept"] = "application/json"
        headers["Accept-Encoding"] = encoding
        # Asked anew for each request: exec plugins and token files renew their tokens here.
        for setting in self._configuration.auth_settings().values():
            if setting.get("in") == "header" and setting.get("value"):
                headers[setting["key"]] = setting["value"]
        user, groups = self._impersonate
        if user:
            headers["Impersonate-User"] = user
        for group in groups:
            headers.add("Impersonate-Group", group)
        if content_type:
            headers["Content-Type"] = content_type
        return headers

    def _send(self, method: str, path: str, query: Mapping[str, str], **kwargs: Any) -> Any:
        from urllib.parse import urlencode

        import urllib3

        url = self.host + path + (f"?{urlencode(query)}" if query else "")
        try:
            return self._pool.request(method, url, retries=False, redirect=False, **kwargs)
        except (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError) as error:
            raise NoAnswer(f"cannot connect to {self.host}: {_plain(error)}", sent=False) from error
        except urllib3.exceptions.SSLError as error:
            raise NoAnswer(
                f"TLS with {self.host} failed: {_plain(error)}; give the right ca_cert (K8S_AUTH_SSL_CA_CERT)",
                sent=False,
            ) from error
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            raise NoAnswer(f"no answer from {self.host}: {_plain(error)}", sent=True) from error

    def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: bytes | None,
        content_type: str,
        accept: str = "application/json",
    ) -> Answer:
        headers = self._headers(content_type if body is not None else None)
        headers["Accept"] = accept
        answer = self._send(method, path, query, body=body, headers=headers, timeout=self._timeout)
        return Answer(answer.status, dict(answer.headers), answer.data)

    def stream(self, path: str, query: Mapping[str, str], seconds: float) -> Iterator[bytes]:
        import urllib3

        timeout = urllib3.Timeout(connect=10, read=seconds)
        answer = self._send(
            "GET", path, query, headers=self._headers(encoding="identity"), timeout=timeout, preload_content=False
        )
        if answer.status != 200:
            raise StreamRefused(Answer(answer.status, dict(answer.headers), answer.read()))
        pending = b""
        try:
            for chunk in answer.stream(amt=None, decode_content=True):
                *lines, pending = (pending + chunk).split(b"\n")
                yield from lines
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            raise NoAnswer(f"watch of {self.host} ended: {_plain(error)}", sent=True) from error
        finally:
            # Not back to the pool: an unfinished stream cannot carry another request.
            answer.close()


def _plain(error: Exception) -> str:
    """The last clause of a library's text: "HTTPSConnection(host=..): Failed to ...: [Errno 111] Connection refused"."""
    text = " ".join(str(error).split())
    reason = getattr(error, "reason", None)
    if reason is not None and str(reason):
        text = " ".join(str(reason).split())
    return text.rsplit("establish a new connection: ", 1)[-1]
