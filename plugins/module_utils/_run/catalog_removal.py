# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Stop managing the catalog. Nothing is deleted by that, so the result says what stays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from .._guard.catalog_write import names_text
from .._guard.findings import Verdict
from .._image.golden import CATALOG_PACKAGE, CATALOG_RELEASE, GOLDEN_NAMESPACE
from .._image.render import SCHEMATIC_ANNOTATION
from .._kube.resources import DATA_VOLUME, KUBERNETES_NODES
from .._kube.snapshot import Scope, Snapshot
from .._plan.catalog import PLATFORM_PACKAGE, PlatformPackage, catalog_plan, removal_changes
from .._plan.plan import Plan
from .._pool.pool import Pool
from .._storage.objects import DataVolume
from .._storage.printed import printed
from .._usage.users import DECLARED, Surroundings, users_of
from .catalog_site import SCOPES, Prepared, counted, gib, packages_of, state_of
from .entry import Session
from .results import outcome
from .waiting import Golden, goldens


@dataclass(frozen=True)
class Removal:
    """The plan, and what is there afterwards as well: Package, release, goldens (with the number of pools that declare each)."""

    prepared: Prepared
    packages: frozenset[str]
    volumes: tuple[DataVolume, ...] | None
    users: Mapping[str, int] | None

    def result(self) -> dict[str, Any]:
        return outcome(
            self.prepared.plan,
            self.prepared.verdict,
            catalog=dict(self.prepared.catalog),
            goldens=[],
            remains=self.remains(),
        )

    def remains(self) -> dict[str, Any]:
        """``goldens`` is null when they could not be read, and so is ``users`` of each."""
        namespace, name = CATALOG_RELEASE
        shown = None
        if self.volumes is not None:
            found = goldens([volume.name for volume in self.volumes], self.volumes)
            shown = [self._golden(golden) for golden in found]
        return {
            "package": CATALOG_PACKAGE if CATALOG_PACKAGE in self.packages else None,
            "release": f"{namespace}/{name}" if CATALOG_RELEASE in self.prepared.releases else None,
            "goldens": shown,
        }

    def _golden(self, golden: Golden) -> dict[str, Any]:
        users = None if self.users is None else self.users.get(golden.name, 0)
        return {"name": golden.name, "state": golden.state.state, "size": golden.state.size, "users": users}


def prepare_removal(session: Session) -> Removal:
    """Read, and plan. Users cost one list more, so they are only counted when there is something to do. Errors: KubeError."""
    snapshot = Snapshot(session.client).read(SCOPES)
    packages = packages_of(snapshot)
    found = packages.get(PLATFORM_PACKAGE)
    platform = PlatformPackage.from_api(found) if found else None
    read = snapshot.items(DATA_VOLUME)
    volumes = (
        None if read is None else tuple(volume for volume in read if SCHEMATIC_ANNOTATION in volume.meta.annotations)
    )
    plan, users = Plan(), None
    if platform is not None:
        reason = "stop managing the catalog; its Package and its goldens stay until they are deleted by hand"
        plan = catalog_plan(platform, removal_changes(platform), reason)
        plan = Plan(tuple(replace(step, facts=platform.facts, effect=_effect(volumes)) for step in plan.steps))
    if plan.steps:
        snapshot.read([Scope(KUBERNETES_NODES, parse=Pool.from_api)])
        pools = snapshot.items(KUBERNETES_NODES)
        if pools is not None:
            every = users_of(Surroundings(pools=pools))
            users = {name: Counter(user.how for user in found)[DECLARED] for name, found in every.items()}
    catalog = platform.catalog if platform else {}
    prepared = Prepared(plan, Verdict(), snapshot, platform, (), catalog, state_of(snapshot))
    return Removal(prepared, frozenset(packages), volumes, users)


def _effect(volumes: tuple[DataVolume, ...] | None) -> str:
    if volumes is None:
        return "goldens stay (they could not be read)"
    if not volumes:
        return "no golden is there that could stay"
    told = names_text(f"{volume.name} ({printed(volume.storage_request)})" for volume in volumes)
    size = gib(volume.storage_request for volume in volumes)
    return f"nothing is deleted: {counted(len(volumes))}, {size} stay in {GOLDEN_NAMESPACE}: {told}"
