# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every golden of a site with state, users and what CDI left behind, from one list per kind."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from .._guard.findings import Verdict
from .._image.golden import GOLDEN_NAMESPACE
from .._image.render import SCHEMATIC_ANNOTATION, VERSION_ANNOTATION
from .._image.wanted import RELEASE_NAME
from .._kube.client import Client
from .._kube.errors import KubeError
from .._kube.resources import (
    CLAIM,
    DATA_VOLUME,
    EVENT,
    POD,
)
from .._kube.snapshot import Scope, Snapshot
from .._plan.plan import Plan
from .._storage.golden import ALL_STATES, unread_state
from .._storage.moments import age_of, seconds_of
from .._storage.objects import Claim, DataVolume, condition
from .._storage.pods import Event, Pod
from .._storage.quantity import bytes_of
from .._usage.leftovers import Places, helpers, leftovers, unresolved
from .._usage.users import (
    BLOCKING,
    CLONED,
    CLONING,
    DECLARED,
    IDLE_TEMPLATE,
    KINDS,
    MOUNTED,
    TEMPLATE,
    User,
    users_of,
)
from .entry import Session
from .golden_site import catalog_of, surroundings_of, usage_scopes
from .results import outcome
from .waiting import Golden, goldens

INFO_SPEC: dict[str, Any] = {
    "names": {"type": "list", "elements": "str", "default": []},
    "states": {"type": "list", "elements": "str", "choices": list(ALL_STATES), "default": []},
    "finished_clones": {"type": "bool", "default": False},
    "max_restarts": {"type": "int", "default": 3},
}
# Raw objects of so many worker disks are in memory at once.
PAGE = 6000
# Goldens are told by their name's shape only where neither the catalog nor an annotation names them.
_NAME_PREFIX = "talos-worker-"
# What has to be read to tell each kind of use.
_NEEDS = {
    DECLARED: ("pools",),
    CLONING: ("volumes", "claims"),
    TEMPLATE: ("machine_sets", "machine_deployments", "machine_templates"),
    IDLE_TEMPLATE: ("machine_sets", "machine_deployments", "machine_templates"),
    MOUNTED: ("pods",),
    CLONED: ("volumes",),
}


def golden_image_info(session: Session) -> dict[str, Any]:
    """Job of module golden_image_info."""
    return _Site(session).answer()


class _Site:
    """Everything that was read, once."""

    def __init__(self, session: Session) -> None:
        self.params, self.client, self.now = session.params, session.client, time.time()
        self.snapshot = Snapshot(self.client).read(usage_scopes(_slim, PAGE))
        claims = self.snapshot.unread.get(CLAIM)
        if claims is not None and claims.not_found:
            raise claims  # every Kubernetes has claims: this address is something else
        self.volumes: Sequence[DataVolume] | None = self.snapshot.items(DATA_VOLUME)
        self.claims: Sequence[Claim] | None = self.snapshot.items(CLAIM)
        self.pods: Sequence[Pod] | None = self.snapshot.items(POD)
        self.catalog = catalog_of(self.snapshot)
        self.entries = self.catalog.by_golden() if self.catalog is not None else {}
        here = [volume for volume in self.volumes or () if volume.namespace == GOLDEN_NAMESPACE]
        self.golden_volumes = {volume.name: volume for volume in here}
        self.golden_claims = {claim.name: claim for claim in self.claims or ()}
        self.surroundings = surroundings_of(self.snapshot)

    @cached_property
    def known(self) -> dict[str, bool]:
        """Whether a kind of use can be told. Worker disks of other namespaces that may not be listed could be any number."""
        unread = set(self.surroundings.unread())
        if DATA_VOLUME in self.snapshot.partial:
            unread.add("volumes")
        return {how: not unread & set(needed) for how, needed in _NEEDS.items()}

    def answer(self) -> dict[str, Any]:
        users = users_of(self.surroundings)
        found = [self._described(golden, users.get(golden.name, [])) for golden in self._goldens()]
        if self.params["states"]:
            found = [golden for golden in found if golden["state"] in self.params["states"]]
        return outcome(
            Plan(),
            Verdict(),
            goldens=found,
            leftovers=self._leftovers(),
            totals=_totals(found, self.volumes is not None, self.catalog is not None),
            unread=self._unread(),
        )

    def _unread(self) -> dict[str, str]:
        partial = {
            resource.qualified: f"only namespace {GOLDEN_NAMESPACE} may be read" for resource in self.snapshot.partial
        }
        return {**partial, **self.snapshot.causes()}

    def _goldens(self) -> list[Golden]:
        names = self._names()
        error = self.snapshot.unread.get(DATA_VOLUME)
        if error is not None:
            return [Golden(name, unread_state(error.forbidden, error.cause)) for name in names]
        volumes, claims, pods = list(self.golden_volumes.values()), self.claims or (), self.pods or ()
        limit = self.params["max_restarts"]
        found = goldens(names, volumes, claims, pods, (), self.now, limit)
        if all(golden.state.ready for golden in found):
            return found
        # Events say why; they are many, and nobody needs them while all is well.
        self.snapshot.read([Scope(EVENT, GOLDEN_NAMESPACE, parse=Event.from_api)])
        return goldens(names, volumes, claims, pods, self.snapshot.items(EVENT) or (), self.now, limit)

    def _names(self) -> list[str]:
        """The named ones in that order; else those of the catalog, then the others by name."""
        if self.params["names"]:
            return list(dict.fromkeys(self.params["names"]))
        here = {volume.name for volume in self.golden_volumes.values() if _is_golden(volume)}
        here |= {
            claim.name for claim in self.claims or () if claim.name.startswith(_NAME_PREFIX) and not claim.data_source
        }
        declared = [entry.golden for entry in self.catalog.entries] if self.catalog is not None else []
        return [*dict.fromkeys(declared), *sorted(here - set(declared))]

    def _described(self, golden: Golden, users: Sequence[User]) -> dict[str, Any]:
        volume = self.golden_volumes.get(golden.name)
        entry = self.entries.get(golden.name)
        claim = self.golden_claims.get((volume.claim_name if volume else "") or golden.name)
        # CDI may have collected the finished DataVolume; its claim tells the same then.
        meta = volume.meta if volume else claim.meta if claim else None
        annotations: Mapping[str, str] = meta.annotations if meta else {}
        held = [*(volume.meta.finalizers if volume else ()), *(claim.meta.finalizers if claim else ())]
        known = self.known
        counts = {how: sum(user.how == how for user in users) if known[how] else None for how in KINDS}
        blocking = any(user.blocks for user in users)
        told = all(known[how] for how in BLOCKING)
        shown = users if self.params["finished_clones"] else [user for user in users if user.how != CLONED]
        return {
            **golden.as_dict(),
            "size_bytes": bytes_of(golden.state.size),
            "capacity_bytes": bytes_of(golden.state.capacity),
            "schematicID": entry.schematic_id if entry else annotations.get(SCHEMATIC_ANNOTATION),
            "version": entry.version if entry else annotations.get(VERSION_ANNOTATION),
            "url": (volume.http_url or None) if volume else None,
            "created": (meta.created if meta else None) or None,
            "age": age_of(meta.created, self.now) if meta else None,
            "import_seconds": _import_seconds(volume),
            "users": [user.as_dict() for user in shown],
            "user_counts": counts,
            "blocked": True if blocking else False if told else None,
            "orphan": None if self.catalog is None else entry is None,
            "managed_by": annotations.get(RELEASE_NAME) or None,
            "finalizers": None if self.volumes is None or self.claims is None else list(dict.fromkeys(held)),
        }

    def _leftovers(self) -> list[dict[str, Any]] | None:
        """None when the claims or pods of the golden namespace may not be listed."""
        if self.claims is None or self.pods is None or self.volumes is None:
            return None
        found = helpers(self.claims, self.pods)
        places = _places(self.client) if unresolved(found, self.claims) else {}
        by_place = {(volume.namespace, volume.name): volume for volume in self.volumes}
        return [item.as_dict() for item in leftovers(found, self.claims, by_place, places, self.now)]


def _slim(item: dict[str, Any]) -> DataVolume:
    """Of worker disks, which may be many thousands, only what tells their use."""
    volume = DataVolume.from_api(item)
    return (
        volume
        if volume.namespace == GOLDEN_NAMESPACE
        else replace(volume, spec={}, conditions=(), meta=replace(volume.meta, labels={}))
    )


def _places(client: Client) -> Places | None:
    """Claims of all namespaces by uid, from their metadata alone; None when they may not be listed."""
    try:
        items = client.metadata_items(CLAIM)
    except KubeError as error:
        if error.forbidden:
            return None
        raise
    metas = [item.get("metadata") or {} for item in items]
    return {str(meta.get("uid")): (str(meta.get("namespace")), str(meta.get("name"))) for meta in metas}


def _is_golden(volume: DataVolume) -> bool:
    return SCHEMATIC_ANNOTATION in volume.meta.annotations or volume.name.startswith(_NAME_PREFIX)


def _import_seconds(volume: DataVolume | None) -> float | None:
    """From the creation to the moment it became ready; None while it is not, or when CDI did not say."""
    ready = condition(volume.conditions, "Ready") if volume else None
    if volume is None or ready is None or ready.status != "True":
        return None
    begun, ended = seconds_of(volume.meta.created), seconds_of(ready.changed)
    return None if begun is None or ended is None else max(0.0, ended - begun)


def _totals(found: Sequence[Mapping[str, Any]], volumes: bool, catalog: bool) -> dict[str, Any]:
    """Sums over the goldens that are returned; null where the DataVolumes or the catalog could not be read."""
    states: dict[str, int] = {}
    for golden in found:
        states[golden["state"]] = states.get(golden["state"], 0) + 1
    clones = [golden["user_counts"][CLONED] for golden in found]
    return {
        "goldens": len(found),
        "by_state": states,
        "bytes": sum(golden["size_bytes"] or 0 for golden in found) if volumes else None,
        "orphans": sum(golden["orphan"] for golden in found) if catalog else None,
        "orphan_bytes": sum(golden["size_bytes"] or 0 for golden in found if golden["orphan"])
        if volumes and catalog
        else None,
        "clones": None if None in clones else sum(clones),
    }
