# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What state a golden image is in, from its DataVolume, its claim, or both."""

from __future__ import annotations

from dataclasses import dataclass

from .objects import IMMEDIATE_BIND_ANNOTATION, Claim, Condition, DataVolume, condition

READY, IMPORTING, WAITING = "ready", "importing", "waiting"
RETRYING, FAILING, FAILED, LOST = "retrying", "failing", "failed", "lost"
WILL_NOT_FINISH, NOT_PROGRESSING, ABSENT, DELETING, UNKNOWN = (
    "will_not_finish",
    "not_progressing",
    "absent",
    "deleting",
    "unknown",
)

# CDI never gives up on an HTTP import and never calls it Failed; its own alert and the chart's guard take three restarts as the limit.
RESTART_LIMIT = 3

_CONSUMER_PHASES = frozenset({"WaitForFirstConsumer", "PendingPopulation"})
_BUSY_PHASES = frozenset(
    {
        "PVCBound",
        "ImportScheduled",
        "ImportInProgress",
        "UploadScheduled",
        "UploadReady",
        "CloneScheduled",
        "CloneInProgress",
        "SnapshotForSmartCloneInProgress",
        "SmartClonePVCInProgress",
        "CloneFromSnapshotSourceInProgress",
        "CSICloneInProgress",
        "ExpansionInProgress",
        "NamespaceTransferInProgress",
        "PrepClaimInProgress",
        "RebindInProgress",
        "Paused",
    }
)
_NORMAL_REASONS = frozenset(
    {"", "Completed", "Pending", "ContainerCreating", "PodInitializing", "Scratch space required", "TransferRunning"}
)

_VOLUME_GONE = "the volume behind the claim is gone"


@dataclass(frozen=True)
class GoldenState:
    """State of a golden. ``progress`` is a percentage; ``size`` and ``storage_class`` are as written, None and blank when unknown."""

    state: str
    reason: str = ""
    phase: str = ""
    progress: float | None = None
    restarts: int = 0
    size: str | int | None = None
    capacity: str | int | None = None
    storage_class: str = ""

    @property
    def ready(self) -> bool:
        return self.state == READY

    @property
    def in_trouble(self) -> bool:
        """Whether waiting alone is unlikely to help."""
        return self.state in {FAILING, FAILED, LOST, WILL_NOT_FINISH, NOT_PROGRESSING}


def progress_of(written: str) -> float | None:
    """CDI's ``45.20%`` as 45.2; its ``N/A`` (no content length, csi clone) and anything else as None."""
    number = written.removesuffix("%")
    try:
        value = float(number) if written.endswith("%") else None
    except ValueError:
        return None
    return value if value is not None and 0 <= value <= 100 else None


def golden_state(volume: DataVolume | None, claim: Claim | None) -> GoldenState:
    """The state of a golden image; never raises. An unlisted phase is "unknown", which is not ready."""
    if volume is None:
        return _from_claim(claim)
    state, reason = _judge(volume, claim)
    return GoldenState(
        state=state,
        reason=reason,
        phase=volume.phase,
        progress=progress_of(volume.progress),
        restarts=volume.restarts,
        size=volume.storage_request if volume.storage_request is not None else claim.storage_request if claim else None,
        capacity=claim.capacity if claim else None,
        storage_class=volume.storage_class or (claim.storage_class if claim else ""),
    )


def _from_claim(claim: Claim | None) -> GoldenState:
    """CDI may have collected a finished DataVolume; the claim alone then is the golden."""
    if claim is None:
        return GoldenState(ABSENT, "neither a DataVolume nor a claim of this name exists")
    state, reason = WAITING, f"there is only a claim, in phase {claim.phase or 'blank'}"
    if claim.phase == "Lost":
        state, reason = LOST, _VOLUME_GONE
    elif claim.phase == "Bound":
        state, reason = READY, "the claim is bound; CDI has collected the finished DataVolume"
    return GoldenState(
        state, reason, size=claim.storage_request, capacity=claim.capacity, storage_class=claim.storage_class
    )


def _judge(volume: DataVolume, claim: Claim | None) -> tuple[str, str]:
    if volume.meta.deleted:
        return DELETING, "the DataVolume is being deleted"
    if volume.phase == "Succeeded":
        return READY, ""
    if volume.phase == "Failed":
        return _failed(volume)
    if claim is not None and claim.phase == "Lost":
        return LOST, _VOLUME_GONE
    running = condition(volume.conditions, "Running")
    complaint = _complaint(running) or _complaint(condition(volume.conditions, "Bound"))
    if "too small to contain image" in complaint:
        return WILL_NOT_FINISH, f"the image does not fit into the golden: {complaint}"
    if volume.phase in _BUSY_PHASES:
        return _busy(volume, running, complaint)
    return _early(volume, complaint)


def _early(volume: DataVolume, complaint: str) -> tuple[str, str]:
    """Before any transfer: blank, Pending, waiting for a consumer, or a phase that no CDI we know has."""
    if volume.phase in _CONSUMER_PHASES and IMMEDIATE_BIND_ANNOTATION not in volume.meta.annotations:
        return (
            WILL_NOT_FINISH,
            f"it waits for a first consumer that never comes, since annotation {IMMEDIATE_BIND_ANNOTATION} is missing",
        )
    if volume.phase == "":
        return (
            NOT_PROGRESSING,
            complaint or "CDI has not started on it: no usable class, or no access mode in its StorageProfile",
        )
    if volume.phase in _CONSUMER_PHASES or volume.phase == "Pending":
        return (NOT_PROGRESSING if complaint else WAITING), complaint or f"phase {volume.phase}"
    return UNKNOWN, f"phase {volume.phase} is not one we know"


def _failed(volume: DataVolume) -> tuple[str, str]:
    bound, running = condition(volume.conditions, "Bound"), condition(volume.conditions, "Running")
    if bound is not None and bound.reason == "ClaimLost":
        return LOST, _VOLUME_GONE
    return FAILED, _complaint(running) or _complaint(bound) or "CDI gave up on it"


def _busy(volume: DataVolume, running: Condition | None, complaint: str) -> tuple[str, str]:
    stopped = running is not None and running.status == "False"
    if volume.restarts >= RESTART_LIMIT and stopped:
        return FAILING, f"{volume.restarts} attempts failed; the last one: {complaint or 'no error was reported'}"
    if volume.restarts > 0 or complaint:
        return RETRYING, complaint or f"{volume.restarts} attempts failed, another one is running"
    return IMPORTING, f"phase {volume.phase}"


def _complaint(found: Condition | None) -> str:
    """Reason and message of a condition that reports trouble; blank for the normal steps of an import."""
    if found is None or found.status == "True" or (found.reason in _NORMAL_REASONS and "[prime-" not in found.message):
        return ""
    return f"{found.reason}: {found.message}" if found.message else found.reason
