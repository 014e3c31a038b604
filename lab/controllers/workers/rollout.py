# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of a rolling update, as Cluster API does it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from lab.api import Object
from lab.controllers.objects import annotations

_NODE_GROUP = "cluster.x-k8s.io/cluster-api-autoscaler-node-group"


@dataclass(frozen=True)
class Group:
    """A machine set as the arithmetic sees it."""

    wanted: int
    ready: int


def autoscaled(deployment: Object) -> int:
    """What an idle autoscaler leaves: the replicas there are, brought inside the bounds of the annotations."""
    marks = annotations(deployment)
    low, high = int(marks.get(f"{_NODE_GROUP}-min-size", "0")), int(marks.get(f"{_NODE_GROUP}-max-size", "1000"))
    have = deployment["spec"].get("replicas")
    return min(max(low if have is None else int(have), low), max(high, low))


def absolute(value: Any, desired: int, up: bool) -> int:
    """A number, or a percentage of the desired replicas."""
    if isinstance(value, str) and value.endswith("%"):
        share = desired * int(value[:-1]) / 100
        return math.ceil(share) if up else math.floor(share)
    return int(value)


def step(desired: int, surge: int, unavailable: int, new: Group, olds: list[Group]) -> tuple[int, list[int]]:
    """Replicas of the new set and of each old one (oldest first) for now; called again whenever a machine changes."""
    total = new.wanted + sum(old.wanted for old in olds)
    grown = desired if new.wanted >= desired else min(desired, new.wanted + max(0, desired + surge - total))
    left = [old.wanted for old in olds]
    least = desired - unavailable
    # Machines that are not ready may go first; ready ones only as far as enough of them stay.
    removable = total - least - (new.wanted - new.ready)
    for index, old in enumerate(olds):
        gone = min(max(removable, 0), max(old.wanted - old.ready, 0))
        left[index] -= gone
        removable -= gone
    spare = min(max(removable, 0), max(new.ready + sum(old.ready for old in olds) - least, 0))
    for index in range(len(olds)):
        gone = min(spare, left[index])
        left[index] -= gone
        spare -= gone
    return grown, left
