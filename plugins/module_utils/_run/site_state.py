# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What pools are judged by: one list per kind, whatever the number of pools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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


@dataclass(frozen=True)
class SiteState:
    """Live pools by (namespace, name), and everything the rules look at."""

    live: Mapping[tuple[str, str], LivePool]
    cluster: ClusterState
    unread: Mapping[str, str] = field(default_factory=dict)


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
        Scope(KUBERNETES_NODES, only, names),
        Scope(KUBERNETES, only, names),
        Scope(DATA_VOLUME, None, golden_fallback),
        Scope(CLAIM, None if every_claim else GOLDEN_NAMESPACE, golden_fallback if every_claim else ()),
        Scope(STORAGE_CLASS),
        Scope(MACHINE_DEPLOYMENT, only, names),
        Scope(CONTROL_PLANE, only, names),
        Scope(INSTANCE_TYPE),
        Scope(HELM_RELEASE, only, names),
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
    lists: dict[str, Any] = {name: snapshot.items(resource) for name, resource in _LISTS.items()}
    cluster = ClusterState.from_lists(
        **lists,
        pool_schema=schema,
        planned_goldens=planned.by_golden() if planned is not None else {},
        talos_windows=talos_windows,
    )
    pools = [LivePool.from_api(item) for item in snapshot.lists[KUBERNETES_NODES]]
    return SiteState({(pool.namespace, pool.name): pool for pool in pools}, cluster, snapshot.causes())


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
