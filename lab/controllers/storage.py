# SPDX-License-Identifier: Apache-2.0
"""What the CSI driver and the volume controller do: profiles of classes, claims that get bound, volumes that go."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path
from typing import Any

from lab.api import Key, Object, key_of
from lab.controllers.objects import annotations, deleting, labels, size, status
from lab.controllers.runtime import Controller, Writer

SELECTED_NODE = "volume.kubernetes.io/selected-node"
CLONING = "provisioner.storage.kubernetes.io/cloning-protection"
_LINSTOR = "linstor.csi.linbit.com"
_WITHHELD_SECONDS = 0.1
# CDI knows this driver: block volumes for many writers first.
_LINSTOR_SETS = [
    {"accessModes": [access], "volumeMode": mode}
    for access, mode in (
        ("ReadWriteMany", "Block"),
        ("ReadWriteOnce", "Block"),
        ("ReadWriteOnce", "Filesystem"),
        ("ReadOnlyMany", "Block"),
        ("ReadOnlyMany", "Filesystem"),
    )
]


def volume_path(volumes: Path, namespace: str, claim: str) -> Path:
    """Where the bytes of a claim are. A name of 253 characters would be too long with a suffix: those are hashed."""
    name = claim if len(claim) <= 200 else f"{claim[:150]}-{hashlib.sha256(claim.encode()).hexdigest()}"
    return volumes / namespace / f"{name}.raw"


def claim_size(claim: Object) -> int:
    return size(claim["spec"]["resources"]["requests"]["storage"])


def rounded(wanted: int, multiple: int) -> int:
    return -(-wanted // max(multiple, 1)) * max(multiple, 1)


async def bind(write: Writer, claim: Object) -> Object | None:
    """Give a claim its volume: PersistentVolume, spec.volumeName, status. Interrupted anywhere, it can run again."""
    key, timings = key_of(claim), write.runtime.timings
    storage_class = write.runtime.cache("StorageClass").get("", claim["spec"].get("storageClassName", "")) or {}
    capacity = str(rounded(claim_size(claim), timings.capacity_multiple))
    if capacity == str(claim_size(claim)):
        capacity = claim["spec"]["resources"]["requests"]["storage"]
    name = f"pvc-{claim['metadata']['uid']}"
    reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": key[0], "name": key[1]}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": name,
            "annotations": {"pv.kubernetes.io/provisioned-by": storage_class.get("provisioner", "")},
        },
        "spec": {
            "accessModes": claim["spec"]["accessModes"],
            "capacity": {"storage": capacity},
            "claimRef": reference | {"uid": claim["metadata"]["uid"]},
            "csi": {"driver": storage_class.get("provisioner") or "unknown", "volumeHandle": name},
            "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": claim["spec"].get("storageClassName", ""),
            "volumeMode": claim["spec"].get("volumeMode", "Filesystem"),
        },
    }
    await write.create_once(volume)
    await write.status("PersistentVolume", ("", name), {"phase": "Bound"})
    await write.patch("PersistentVolumeClaim", key, {"spec": {"volumeName": name}})
    bound = {"phase": "Bound", "accessModes": claim["spec"]["accessModes"], "capacity": {"storage": capacity}}
    return await write.status("PersistentVolumeClaim", key, bound)


class Claims(Controller):
    """Keys are claims. Claims that are filled from a source are bound by who fills them."""

    name = "claims"

    def setup(self) -> None:
        self.watch("PersistentVolumeClaim")
        self.watch("Pod", lambda _, pod: [(pod["metadata"]["namespace"], name) for name in claims_of(pod)])
        self.watch("StorageClass", self._pending)

    def _pending(self, _: str, storage_class: Object) -> list[Key]:
        name, claims = storage_class["metadata"]["name"], self.runtime.cache("PersistentVolumeClaim").objects
        return [key for key, one in claims.items() if one["spec"].get("storageClassName") == name and _unbound(one)]

    async def reconcile(self, key: Key) -> float | None:
        claim = self.runtime.cache("PersistentVolumeClaim").get(*key)
        if claim is None:
            volume_path(self.runtime.volumes, *key).unlink(missing_ok=True)
        await self._remove_orphans(key, claim)
        if claim is None:
            return None
        if deleting(claim) or not _unbound(claim) or claim["spec"].get("dataSourceRef"):
            return None
        if self._withheld(claim):
            return _WITHHELD_SECONDS
        storage_class = self.runtime.cache("StorageClass").get("", claim["spec"].get("storageClassName") or "")
        if storage_class is not None and (not waits(storage_class) or self._consumed(key, claim)):
            await bind(self.write, claim)
        return None

    def _withheld(self, claim: Object) -> bool:
        """True while a script keeps the volume of an import, or its scratch space, from being provided."""
        disk = claim
        while disk["kind"] != "DataVolume":
            references = disk["metadata"].get("ownerReferences", [])
            owner = next((one for one in references if one["kind"] in ("PersistentVolumeClaim", "DataVolume")), None)
            found = owner and self.runtime.cache(owner["kind"]).get(disk["metadata"]["namespace"], owner["name"])
            if not found:
                return False
            disk = found
        action = "no-scratch" if claim["metadata"]["name"].endswith("-scratch") else "no-volume"
        return self.runtime.rules.applies("cdi", action, key_of(disk)) is not None

    def _consumed(self, key: Key, claim: Object) -> bool:
        pods = self.runtime.cache("Pod").in_namespace(key[0])
        return SELECTED_NODE in annotations(claim) or any(key[1] in claims_of(pod) for pod in pods)

    async def _remove_orphans(self, key: Key, claim: Object | None) -> None:
        uid = claim["metadata"]["uid"] if claim else ""
        for volume in list(self.runtime.cache("PersistentVolume").objects.values()):
            reference = volume["spec"].get("claimRef") or {}
            if (reference.get("namespace"), reference.get("name")) == key and reference.get("uid") != uid:
                await self.write.delete(volume)

    def sweep(self) -> None:
        """Files whose claims went while nobody looked."""
        claims = self.runtime.cache("PersistentVolumeClaim").objects
        wanted = {volume_path(self.runtime.volumes, *key) for key in claims}
        for path in self.runtime.volumes.glob("*/*"):
            if path not in wanted:
                with contextlib.suppress(OSError):
                    os.unlink(path)


def _unbound(claim: Object) -> bool:
    return status(claim).get("phase", "Pending") == "Pending"


def waits(storage_class: Object) -> bool:
    """True for a class that gives volumes to consumed claims only."""
    return storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"


def claims_of(pod: Object) -> list[str]:
    volumes = pod["spec"].get("volumes", [])
    return [one["persistentVolumeClaim"]["claimName"] for one in volumes if "persistentVolumeClaim" in one]


class Profiles(Controller):
    """Keys are ("", class). CDI keeps one StorageProfile per class."""

    name = "profiles"

    def setup(self) -> None:
        self.watch("StorageClass")
        self.watch("StorageProfile")
        self.watch("VolumeSnapshotClass", lambda *_: list(self.runtime.cache("StorageClass").objects))

    async def reconcile(self, key: Key) -> float | None:
        storage_class = self.runtime.cache("StorageClass").get(*key)
        profile = self.runtime.cache("StorageProfile").get(*key)
        if storage_class is None:
            if profile is not None and labels(profile).get("app.kubernetes.io/managed-by") == "cdi-controller":
                await self.write.delete(profile)
            return None
        if profile is None:
            meta = {"name": key[1], "labels": {"app.kubernetes.io/managed-by": "cdi-controller"}}
            profile = {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "StorageProfile", "metadata": meta, "spec": {}}
            profile = await self.write.create_once(profile)
        await self.write.status("StorageProfile", key, self._status(storage_class, profile))
        return None

    def _status(self, storage_class: Object, profile: Object) -> dict[str, Any]:
        driver, spec = storage_class["provisioner"], profile.get("spec") or {}
        snapshots = any(
            one.get("driver") == driver for one in self.runtime.cache("VolumeSnapshotClass").objects.values()
        )
        strategy = spec.get("cloneStrategy") or annotations(storage_class).get("cdi.kubevirt.io/clone-strategy")
        known: dict[str, Any] = {
            "provisioner": driver,
            "storageClass": storage_class["metadata"]["name"],
            "cloneStrategy": strategy or ("snapshot" if snapshots else "copy"),
        }
        found = status(profile).get("claimPropertySets") or (_LINSTOR_SETS if driver == _LINSTOR else None)
        sets = spec.get("claimPropertySets") or found
        return known | {"claimPropertySets": sets, "snapshotClass": spec.get("snapshotClass")}
