# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Is the plan of this run the one that was approved? If it is not: what moved."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

HASH_SHAPE = r"sha256:[0-9a-f]{64}"
Key = tuple[str, str, str, str]


@dataclass(frozen=True)
class Approved:
    """An approved plan: its hash, and where the whole plan was given, the digest of each of its steps."""

    hash: str
    digests: Mapping[Key, str] | None = field(default=None, hash=False)

    @classmethod
    def of(cls, given: Any) -> Approved:
        """From a hash, or from ``plan`` as modules return it. Raises ValueError for anything else."""
        if isinstance(given, str) and re.fullmatch(HASH_SHAPE, given):
            return cls(given)
        if isinstance(given, Mapping) and re.fullmatch(HASH_SHAPE, str(given.get("hash"))):
            steps = given.get("steps")
            if isinstance(steps, (list, tuple)) and all(isinstance(step, Mapping) for step in steps):
                return cls(str(given["hash"]), {_key(step): str(step.get("digest")) for step in steps})
        raise ValueError("a hash of the form sha256:<64 hex digits>, or a whole plan (hash and steps) is expected")


def _key(step: Mapping[str, Any]) -> Key:
    action, kind, namespace, name = (str(step.get(key) or "") for key in ("action", "kind", "namespace", "name"))
    return action, kind, namespace, name


def departures(approved: Approved, plan: Mapping[str, Any]) -> list[str]:
    """What differs between the approved plan and the one of this run (as ``Plan.as_dict`` gives it), a line each.

    Empty when it may be executed. Nothing left to do is always in order. Of a whole approved plan, a rest may be executed too: a run
    that was interrupted goes on.
    """
    steps = plan["steps"]
    if not steps or plan["hash"] == approved.hash:
        return []
    if approved.digests is None:
        return [f"now planned: {_named(step)}" for step in steps]
    return list(_moved(approved.digests, steps))


def _named(step: Mapping[str, Any]) -> str:
    where = "/".join(part for part in (step["namespace"], step["name"]) if part)
    return f"{step['action']} {step['kind']} {where} ({step['reason']})"


def _moved(digests: Mapping[Key, str], steps: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for step in steps:
        known = digests.get(_key(step))
        if known is None:
            yield f"new: {_named(step)}"
        elif known != step["digest"]:
            yield f"changed, the object or what the step rests on is not what it was: {_named(step)}"
