# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pool in its cluster, with the terms that several rules share (platform rule 5.3, T1 to T4)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .._image.catalog import CatalogEntry
from .._image.golden import GOLDEN_NAMESPACE
from .._image.versions import SCHEMATIC_SHAPE, VERSION_SHAPE
from .._pool.objects import InstanceType
from .._pool.pool import Pool
from .._pool.source import Source
from .._storage.clone import ClonePrediction
from .._storage.objects import Claim, DataVolume
from .._storage.reading import dig, is_set, mapping
from .clone_case import clone_of
from .rule import NotRead
from .state import ClusterState


@dataclass(frozen=True)
class Resolved:
    """A value and where it came from. ``default`` says that the cluster's default class had to be asked."""

    value: Any
    origin: str
    default: bool = False


@dataclass(frozen=True)
class PoolCase:
    """A pool to judge. Its properties raise NotRead when the state lacks what they need."""

    pool: Pool
    state: ClusterState

    @property
    def subject(self) -> str:
        return self.pool.subject

    @cached_property
    def values(self) -> Mapping[str, Any]:
        return self.pool.values

    @cached_property
    def source(self) -> Source:
        return self.pool.source

    @cached_property
    def clones(self) -> bool:
        """Whether the pool clones a golden whose name can exist; of a malformed pair only the malformed value is worth reporting."""
        source = self.source
        well_formed = re.fullmatch(SCHEMATIC_SHAPE, source.schematic_id) and re.fullmatch(VERSION_SHAPE, source.version)
        return source.clones and well_formed is not None

    def read(self, name: str) -> None:
        """Raise NotRead unless the state knows this field."""
        if getattr(self.state, name) is None:
            raise NotRead(name)

    @cached_property
    def cloned_disks(self) -> tuple[DataVolume, ...]:
        """Finished worker disks of exactly this pool that were cloned from exactly the wanted golden (T1)."""
        self.read("data_volumes")
        disks = self.state.disks_of(self.pool.namespace, self.pool.object_name)
        return tuple(disk for disk in disks if disk.golden == self.source.golden and disk.phase == "Succeeded")

    @cached_property
    def volume(self) -> DataVolume | None:
        """The golden's DataVolume."""
        self.read("data_volumes")
        return self.state.golden(self.source.golden)

    @cached_property
    def claim(self) -> Claim | None:
        """The claim behind the golden."""
        if self.state.data_volumes is not None and self.volume is not None and self.volume.claim_name:
            self.read("claims")
            return self.state.claim(GOLDEN_NAMESPACE, self.volume.claim_name)
        self.read("claims")
        return self.state.claim(GOLDEN_NAMESPACE, self.source.golden)

    @cached_property
    def golden_exists(self) -> bool:
        """Whether a DataVolume or a claim of the golden's name exists; either is enough, so either may be unread if the other is there."""
        name = self.source.golden
        if self.state.golden(name) is not None or self.state.claim(GOLDEN_NAMESPACE, name) is not None:
            return True
        self.read("data_volumes")
        self.read("claims")
        return False

    @cached_property
    def planned(self) -> CatalogEntry | None:
        """The entry that an earlier step of this run brings, when the golden is not there yet."""
        if self.golden_exists:
            return None
        return self.state.planned_goldens.get(self.source.golden)

    @cached_property
    def default_class(self) -> Resolved:
        """T4."""
        self.read("storage_classes")
        found = self.state.default_class
        return Resolved(found.name, f"the cluster's default class ({found.why})", default=True)

    @cached_property
    def pool_class(self) -> Resolved:
        """T2: declared, else that of the claim of an already cloned disk, else the default; blank when nothing resolves."""
        declared = self.pool.storage_class
        if declared:
            declared_here = is_set(self.pool.spec.get("storageClass"))
            return Resolved(declared, "storageClass" if declared_here else "storageClass (the chart's default)")
        if self.cloned_disks:
            self.read("claims")
        for disk in self.cloned_disks:
            claim = self.state.claim(disk.namespace, disk.name)
            if claim is not None and claim.storage_class:
                return Resolved(claim.storage_class, f"the claim of its cloned disk {disk.namespace}/{disk.name}")
        return self.default_class

    @cached_property
    def golden_class(self) -> Resolved:
        """T3: of the DataVolume, else of its claim, else the default; of the entry for a golden that is only planned."""
        if self.planned is not None:
            if self.planned.storage_class:
                return Resolved(
                    self.planned.storage_class, f"its catalog entry ({self.planned.origin('storageClass')})"
                )
            return self.default_class
        if self.state.data_volumes is not None and self.volume is not None and self.volume.storage_class:
            return Resolved(self.volume.storage_class, f"its DataVolume in {GOLDEN_NAMESPACE}")
        if self.claim is not None and self.claim.storage_class:
            return Resolved(self.claim.storage_class, f"its claim in {GOLDEN_NAMESPACE}")
        return self.default_class

    @cached_property
    def golden_size(self) -> Resolved | None:
        """The golden's size as written, or None when nothing states one."""
        if self.planned is not None:
            return Resolved(self.planned.storage, f"its catalog entry ({self.planned.origin('storage')})")
        if self.state.data_volumes is not None and self.volume is not None and self.volume.storage_request is not None:
            return Resolved(self.volume.storage_request, f"its DataVolume in {GOLDEN_NAMESPACE}")
        if self.claim is not None and self.claim.storage_request is not None:
            return Resolved(self.claim.storage_request, f"its claim in {GOLDEN_NAMESPACE}")
        return None

    @cached_property
    def clone(self) -> ClonePrediction | None:
        """How its boot disks would be cloned; None for a pool that clones nothing. Never raises: what was not read is not known."""
        return clone_of(self)

    @cached_property
    def has_cpu(self) -> bool:
        return is_set(dig(self.values, "resources", "cpu"))

    @cached_property
    def has_memory(self) -> bool:
        return is_set(dig(self.values, "resources", "memory"))

    @cached_property
    def by_instance_type(self) -> bool:
        """Whether the instance type is used: given, and not displaced by both resources."""
        return bool(self.pool.instance_type) and not (self.has_cpu and self.has_memory)

    @cached_property
    def instance(self) -> InstanceType | None:
        """The instance type object, when the pool uses one."""
        if not self.by_instance_type:
            return None
        self.read("instance_types")
        return self.state.instance_type(self.pool.instance_type)

    @cached_property
    def kubelet(self) -> Mapping[str, Any]:
        return mapping(self.values, "kubelet")
