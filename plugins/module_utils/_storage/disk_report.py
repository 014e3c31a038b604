# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the boot disks of workers were cloned, or why they are not there yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .moments import age_of
from .objects import Claim, DataVolume
from .quantity import bytes_of

_CDI = "cdi.kubevirt.io/"
READY, FAILED, LOST, STALLED, RUNNING = "ready", "failed", "lost", "stalled", "running"


@dataclass(frozen=True)
class DiskReport:
    """One disk. ``size`` is as declared, ``capacity`` what its claim has; blank texts and None where nothing is stated.

    ``state`` is ready, failed, lost, stalled (not ready after so many seconds) or running. ``undersized`` says that a bound claim has
    less than was declared; None when that cannot be told. ``age`` is in seconds.
    """

    namespace: str
    name: str
    golden: str
    state: str
    phase: str
    clone_type: str
    fallback_reason: str
    size: str | int | None
    capacity: str | int | None
    undersized: bool | None
    age: int | None
    stalled: bool
    clone_phase: str
    clone_error: str
    message: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def disk_report(volume: DataVolume, claim: Claim | None, now: float, stalled_after: float) -> DiskReport:
    """Report a disk from its DataVolume and its claim (None: absent, or not read); ``now`` is in seconds since the epoch."""
    notes = claim.meta.annotations if claim is not None else {}
    age = age_of(volume.meta.created, now)
    state = _state(volume, claim, age, stalled_after)
    return DiskReport(
        namespace=volume.namespace,
        name=volume.name,
        golden=volume.golden,
        state=state,
        phase=volume.phase,
        clone_type=notes.get(f"{_CDI}cloneType") or volume.meta.annotations.get(f"{_CDI}cloneType", ""),
        fallback_reason=notes.get(f"{_CDI}cloneFallbackReason", ""),
        size=volume.storage_request,
        capacity=claim.capacity if claim is not None else None,
        undersized=_undersized(volume, claim),
        age=int(age) if age is not None else None,
        stalled=state == STALLED,
        clone_phase=notes.get(f"{_CDI}clonePhase", ""),
        clone_error=notes.get(f"{_CDI}cloneError", ""),
        message="" if state == READY else _message(volume),
    )


def _state(volume: DataVolume, claim: Claim | None, age: float | None, stalled_after: float) -> str:
    if claim is not None and claim.phase == "Lost":
        return LOST
    if volume.phase in ("Succeeded", "Failed"):
        return READY if volume.phase == "Succeeded" else FAILED
    return STALLED if age is not None and age >= stalled_after else RUNNING


def _undersized(volume: DataVolume, claim: Claim | None) -> bool | None:
    if claim is None or claim.phase != "Bound":
        return None
    capacity, request = bytes_of(claim.capacity), bytes_of(volume.storage_request)
    return None if capacity is None or request is None else capacity < request


def _message(volume: DataVolume) -> str:
    """What the disk last said of itself: of Running first, which carries errors, then of Bound."""
    said = {condition.type: condition.message for condition in volume.conditions if condition.status != "True"}
    return said.get("Running") or said.get("Bound") or ""


def summary(reports: Iterable[DiskReport]) -> dict[str, Any]:
    """Counts by phase and by clone type, and the names (``namespace/name``) of disks that need somebody."""
    known = tuple(reports)
    phases = Counter(report.phase or "none" for report in known)
    return {
        "total": len(known),
        "phases": dict(sorted(phases.items())),
        "clone_types": dict(sorted(Counter(report.clone_type or "none" for report in known).items())),
        "failed": _names(known, (FAILED, LOST)),
        "stalled": _names(known, (STALLED,)),
        "undersized": [f"{report.namespace}/{report.name}" for report in known if report.undersized],
    }


def _names(reports: Sequence[DiskReport], states: tuple[str, ...]) -> list[str]:
    return [f"{report.namespace}/{report.name}" for report in reports if report.state in states]
