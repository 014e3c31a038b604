# SPDX-License-Identifier: Apache-2.0
"""Changes that come at given moments of a clock that never lets anybody wait."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.client import Client
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.observe import Change, Target

from tests.unit._kube.scripted import Scripted, answer

NOBODY = Client(Scripted(answer(500)))


class Script:
    """News for ``observe``: rows of (second, target, event, payload), in order."""

    def __init__(self, *rows: tuple[float, Target, str, Any]) -> None:
        self.rows = [(second, Change(target, event, payload)) for second, target, event, payload in rows]
        self.clock, self.ended = 0.0, False

    def now(self) -> float:
        return self.clock

    def begin(self, client: Client, targets: Sequence[Target]) -> None:
        self.ended = False

    def take(self, seconds: float) -> list[Change]:
        if not self.rows or self.rows[0][0] > self.clock + seconds:
            self.clock += seconds
            return []
        self.clock = max(self.clock, self.rows[0][0])
        found = []
        while self.rows and self.rows[0][0] <= self.clock:
            found.append(self.rows.pop(0)[1])
        return found

    def end(self) -> None:
        self.ended = True
