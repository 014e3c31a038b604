# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules on names, owners and parents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from .._pool.pool import RELEASE_PREFIX
from .case import PoolCase
from .rule import Found, rule, shown

# The aggregated API wants DNS-1035, and the release's name, prefix included, is limited to 53 characters.
LONGEST_NAME = 53 - len(RELEASE_PREFIX)


@rule(
    "cluster-required",
    own=True,
    cause="A pool must say which cluster it belongs to.",
    example='cluster: ""',
    remedy="Set cluster to the name of the parent Kubernetes resource.",
)
def cluster_required(case: PoolCase) -> Iterator[Found]:
    if not case.pool.values_cluster:
        yield Found("cluster", "cluster is blank, so the pool belongs to no cluster", evidence={"cluster": ""})


@rule(
    "pool-name-prefix",
    own=True,
    cause="The resource of a pool is named <cluster>-<pool>, and spec.cluster decides where the name splits.",
    example="name other-md0 with cluster: shop",
    remedy="Name the resource <cluster>-<pool>, or correct cluster.",
)
def pool_name_prefix(case: PoolCase) -> Iterator[Found]:
    cluster = case.pool.values_cluster
    if cluster and not case.pool.name.startswith(f"{cluster}-"):
        yield Found(
            "cluster",
            f"the resource is named {case.pool.name}, which does not start with its cluster's name {cluster} and a dash",
            evidence={"name": case.pool.name, "cluster": cluster},
        )


@rule(
    "pool-name-format",
    own=True,
    chart=False,
    cause="The API accepts names of lower-case letters, digits and inner dashes that start with a letter, and only so long that the "
    "release's name fits.",
    example="pool: Worker_1",
    remedy=f"Choose a name of at most {LONGEST_NAME} characters, cluster included, that starts with a letter.",
)
def pool_name_format(case: PoolCase) -> Iterator[Found]:
    name = case.pool.name
    if not re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", name):
        yield Found("name", f"{shown(name)} is not a name that the API accepts", evidence={"name": name})
    elif len(name) > LONGEST_NAME:
        yield Found(
            "name",
            f"the name {name} has {len(name)} characters, and the API accepts {LONGEST_NAME}",
            evidence={"name": name, "length": len(name), "longest": LONGEST_NAME},
        )


@rule(
    "pool-owned-elsewhere",
    own=True,
    cause="The workers' MachineDeployment belongs to another release, usually to the parent cluster's own old node group.",
    example="annotation meta.helm.sh/release-name: kubernetes-shop on the MachineDeployment",
    remedy="Choose another pool name, or let the platform's migration hand the node group over first.",
)
def pool_owned_elsewhere(case: PoolCase) -> Iterator[Found]:
    case.read("machine_deployments")
    live = case.state.deployment(case.pool.namespace, case.pool.object_name)
    if live is not None and live.release_name and live.release_name != case.pool.release_name:
        yield Found(
            "name",
            f"MachineDeployment {case.pool.namespace}/{case.pool.object_name} belongs to release {live.release_name}, not to this pool's "
            f"release {case.pool.release_name}",
            evidence={"owner": live.release_name, "release": case.pool.release_name},
        )


@rule(
    "cluster-changed",
    own=True,
    cause="cluster of an existing pool was edited. Object names can stay the same while the pool's machines are lost from sight.",
    example="cluster changed from shop to shop-md0",
    remedy="Restore cluster to its former value; to move workers to another cluster, create a new pool.",
)
def cluster_changed(case: PoolCase) -> Iterator[Found]:
    case.read("machine_deployments")
    live = case.state.deployment(case.pool.namespace, case.pool.object_name)
    if live is not None and live.cluster_name and live.cluster_name != case.pool.cluster_name:
        former = live.cluster_name.removeprefix("kubernetes-")
        yield Found(
            "cluster",
            f"MachineDeployment {case.pool.namespace}/{case.pool.object_name} is of cluster {live.cluster_name}, but the pool says "
            f"{case.pool.cluster_name}",
            f"Restore cluster to {former}; to move workers to another cluster, create a new pool.",
            {"live": live.cluster_name, "wanted": case.pool.cluster_name},
        )


@rule(
    "parent-absent",
    own=True,
    chart=False,
    cause="The Kubernetes resource that the pool names does not exist in its namespace, so its workers have nothing to join.",
    example="cluster: shpo",
    remedy="Create the Kubernetes resource first, or correct cluster or namespace.",
)
def parent_absent(case: PoolCase) -> Iterator[Found]:
    cluster = case.pool.values_cluster
    wrapped = bool(case.pool.spec.get("clusterReleaseName"))
    if not cluster or wrapped or case.state.parents is None or case.state.parent(case.pool.namespace, cluster):
        return
    here = sorted(item.meta.name for item in case.state.parents if item.meta.namespace == case.pool.namespace)
    yield Found(
        "cluster",
        f"there is no Kubernetes resource {case.pool.namespace}/{cluster}"
        + (f"; there are {', '.join(here)}" if here else ""),
        evidence={"cluster": cluster, "namespace": case.pool.namespace, "known": here},
    )


@rule(
    "release-name-clash",
    own=True,
    chart=False,
    cause="A Kubernetes resource named nodes-<x> owns the same release as the pool <x>.",
    example="pool shop-md0 beside a Kubernetes resource named nodes-shop-md0",
    remedy="Rename one of them.",
)
def release_name_clash(case: PoolCase) -> Iterator[Found]:
    if case.state.helm_releases is None:
        return
    live = case.state.release(case.pool.namespace, case.pool.release_name)
    if live is not None and live.app_kind and live.app_kind != "KubernetesNodes":
        yield Found(
            "name",
            f"HelmRelease {case.pool.namespace}/{case.pool.release_name} already belongs to {live.app_kind} {live.app_name}",
            evidence={"release": case.pool.release_name, "owner_kind": live.app_kind, "owner": live.app_name},
        )


@rule(
    "parent-talos-differs",
    own=True,
    refuses=False,
    chart=False,
    cause="The parent cluster repeats the pools' Talos defaults, and the platform expects both blocks to agree.",
    example="talos.version v1.13.7 on the pool, v1.13.6 on the Kubernetes resource",
    remedy="Give the Kubernetes resource and its pools the same talos block.",
)
def parent_talos_differs(case: PoolCase) -> Iterator[Found]:
    if case.state.parents is None:
        return
    parent = case.state.parent(case.pool.namespace, case.pool.values_cluster)
    own = case.values.get("talos")
    if parent is None or not isinstance(own, Mapping):
        return
    differing = sorted(key for key in own if key in parent.talos and parent.talos[key] != own[key])
    if differing:
        yield Found(
            "talos",
            f"talos.{', talos.'.join(differing)} differs from the parent Kubernetes resource {case.pool.namespace}/{parent.meta.name}",
            evidence={key: {"pool": own[key], "parent": parent.talos[key]} for key in differing},
        )
