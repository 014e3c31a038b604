# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What state a golden image is in, from its DataVolume, its claim, and what pods and events say about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .objects import IMMEDIATE_BIND_ANNOTATION, Claim, DataVolume
from .scene import (
    BUSY_PHASES,
    FATAL_ANNOTATION,
    NOTHING_SEEN,
    Said,
    Scene,
    Sightings,
    complaint_of,
    dead_pod,
    evidence,
    first_of,
    last_error,
    row_of,
    scene_of,
    warned,
    words,
)
from .troubles import NO_CONSUMER, NOT_STARTED, POD_FAILED, SCRATCH_PENDING, Trouble, trouble_of

READY, IMPORTING, WAITING = "ready", "importing", "waiting"
RETRYING, FAILING, STUCK, FAILED, LOST = "retrying", "failing", "stuck", "failed", "lost"
WILL_NOT_FINISH, NOT_PROGRESSING, ABSENT, DELETING, UNKNOWN = (
    "will_not_finish",
    "not_progressing",
    "absent",
    "deleting",
    "unknown",
)
# Nothing can be said: CDI is not installed, or its objects may not be read. Never the same as absent.
API_MISSING, FORBIDDEN = "api_missing", "forbidden"
ALL_STATES = (
    READY,
    IMPORTING,
    WAITING,
    RETRYING,
    FAILING,
    STUCK,
    FAILED,
    LOST,
    WILL_NOT_FINISH,
    NOT_PROGRESSING,
    ABSENT,
    DELETING,
    UNKNOWN,
    API_MISSING,
    FORBIDDEN,
)
IN_TROUBLE = frozenset({FAILING, STUCK, FAILED, LOST, WILL_NOT_FINISH, NOT_PROGRESSING})

# CDI never gives up on an HTTP import and never calls it Failed; its own alert and the chart's guard take three restarts as the limit.
RESTART_LIMIT = 3
# A DataVolume that CDI has not looked at yet has a blank phase too, and a driver needs a while.
GRACE_SECONDS = 60.0
STORAGE_SECONDS = 300.0

_CONSUMER_PHASES = frozenset({"WaitForFirstConsumer", "PendingPopulation"})
# With these the importer does not even start; nothing counts as an attempt, so nothing would ever be counted.
_BEFORE_START = frozenset(
    {
        "importer-image",
        "not-schedulable",
        "quota-exceeded",
        "pod-not-started",
        "ca-config-map-missing",
        "secret-missing",
        "claim-exists",
        "claim-not-valid",
    }
)

_FINAL = ("Succeeded", "Failed")
_VOLUME_GONE = "the volume behind the claim is gone"


@dataclass(frozen=True)
class GoldenState:
    """State of a golden. ``progress`` is a percentage; ``size`` and ``storage_class`` are as written, None and blank when unknown.

    ``trouble`` is the id of a row of ``troubles``, blank when there is none or the table does not know it; ``cause`` and ``remedy``
    are that row's words; ``evidence`` holds what the state was told from.
    """

    state: str
    reason: str = ""
    phase: str = ""
    progress: float | None = None
    restarts: int = 0
    size: str | int | None = None
    capacity: str | int | None = None
    storage_class: str = ""
    trouble: str = ""
    cause: str = ""
    remedy: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def ready(self) -> bool:
        return self.state == READY

    @property
    def in_trouble(self) -> bool:
        """Whether waiting alone is unlikely to help."""
        return self.state in IN_TROUBLE


@dataclass(frozen=True)
class _Told:
    """A judgement: state, reason in words, and the row it rests on."""

    state: str
    reason: str = ""
    trouble: Trouble | None = None


def progress_of(written: str) -> float | None:
    """CDI's ``45.20%`` as 45.2; its ``N/A`` (no content length, csi clone) and anything else as None."""
    number = written.removesuffix("%")
    try:
        value = float(number) if written.endswith("%") else None
    except ValueError:
        return None
    return value if value is not None and 0 <= value <= 100 else None


def golden_state(
    volume: DataVolume | None, claim: Claim | None, seen: Sightings = NOTHING_SEEN, limit: int = RESTART_LIMIT
) -> GoldenState:
    """The state of a golden image; never raises. An unlisted phase is "unknown", which is not ready.

    ``limit`` is the number of failed attempts that counts as failing.
    """
    if volume is None:
        return _from_claim(claim)
    scene = scene_of(volume, claim, seen)
    told = _judge(scene, limit)
    state = GoldenState(
        state=told.state,
        reason=told.reason,
        phase=volume.phase,
        progress=progress_of(volume.progress),
        restarts=scene.restarts,
        size=volume.storage_request if volume.storage_request is not None else claim.storage_request if claim else None,
        capacity=claim.capacity if claim else None,
        storage_class=volume.storage_class or (claim.storage_class if claim else ""),
        evidence=evidence(scene),
    )
    row = told.trouble
    return replace(state, trouble=row.id, cause=row.cause, remedy=row.remedy) if row is not None else state


def unread_state(forbidden: bool, cause: str) -> GoldenState:
    """The state of any golden where DataVolumes cannot be read: no right to, or no such API."""
    if forbidden:
        return GoldenState(
            FORBIDDEN, f"DataVolumes may not be read: {cause}", remedy="grant list on datavolumes in cozy-public"
        )
    return GoldenState(
        API_MISSING,
        f"the cluster serves no DataVolumes: {cause}",
        remedy="check that the kubeconfig points to the management cluster; if it does, install CDI",
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


def _judge(scene: Scene, limit: int) -> _Told:
    volume = scene.volume
    if volume.meta.deleted:
        return _Told(DELETING, "the DataVolume is being deleted")
    if volume.phase in _FINAL:
        return _Told(READY) if volume.phase == "Succeeded" else _failed(scene)
    if scene.claim is not None and scene.claim.phase == "Lost":
        return _Told(LOST, _VOLUME_GONE, trouble_of("ClaimLost", ""))
    complaint = first_of(complaint_of(scene.running), complaint_of(scene.bound))
    row = row_of(first_of(complaint, last_error(scene))) or row_of(warned(scene))
    if row is not None and row.id == "image-too-large":
        return _Told(
            WILL_NOT_FINISH,
            f"the image does not fit into the golden: {words(first_of(complaint, last_error(scene)))}",
            row,
        )
    if scene.annotated(FATAL_ANNOTATION) == "true":
        return _Told(STUCK, words(complaint) or "CDI takes the error as final", row)
    if volume.phase not in BUSY_PHASES:
        return _early(scene, complaint, row)
    # A pod that was never made counts as failed, too; what keeps it from being made says more.
    dead = "" if row is not None and row.id in _BEFORE_START else dead_pod(scene)
    return _Told(STUCK, dead, POD_FAILED) if dead else _busy(scene, complaint, row, limit)


def _early(scene: Scene, complaint: Said, row: Trouble | None) -> _Told:
    """Before any transfer: blank, Pending, waiting for a consumer, or a phase that no CDI we know has."""
    volume = scene.volume
    if volume.phase in _CONSUMER_PHASES and IMMEDIATE_BIND_ANNOTATION not in volume.meta.annotations:
        text = (
            f"it waits for a first consumer that never comes, since annotation {IMMEDIATE_BIND_ANNOTATION} is missing"
        )
        return _Told(WILL_NOT_FINISH, text, NO_CONSUMER)
    if volume.phase == "":
        if not any(complaint) and scene.age is not None and not scene.older(GRACE_SECONDS):
            return _Told(WAITING, "CDI has not looked at it yet")
        text = "CDI has not started on it: no usable class, or no access mode in its StorageProfile"
        return _Told(NOT_PROGRESSING, words(complaint) or text, row or NOT_STARTED)
    if volume.phase in _CONSUMER_PHASES or volume.phase == "Pending":
        if any(complaint):
            return _Told(NOT_PROGRESSING, words(complaint), row)
        return _Told(WAITING, f"phase {volume.phase}", row)
    return _Told(UNKNOWN, f"phase {volume.phase} is not one we know")


def _failed(scene: Scene) -> _Told:
    if scene.bound is not None and scene.bound.reason == "ClaimLost":
        return _Told(LOST, _VOLUME_GONE, trouble_of("ClaimLost", ""))
    complaint = first_of(complaint_of(scene.running), complaint_of(scene.bound))
    return _Told(FAILED, words(complaint) or "CDI gave up on it", row_of(complaint) or row_of(warned(scene)))


def _busy(scene: Scene, complaint: Said, row: Trouble | None, limit: int) -> _Told:
    stopped = scene.running is not None and scene.running.status == "False"
    if scene.restarts >= limit and row is not None and not row.heals:
        return _Told(
            STUCK,
            f"{scene.restarts} attempts failed; the last one: {words(first_of(complaint, last_error(scene)))}",
            row,
        )
    if scene.restarts >= limit and stopped:
        last = words(first_of(complaint, last_error(scene))) or "no error was reported"
        return _Told(FAILING, f"{scene.restarts} attempts failed; the last one: {last}", row)
    halted = _halted(scene, complaint, row)
    if halted is not None:
        return halted
    if scene.restarts > 0 or any(complaint):
        last = words(first_of(complaint, last_error(scene)))
        return _Told(RETRYING, last or f"{scene.restarts} attempts failed, another one is running", row)
    if scene.volume.phase == "UploadReady":
        return _Told(WAITING, "it waits for somebody to send the image")
    return _Told(IMPORTING, f"phase {scene.volume.phase}")


def _halted(scene: Scene, complaint: Said, row: Trouble | None) -> _Told | None:
    """Nothing runs, and nothing will until the cluster is repaired; no attempt fails meanwhile that could be counted."""
    if row is not None and row.id in _BEFORE_START:
        said = next(
            (words(text) for text in (complaint, warned(scene)) if any(text) and row_of(text) is row), row.cause
        )
        return _Told(NOT_PROGRESSING, said, row)
    if row is not None and row.id == "storage-not-provisioned" and scene.older(STORAGE_SECONDS):
        return _Told(NOT_PROGRESSING, words(complaint) or words(warned(scene)), row)
    scratch = scene.scratch
    if scratch is not None and scratch.phase == "Pending" and scene.older(STORAGE_SECONDS):
        text = f"scratch claim {scratch.name} of class {scratch.storage_class or 'none'} is Pending"
        return _Told(NOT_PROGRESSING, text, SCRATCH_PENDING)
    return None
