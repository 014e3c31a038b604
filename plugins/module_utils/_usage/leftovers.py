# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What CDI leaves behind in the golden namespace: temporary claims, prime claims, scratch space and pods, with whose they are.

They are told by CDI's own label, by references and by the label that names their owner's uid; names are only shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._storage.moments import age_of
from .._storage.objects import Claim, DataVolume, Meta
from .._storage.pods import CDI_LABEL, Pod

OWNED_BY = "cdi.kubevirt.io/OwnedByUID"
WORKING, FINISHED, GONE, UNKNOWN = "working", "finished", "gone", "unknown"
# uid of a claim -> (namespace, name)
Places = Mapping[str, tuple[str, str]]


@dataclass(frozen=True)
class Leftover:
    """One helper of CDI. ``owner`` is "namespace/name" of the disk it works for, or the uid when nobody knows it.

    ``owner_state``: "working" (not a leftover yet), "finished" and "gone" (it should not be there any more), or "unknown".
    """

    kind: str
    name: str
    what: str
    owner: str
    owner_state: str
    size: str | int | None = None
    storage_class: str = ""
    phase: str = ""
    age: float | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "name": self.name,
            "what": self.what,
            "owner": self.owner,
            "owner_state": self.owner_state,
            "size": self.size,
            "storageClass": self.storage_class,
            "phase": self.phase,
            "age": self.age,
        }


def helpers(claims: Iterable[Claim], pods: Iterable[Pod]) -> list[Claim | Pod]:
    """Claims and pods that CDI made for another claim. A volume of its own, such as a golden whose DataVolume was collected, has no
    such owner.
    """

    def helps(meta: Meta) -> bool:
        owned = any(kind in ("PersistentVolumeClaim", "Pod") for kind, _, _ in meta.owners)
        return OWNED_BY in meta.labels or (meta.labels.get(CDI_LABEL[0]) == CDI_LABEL[1] and owned)

    every: list[Claim | Pod] = [*claims, *pods]
    return [one for one in every if helps(one.meta)]


def unresolved(found: Sequence[Claim | Pod], claims: Iterable[Claim]) -> set[str]:
    """uids of owners that are no claim of the golden namespace: only a list over all namespaces can tell whether they are there."""
    here = {claim.meta.uid for claim in claims}
    by_uid = {one.meta.uid: one for one in found if one.meta.uid}
    return {uid for one in found if (uid := _owner_uid(one, by_uid, set())) and uid not in here}


def leftovers(
    found: Sequence[Claim | Pod],
    claims: Iterable[Claim],
    volumes: Mapping[tuple[str, str], DataVolume] | None,
    places: Places | None,
    now: float,
) -> list[Leftover]:
    """The helpers with their owners. ``places`` were listed after all else; None: claims of other namespaces could not be listed.

    ``volumes`` are the DataVolumes of all namespaces by (namespace, name), None when they could not be read.
    """
    here = {claim.meta.uid: (claim.namespace, claim.name) for claim in claims if claim.meta.uid}
    by_uid = {one.meta.uid: one for one in found if one.meta.uid}
    shown = []
    for one in found:
        uid = _owner_uid(one, by_uid, set())
        place = here.get(uid) or (places or {}).get(uid)
        claim = one if isinstance(one, Claim) else None
        shown.append(
            Leftover(
                kind="PersistentVolumeClaim" if claim else "Pod",
                name=one.meta.name,
                what=_what(one, by_uid),
                owner="/".join(place) if place else uid,
                owner_state=_state(uid, place, volumes, places is not None),
                size=claim.storage_request if claim else None,
                storage_class=claim.storage_class if claim else "",
                phase=one.phase,
                age=age_of(one.meta.created, now),
            )
        )
    return sorted(shown, key=lambda leftover: (leftover.kind, leftover.name))


def _owner_uid(one: Claim | Pod, by_uid: Mapping[str, Claim | Pod], seen: set[str]) -> str:
    """uid of the claim that all this is for: a scratch claim belongs to a pod, that to a prime claim, that to the disk's claim."""
    labelled = one.meta.labels.get(OWNED_BY, "")
    if labelled:
        return labelled
    for _, _, uid in one.meta.owners:
        if uid in by_uid and uid not in seen:
            return _owner_uid(by_uid[uid], by_uid, seen | {uid})
        return uid
    return ""


def _what(one: Claim | Pod, by_uid: Mapping[str, Claim | Pod]) -> str:
    """For people. CDI labels all its helpers alike, so among those the name may say which one it is."""
    if isinstance(one, Pod):
        return one.meta.labels.get("cdi.kubevirt.io") or "pod"
    owner = next((by_uid[uid] for _, _, uid in one.meta.owners if uid in by_uid), None)
    if isinstance(owner, Pod) or one.name.endswith("-scratch"):
        return "scratch space"
    if one.data_source or one.name.startswith("tmp-pvc-"):
        return "temporary claim of a clone"
    return "prime claim"


def _state(
    uid: str, place: tuple[str, str] | None, volumes: Mapping[tuple[str, str], DataVolume] | None, complete: bool
) -> str:
    """What is called gone may get deleted by people: a claim that is there, but whose DataVolume was not listed yet, is "unknown"."""
    if place is None:
        return GONE if uid and complete else UNKNOWN
    volume = (volumes or {}).get(place)
    if volume is None:
        return UNKNOWN
    return FINISHED if volume.phase == "Succeeded" else WORKING
