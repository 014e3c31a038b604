# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of the cluster, as typed objects. None means "not read": rules that need it are then not judged, never passed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from .._image.catalog import CatalogEntry
from .._image.golden import GOLDEN_NAMESPACE
from .._pool.objects import (
    HelmRelease,
    InstanceType,
    KamajiControlPlane,
    MachineDeployment,
    MachineSet,
    MachineTemplate,
    Parent,
)
from .._pool.schema import POOL_SCHEMA, Checker
from .._storage.classes import DefaultClass, default_class
from .._storage.objects import Claim, DataVolume, Meta, StorageClass, StorageProfile
from .._storage.reading import mapping, text
from .._storage.settings import Cdi, CdiConfig, CsiDriver, SnapshotClass, Volume

T = TypeVar("T")
Raw = Iterable[Mapping[str, Any]]

_KINDS: Mapping[str, tuple[str, Callable[[Mapping[str, Any]], Any]]] = {
    "DataVolume": ("data_volumes", DataVolume.from_api),
    "PersistentVolumeClaim": ("claims", Claim.from_api),
    "StorageClass": ("storage_classes", StorageClass.from_api),
    "MachineDeployment": ("machine_deployments", MachineDeployment.from_api),
    "MachineSet": ("machine_sets", MachineSet.from_api),
    "KubevirtMachineTemplate": ("machine_templates", MachineTemplate.from_api),
    "KamajiControlPlane": ("control_planes", KamajiControlPlane.from_api),
    "VirtualMachineClusterInstancetype": ("instance_types", InstanceType.from_api),
    "Kubernetes": ("parents", Parent.from_api),
    "HelmRelease": ("helm_releases", HelmRelease.from_api),
    "StorageProfile": ("storage_profiles", StorageProfile.from_api),
    "CDI": ("cdis", Cdi.from_api),
    "CDIConfig": ("cdi_configs", CdiConfig.from_api),
    "VolumeSnapshotClass": ("snapshot_classes", SnapshotClass.from_api),
    "CSIDriver": ("csi_drivers", CsiDriver.from_api),
    "PersistentVolume": ("persistent_volumes", Volume.from_api),
}
_KNOWN_FIELDS = Checker.of(POOL_SCHEMA)
# A plain list of objects says nothing about these unless it holds one: their absence is not evidence.
_SILENT_WHEN_ABSENT = frozenset(
    {
        "parents",
        "helm_releases",
        "storage_profiles",
        "cdis",
        "cdi_configs",
        "snapshot_classes",
        "csi_drivers",
        "persistent_volumes",
    }
)


@dataclass(frozen=True)
class ClusterState:
    """A snapshot. Every tuple may be None: not read, or not allowed to be read.

    ``denied`` names the tuples that were asked for and not given; rules of advice tell those apart from what nobody asked for.
    ``pool_schema`` maps the ``spec`` properties that the cluster publishes for KubernetesNodes. ``cluster_values`` maps a namespace
    to the ``_cluster`` values of its charts. ``talos_windows`` are the Kubernetes minors each Talos minor supports, None for the
    table that comes with us.
    ``planned_goldens`` maps the name of a golden that an earlier step of the same run brings to its catalog entry.
    """

    data_volumes: tuple[DataVolume, ...] | None = None
    claims: tuple[Claim, ...] | None = None
    storage_classes: tuple[StorageClass, ...] | None = None
    machine_deployments: tuple[MachineDeployment, ...] | None = None
    machine_sets: tuple[MachineSet, ...] | None = None
    machine_templates: tuple[MachineTemplate, ...] | None = None
    control_planes: tuple[KamajiControlPlane, ...] | None = None
    instance_types: tuple[InstanceType, ...] | None = None
    parents: tuple[Parent, ...] | None = None
    helm_releases: tuple[HelmRelease, ...] | None = None
    storage_profiles: tuple[StorageProfile, ...] | None = None
    cdis: tuple[Cdi, ...] | None = None
    cdi_configs: tuple[CdiConfig, ...] | None = None
    snapshot_classes: tuple[SnapshotClass, ...] | None = None
    csi_drivers: tuple[CsiDriver, ...] | None = None
    persistent_volumes: tuple[Volume, ...] | None = None
    denied: frozenset[str] = frozenset()
    pool_schema: Mapping[str, Any] | None = None
    cluster_values: Mapping[str, Mapping[str, Any]] | None = None
    planned_goldens: Mapping[str, CatalogEntry] = field(default_factory=dict)
    talos_windows: Mapping[str, tuple[int, int]] | None = None

    @classmethod
    def from_objects(cls, objects: Raw, **known: Any) -> ClusterState:
        """A state from one list of objects of any kinds; ``known`` sets further fields (``pool_schema=...``).

        The list counts as complete for every kind except control-plane applications, releases and what is read for the prediction of
        clones only; these count as not read when it holds none. Kinds that no rule reads are ignored.
        """
        found: dict[str, list[Any]] = {name: [] for name, _ in _KINDS.values() if name not in _SILENT_WHEN_ABSENT}
        for obj in objects:
            kind = text(obj, "kind")
            if kind in _KINDS:
                name, build = _KINDS[kind]
                found.setdefault(name, []).append(build(obj))
        fields: dict[str, Any] = {name: tuple(values) for name, values in found.items()}
        return cls(**(fields | known))

    @classmethod
    def from_lists(cls, **lists: Any) -> ClusterState:
        """A state from raw lists by field name (``data_volumes=[...]``); a list that is None stays "not read"."""
        builders = dict(_KINDS.values())
        fields: dict[str, Any] = {
            name: value if value is None or name not in builders else tuple(builders[name](obj) for obj in value)
            for name, value in lists.items()
        }
        return cls(**fields)

    @cached_property
    def pool_fields(self) -> Checker:
        """The published schema of a pool, else the one we carry. A whole object schema is fine as well as its properties."""
        if self.pool_schema is None:
            return _KNOWN_FIELDS
        return Checker.of(mapping(self.pool_schema, "properties") or self.pool_schema)

    @cached_property
    def default_class(self) -> DefaultClass:
        """The default StorageClass; ask only when ``storage_classes`` was read."""
        return default_class(self.storage_classes or ())

    def names_of(self, kind: str) -> list[str]:
        """Names of a cluster-scoped kind, by its field; empty when it was not read."""
        return sorted(item.meta.name for item in getattr(self, kind) or ())

    def volume(self, namespace: str, name: str) -> DataVolume | None:
        return self._volumes.get((namespace, name))

    def claim(self, namespace: str, name: str) -> Claim | None:
        return self._claims.get((namespace, name))

    def golden(self, name: str) -> DataVolume | None:
        return self.volume(GOLDEN_NAMESPACE, name)

    def golden_claim(self, name: str) -> Claim | None:
        """The claim behind a golden: the one its DataVolume names, else the one of the golden's own name."""
        volume = self.golden(name)
        return self.claim(GOLDEN_NAMESPACE, (volume.claim_name if volume else "") or name)

    def disks_of(self, namespace: str, pool: str) -> tuple[DataVolume, ...]:
        """Worker disks whose annotation names exactly this pool, by name."""
        return self._disks.get((namespace, pool), ())

    def deployment(self, namespace: str, name: str) -> MachineDeployment | None:
        return self._deployments.get((namespace, name))

    def control_plane(self, namespace: str, name: str) -> KamajiControlPlane | None:
        return self._control_planes.get((namespace, name))

    def instance_type(self, name: str) -> InstanceType | None:
        return self._instance_types.get(name)

    def storage_class(self, name: str) -> StorageClass | None:
        return self._classes.get(name)

    def profile(self, name: str) -> StorageProfile | None:
        return self._profiles.get(name)

    @property
    def classes_by_name(self) -> Mapping[str, StorageClass] | None:
        return None if self.storage_classes is None else self._classes

    @property
    def profiles_by_name(self) -> Mapping[str, StorageProfile] | None:
        return None if self.storage_profiles is None else self._profiles

    @cached_property
    def driver_names(self) -> frozenset[str] | None:
        return None if self.csi_drivers is None else frozenset(item.meta.name for item in self.csi_drivers)

    @property
    def cdi(self) -> Cdi | None:
        """The CDI object; there is one, whatever its name."""
        return self.cdis[0] if self.cdis else None

    @property
    def cdi_config(self) -> CdiConfig | None:
        return self.cdi_configs[0] if self.cdi_configs else None

    def claims_driver(self, namespace: str, claim: str) -> str | None:
        """CSI driver of the volume that a claim has; None when the volume is not known or no CSI driver made it."""
        return self._drivers_of_claims.get((namespace, claim)) or None

    def parent(self, namespace: str, name: str) -> Parent | None:
        return self._parents.get((namespace, name))

    def release(self, namespace: str, name: str) -> HelmRelease | None:
        return self._releases.get((namespace, name))

    def values_of(self, namespace: str) -> Mapping[str, Any]:
        """The ``_cluster`` values of a namespace; empty when unknown."""
        return (self.cluster_values or {}).get(namespace, {})

    @cached_property
    def _volumes(self) -> dict[tuple[str, str], DataVolume]:
        return _index(self.data_volumes)

    @cached_property
    def _claims(self) -> dict[tuple[str, str], Claim]:
        return _index(self.claims)

    @cached_property
    def _deployments(self) -> dict[tuple[str, str], MachineDeployment]:
        return _index(self.machine_deployments)

    @cached_property
    def _control_planes(self) -> dict[tuple[str, str], KamajiControlPlane]:
        return _index(self.control_planes)

    @cached_property
    def _parents(self) -> dict[tuple[str, str], Parent]:
        return _index(self.parents)

    @cached_property
    def _releases(self) -> dict[tuple[str, str], HelmRelease]:
        return _index(self.helm_releases)

    @cached_property
    def _instance_types(self) -> dict[str, InstanceType]:
        return {item.meta.name: item for item in self.instance_types or ()}

    @cached_property
    def _classes(self) -> dict[str, StorageClass]:
        return {item.name: item for item in self.storage_classes or ()}

    @cached_property
    def _profiles(self) -> dict[str, StorageProfile]:
        return {item.name: item for item in self.storage_profiles or ()}

    @cached_property
    def _drivers_of_claims(self) -> dict[tuple[str, str], str]:
        return {item.claim: item.driver for item in self.persistent_volumes or ()}

    @cached_property
    def _disks(self) -> dict[tuple[str, str], tuple[DataVolume, ...]]:
        found: dict[tuple[str, str], list[DataVolume]] = {}
        for volume in self.data_volumes or ():
            if volume.pool:
                found.setdefault((volume.namespace, volume.pool), []).append(volume)
        return {key: tuple(sorted(disks, key=lambda disk: disk.name)) for key, disks in found.items()}


def _index(objects: Iterable[T] | None) -> dict[tuple[str, str], T]:
    indexed: dict[tuple[str, str], T] = {}
    for item in objects or ():
        meta: Meta = item.meta  # type: ignore[attr-defined]
        indexed[meta.namespace, meta.name] = item
    return indexed
