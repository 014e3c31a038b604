# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How CDI and the storage drivers are set up, and the sizes that follow from it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from .objects import GA_DEFAULT, Meta, StorageClass, StorageProfile
from .quantity import bytes_of
from .reading import mapping, text, texts

BLOCK, FILESYSTEM = "Block", "Filesystem"
DEFAULT_OVERHEAD = Fraction("0.06")
MINIMUM_ANNOTATION = "cdi.kubevirt.io/minimumSupportedPvcSize"
_MIB = 1024 * 1024


@dataclass(frozen=True)
class Cdi:
    """The CDI object: ``override`` is cloneStrategyOverride, ``scratch_class`` the class it is told to use; blank when not set."""

    meta: Meta
    override: str = ""
    scratch_class: str = ""
    version: str = ""

    @property
    def scratch_prefers_default(self) -> bool:
        """Whether an import's scratch volume goes to the default class before the golden's own: so until CDI 1.64."""
        found = re.match(r"v?([0-9]+)\.([0-9]+)", self.version)
        return found is None or (int(found[1]), int(found[2])) < (1, 65)

    @classmethod
    def from_api(cls, obj: Mapping[str, Any]) -> Cdi:
        return cls(
            Meta.from_api(obj),
            text(obj, "spec", "cloneStrategyOverride"),
            text(obj, "spec", "config", "scratchSpaceStorageClass"),
            text(obj, "status", "observedVersion"),
        )


@dataclass(frozen=True)
class CdiConfig:
    """The CDIConfig object: the share of a file system volume that CDI leaves to the file system, as text, by class and in general."""

    meta: Meta
    overhead: str = ""
    overheads: Mapping[str, str] = field(default_factory=dict)
    scratch_class: str = ""

    def share(self, storage_class: str) -> Fraction:
        """The overhead of a class; CDI's own default when nothing readable is stated."""
        for written in (self.overheads.get(storage_class, ""), self.overhead):
            if re.fullmatch(r"0(\.[0-9]{1,9})?", written):
                return Fraction(written)
        return DEFAULT_OVERHEAD

    @classmethod
    def from_api(cls, obj: Mapping[str, Any]) -> CdiConfig:
        overhead = mapping(obj, "status", "filesystemOverhead")
        return cls(
            Meta.from_api(obj),
            text(overhead, "global"),
            texts(overhead, "storageClass"),
            text(obj, "status", "scratchSpaceStorageClass"),
        )


@dataclass(frozen=True)
class SnapshotClass:
    """``snapshot.storage.k8s.io/v1`` VolumeSnapshotClass."""

    meta: Meta
    driver: str = ""

    @classmethod
    def from_api(cls, obj: Mapping[str, Any]) -> SnapshotClass:
        return cls(Meta.from_api(obj), text(obj, "driver"))


@dataclass(frozen=True)
class CsiDriver:
    """``storage.k8s.io/v1`` CSIDriver; that there is one of a provisioner's name is all that counts."""

    meta: Meta

    @classmethod
    def from_api(cls, obj: Mapping[str, Any]) -> CsiDriver:
        return cls(Meta.from_api(obj))


@dataclass(frozen=True)
class Volume:
    """PersistentVolume: the CSI driver that made it (blank for others) and the claim it belongs to, as (namespace, name)."""

    meta: Meta
    driver: str = ""
    claim: tuple[str, str] = ("", "")

    @classmethod
    def from_api(cls, obj: Mapping[str, Any]) -> Volume:
        claim = mapping(obj, "spec", "claimRef")
        return cls(
            Meta.from_api(obj), text(obj, "spec", "csi", "driver"), (text(claim, "namespace"), text(claim, "name"))
        )


@dataclass(frozen=True)
class Scratch:
    """The class of an import's scratch volume and what decided; ``name`` is blank when nothing does."""

    name: str
    origin: str
    missing: str = ""  # a class that is named in the settings and does not exist


def scratch_class(cdi: Cdi, classes: Mapping[str, StorageClass], golden_class: str) -> Scratch:
    """Where the scratch volume of an import goes: the configured class if it exists, (CDI up to 1.64) the first class with the
    default annotation, the golden's class.
    """
    origin, missing = "CDI spec.config.scratchSpaceStorageClass", ""
    if cdi.scratch_class in classes:
        return Scratch(cdi.scratch_class, origin)
    missing = cdi.scratch_class
    marked = sorted(name for name, item in classes.items() if item.meta.annotations.get(GA_DEFAULT) == "true")
    if cdi.scratch_prefers_default and marked:
        return Scratch(marked[0], f'{GA_DEFAULT} is "true" on it', missing)
    return Scratch(golden_class if golden_class in classes else "", "the golden's own class", missing)


def claim_request(size: int, mode: str, share: Fraction, profile: StorageProfile | None = None) -> int:
    """Bytes that CDI asks for when ``spec.storage`` asks for ``size``.

    In Filesystem mode it rounds up to MiB and adds the overhead; a profile may name a minimum that it raises smaller ones to.
    """
    wanted = math.ceil(-(-size // _MIB) * _MIB * (1 + share)) if mode == FILESYSTEM else size
    return max(wanted, smallest_claim(profile))


def smallest_claim(profile: StorageProfile | None) -> int:
    """The minimum that a profile's annotation states, in bytes; 0 when it states none."""
    return (bytes_of(profile.meta.annotations.get(MINIMUM_ANNOTATION)) or 0) if profile is not None else 0


def room_for_image(capacity: int, mode: str, share: Fraction) -> int:
    """Bytes that an image may have in a volume: all of a block volume; of a file system what the overhead leaves, in whole MiB."""
    return capacity if mode != FILESYSTEM else int(capacity * (1 - share)) // _MIB * _MIB


def smallest_request(image: int, mode: str, share: Fraction, profile: StorageProfile | None = None) -> int:
    """The smallest size in ``spec.storage`` (whole MiB for file systems) whose volume has room for an image of so many bytes."""
    if mode != FILESYSTEM:
        return image
    size = math.ceil(Fraction(image, _MIB) / (1 - share * share)) * _MIB  # (1 + share) added, (1 - share) left
    while room_for_image(claim_request(size, mode, share, profile), mode, share) < image:
        size += _MIB
    return size


def mode_of(profile: StorageProfile | None) -> str:
    """The volume mode that a claim of this profile's class gets; blank when it is not told."""
    return profile.volume_mode if profile is not None else ""
