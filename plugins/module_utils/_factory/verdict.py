# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an answer means: a class, a message with the way out. Pure.

Sources: Image Factory docs/api.md and internal/frontend/http (statuses and texts), CDI pkg/importer/http-datasource.go (what the
importer accepts).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import facts
from .facts import Answer, NoAnswer

OK, UNKNOWN_SCHEMATIC, UNKNOWN_VERSION, NOT_PUBLISHED = "ok", "unknown_schematic", "unknown_version", "not_published"
MALFORMED, NOT_AN_IMAGE, UNAUTHORIZED, PAYMENT = "malformed", "not_an_image", "unauthorized", "payment"
NOT_REACHABLE, TLS, SERVER_ERROR = "not_reachable", "tls", "server_error"
UNEXPECTED, NOT_A_FACTORY = "unexpected", "not_a_factory"

_TRUST = (
    "CDI's importer refuses it too, as long as it is not told the CA: put the CA into a ConfigMap in cozy-public and import with "
    "certConfigMap (module golden_image), use a certificate of a public CA, or serve the mirror over plain http inside the site; "
    "for this task give ca_cert"
)
_UNREACHED = {
    facts.DNS: ("its name does not resolve", "check the host in imageFactoryURL, and the name servers of this machine and of the nodes"),
    facts.REFUSED: ("nothing listens there", "check host and port in imageFactoryURL, and whether the server runs"),
    facts.TIMEOUT: ("no connection within the time", "check routes and firewalls; a proxy is taken from HTTP_PROXY, HTTPS_PROXY, NO_PROXY"),
    facts.SILENCE: (
        "connected, and no answer within the time",
        "a factory builds an image when it is first asked for, which takes minutes: ask again with prewarm, or with a longer timeout",
    ),
    facts.RESET: ("the connection broke", "look at the log of the server and of the proxies before it"),
    facts.PROXY: ("the HTTP proxy does not let through", "check HTTP_PROXY, HTTPS_PROXY and NO_PROXY of this task's environment"),
}  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """``kind`` is one of the words above; ``remedy`` is blank only for OK. ``notes`` are worth knowing and no obstacle."""

    kind: str
    message: str
    remedy: str = ""
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.kind == OK

    def as_dict(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "class": self.kind,
            "message": self.message,
            "remedy": self.remedy,
            "notes": list(self.notes),
        }


def transient(answer: Answer | NoAnswer) -> bool:
    """Whether the same question may find another answer soon: overload, a restart, a build that a proxy cut off."""
    if isinstance(answer, NoAnswer):
        return answer.kind == facts.RESET
    return answer.status in (429, 500, 502, 503, 504)


def no_answer(at: str, error: NoAnswer) -> Verdict:
    """Verdict where no answer came; ``at`` is the address for people."""
    if error.kind == facts.TLS:
        return _tls(at, error.text)
    if error.kind in _UNREACHED:
        cause, remedy = _UNREACHED[error.kind]
        return Verdict(NOT_REACHABLE, f"{at}: {cause} ({error.text})", remedy)
    remedy = "give the address that it leads to as imageFactoryURL, or correct the server's redirects"
    if error.kind == facts.ADDRESS:
        remedy = "give the base address of a factory or mirror, such as https://factory.talos.dev"
    return Verdict(UNEXPECTED, f"{at}: {error.text}", remedy)


def _tls(at: str, text: str) -> Verdict:
    lowered = text.lower()
    if "expired" in lowered or "not yet valid" in lowered:
        return Verdict(
            TLS, f"{at}: x509: {text}", "renew the certificate, or correct the clock; the importer checks it too"
        )
    if "mismatch" in lowered or "doesn't match" in lowered or "not valid for" in lowered:
        remedy = "use a name in imageFactoryURL that the certificate holds; the importer checks it too"
        return Verdict(TLS, f"{at}: x509: {text}", remedy)
    if "issuer" in lowered or "self-signed" in lowered or "self signed" in lowered or "verify failed" in lowered:
        return Verdict(TLS, f"{at}: x509: certificate signed by unknown authority ({text})", _TRUST)
    remedy = (
        "if the server speaks plain http on this port, write http:// in imageFactoryURL; else look at its TLS settings"
    )
    return Verdict(TLS, f"{at}: TLS failed ({text})", remedy)


def refused(at: str, answer: Answer) -> Verdict:
    """Verdict on a status that says no for reasons which have nothing to do with what was asked for."""
    said = f"{at}: status {answer.status}" + (f": {answer.line}" if answer.line else "")
    if answer.status in (401, 403):
        remedy = "give token, or username and password; the importer needs them as a Secret (secretRef of module golden_image)"
        return Verdict(UNAUTHORIZED, said, remedy)
    if answer.status == 402:
        return Verdict(
            PAYMENT,
            said,
            "this factory has that only as an enterprise feature; ask for the image itself, or use another factory",
        )
    if answer.status == 429 or answer.status >= 500:
        remedy = (
            "it still said so at the end of the time; look at its log (a factory needs its registry), then run again"
        )
        return Verdict(SERVER_ERROR, said, remedy)
    if answer.status == 400:
        return Verdict(MALFORMED, said, "correct what the text names: schematic, extension or file name")
    if 300 <= answer.status < 400:
        to = facts.shown_url(answer.headers.get("location", "")) if answer.headers.get("location") else "nowhere"
        return Verdict(UNEXPECTED, f"{said} to {to}", "give the address that it leads to as imageFactoryURL")
    return Verdict(UNEXPECTED, said, "is it a factory or a mirror of one that answers there? check imageFactoryURL")
