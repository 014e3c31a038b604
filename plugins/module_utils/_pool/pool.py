# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A worker pool as declared, its chart defaults, and the names the chart derives from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from .._image.golden import DEFAULT_FACTORY, DEFAULT_INSTALLER, DEFAULT_SCHEMATIC, DEFAULT_TALOS
from .._storage.printed import helm_merge, helm_values, printed
from .._storage.reading import dig, is_set, mapping, text
from .source import Source, resolve_source

POOL_DEFAULTS: Mapping[str, Any] = {
    "cluster": "",
    "storageClass": "replicated",
    "minReplicas": 0,
    "maxReplicas": 10,
    "instanceType": "u1.medium",
    "diskSize": "20Gi",
    "roles": [],
    "resources": {},
    "gpus": [],
    "kubelet": {},
    "logSerialConsole": False,
    "maxUnhealthy": "50%",
    "nodeStartupTimeout": "20m",
    "readyUnknownTimeout": "5m",
    "readyFalseTimeout": "10m",
    "maxNodeProvisionTime": "30m",
    "version": "v1.35",
    "talos": {
        "version": DEFAULT_TALOS,
        "schematicID": DEFAULT_SCHEMATIC,
        "imageFactoryURL": DEFAULT_FACTORY,
        "installerRepository": DEFAULT_INSTALLER,
        "registryMirrors": {},
    },
    "images": {"kubectl": ""},
}

# What a read of the API shows for a pool that declares nothing. Unlike the chart's values it fills the eviction thresholds in, which
# count as declared from the first patch on.
API_DEFAULTS: Mapping[str, Any] = {
    **POOL_DEFAULTS,
    "kubelet": {"evictionHardMemory": "7%", "evictionSoftMemory": "10%"},
}

# Every key of a pool that we know of; the cluster's published schema, when it can be read, is the judge instead.
POOL_KEYS = (
    *POOL_DEFAULTS,
    "podCpuLimit",
    "podCpuRequest",
    "osImage",
    "labels",
    "taints",
    "kernelModules",
    "substrate",
    "proxmox",
)

# The template's own fall-back, whatever default the platform publishes.
FALLBACK_DISK = "20Gi"
RELEASE_PREFIX = "kubernetes-nodes-"


@dataclass(frozen=True)
class Pool:
    """One KubernetesNodes resource. ``spec`` is as declared; ``declared_name`` is set when the resource is named otherwise."""

    namespace: str
    cluster: str
    pool: str
    spec: Mapping[str, Any] = field(default_factory=dict)
    declared_name: str = ""
    defaults: Mapping[str, Any] = field(default_factory=lambda: POOL_DEFAULTS, compare=False, repr=False)

    @cached_property
    def name(self) -> str:
        """Name of the KubernetesNodes resource."""
        return self.declared_name or f"{self.cluster}-{self.pool}"

    @property
    def subject(self) -> str:
        return f"{self.namespace}/{self.name}"

    @cached_property
    def cluster_name(self) -> str:
        """Name of the CAPI cluster; a wrapping application may set its own through an internal value."""
        return text(self.spec, "clusterReleaseName") or f"kubernetes-{self.values_cluster}"

    @cached_property
    def values_cluster(self) -> str:
        """``spec.cluster`` as the chart reads it."""
        return printed(self.values.get("cluster"))

    @cached_property
    def object_name(self) -> str:
        """Name of MachineDeployment, health check, monitor; also the value of the disks' pool annotation."""
        return f"{self.cluster_name}-{self.pool}"

    @property
    def release_name(self) -> str:
        """Name of the HelmRelease and of the Helm release."""
        return f"{RELEASE_PREFIX}{self.name}"

    @cached_property
    def values(self) -> Mapping[str, Any]:
        """The declared values over the chart's defaults, as Helm layers them."""
        declared = dict(self.spec)
        declared.setdefault("cluster", self.cluster)
        return helm_values(self.defaults, declared)

    @cached_property
    def source(self) -> Source:
        """What its workers boot from."""
        return resolve_source(self.values)

    @cached_property
    def kubernetes_version(self) -> str:
        return printed(self.values.get("version"))

    @cached_property
    def disk_size(self) -> str:
        """``diskSize`` as the chart prints it; 0, null, blank and absent print the default."""
        value = self.values.get("diskSize")
        return printed(value) if is_set(value) else FALLBACK_DISK

    @cached_property
    def storage_class(self) -> str:
        """The declared class, blank when none is."""
        value = self.values.get("storageClass")
        return printed(value) if is_set(value) else ""

    @cached_property
    def sized_by_resources(self) -> bool:
        """Whether CPU and memory are both given, in which case the instance type is not used."""
        return is_set(dig(self.values, "resources", "cpu")) and is_set(dig(self.values, "resources", "memory"))

    @cached_property
    def instance_type(self) -> str:
        value = self.values.get("instanceType")
        return printed(value) if is_set(value) else ""

    def with_defaults(self, defaults: Mapping[str, Any]) -> Pool:
        """The same pool on a platform that publishes other defaults."""
        return replace(self, defaults=defaults)

    def with_spec(self, spec: Mapping[str, Any]) -> Pool:
        """The same pool with another declaration."""
        return replace(self, spec=spec)

    @classmethod
    def from_api(cls, obj: Mapping[str, Any]) -> Pool:
        """A pool from a KubernetesNodes object; the split of its name is decided by ``spec.cluster``, never guessed."""
        name, spec = text(obj, "metadata", "name"), mapping(obj, "spec")
        return cls.named(text(obj, "metadata", "namespace"), name, spec)

    @classmethod
    def named(cls, namespace: str, name: str, spec: Mapping[str, Any]) -> Pool:
        """A pool by the name of its resource. The pool part is blank when the name does not start with its cluster's name."""
        cluster = text(spec, "cluster")
        prefix = f"{cluster}-"
        pool = name[len(prefix) :] if cluster and name.startswith(prefix) else ""
        return cls(namespace, cluster, pool, spec, declared_name=name)


def published_defaults(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The defaults that a cluster publishes, over those we know; ``schema`` maps ``spec`` properties to their schemas.

    Kubelet thresholds are left out: the chart fills them in itself, and a stored one is judged as an operator's override.
    """
    found = {
        key: _default_of(value) for key, value in schema.items() if isinstance(value, Mapping) and key != "kubelet"
    }
    known = {key: value for key, value in found.items() if value is not None}
    return helm_merge(POOL_DEFAULTS, {key: value for key, value in known.items() if key in POOL_DEFAULTS}) | {
        key: value for key, value in known.items() if key not in POOL_DEFAULTS and is_set(value)
    }


def _default_of(schema: Mapping[str, Any]) -> Any:
    """The structural default of one property: its own, filled with those of its properties."""
    own = schema.get("default")
    nested = schema.get("properties")
    if not isinstance(nested, Mapping) or not isinstance(own, Mapping):
        return own
    inner = {key: _default_of(value) for key, value in nested.items() if isinstance(value, Mapping)}
    return helm_merge({key: value for key, value in inner.items() if value is not None}, own)
