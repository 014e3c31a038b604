# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plan: ordered steps with reason, risk and effect, and a hash over what they would send and the facts they rest on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .changes import Change, sides

CREATE, PATCH, DELETE, UPLOAD = "create", "patch", "delete", "upload"
# What a step can do to running workers and to data, from nothing to the worst.
RISKS = ("none", "unknown", "rolls", "deletes")


@dataclass(frozen=True)
class Concerned:
    """Whom a step concerns: workers that are replaced or removed, their boot disks, and the bytes of those. None is unknown."""

    workers: int | None = None
    disks: int | None = None
    bytes: int | None = None

    def as_dict(self) -> dict[str, Any]:
        return {"workers": self.workers, "disks": self.disks, "bytes": self.bytes}


@dataclass(frozen=True)
class Step:
    """One write. ``payload`` is the object to create or the merge patch; ``rolls_workers`` is None when nobody can tell.

    ``facts`` are the live values that the step was judged by. They go into the digest and are not shown: when they move, the approved
    step is no longer the one that would be executed. ``effect`` says what follows from the step, in words.
    """

    action: str
    kind: str
    namespace: str
    name: str
    reason: str
    changes: tuple[Change, ...] = ()
    payload: dict[str, Any] = field(default_factory=dict)
    rolls_workers: bool | None = False
    roll_reasons: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict, compare=False)
    effect: str = ""
    concerned: Concerned | None = None

    @property
    def subject(self) -> str:
        return f"{self.kind} " + "/".join(part for part in (self.namespace, self.name) if part)

    @property
    def risk(self) -> str:
        if self.action == DELETE:
            return "deletes"
        return {True: "rolls", None: "unknown"}.get(self.rolls_workers, "none")

    @property
    def digest(self) -> str:
        """12 hexadecimal digits of what this step would do, and of what it rests on."""
        return _sha256(self._identity())[:12]

    def _identity(self) -> list[Any]:
        place = [self.action, self.kind, self.namespace, self.name]
        return [*place, self.payload, self.rolls_workers, dict(self.facts)]

    def as_dict(self) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "action": self.action,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "reason": self.reason,
            "risk": self.risk,
            "rolls_workers": self.rolls_workers,
            "digest": self.digest,
        }
        if self.roll_reasons:
            shown["roll_reasons"] = list(self.roll_reasons)
        if self.effect:
            shown["effect"] = self.effect
        if self.concerned is not None:
            shown["concerned"] = self.concerned.as_dict()
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
        """sha256 over kind, place, payload and facts of every step, in order. The same plan has the same hash anywhere."""
        return "sha256:" + _sha256([step._identity() for step in self.steps])

    def as_dict(self) -> dict[str, Any]:
        return {"hash": self.hash, "steps": [step.as_dict() for step in self.steps]}

    def diff(self) -> list[dict[str, Any]]:
        return [step.diff() for step in self.steps]


def fingerprint(value: Any) -> str:
    """12 hexadecimal digits that stand for a value of JSON's types; equal values give equal ones, whatever the order of keys."""
    return _sha256(value)[:12]


def _sha256(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
