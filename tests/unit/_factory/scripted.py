# SPDX-License-Identifier: Apache-2.0
"""A server that answers by script, and time that passes only when told to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ansible_collections.cozystack.worker_image.plugins.module_utils._factory.facts import Answer, NoAnswer
from ansible_collections.cozystack.worker_image.plugins.module_utils._factory.patience import Budget

XZ = b"\xfd7zXZ\x00" + bytes(100)
IMAGE_HEADERS = {"content-type": "application/x-xz", "content-length": "200000000"}
IMAGE = Answer(200, IMAGE_HEADERS, XZ)


def text(status: int, body: str, kind: str = "text/plain; charset=utf-8") -> Answer:
    return Answer(status, {"content-type": kind, "content-length": str(len(body))}, body.encode())


@dataclass
class Scripted:
    """``script``: (method, end of the path) -> answers; the last one of a list stays. What is not scripted is Go's 404."""

    script: Mapping[tuple[str, str], Sequence[Answer | NoAnswer]]
    asked: list[tuple[str, str]] = field(default_factory=list)
    sent: list[bytes] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def ask(
        self,
        method: str,
        url: str,
        seconds: float,
        first: int = 512,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        follow: int = 5,
    ) -> Answer:
        self.asked.append((method, url))
        self.seconds.append(seconds)
        if body is not None:
            self.sent.append(body)
        for (wanted, end), answers in self.script.items():
            if wanted == method and url.endswith(end):
                count = sum(1 for one in self.asked if one[0] == method and one[1].endswith(end))
                answer = answers[min(count, len(answers)) - 1]
                if isinstance(answer, NoAnswer):
                    raise answer
                return answer
        return text(404, "404 page not found\n")


class Time:
    """``sleep`` moves the clock."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def budget(self, seconds: float) -> Budget:
        return Budget(seconds, lambda: self.now, self.sleep, lambda low, high: high)
