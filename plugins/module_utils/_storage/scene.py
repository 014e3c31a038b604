# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One golden with all that is seen of it: conditions, its own pods and claims, the newest warning; and what each of them says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .objects import Claim, Condition, DataVolume, condition
from .pods import Event, Pod, warnings_about
from .troubles import Trouble, trouble_of

PRIME_ANNOTATION = "cdi.kubevirt.io/storage.populator.pvcPrime"
POD_PHASE_ANNOTATION = "cdi.kubevirt.io/storage.pod.phase"
POD_NAME_ANNOTATION = "cdi.kubevirt.io/storage.import.importPodName"
FATAL_ANNOTATION = "cdi.kubevirt.io/storage.import.fatalError"

BUSY_PHASES = frozenset(
    {
        "ImportScheduled",
        "UploadScheduled",
        "PVCBound",
        "ImportInProgress",
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
# Reason and message of something that was said.
Said = tuple[str, str]
NOTHING: Said = ("", "")


@dataclass(frozen=True)
class Sightings:
    """What else is seen in the golden's namespace, all of it; the golden's own part is picked out. ``age`` is in seconds.

    ``claims`` are prime and scratch claims among others. Nothing here has to be known.
    """

    pods: tuple[Pod, ...] = ()
    events: tuple[Event, ...] = ()
    claims: tuple[Claim, ...] = ()
    age: float | None = None


NOTHING_SEEN = Sightings()


@dataclass(frozen=True)
class Scene:
    """One golden with its own pods, claims and the newest warning about any of them."""

    volume: DataVolume
    claim: Claim | None
    pods: tuple[Pod, ...]
    scratch: Claim | None
    prime: Claim | None
    warning: Event | None
    age: float | None

    @property
    def running(self) -> Condition | None:
        return condition(self.volume.conditions, "Running")

    @property
    def bound(self) -> Condition | None:
        return condition(self.volume.conditions, "Bound")

    @property
    def restarts(self) -> int:
        return max([self.volume.restarts, *(pod.restarts for pod in self.pods)])

    def annotated(self, key: str) -> str:
        found = [claim.meta.annotations.get(key, "") for claim in (self.prime, self.claim) if claim is not None]
        return next((value for value in found if value), "")

    def older(self, seconds: float) -> bool:
        return self.age is not None and self.age >= seconds


def scene_of(volume: DataVolume, claim: Claim | None, seen: Sightings) -> Scene:
    by_name = {item.name: item for item in seen.claims}
    prime_name = ""
    if claim is not None:
        prime_name = claim.meta.annotations.get(PRIME_ANNOTATION) or (
            f"prime-{claim.meta.uid}" if claim.meta.uid else ""
        )
    claim_name = claim.name if claim is not None else volume.claim_name or volume.name
    work = {name for name in (claim_name, prime_name) if name}
    # A pod that is not CDI's may mount a finished golden; it has nothing to do with the import.
    pods = tuple(pod for pod in seen.pods if pod.of_cdi and work & set(pod.claims))
    scratch = next((by_name[f"{name}-scratch"] for name in sorted(work) if f"{name}-scratch" in by_name), None)
    names = frozenset({volume.name, *work, *(f"{name}-scratch" for name in work), *(pod.name for pod in pods)})
    warning = next(warnings_about(seen.events, names), None)
    return Scene(volume, claim, pods, scratch, by_name.get(prime_name), warning, seen.age)


def evidence(scene: Scene) -> dict[str, Any]:
    said = {kind: _shown(condition(scene.volume.conditions, kind)) for kind in ("Running", "Bound")}
    pods = [
        f"{pod.name}: {pod.phase}{' ' + pod.reason if pod.reason else ''}, {pod.restarts} restarts"
        for pod in scene.pods
    ]
    found = {
        "phase": scene.volume.phase,
        "restarts": scene.restarts,
        "running": said["Running"],
        "bound": said["Bound"],
        "claim": scene.claim.phase if scene.claim else "",
        "pods": pods,
        "last_error": ": ".join(part for part in last_error(scene) if part),
        "event": scene.warning.shown() if scene.warning else "",
        "age": scene.age,
    }
    return {key: value for key, value in found.items() if value not in ("", None, [], 0)}


def _shown(found: Condition | None) -> str:
    return " ".join(part for part in (found.status, found.reason, found.message) if part) if found else ""


def dead_pod(scene: Scene) -> str:
    """What became of an importer pod that failed as a whole; blank while none has. A finished transfer leaves no such pod."""
    failed = next((pod for pod in scene.pods if pod.phase == "Failed"), None)
    if failed is not None:
        why = f" ({failed.reason})" if failed.reason else ""
        return f"importer pod {failed.name} has failed{why} and is not replaced"
    if scene.annotated(POD_PHASE_ANNOTATION) == "Failed" and not any(pod.phase for pod in scene.pods):
        return f"importer pod {scene.annotated(POD_NAME_ANNOTATION) or ''} has failed and is not replaced".replace(
            "  ", " "
        )
    return ""


def complaint_of(found: Condition | None) -> Said:
    """Reason and message of a condition that reports trouble; blank both for the normal steps of an import."""
    if found is None or found.status == "True" or (found.reason in _NORMAL_REASONS and "[prime-" not in found.message):
        return NOTHING
    return found.reason, found.message


def last_error(scene: Scene) -> Said:
    """How the importer's last run ended. While a new attempt runs, CDI has blanked the message; the container still has it."""
    for pod in scene.pods:
        if pod.unschedulable and not pod.over:
            return "Unschedulable", pod.unschedulable
        if any(pod.ended):
            return pod.ended
    return NOTHING


def warned(scene: Scene) -> Said:
    return (scene.warning.reason, scene.warning.message) if scene.warning else NOTHING


def first_of(*said: Said) -> Said:
    return next((one for one in said if any(one)), NOTHING)


def row_of(said: Said) -> Trouble | None:
    return trouble_of(*said) if any(said) else None


def words(said: Said) -> str:
    return ": ".join(part for part in said if part)
