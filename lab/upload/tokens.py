# SPDX-License-Identifier: Apache-2.0
"""Upload tokens: signed, for one claim, for a few minutes. Nothing has to be remembered but the key."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
from pathlib import Path
from typing import Any

from lab.api import Key

_ISSUER, _OPERATION = "cdi-apiserver", "Upload"
_RESOURCE = {"group": "", "version": "v1", "resource": "persistentvolumeclaims"}


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Tokens:
    """JSON Web Tokens. ``file`` keeps the key across lives of the process."""

    def __init__(self, file: Path) -> None:
        if not file.exists():
            file.touch(mode=0o600)
            file.write_bytes(secrets.token_bytes(32))
        self._key = file.read_bytes()

    def _signature(self, text: str) -> str:
        return _encoded(hmac.digest(self._key, text.encode(), hashlib.sha256))

    def issue(self, claim: Key, seconds: float) -> str:
        now = time.time()
        payload: dict[str, Any] = {"operation": _OPERATION, "namespace": claim[0], "name": claim[1]}
        payload |= {"resource": _RESOURCE, "iss": _ISSUER, "iat": now, "exp": now + seconds}
        parts = ({"alg": "HS256", "typ": "JWT"}, payload)
        text = ".".join(_encoded(json.dumps(part).encode()) for part in parts)
        return f"{text}.{self._signature(text)}"

    def claim(self, token: str) -> Key | None:
        """Which claim a token is for; None for one that is not ours, or too old."""
        text, _, signature = token.rpartition(".")
        if not hmac.compare_digest(self._signature(text).encode(), signature.encode(errors="replace")):
            return None
        payload = json.loads(_decoded(text.partition(".")[2]))
        return (payload["namespace"], payload["name"]) if payload["exp"] > time.time() else None
