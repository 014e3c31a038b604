# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plan: ordered steps with reasons, and a hash over what they would send."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from .changes import Change, sides

CREATE, PATCH, DELETE, UPLOAD = "create", "patch", "delete", "upload"


@dataclass(frozen=True)
class Step:
    """One write. ``payload`` is the object to create or the merge patch; ``rolls_workers`` is None when nobody can tell."""

    action: str
    kind: str
    namespace: str
    name: str
    reason: str
    changes: tuple[Change, ...] = ()
    payload: dict[str, Any] = field(default_factory=dict)
    rolls_workers: bool | None = False
    roll_reasons: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        return f"{self.kind} " + "/".join(part for part in (self.namespace, self.name) if part)

    def as_dict(self) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "action": self.action,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "reason": self.reason,
            "rolls_workers": self.rolls_workers,
        }
        if self.roll_reasons:
            shown["roll_reasons"] = list(self.roll_reasons)
        if self.changes:
            shown["changes"] = [change.as_dict() for change in self.changes]
        return shown

    def diff(self) -> dict[str, Any]:
        """One entry of Ansible's ``diff`` list."""
        before, after = sides(self.changes)
        return {"before_header": self.subject, "after_header": self.subject, "before": before, "after": after}


@dataclass(frozen=True)
class Plan:
    steps: tuple[Step, ...] = ()

    @property
    def hash(self) -> str:
        """sha256 over kind, place and payload of every step, in order. The same plan has the same hash anywhere."""
        facts = [
            [step.action, step.kind, step.namespace, step.name, step.payload, step.rolls_workers] for step in self.steps
        ]
        text = json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return "sha256:" + hashlib.sha256(text.encode()).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        return {"hash": self.hash, "steps": [step.as_dict() for step in self.steps]}

    def diff(self) -> list[dict[str, Any]]:
        return [step.diff() for step in self.steps]
