# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every golden of a site with its state and its users, from one list per kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._guard.findings import Verdict
from .._image.catalog import Catalog
from .._image.golden import CATALOG_PACKAGE, GOLDEN_NAMESPACE
from .._kube.resources import CLAIM, DATA_VOLUME, KUBERNETES_NODES, PACKAGE
from .._kube.snapshot import Scope, Snapshot
from .._plan.catalog import PLATFORM_PACKAGE, PlatformPackage
from .._plan.plan import Plan
from .._pool.pool import Pool
from .._storage.objects import Claim, DataVolume
from .._usage.users import Surroundings, users_of
from .entry import Session
from .results import outcome
from .waiting import goldens

# Goldens are told by their name's shape only where no catalog names them; the annotation below is the chart's own.
_SCHEMATIC_ANNOTATION = "kubernetes-worker-image.cozystack.io/schematic-id"
_VERSION_ANNOTATION = "kubernetes-worker-image.cozystack.io/talos-version"
_NAME_PREFIX = "talos-worker-"


def golden_image_info(session: Session) -> dict[str, Any]:
    """Job of module golden_image_info."""
    snapshot = Snapshot(session.client).read(
        [
            Scope(DATA_VOLUME, None, (GOLDEN_NAMESPACE,)),
            Scope(CLAIM, GOLDEN_NAMESPACE),
            Scope(PACKAGE),
            Scope(KUBERNETES_NODES),
        ],
        required=[DATA_VOLUME],
    )
    volumes = [DataVolume.from_api(item) for item in snapshot.lists[DATA_VOLUME]]
    claims = [Claim.from_api(item) for item in snapshot.items(CLAIM) or []]
    catalog = _catalog(snapshot)
    names = _names(volumes, claims, catalog)
    wanted = session.params["names"]
    if wanted:
        names = [name for name in names if name in wanted] + [name for name in wanted if name not in names]
    pools_read = snapshot.items(KUBERNETES_NODES)
    users = users_of(Surroundings([Pool.from_api(item) for item in pools_read or []], volumes))
    golden_volumes = {volume.name: volume for volume in volumes if volume.namespace == GOLDEN_NAMESPACE}
    listed = catalog.by_golden() if catalog is not None else {}
    found = []
    for golden in goldens(names, golden_volumes.values(), claims):
        volume = golden_volumes.get(golden.name)
        entry = listed.get(golden.name)
        annotations: Mapping[str, str] = volume.meta.annotations if volume else {}
        found.append(
            {
                **golden.as_dict(),
                "schematicID": entry.schematic_id if entry else annotations.get(_SCHEMATIC_ANNOTATION),
                "version": entry.version if entry else annotations.get(_VERSION_ANNOTATION),
                "url": volume.http_url if volume else None,
                "created": (volume.meta.created if volume else None) or None,
                "users": [user.as_dict() for user in users.get(golden.name, [])],
                "orphan": None if catalog is None else entry is None,
            }
        )
    return outcome(Plan(), Verdict(), goldens=found, unread=snapshot.causes())


def _catalog(snapshot: Snapshot) -> Catalog | None:
    """The catalog in force: None when it cannot be read, without entries when the package is not enabled."""
    packages = snapshot.items(PACKAGE)
    if packages is None:
        return None
    for item in packages:
        if (item.get("metadata") or {}).get("name") == PLATFORM_PACKAGE:
            platform = PlatformPackage.from_api(item)
            enabled = CATALOG_PACKAGE in platform.enabled and CATALOG_PACKAGE not in platform.disabled
            return Catalog.from_values(platform.catalog) if enabled else Catalog()
    return Catalog()


def _names(volumes: Sequence[DataVolume], claims: Sequence[Claim], catalog: Catalog | None) -> list[str]:
    here = {volume.name for volume in volumes if volume.namespace == GOLDEN_NAMESPACE and _is_golden(volume)}
    here |= {claim.name for claim in claims if claim.name.startswith(_NAME_PREFIX)}
    declared = [entry.golden for entry in catalog.entries] if catalog is not None else []
    return [*dict.fromkeys(declared), *sorted(here - set(declared))]


def _is_golden(volume: DataVolume) -> bool:
    return _SCHEMATIC_ANNOTATION in volume.meta.annotations or volume.name.startswith(_NAME_PREFIX)
