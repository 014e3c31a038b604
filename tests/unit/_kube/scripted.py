# SPDX-License-Identifier: Apache-2.0
"""A Transport that answers from a script, and remembers what it was asked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.transport import Answer, NoAnswer


def answer(status: int = 200, body: Any = None, **headers: str) -> Answer:
    raw = body if isinstance(body, bytes) else json.dumps(body if body is not None else {}).encode()
    return Answer(status, {name.replace("_", "-"): value for name, value in headers.items()}, raw)


def refused() -> NoAnswer:
    return NoAnswer("cannot connect to https://api: Connection refused", sent=False)


def reset() -> NoAnswer:
    return NoAnswer("no answer from https://api: Connection reset by peer", sent=True)


class Scripted:
    """The last answer and the last stream are repeated."""

    def __init__(self, *answers: Answer | NoAnswer, streams: list[Any] | None = None) -> None:
        self.answers, self.streams = list(answers), list(streams or [[]])
        self.asked: list[tuple[str, str]] = []
        self.details: list[tuple[dict[str, str], Any, str]] = []  # query, decoded body, accept

    def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: bytes | None,
        content_type: str,
        accept: str = "application/json",
    ) -> Answer:
        self.asked.append((method, path))
        self.details.append((dict(query), json.loads(body) if body else None, accept))
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(found, NoAnswer):
            raise found
        return found

    def stream(self, path: str, query: Mapping[str, str], seconds: float) -> Iterator[bytes]:
        self.asked.append(("WATCH", path))
        found = self.streams.pop(0) if len(self.streams) > 1 else self.streams[0]
        if isinstance(found, Exception):
            raise found
        for event, obj in found:
            yield json.dumps({"type": event, "object": obj}).encode()
