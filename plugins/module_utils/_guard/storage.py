# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules on class and size of the boot disk against the golden it clones."""

from __future__ import annotations

from collections.abc import Iterator

from .._image.golden import GOLDEN_NAMESPACE
from .._storage.quantity import bytes_of, chart_amount, is_size
from .case import PoolCase
from .golden import FORCE_RENDER
from .rule import Found, rule


@rule(
    "storage-class-mismatch",
    cause="The golden and the pool's disks are on different storage classes. The storage driver then may never finish the clone, and "
    "nothing reports an error: the workers just wait.",
    example="golden on replicated, pool on local",
    remedy="Add a new catalog entry (another schematicID or version) on the pool's class and point the pool at it; or delete the golden "
    f"once nothing clones it and let the catalog recreate it on that class ({FORCE_RENDER}); or boot over HTTP with osImage.factory.",
)
def storage_class_mismatch(case: PoolCase) -> Iterator[Found]:
    if not case.clones or not (case.golden_exists or case.planned):
        return
    pool, golden = case.pool_class, case.golden_class
    if not pool.value or not golden.value or pool.value == golden.value:
        return
    name = case.source.golden
    yield Found(
        "storageClass",
        f"the pool's disks are on storage class {pool.value} (from {pool.origin}), golden image {name} is on {golden.value} (from "
        f"{golden.origin}); a clone between classes can wait for ever without an error",
        f"Add a NEW catalog entry, with another schematicID or version, on storage class {pool.value} and point the pool at it; or, once "
        f"nothing clones the golden any more, delete DataVolume {GOLDEN_NAMESPACE}/{name} and let the catalog recreate it on "
        f"{pool.value} ({FORCE_RENDER}); or boot this pool over HTTP with osImage.factory.",
        {
            "golden": f"{GOLDEN_NAMESPACE}/{name}",
            "pool_class": pool.value,
            "pool_class_from": pool.origin,
            "golden_class": golden.value,
            "golden_class_from": golden.origin,
        },
    )


@rule(
    "disk-smaller-than-golden",
    cause="A clone cannot be smaller than its source. Sizes are compared as numbers: 6G is less than 6Gi.",
    example="diskSize: 6G with a golden of 6Gi",
    remedy="Raise diskSize to the golden's size or more.",
)
def disk_smaller_than_golden(case: PoolCase) -> Iterator[Found]:
    if not case.clones:
        return
    size = case.golden_size
    written = case.pool.disk_size
    if size is None or chart_amount(written) >= chart_amount(size.value):
        return
    yield Found(
        "diskSize",
        f"diskSize {written} ({_in_bytes(written)}) is smaller than golden image {case.source.golden}, which has {size.value} "
        f"({_in_bytes(size.value)}, from {size.origin})",
        f"Raise diskSize to {size.value} or more.",
        {
            "golden": f"{GOLDEN_NAMESPACE}/{case.source.golden}",
            "diskSize": written,
            "diskSize_bytes": bytes_of(written),
            "golden_size": size.value,
            "golden_size_bytes": bytes_of(size.value),
            "golden_size_from": size.origin,
        },
    )


@rule(
    "disk-smaller-than-capacity",
    refuses=False,
    chart=False,
    cause="The golden's volume is larger than it asked for, since drivers round up, and the pool's disk is smaller than that.",
    example="diskSize: 6Gi with a golden of 6Gi whose volume has 6443851776 bytes",
    remedy="Raise diskSize to the golden's real capacity or more.",
)
def disk_smaller_than_capacity(case: PoolCase) -> Iterator[Found]:
    if not case.clones or case.claim is None:
        return
    written, capacity = case.pool.disk_size, case.claim.capacity
    if chart_amount(written) < chart_amount(capacity) and (
        case.golden_size is None or chart_amount(written) >= chart_amount(case.golden_size.value)
    ):
        yield Found(
            "diskSize",
            f"diskSize {written} ({_in_bytes(written)}) is smaller than the real capacity of golden image {case.source.golden}, "
            f"{capacity} ({_in_bytes(capacity)})",
            evidence={
                "golden": f"{GOLDEN_NAMESPACE}/{case.source.golden}",
                "diskSize": written,
                "diskSize_bytes": bytes_of(written),
                "capacity": capacity,
                "capacity_bytes": bytes_of(capacity),
                "capacity_from": f"claim {GOLDEN_NAMESPACE}/{case.claim.name}",
            },
        )


@rule(
    "disk-size-unreadable",
    refuses=False,
    chart=False,
    cause="The values schema lets a size pass that Kubernetes refuses, so the worker disk is never created.",
    example='diskSize: "1e1.5"',
    remedy="Write a Kubernetes quantity such as 20Gi.",
)
def disk_size_unreadable(case: PoolCase) -> Iterator[Found]:
    if not is_size(case.pool.disk_size):
        yield Found(
            "diskSize",
            f"diskSize {case.pool.disk_size} is not a size that Kubernetes accepts for a disk",
            evidence={"diskSize": case.pool.disk_size},
        )


@rule(
    "storage-class-unknown",
    refuses=False,
    chart=False,
    cause="The pool names a storage class that does not exist, so its disks are never bound.",
    example="storageClass: replicted",
    remedy="Name an existing class, or create this one first.",
)
def storage_class_unknown(case: PoolCase) -> Iterator[Found]:
    declared = case.pool.storage_class
    if declared and case.state.storage_classes and case.state.storage_class(declared) is None:
        known = case.state.names_of("storage_classes")
        yield Found(
            "storageClass",
            f"storage class {declared} does not exist; there are {', '.join(known)}",
            evidence={"storageClass": declared, "known": known},
        )


@rule(
    "default-class-ambiguous",
    refuses=False,
    chart=False,
    cause="No class is declared and several are marked as the default, or only by an annotation that CDI does not read: the platform's "
    "charts and the storage layer may then choose differently.",
    example="two classes with is-default-class true",
    remedy="Declare the storage class, or leave one class marked as the default.",
)
def default_class_ambiguous(case: PoolCase) -> Iterator[Found]:
    if case.pool.storage_class:
        return
    resolved = case.pool_class if case.clones else case.default_class
    found = case.state.default_class
    if resolved.default and (found.ambiguous or found.beta_only):
        yield Found(
            "storageClass",
            f"no storage class is declared, and the default is not clear: {found.name} is taken ({found.why})",
            evidence={"taken": found.name, "marked": list(found.candidates), "annotation": found.annotation},
        )


def _in_bytes(value: object) -> str:
    found = bytes_of(value)
    return "not a size" if found is None else f"{found} bytes"
