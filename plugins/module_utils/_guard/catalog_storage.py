# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the goldens of a catalog have room and a class that can hold them. The chart lets all of this pass.

What certainly fails is refused, but for a golden that exists already only told: it cannot be changed any more.
"""

from __future__ import annotations

from collections.abc import Iterator

from .._image.catalog import CatalogEntry
from .._image.golden import DEFAULT_SCHEMATIC
from .._image.versions import smallest_golden
from .._storage.quantity import bytes_of
from .._storage.settings import (
    DEFAULT_OVERHEAD,
    FILESYSTEM,
    claim_request,
    mode_of,
    room_for_image,
    scratch_class,
    smallest_claim,
    smallest_request,
)
from .catalog import CatalogCase
from .cloning import incomplete_profile
from .rule import Found, NotRead, rule


def _class_of(case: CatalogCase, entry: CatalogEntry) -> str:
    """The declared class, else the default one; blank when neither is known."""
    return entry.storage_class or case.state.default_class.name


def _to_be_made(case: CatalogCase, entry: CatalogEntry) -> bool:
    """Whether the golden is known not to exist."""
    return case.state.data_volumes is not None and case.state.golden(entry.golden) is None


def _ready(case: CatalogCase, entry: CatalogEntry) -> bool:
    volume = case.state.golden(entry.golden)
    return volume is not None and volume.phase == "Succeeded"


@rule(
    "golden-too-small",
    chart=False,
    cause="The raw image of this Talos release does not fit into the golden, so the import fails again and again. A file system takes "
    "its share of a volume: CDI asks for more because of that, which is counted here.",
    example="storage: 4Gi for v1.13.6, whose image has 4247Mi",
    remedy="Give the golden at least 5Gi (6Gi is the platform's default).",
)
def golden_too_small(case: CatalogCase) -> Iterator[Found]:
    for entry in case.entries:
        image, given = smallest_golden(entry.version), bytes_of(entry.storage)
        if image is None or given is None or given <= 0 or _ready(case, entry):
            continue
        name = _class_of(case, entry)
        profile, config = case.state.profile(name), case.state.cdi_config
        mode = mode_of(profile)
        share = config.share(name) if config is not None else DEFAULT_OVERHEAD
        request = claim_request(given, mode, share, profile)
        room = room_for_image(request, mode, share)
        if room >= image:
            continue
        # Only the ID of a schematic is known: one that names its bootloader has a smaller image.
        least = image if entry.schematic_id == DEFAULT_SCHEMATIC else smallest_golden(entry.version, "sd-boot")
        most = max(given, smallest_claim(profile))  # however little the file system takes
        sure = least is not None and most < least and _to_be_made(case, entry)
        needed, where = smallest_request(image, mode, share, profile), entry.origin("storage")
        told = f", which on a file system leaves {room} bytes" if mode == FILESYSTEM else ""
        yield Found(
            where,
            f"{entry.subject} has storage {entry.storage} ({given} bytes, from {where}){told}, but the image of Talos {entry.version} has "
            f"{image} bytes",
            f"Give the golden at least {needed} bytes; 6Gi is the platform's default.",
            {
                "storage": entry.storage,
                "storage_bytes": given,
                "volume_mode": mode or None,
                "overhead": str(float(share)) if mode == FILESYSTEM else None,
                "claim_bytes": request,
                "room_bytes": room,
                "image_bytes": image,
                "minimum_bytes": needed,
            },
            refuses=sure,
        )


@rule(
    "storage-class-unknown",
    chart=False,
    cause="The golden's storage class does not exist, or no class is declared and the cluster has no default: the DataVolume then just "
    "sits there without a status.",
    example="storageClass: replicted",
    remedy="Name an existing class.",
)
def catalog_class_unknown(case: CatalogCase) -> Iterator[Found]:
    if not case.state.storage_classes:
        return
    known = case.state.names_of("storage_classes")
    for entry in case.entries:
        where, wanted = entry.origin("storageClass"), _class_of(case, entry)
        if case.state.storage_class(wanted) is None:
            what = (
                f"storage class {wanted} does not exist"
                if wanted
                else "no storage class is declared and there is no default"
            )
            yield Found(
                where,
                f"{entry.subject}: {what}; there are {', '.join(known)}",
                evidence={"storageClass": wanted, "known": known},
                refuses=_to_be_made(case, entry),
            )


@rule(
    "profile-incomplete",
    chart=False,
    cause="CDI knows no access mode for volumes of this class, so it can make no claim: the golden just sits there without a status.",
    example="a class of a provisioner that CDI does not know, with nothing in the spec of its StorageProfile",
    remedy="State claimPropertySets (accessModes and volumeMode) in the spec of the class's StorageProfile.",
)
def catalog_profile_incomplete(case: CatalogCase) -> Iterator[Found]:
    for entry in case.entries:
        if _to_be_made(case, entry):
            yield from incomplete_profile(case, _class_of(case, entry), entry.origin("storageClass"))


@rule(
    "scratch-class-unresolved",
    refuses=False,
    chart=False,
    cause="An import of a compressed image needs a scratch volume, and its class cannot be resolved, or is not the one that CDI is "
    "configured to use.",
    example="CDI spec.config.scratchSpaceStorageClass: fast, which does not exist",
    remedy="Set spec.config.scratchSpaceStorageClass of CDI to an existing class, or mark a default class.",
)
def scratch_class_unresolved(case: CatalogCase) -> Iterator[Found]:
    if "cdis" in case.state.denied:
        raise NotRead("cdis")
    cdi, classes = case.state.cdi, case.state.classes_by_name
    if cdi is None or not classes:
        return
    for entry in case.entries:
        if not _to_be_made(case, entry):
            continue
        found = scratch_class(cdi, classes, _class_of(case, entry))
        if found.missing or not found.name:
            told = (
                f"CDI is configured for scratch class {found.missing}, which does not exist; " if found.missing else ""
            )
            taken = f"{found.name} is taken ({found.origin})" if found.name else "no class is found for it"
            yield Found(
                entry.origin("storageClass"),
                f"{entry.subject} needs a scratch volume: {told}{taken}",
                evidence={"configured": found.missing, "taken": found.name, "taken_from": found.origin},
            )
