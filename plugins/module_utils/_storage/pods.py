# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods and Events as frozen values, as far as they tell what becomes of a volume."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .objects import Condition, Meta, condition, conditions_of
from .reading import dig, items, mapping, number, text

CDI_LABEL = ("app", "containerized-data-importer")


@dataclass(frozen=True)
class Pod:
    """``claims`` are the claims it mounts; ``writes`` those it may write to. ``waiting`` and ``ended`` are (reason, message)."""

    meta: Meta
    phase: str = ""
    reason: str = ""
    claims: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    restarts: int = 0
    waiting: tuple[str, str] = ("", "")
    ended: tuple[str, str] = ("", "")
    conditions: tuple[Condition, ...] = ()

    @property
    def name(self) -> str:
        return self.meta.name

    @property
    def of_cdi(self) -> bool:
        """Whether it is one of CDI's own workers: importer, uploader, cloner, preparation."""
        return self.meta.labels.get(CDI_LABEL[0]) == CDI_LABEL[1]

    @property
    def over(self) -> bool:
        return self.phase in ("Succeeded", "Failed")

    @property
    def unschedulable(self) -> str:
        """What the scheduler says; blank when it found a node or has not tried."""
        scheduled = condition(self.conditions, "PodScheduled")
        return scheduled.message if scheduled and scheduled.status == "False" else ""

    @classmethod
    def from_api(cls, obj: Mapping[str, Any]) -> Pod:
        mounted = [
            (text(volume, "persistentVolumeClaim", "claimName"), dig(volume, "persistentVolumeClaim", "readOnly"))
            for volume in items(obj, "spec", "volumes")
        ]
        restarts, waiting, ended = 0, ("", ""), ("", "")
        for container in items(obj, "status", "containerStatuses"):
            restarts = max(restarts, number(container, "restartCount"))
            waiting = _said(mapping(container, "state", "waiting")) or waiting
            ended = _failed(container) or ended
        return cls(
            meta=Meta.from_api(obj),
            phase=text(obj, "status", "phase"),
            reason=text(obj, "status", "reason"),
            claims=tuple(name for name, _ in mounted if name),
            writes=tuple(name for name, readonly in mounted if name and readonly is not True),
            restarts=restarts,
            waiting=waiting,
            ended=ended,
            conditions=conditions_of(obj),
        )


def _said(state: Mapping[str, Any]) -> tuple[str, str] | None:
    return (text(state, "reason"), text(state, "message")) if state else None


def _failed(container: Mapping[str, Any]) -> tuple[str, str] | None:
    """How the last run ended, if it ended badly. CDI leaves the error as the container's termination message."""
    for kind in ("state", "lastState"):
        ended = mapping(container, kind, "terminated")
        if ended and number(ended, "exitCode") != 0:
            return _said(ended)
    return None


@dataclass(frozen=True)
class Event:
    """A v1 Event. ``about`` is (kind, name); ``last`` is the API's RFC 3339 text, which orders as text."""

    namespace: str
    about: tuple[str, str]
    type: str = ""
    reason: str = ""
    message: str = ""
    count: int = 1
    last: str = ""
    uid: str = field(default="", compare=False)

    @classmethod
    def from_api(cls, obj: Mapping[str, Any]) -> Event:
        involved = mapping(obj, "involvedObject")
        moments = [text(obj, key) for key in ("lastTimestamp", "eventTime", "firstTimestamp")]
        return cls(
            namespace=text(obj, "metadata", "namespace"),
            about=(text(involved, "kind"), text(involved, "name")),
            type=text(obj, "type"),
            reason=text(obj, "reason"),
            message=text(obj, "message"),
            count=max(1, number(obj, "count")),
            last=next((moment for moment in moments if moment), ""),
            uid=text(involved, "uid"),
        )

    def shown(self) -> str:
        times = f" ({self.count} times)" if self.count > 1 else ""
        return f"{self.about[0]} {self.about[1]}: {self.reason}: {self.message}{times}"


def warnings_about(events: tuple[Event, ...], names: frozenset[str]) -> Iterator[Event]:
    """Warning events on objects of these names, the newest first."""
    mine = [event for event in events if event.type == "Warning" and event.about[1] in names]
    yield from sorted(mine, key=lambda event: event.last, reverse=True)
