# SPDX-License-Identifier: Apache-2.0
"""Scripted trouble: rules that a test or a demonstration gives to a controller."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from lab.api import Key

ACTIONS = {
    "crash": "the reconcile raises",
    "delay": "every reconcile takes 'seconds' more",
    "fail": "what the controller does fails with 'message' (and 'reason')",
    "hang": "what the controller does never ends",
    "slow": "an import moves 'bytes_per_second'",
}


@dataclass
class Rule:
    """``match`` is searched in "<namespace>/<name>" of what is worked on; ``times`` left, None for ever."""

    action: str
    match: str = ""
    times: int | None = None
    seconds: float = 0.0
    message: str = "scripted failure"
    reason: str = ""
    bytes_per_second: int = 1_000_000

    @classmethod
    def parse(cls, given: dict[str, Any]) -> Rule:
        """Errors: ValueError, TypeError (unknown key), re.error."""
        rule = cls(**given)
        if rule.action not in ACTIONS:
            raise ValueError(f"no such action: {rule.action}; there are {', '.join(sorted(ACTIONS))}")
        re.compile(rule.match)
        return rule


@dataclass
class Rules:
    """The rules of all controllers."""

    by_controller: dict[str, list[Rule]] = field(default_factory=dict)

    def add(self, controller: str, rule: Rule) -> None:
        self.by_controller.setdefault(controller, []).append(rule)

    def clear(self, controller: str) -> None:
        self.by_controller.pop(controller, None)

    def take(self, controller: str, action: str, key: Key) -> Rule | None:
        """The first rule that applies, one use of it spent."""
        for rule in self.by_controller.get(controller, []):
            if rule.action == action and rule.times != 0 and re.search(rule.match, f"{key[0]}/{key[1]}"):
                rule.times = None if rule.times is None else rule.times - 1
                return rule
        return None
