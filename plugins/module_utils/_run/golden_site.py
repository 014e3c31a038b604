# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the jobs of module golden_image read: one golden with all that is seen of it, and everybody who could use it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .._guard.retire import RetireCase
from .._image.catalog import Catalog
from .._image.golden import CATALOG_PACKAGE, GOLDEN_NAMESPACE
from .._image.wanted import WantedGolden
from .._kube.client import Client
from .._kube.errors import KubeError
from .._kube.resources import (
    CLAIM,
    DATA_VOLUME,
    EVENT,
    KUBERNETES_NODES,
    MACHINE_DEPLOYMENT,
    MACHINE_SET,
    MACHINE_TEMPLATE,
    PACKAGE,
    POD,
    Resource,
)
from .._kube.snapshot import Scope, Snapshot
from .._plan.catalog import PLATFORM_PACKAGE, PlatformPackage
from .._pool.objects import MachineDeployment, MachineSet, MachineTemplate
from .._pool.pool import Pool
from .._storage.golden import unread_state
from .._storage.objects import Claim, DataVolume
from .._storage.pods import Event, Pod
from .._usage.users import Surroundings, users_of
from .failures import Failure
from .waiting import Golden, goldens

# Worker disks may be many; they are read in pages of this size.
PAGE = 2000
_KINDS: Mapping[str, Resource] = {
    "pools": KUBERNETES_NODES,
    "volumes": DATA_VOLUME,
    "claims": CLAIM,
    "pods": POD,
    "machine_sets": MACHINE_SET,
    "machine_deployments": MACHINE_DEPLOYMENT,
    "machine_templates": MACHINE_TEMPLATE,
}


@dataclass(frozen=True)
class View:
    """One golden at one moment."""

    golden: Golden
    volume: DataVolume | None
    claim: Claim | None

    @property
    def exists(self) -> bool:
        return self.volume is not None or self.claim is not None


def look(client: Client, name: str, limit: int) -> View:
    """Read the golden namespace and judge one golden. Errors: Failure when DataVolumes cannot be read, KubeError."""
    scopes = [
        Scope(DATA_VOLUME, GOLDEN_NAMESPACE, parse=DataVolume.from_api),
        Scope(CLAIM, GOLDEN_NAMESPACE, parse=Claim.from_api),
        Scope(POD, GOLDEN_NAMESPACE, parse=Pod.from_api),
        Scope(EVENT, GOLDEN_NAMESPACE, parse=Event.from_api),
    ]
    snapshot = Snapshot(client).read(scopes)
    if DATA_VOLUME in snapshot.unread:
        raise unreadable(snapshot.unread[DATA_VOLUME])
    volumes, claims = snapshot.lists[DATA_VOLUME], snapshot.items(CLAIM) or []
    pods, events = snapshot.items(POD) or [], snapshot.items(EVENT) or []
    found = goldens([name], volumes, claims, pods, events, time.time(), limit)[0]
    volume = next((one for one in volumes if one.name == name), None)
    claim_name = (volume.claim_name if volume else "") or name
    return View(found, volume, next((one for one in claims if one.name == claim_name), None))


def unreadable(error: KubeError) -> Failure:
    """What to say where DataVolumes cannot be read: never that the golden is absent."""
    state = unread_state(error.forbidden, error.cause)
    return Failure(f"{state.reason}. What to do: {state.remedy}", state=state.state)


@dataclass(frozen=True)
class Usage:
    """Everybody who could use goldens, and the catalog's entries (None when they were not read)."""

    site: Surroundings
    unread: Mapping[str, str]
    listed: frozenset[str] | None

    def case(self, wanted: WantedGolden, recreated: bool) -> RetireCase:
        name = wanted.name
        here = [one for one in self.site.volumes or () if one.namespace == GOLDEN_NAMESPACE and one.name == name]
        volume = here[0] if here else None
        claim_name = (volume.claim_name if volume else "") or name
        return RetireCase(
            golden=name,
            pair=(wanted.schematic_id, wanted.version),
            volume=volume,
            claim=next((one for one in self.site.claims or () if one.name == claim_name), None),
            users=users_of(self.site).get(name, ()),
            unread=self.unread,
            listed=None if self.listed is None else name in self.listed,
            recreated=recreated,
        )


def usage_scopes(parse: Callable[[dict[str, Any]], DataVolume], page: int) -> list[Scope]:
    """One list per kind of everything that can use a golden, and the Packages. Worker disks are read in pages."""
    return [
        Scope(DATA_VOLUME, None, (GOLDEN_NAMESPACE,), parse=parse, limit=page),
        Scope(CLAIM, GOLDEN_NAMESPACE, parse=Claim.from_api),
        Scope(POD, GOLDEN_NAMESPACE, parse=Pod.from_api),
        Scope(KUBERNETES_NODES, None, parse=Pool.from_api),
        Scope(MACHINE_SET, None, parse=MachineSet.from_api),
        Scope(MACHINE_DEPLOYMENT, None, parse=MachineDeployment.from_api),
        Scope(MACHINE_TEMPLATE, None, parse=MachineTemplate.from_api),
        Scope(PACKAGE),
    ]


def surroundings_of(snapshot: Snapshot) -> Surroundings:
    """What may not be read stays None; an API that the cluster does not have has no objects."""
    lists: dict[str, Any] = {}
    for field, resource in _KINDS.items():
        error = snapshot.unread.get(resource)
        empty = error is not None and error.not_found and resource != DATA_VOLUME
        lists[field] = [] if empty else snapshot.items(resource)
    return Surroundings(**lists)


def read_usage(client: Client) -> Usage:
    """Everybody who could use goldens; what may not be read is remembered. Errors: Failure when DataVolumes cannot be read."""
    snapshot = Snapshot(client).read(usage_scopes(DataVolume.from_api, PAGE))
    if DATA_VOLUME in snapshot.unread:
        raise unreadable(snapshot.unread[DATA_VOLUME])
    unread = {resource.qualified: error.cause for resource, error in snapshot.unread.items() if not error.not_found}
    unread |= dict.fromkeys(
        (resource.qualified for resource in snapshot.partial), f"only namespace {GOLDEN_NAMESPACE} may be read"
    )
    # The catalog only tells whether a golden would come back; without it nobody is overlooked.
    unread.pop(PACKAGE.qualified, None)
    catalog = catalog_of(snapshot)
    return Usage(surroundings_of(snapshot), unread, None if catalog is None else frozenset(catalog.by_golden()))


def catalog_of(snapshot: Snapshot) -> Catalog | None:
    """The catalog in force: None when it may not be read, without entries when the package is not enabled or there is no platform."""
    error = snapshot.unread.get(PACKAGE)
    if error is not None and not error.not_found:
        return None
    for item in snapshot.items(PACKAGE) or ():
        platform = PlatformPackage.from_api(item)
        if platform.name == PLATFORM_PACKAGE:
            enabled = CATALOG_PACKAGE in platform.enabled and CATALOG_PACKAGE not in platform.disabled
            return Catalog.from_values(platform.catalog) if enabled else Catalog()
    return Catalog()
