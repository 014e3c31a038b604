# SPDX-License-Identifier: Apache-2.0
"""A pool on a golden image: may it clone it, and on which storage class does its disk go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lab.chart.quantities import go_text, to_float
from lab.chart.refusal import Lookups, Object, Refused, annotation, dig
from lab.chart.release import PoolRelease
from lab.chart.source import CATALOG_NAMESPACE, GOLDEN_ANNOTATION, POOL_ANNOTATION, Source

PACKAGE = "cozystack.kubernetes-worker-image"
_VIRT_DEFAULT = "storageclass.kubevirt.io/is-default-virt-class"
_DEFAULTS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
_FAILING_AFTER = 3


@dataclass(frozen=True)
class Golden:
    """What the cluster knows of a golden image; the claim alone is enough for it to exist."""

    name: str
    volume: Object | None
    claim: Object | None

    @property
    def exists(self) -> bool:
        return bool(self.volume or self.claim)

    @property
    def declared_class(self) -> str:
        return (
            dig(self.volume, "spec", "storage", "storageClassName") or dig(self.claim, "spec", "storageClassName") or ""
        )

    @property
    def size(self) -> Any:
        request = ("resources", "requests", "storage")
        return dig(self.volume, "spec", "storage", *request) or dig(self.claim, "spec", *request)


def check_golden(release: PoolRelease, source: Source, disk_size: str) -> str:
    """The storage class of the pool's disk, ``""`` when there is none to state. Raises Refused for the golden rules."""
    golden = _find(release.lookups, source.golden)
    own_disk = _cloned_disk(release, source.golden)
    if own_disk is None:
        _check_usable(golden)
    default = default_class(release.lookups)
    claim = (
        release.lookups.get("PersistentVolumeClaim", release.namespace, own_disk["metadata"]["name"])
        if own_disk
        else None
    )
    declared = release.values.get("storageClass") or dig(claim, "spec", "storageClassName")
    if golden.exists:
        _check_class(golden, declared or "", default)
        _check_disk(golden, disk_size)
    return declared or default


def _find(lookups: Lookups, name: str) -> Golden:
    volume = lookups.get("DataVolume", CATALOG_NAMESPACE, name)
    claim_name = dig(volume, "status", "claimName") or name
    return Golden(name, volume, lookups.get("PersistentVolumeClaim", CATALOG_NAMESPACE, claim_name))


def _cloned_disk(release: PoolRelease, golden: str) -> Object | None:
    # By annotation only: pool md0 is a prefix of pool md0-gpu, in names as everywhere.
    return next(
        (
            disk
            for disk in release.lookups.list("DataVolume", release.namespace)
            if annotation(disk, POOL_ANNOTATION) == release.full_name
            and annotation(disk, GOLDEN_ANNOTATION) == golden
            and dig(disk, "status", "phase") == "Succeeded"
        ),
        None,
    )


def _check_usable(golden: Golden) -> None:
    """Only for a pool that still waits for its first disk: the others have nothing to lose."""
    if not golden.exists:
        raise Refused(
            "golden-absent",
            f"osImage.builtin: no golden image {golden.name} in {CATALOG_NAMESPACE}. Add {PACKAGE} to"
            " bundles.enabledPackages with an entry for this schematicID and version, or use osImage.factory",
        )
    phase = dig(golden.volume, "status", "phase")
    if phase == "Failed":
        raise Refused(
            "golden-failed",
            f"osImage.builtin: the import of golden image {golden.name} failed. Look at its importer pod in"
            f" {CATALOG_NAMESPACE}, delete the DataVolume, then force the release of {PACKAGE}",
        )
    restarts = dig(golden.volume, "status", "restartCount") or 0
    running = _condition(golden.volume, "Running")
    if phase != "Succeeded" and restarts >= _FAILING_AFTER and running.get("status") == "False":
        raise Refused(
            "golden-import-failing",
            f"osImage.builtin: the import of golden image {golden.name} restarted {go_text(restarts)} times, last"
            f" error: {running.get('message') or 'unknown'}. This refusal goes away when an attempt succeeds",
        )


def _condition(obj: Object | None, kind: str) -> Object:
    conditions = dig(obj, "status", "conditions") or []
    return next((condition for condition in conditions if condition.get("type") == kind), {})


def _check_class(golden: Golden, declared: str, default: str) -> None:
    pool_class, golden_class = declared or default, golden.declared_class or default
    if not pool_class or not golden_class or pool_class == golden_class:
        return
    resolved = "" if declared and golden.declared_class else f" (an empty class resolved to the default {default})"
    raise Refused(
        "storage-class-mismatch",
        f"storageClass {pool_class} of the pool, {golden_class} of golden image {golden.name}{resolved}: a clone stays"
        f" on one class. Add a catalog entry with a new schematicID or version on {pool_class} and point the pool to"
        f" it, or delete the golden image once nothing clones it and let the catalog import it on {pool_class}, or"
        " use osImage.factory",
    )


def _check_disk(golden: Golden, disk_size: str) -> None:
    if golden.size and to_float(disk_size) < to_float(golden.size):
        wanted, needed = (f"{go_text(size)} ({to_float(size):.0f} bytes)" for size in (disk_size, golden.size))
        raise Refused(
            "disk-smaller-than-golden",
            f"diskSize {wanted} is smaller than golden image {golden.name}, {needed}: raise diskSize",
        )


def default_class(lookups: Lookups) -> str:
    """The newest class marked as the default for virtual machines, else the newest general default, else ``""``."""
    classes = lookups.list("StorageClass", None)
    virt = [each for each in classes if annotation(each, _VIRT_DEFAULT) == "true"]
    general = [each for each in classes if "true" in {annotation(each, name) for name in _DEFAULTS}]
    candidates = virt or general
    if not candidates:
        return ""
    newest = max(candidates, key=lambda each: each["metadata"].get("creationTimestamp") or "")
    return str(newest["metadata"]["name"])
