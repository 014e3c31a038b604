# SPDX-License-Identifier: Apache-2.0
"""How CDI 1.64 decides between a driver's own clone, a snapshot and a copy through the host."""

from __future__ import annotations

from lab.api import Object
from lab.controllers.cdi.claims import Claim
from lab.controllers.objects import size, status
from lab.controllers.runtime import Runtime
from lab.controllers.storage import claim_size

NO_POPULATOR = "In tree storage class does not support snapshot/clone"
NO_SNAPSHOT_CLASS = "No compatible volumesnapshotclass found"
OTHER_DRIVER = "Provisioners are incompatible"
OTHER_MODE = "The volume modes of source and target are incompatible"
NO_EXPANSION = "No volume expansion is possible"
# Why a clone became a copy, and the reason of the event about it.
FALLBACK_EVENTS = {
    NO_POPULATOR: "NoPopulator",
    NO_SNAPSHOT_CLASS: "NoVolumeSnapshotClass",
    OTHER_DRIVER: "IncompatibleProvisioners",
    OTHER_MODE: "IncompatibleVolumeModes",
    NO_EXPANSION: "NoVolumeExpansion",
}


def capacity_of(claim: Object) -> int:
    """What the volume really has; a driver may have rounded up."""
    given = (status(claim).get("capacity") or {}).get("storage")
    return size(given) if given else claim_size(claim)


def driver_of(claim: Object, runtime: Runtime) -> str:
    volume = runtime.cache("PersistentVolume").get("", claim["spec"].get("volumeName", ""))
    if volume is not None and "csi" in volume["spec"]:
        return str(volume["spec"]["csi"]["driver"])
    storage_class = runtime.cache("StorageClass").get("", claim["spec"].get("storageClassName", "")) or {}
    return str(storage_class.get("provisioner", ""))


def choose(source: Object, claim: Claim, populator: bool, runtime: Runtime) -> tuple[str, str | None]:
    """(csi-clone, snapshot or copy; why it became a copy). Classes are not compared, only their drivers."""
    if not populator:
        return "copy", NO_POPULATOR
    spec = (runtime.cache("CDI").get("", "cdi") or {"spec": {}})["spec"]
    profile = runtime.cache("StorageProfile").get("", claim.class_name) or {}
    strategy = spec.get("cloneStrategyOverride") or status(profile).get("cloneStrategy") or "snapshot"
    if strategy == "copy":
        return "copy", None
    snapshot_classes = runtime.cache("VolumeSnapshotClass").objects.values()
    if strategy == "snapshot" and not any(one.get("driver") == claim.driver for one in snapshot_classes):
        return "copy", NO_SNAPSHOT_CLASS
    if driver_of(source, runtime) != claim.driver:
        return "copy", OTHER_DRIVER
    if source["spec"].get("volumeMode", "Filesystem") != claim.volume_mode:
        return "copy", OTHER_MODE
    if size(claim.request) > capacity_of(source) and not claim.expandable:
        return "copy", NO_EXPANSION
    return strategy, None


def holder(claim: Object, runtime: Runtime) -> Object | None:
    """A pod that is not one of CDI's and holds the claim writable."""
    name = claim["metadata"]["name"]
    for pod in runtime.cache("Pod").in_namespace(claim["metadata"]["namespace"]):
        if status(pod).get("phase") in ("Succeeded", "Failed"):
            continue
        if (pod["metadata"].get("labels") or {}).get("app") == "containerized-data-importer":
            continue
        for volume in pod["spec"].get("volumes", []):
            used = volume.get("persistentVolumeClaim") or {}
            if used.get("claimName") == name and not used.get("readOnly"):
                return pod
    return None


def origin(claim: Object, runtime: Runtime) -> Object | None:
    """The DataVolume that a claim belongs to, if one does."""
    for reference in claim["metadata"].get("ownerReferences", []):
        if reference["kind"] == "DataVolume":
            return runtime.cache("DataVolume").get(claim["metadata"]["namespace"], reference["name"])
    return None


def fallback_mark(reason: str | None) -> dict[str, str]:
    return {"cdi.kubevirt.io/cloneFallbackReason": reason} if reason else {}


def ready(claim: Object, runtime: Runtime) -> bool:
    """True if the source may be cloned now: filled, bound, and in nobody's hands."""
    if status(claim).get("phase") != "Bound" or holder(claim, runtime) or "deletionTimestamp" in claim["metadata"]:
        return False
    disk = origin(claim, runtime)
    return disk is None or status(disk).get("phase") == "Succeeded"
