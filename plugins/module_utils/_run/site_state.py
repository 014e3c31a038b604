# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What pools are judged by: one list per kind, whatever the number of pools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .._guard.findings import Finding, Verdict
from .._guard.state import ClusterState
from .._image.catalog import Catalog
from .._image.golden import GOLDEN_NAMESPACE
from .._kube.client import Client
from .._kube.errors import KubeError
from .._kube.resources import (
    CLAIM,
    CONTROL_PLANE,
    DATA_VOLUME,
    HELM_RELEASE,
    INSTANCE_TYPE,
    KUBERNETES,
    KUBERNETES_NODES,
    MACHINE_DEPLOYMENT,
    STORAGE_CLASS,
    Resource,
)
from .._kube.schema import published_spec
from .._kube.snapshot import Scope, Snapshot
from .._plan.plan import Plan
from .._plan.pools import LivePool
from .._pool.objects import HelmRelease, InstanceType, KamajiControlPlane, MachineDeployment, Parent
from .._storage.objects import Claim, DataVolume, StorageClass
from .clone_settings import read_clone_settings
from .failures import Refusal
from .results import outcome

_LISTS: dict[str, Resource] = {
    "data_volumes": DATA_VOLUME,
    "claims": CLAIM,
    "storage_classes": STORAGE_CLASS,
    "machine_deployments": MACHINE_DEPLOYMENT,
    "control_planes": CONTROL_PLANE,
    "instance_types": INSTANCE_TYPE,
    "parents": KUBERNETES,
    "helm_releases": HELM_RELEASE,
}
_PARSERS: dict[Resource, Callable[[dict[str, Any]], Any]] = {
    KUBERNETES_NODES: LivePool.from_api,
    DATA_VOLUME: DataVolume.from_api,
    CLAIM: Claim.from_api,
    STORAGE_CLASS: StorageClass.from_api,
    MACHINE_DEPLOYMENT: MachineDeployment.from_api,
    CONTROL_PLANE: KamajiControlPlane.from_api,
    INSTANCE_TYPE: InstanceType.from_api,
    KUBERNETES: Parent.from_api,
    HELM_RELEASE: HelmRelease.from_api,
}
# One page holds every pool of most sites; of a larger one no more than this is in memory unread.
_PAGE = 6000


@dataclass(frozen=True)
class SiteState:
    """Live pools by (namespace, name), and everything the rules look at. ``whole`` are kinds that may be listed in one piece."""

    live: Mapping[tuple[str, str], LivePool]
    cluster: ClusterState
    unread: Mapping[str, str] = field(default_factory=dict)
    whole: frozenset[Resource] = frozenset()


def read_site(
    client: Client,
    namespaces: Iterable[str],
    every_claim: bool,
    planned: Catalog | None = None,
    talos_windows: Any = None,
) -> SiteState:
    """Read the site for pools of these namespaces. Errors: KubeError, Refusal when the platform has no pools at all.

    ``every_claim``: a pool without a class of its own is judged by the claim of a disk it has cloned, so the claims of
    all namespaces are needed; otherwise those of the goldens do.
    """
    names = tuple(sorted(set(namespaces)))
    only = names[0] if len(names) == 1 else None
    golden_fallback = tuple(dict.fromkeys((GOLDEN_NAMESPACE, *names)))
    scopes = [
        _scope(KUBERNETES_NODES, only, names),
        _scope(KUBERNETES, only, names),
        _scope(DATA_VOLUME, None, golden_fallback),
        _scope(CLAIM, None if every_claim else GOLDEN_NAMESPACE, golden_fallback if every_claim else ()),
        _scope(STORAGE_CLASS),
        _scope(MACHINE_DEPLOYMENT, only, names),
        _scope(CONTROL_PLANE, only, names),
        _scope(INSTANCE_TYPE),
        _scope(HELM_RELEASE, only, names),
    ]
    snapshot = Snapshot(client)
    try:
        snapshot.read(scopes, required=[KUBERNETES_NODES])
    except KubeError as error:
        if error.not_found:
            verdict = Verdict((_no_pools(),))
            raise Refusal(verdict, **outcome(Plan(), verdict)) from error
        raise
    schema = published_spec(client, KUBERNETES_NODES)
    lists: dict[str, Any] = {
        name: None if (found := snapshot.items(resource)) is None else tuple(found) for name, resource in _LISTS.items()
    }
    cluster = ClusterState(
        **lists,
        pool_schema=schema,
        planned_goldens=planned.by_golden() if planned is not None else {},
        talos_windows=talos_windows,
    )
    whole = frozenset(snapshot.lists) - snapshot.partial if only is None else frozenset()
    return SiteState(_by_place(snapshot.lists[KUBERNETES_NODES]), cluster, snapshot.causes(), whole)


def _scope(resource: Resource, namespace: str | None = None, fallback: tuple[str, ...] = ()) -> Scope:
    return Scope(resource, namespace, fallback, _PARSERS[resource], _PAGE)


def _by_place(pools: Iterable[LivePool]) -> dict[tuple[str, str], LivePool]:
    return {(pool.namespace, pool.name): pool for pool in pools}


def read_pools(client: Client, namespaces: Sequence[str]) -> dict[tuple[str, str], LivePool]:
    """The pools alone, as they are now. Errors: KubeError."""
    only = namespaces[0] if len(namespaces) == 1 else None
    scope = _scope(KUBERNETES_NODES, only, tuple(namespaces))
    return _by_place(Snapshot(client).read([scope], required=[KUBERNETES_NODES]).lists[KUBERNETES_NODES])


def with_clone_settings(client: Client, site: SiteState) -> SiteState:
    """The site with the settings that decide how disks are cloned; a run that changes nothing does without."""
    cluster, unread = read_clone_settings(client, site.cluster)
    return replace(site, cluster=cluster, unread={**site.unread, **unread})


def _no_pools() -> Finding:
    return Finding(
        "feature-missing",
        KUBERNETES_NODES.qualified,
        "this API server serves no worker pools (KubernetesNodes)",
        "check that the kubeconfig points to the management cluster; if it does, upgrade Cozystack: pools became objects "
        "of their own before golden images did",
        {"api": KUBERNETES_NODES.api_version},
    )


def blank_class(specs: Sequence[Mapping[str, Any]]) -> bool:
    """Whether some spec asks for the cluster's default class."""
    return any("storageClass" in spec and not spec["storageClass"] for spec in specs)
