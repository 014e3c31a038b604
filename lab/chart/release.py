# SPDX-License-Identifier: Apache-2.0
"""One pool release while it renders: identity, values, and what it can look up."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lab.chart.quantities import go_text
from lab.chart.refusal import Lookups, Object, Refused, annotation, dig
from lab.chart.values import Values

RELEASE_ANNOTATION = "meta.helm.sh/release-name"


@dataclass(frozen=True)
class PoolRelease:
    """``cluster_name`` is the parent's object name, ``kubernetes-<cluster>``; ``pool`` the rest of the release name."""

    namespace: str
    name: str
    values: Values
    cluster_values: Values
    lookups: Lookups
    cluster_name: str
    pool: str

    @property
    def full_name(self) -> str:
        """Name of the pool's objects, and the value of the pool annotation on its disks."""
        return f"{self.cluster_name}-{self.pool}"


def identify(namespace: str, name: str, values: Values, cluster_values: Values, lookups: Lookups) -> PoolRelease:
    """The release with its names. Raises Refused cluster-required, pool-name-prefix."""
    cluster = values.get("cluster")
    if not cluster:
        raise Refused("cluster-required", "cluster is empty: name the Kubernetes object that the pool belongs to")
    prefix = f"kubernetes-nodes-{cluster}-"
    if not name.startswith(prefix):
        raise Refused(
            "pool-name-prefix",
            f"release {name} does not start with {prefix}: the KubernetesNodes object is named <cluster>-<pool>",
        )
    # A wrapper around the cluster chart names its release freely and passes the name on.
    cluster_name = values.get("clusterReleaseName") or f"kubernetes-{cluster}"
    return PoolRelease(namespace, name, values, cluster_values, lookups, cluster_name, name.removeprefix(prefix))


def check_owner(release: PoolRelease) -> None:
    """The live MachineDeployment is this pool's. Raises Refused pool-owned-elsewhere, cluster-changed."""
    live = release.lookups.get("MachineDeployment", release.namespace, release.full_name)
    owner = annotation(live, RELEASE_ANNOTATION)
    if owner and owner != release.name:
        raise Refused(
            "pool-owned-elsewhere",
            f"MachineDeployment {release.namespace}/{release.full_name} belongs to release {owner}, not {release.name}:"
            " give the pool another name",
        )
    cluster_name = dig(live, "spec", "clusterName")
    if cluster_name and cluster_name != release.cluster_name:
        raise Refused(
            "cluster-changed",
            f"MachineDeployment {release.namespace}/{release.full_name} serves {cluster_name}, the pool now says"
            f" {release.cluster_name}: set cluster back to {cluster_name.removeprefix('kubernetes-')}",
        )


def check_parent_version(release: PoolRelease) -> None:
    """Workers may lag behind the control plane, not lead it. Raises Refused version-ahead-of-parent."""
    parent: Object | None = release.lookups.get("KamajiControlPlane", release.namespace, release.cluster_name)
    running, wanted = go_text(dig(parent, "spec", "version")), release.values["version"]
    limit, minor = _minor(running), _minor(wanted)
    if limit and minor and minor > limit:
        raise Refused(
            "version-ahead-of-parent",
            f"version {wanted} is ahead of the control plane {release.cluster_name}, which runs {running}:"
            " raise the Kubernetes object first",
        )


def _minor(version: str) -> tuple[int, int] | None:
    match = re.search(r"([0-9]+)\.([0-9]+)", version)
    return (int(match[1]), int(match[2])) if match else None
