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
    # of an importer pod ('times' attempts; 'seconds', or until the rule is withdrawn; 'message' as it is told)
    "refuse-pod": "the pod may not be created; 'reason' ErrExceededQuota or ErrStartingPod",
    "unschedulable": "no node takes the pod",
    "no-image": "the node cannot pull the importer's image",
    "evict": "the pod fails as a whole; CDI leaves it alone",
    "oom": "the importer is killed for its memory, and the pod replaced",
    # of the claims of an import (matched by the disk, as everything here)
    "no-volume": "the provisioner does not provide the disk's volume and says 'message'",
    "no-scratch": "scratch space is never bound",
    # of the upload proxy
    "upload-status": "it answers with 'status' (and 'message')",
    "upload-drop": "it breaks the connection after 'bytes'",
    "upload-mute": "it takes everything, and breaks the connection instead of answering",
}


# What is said when a rule names no message.
_NODES = "0/3 nodes are available"
_TEXTS = {
    "unschedulable": f"{_NODES}: 3 Insufficient memory. preemption: {_NODES}: 3 No preemption victims found.",
    "no-image": "dial tcp: lookup quay.io: no such host",
    "evict": "The node was low on resource: memory. Threshold quantity: 100Mi, available: 80Mi.",
    "no-volume": "rpc error: code = Internal desc = Failed to create volume: Not enough available nodes",
}


@dataclass
class Rule:
    """``match`` is searched in "<namespace>/<name>" of what is worked on; ``times`` left, None for ever."""

    action: str
    match: str = ""
    times: int | None = None
    seconds: float = 0.0
    message: str = ""
    reason: str = ""
    bytes_per_second: int = 1_000_000
    status: int = 503
    bytes: int = 0

    @classmethod
    def parse(cls, given: dict[str, Any]) -> Rule:
        """Errors: ValueError, TypeError (unknown key), re.error."""
        rule = cls(**{"message": _TEXTS.get(given.get("action", ""), "scripted failure")} | given)
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
        rule = self.applies(controller, action, key)
        if rule is not None:
            rule.times = None if rule.times is None else rule.times - 1
        return rule

    def applies(self, controller: str, action: str, key: Key) -> Rule | None:
        """The first rule that applies, none of it spent."""
        for rule in self.by_controller.get(controller, []):
            if rule.action == action and rule.times != 0 and re.search(rule.match, f"{key[0]}/{key[1]}"):
                return rule
        return None
