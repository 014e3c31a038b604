# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Advice on how the boot disks of a pool are cloned. What decides is in ``_storage.clone``; here each obstacle gets its words."""

from __future__ import annotations

from collections.abc import Iterator

from .._storage.clone import ClonePrediction
from .._storage.clone_facts import (
    COPY,
    DRIVERS_DIFFER,
    FALLBACK_WORDS,
    MODES_DIFFER,
    NO_EXPANSION,
    NO_POPULATOR,
    NO_SNAPSHOT_CLASS,
)
from .case import PoolCase
from .catalog import CatalogCase
from .rule import Found, NotRead, rule


def _obstacle(case: PoolCase, reason: str, message: str, *needs: str) -> Iterator[Found]:
    """A finding when CDI would fall back for this reason; ``message`` is filled in from the prediction's evidence."""
    predicted = _predicted(case, *needs)
    if predicted is None:
        return
    obstacle = predicted.obstacle(reason)
    if obstacle is None:
        return
    values = {key: item["value"] for key, item in predicted.evidence.items()}
    evidence = {**predicted.evidence, "fallback_reason": FALLBACK_WORDS[reason], "sure": obstacle.sure}
    words = message.format(**values, golden=case.source.golden, disk_size=case.pool.disk_size)
    yield Found("storageClass", words, evidence=evidence)


def _predicted(case: PoolCase, *needs: str) -> ClonePrediction | None:
    """Raises NotRead for a kind that was asked for and not given; one that nobody asked for just leaves the answer open."""
    if not case.clones:
        return None
    for name in needs:
        if name in case.state.denied:
            raise NotRead(name)
    return case.clone


@rule(
    "class-not-expandable",
    refuses=False,
    chart=False,
    cause="The clone is made at the golden's size and then grown, and the class does not allow growing: CDI then does not clone "
    "inside the storage at all.",
    example="diskSize 20Gi, golden 6Gi, class with allowVolumeExpansion: false",
    remedy="Allow volume expansion on the class, or make diskSize equal to the golden's size.",
)
def class_not_expandable(case: PoolCase) -> Iterator[Found]:
    message = "diskSize {disk_size} is larger than golden image {golden}, but storage class {disk_class} does not allow volume expansion"
    yield from _obstacle(case, NO_EXPANSION, message, "storage_classes")


@rule(
    "clone-strategy-copy",
    refuses=False,
    chart=False,
    cause="CDI is set to copy instead of cloning inside the storage, so a builtin pool transfers the image over the network for "
    "every worker.",
    example="CDI spec.cloneStrategyOverride: copy",
    remedy="Set cloneStrategyOverride of the CDI package to csi-clone or snapshot, or the cloneStrategy of the class's StorageProfile.",
)
def clone_strategy_copy(case: PoolCase) -> Iterator[Found]:
    predicted = _predicted(case, "cdis")
    if predicted is not None and predicted.strategy == COPY:
        yield Found(
            "osImage.builtin",
            f"{predicted.strategy_from} is copy, so every worker disk is copied over the network instead of cloned inside the storage",
            evidence={"strategy": COPY, "strategy_from": predicted.strategy_from},
        )


@rule(
    "volume-mode-differs",
    refuses=False,
    chart=False,
    cause="The golden's volume and the volumes of the pool's class have different modes (Block and Filesystem), which clones do not cross.",
    example="golden Block, class whose profile says Filesystem",
    remedy="Import a golden, as a new catalog entry, on a class of the same volume mode as the pool's.",
)
def volume_mode_differs(case: PoolCase) -> Iterator[Found]:
    message = (
        "golden image {golden} is a {golden_mode} volume, but storage class {disk_class} gives {disk_mode} volumes"
    )
    yield from _obstacle(case, MODES_DIFFER, message, "storage_profiles")


@rule(
    "drivers-differ",
    refuses=False,
    chart=False,
    cause="Golden and disks are served by different storage drivers, and no driver clones a volume of another one.",
    example="golden on a class of linstor.csi.linbit.com, pool on one of ebs.csi.aws.com",
    remedy="Import a golden, as a new catalog entry, on a class of the pool's driver.",
)
def drivers_differ(case: PoolCase) -> Iterator[Found]:
    message = (
        "golden image {golden} is on driver {golden_driver}, but storage class {disk_class} is served by {disk_driver}"
    )
    yield from _obstacle(case, DRIVERS_DIFFER, message, "storage_classes")


@rule(
    "no-snapshot-class",
    refuses=False,
    chart=False,
    cause="CDI is set to clone by snapshots, and no VolumeSnapshotClass serves both the golden and the pool's disks.",
    example="cloneStrategy: snapshot, no VolumeSnapshotClass of the driver",
    remedy="Create a VolumeSnapshotClass of the driver, or set the clone strategy to csi-clone.",
)
def no_snapshot_class(case: PoolCase) -> Iterator[Found]:
    message = "the clone strategy is snapshot, but no VolumeSnapshotClass of driver {disk_driver} serves golden {golden} and the disks"
    yield from _obstacle(case, NO_SNAPSHOT_CLASS, message, "snapshot_classes")


@rule(
    "csi-driver-missing",
    refuses=False,
    chart=False,
    cause="There is no CSIDriver object of the class's provisioner. CDI then takes the class for one that can neither clone nor snapshot.",
    example="a class of an in-tree provisioner",
    remedy="Put the pool and its golden on a class of a CSI driver, or register the driver (its chart does).",
)
def csi_driver_missing(case: PoolCase) -> Iterator[Found]:
    message = "storage class {disk_class} is served by {disk_driver}, and there is no CSIDriver of that name"
    yield from _obstacle(case, NO_POPULATOR, message, "csi_drivers")


@rule(
    "profile-incomplete",
    chart=False,
    cause="CDI knows no access mode for volumes of this class, so it can make no claim: the disk just sits there without a status.",
    example="a class of a provisioner that CDI does not know, with nothing in the spec of its StorageProfile",
    remedy="State claimPropertySets (accessModes and volumeMode) in the spec of the class's StorageProfile.",
)
def pool_profile_incomplete(case: PoolCase) -> Iterator[Found]:
    name = case.pool_class.value if case.clones else case.pool.storage_class
    yield from incomplete_profile(case, name, "storageClass")


def incomplete_profile(case: PoolCase | CatalogCase, name: str, where: str) -> Iterator[Found]:
    """A finding when the StorageProfile of a class is there and has no access modes."""
    if "storage_profiles" in case.state.denied:
        raise NotRead("storage_profiles")
    profile = case.state.profile(name)
    if profile is not None and not profile.has_access_modes:
        yield Found(
            where,
            f"StorageProfile {name} states no access mode, so no claim of storage class {name} can be made",
            evidence={"class": name, "profile": f"StorageProfile {name}"},
        )
