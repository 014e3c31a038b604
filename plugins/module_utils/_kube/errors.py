# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What can go wrong between this collection and an API server, in one type."""

from __future__ import annotations

import json
from typing import Any


class ConnectionOptionError(Exception):
    """A connection option or a kubeconfig cannot be used; the text names the option and the value (never a secret)."""


class KubeError(Exception):
    """A request failed. Reads "Failed to <verb> <kind> <namespace>/<name>: <cause>".

    ``status`` is the HTTP status, 0 when no answer came. ``reason`` is the machine word of the Status object.
    """

    def __init__(self, verb: str, subject: str, cause: str, status: int = 0, reason: str = "") -> None:
        self.verb, self.subject, self.cause, self.status, self.reason = verb, subject, cause, status, reason
        super().__init__(f"Failed to {verb} {subject}: {cause}")

    @property
    def conflict(self) -> bool:
        return self.status == 409

    @property
    def forbidden(self) -> bool:
        return self.status == 403

    @property
    def not_found(self) -> bool:
        return self.status == 404

    def as_dict(self) -> dict[str, Any]:
        return {"verb": self.verb, "subject": self.subject, "status": self.status, "reason": self.reason}


_HINTS = {
    401: "the credentials were not accepted; check the token or certificate of the kubeconfig or of the K8S_AUTH_* variables",
    429: "the API server is overloaded; run again later",
}


def error_of_answer(verb: str, subject: str, status: int, body: bytes) -> KubeError:
    """KubeError of an answer that is not 2xx. The body should be a Status object; anything else is quoted, shortened."""
    message, reason = "", ""
    try:
        decoded = json.loads(body)
        if isinstance(decoded, dict):
            message, reason = str(decoded.get("message") or ""), str(decoded.get("reason") or "")
    except ValueError:
        message = " ".join(body.decode(errors="replace").split())[:200]
    cause = f"{status} {message or reason or 'without a message'}"
    if status in _HINTS:
        cause += f" ({_HINTS[status]})"
    return KubeError(verb, subject, cause, status, reason)
