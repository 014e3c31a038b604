# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where CDI's upload proxy is, and how its certificate is judged."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from .errors import ConnectionOptionError

_PEM = "-----BEGIN"


@dataclass(frozen=True)
class UploadTarget:
    """``url`` without a slash at its end. ``ca`` is PEM text, trusted beside the system's CAs, or a path, trusted alone."""

    url: str
    ca: str = ""
    verify: bool = True

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int | None:
        return urlsplit(self.url).port

    @property
    def path(self) -> str:
        return urlsplit(self.url).path


def upload_target(
    config: Mapping[str, Any] | None, override_url: str | None, ca_cert: str | None, verify: bool
) -> UploadTarget:
    """From CDIConfig ``config`` (status.uploadProxyURL, often a bare host; status.uploadProxyCA, PEM) and the three options.

    Options upload_proxy_url, upload_ca_cert (a path) and upload_validate_certs win over it. Errors: ConnectionOptionError.
    """
    status = (config or {}).get("status") or {}
    field = "upload_proxy_url" if override_url else "status.uploadProxyURL of CDIConfig config"
    written = override_url or status.get("uploadProxyURL")
    if not written:
        raise ConnectionOptionError(
            "upload_proxy_url is not given, and CDIConfig config names no upload proxy (status.uploadProxyURL is empty); "
            "expose the service cdi-uploadproxy by an ingress, or give upload_proxy_url an address that reaches it"
        )
    target = UploadTarget(
        _checked_url(field, str(written), verify), _checked_ca(ca_cert, status) if verify else "", verify
    )
    try:
        tls_context(target)
    except (ssl.SSLError, OSError, ValueError) as error:
        where = f"upload_ca_cert: {ca_cert!r}" if ca_cert else "status.uploadProxyCA of CDIConfig config"
        remedy = "" if ca_cert else "; give upload_ca_cert"
        raise ConnectionOptionError(f"{where} holds no usable PEM certificate: {error}{remedy}") from error
    return target


def _checked_ca(ca_cert: str | None, status: Mapping[str, Any]) -> str:
    if ca_cert:
        if not os.path.isfile(ca_cert):
            raise ConnectionOptionError(f"upload_ca_cert: the file {ca_cert!r} does not exist")
        return ca_cert
    text = str(status.get("uploadProxyCA") or "")
    if text and _PEM not in text:
        raise ConnectionOptionError("status.uploadProxyCA of CDIConfig config is not PEM; give upload_ca_cert")
    return text


def _checked_url(field: str, written: str, verify: bool) -> str:
    url = (written if "://" in written else f"https://{written}").rstrip("/")
    if "@" in url:  # before anything quotes the value
        raise ConnectionOptionError(f"{field}: an address with a user or a password is not supported; leave them out")
    try:
        parts = urlsplit(url)
        usable = (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and parts.port != 0
            and not (parts.query or parts.fragment)
        )
    except ValueError:
        usable = False
    if not usable or any(letter.isspace() for letter in url):
        raise ConnectionOptionError(f"{field}: {written!r} is not an address; write https://host or https://host:port")
    if url.startswith("http://") and verify:
        raise ConnectionOptionError(
            f"{field}: {written!r} would send the upload token unprotected; write https://, "
            "or set upload_validate_certs to false if that is acceptable"
        )
    return url


def tls_context(target: UploadTarget) -> ssl.SSLContext | None:
    """None for an address without TLS. Errors: OSError, ssl.SSLError, ValueError when the CA cannot be read."""
    if target.url.startswith("http://"):
        return None
    if not target.verify:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    text = _PEM in target.ca
    context = ssl.create_default_context(cafile=target.ca if target.ca and not text else None)
    if text:
        context.load_verify_locations(cadata=target.ca)
    # Python 3.13 refuses certificates that do not name the key of their issuer. Those that CDI makes for itself may be such, and
    # virtctl, its own client, takes them.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
