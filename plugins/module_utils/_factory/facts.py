# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What comes back from a factory or mirror, as data: an answer, or why there is none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

# Why no answer came. "timeout" is while connecting, "silence" after the question was sent.
DNS, REFUSED, TIMEOUT, SILENCE, RESET = "dns", "refused", "timeout", "silence", "reset"
TLS, REDIRECTS, ADDRESS, PROXY = "tls", "redirects", "address", "proxy"


@dataclass(frozen=True)
class Answer:
    """One answer, after redirects. ``headers`` in lower case; ``body`` holds its first bytes only.

    ``redirects``: the addresses that were led to, without their queries, since those carry signatures. ``tls``: protocol, subject,
    issuer, not_after, verified; None over plain http, or when the connection was gone before it could be asked.
    """

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    redirects: tuple[str, ...] = ()
    tls: Mapping[str, Any] | None = None

    @property
    def kind(self) -> str:
        """Media type without its parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def length(self) -> int | None:
        """Bytes of the whole file; None when the answer does not tell."""
        if self.status in (206, 416):
            total = self.headers.get("content-range", "").rpartition("/")[2]
            return int(total) if total.isdecimal() else None
        written = self.headers.get("content-length", "")
        return int(written) if written.isdecimal() else None

    @property
    def line(self) -> str:
        """The first line of the body, or the title of a page, shortened."""
        text = self.body.decode(errors="replace")
        if self.kind == "text/html" or text.lstrip()[:1] == "<":
            title = re.search(r"<title>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
            text = title[1] if title else re.sub(r"<[^>]*>", " ", text)
            text = " ".join(text.split())
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        first = "".join(char for char in lines[0] if char.isprintable()) if lines else ""
        return first if len(first) <= 200 else first[:197] + "..."


class NoAnswer(Exception):
    """``kind`` is one of the words above; ``text`` the cause as the library worded it, shortened."""

    def __init__(self, kind: str, text: str, redirects: tuple[str, ...] = ()) -> None:
        self.kind, self.text, self.redirects = kind, text, redirects
        super().__init__(text)


def shown_url(url: str) -> str:
    """An address for people: without query (signatures of object storages) and without credentials."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}" + ("?..." if parts.query else "")
