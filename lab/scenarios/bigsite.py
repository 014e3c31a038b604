# SPDX-License-Identifier: Apache-2.0
"""The scenario of a big site: finished objects only, which no controller has to work on."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator
from typing import Any

from lab import seed
from lab.api import Api, Object
from lab.controllers.cdi.states import status_of
from lab.scenarios import parts
from lab.scenarios.goldens import by_hand
from lab.scenarios.parts import Lab
from lab.scenarios.states import enable
from lab.scenarios.store import store
from lab.scenarios.waiting import until

GOLDENS, TENANTS, DISKS_PER_TENANT = 200, 50, 100
SINCE = "2026-10-01T08:00:00Z"
_IMAGE, _CDI = "kubernetes-worker-image.cozystack.io", "cdi.kubevirt.io"


def schematic(index: int) -> str:
    return hashlib.sha256(f"lab big site {index}".encode()).hexdigest()


def stored(obj: Object) -> Object:
    """With what the API server would add; the same in every lab."""
    meta = obj["metadata"]
    uid = uuid.uuid5(uuid.NAMESPACE_URL, f"{obj['kind']}/{meta.get('namespace')}/{meta['name']}")
    obj["metadata"] = meta | {"uid": str(uid), "creationTimestamp": SINCE, "generation": 1}
    return obj


def finished(disk: Object, annotations: dict[str, str]) -> Iterator[Object]:
    """A disk that is whole, and its bound claim with its volume."""
    disk = stored(disk)
    meta, spec, words = disk["metadata"], disk["spec"], "Clone" if "pvc" in disk["spec"]["source"] else "Import"
    bound, running = ("True", "Bound", f"PVC {meta['name']} Bound"), ("False", "Completed", f"{words} Complete")
    values: dict[str, Any] = {"phase": "Succeeded", "progress": "100.0%", "claimName": meta["name"]}
    disk["status"] = status_of(disk, bound, running, **values)
    for condition in disk["status"]["conditions"]:
        condition |= {"lastTransitionTime": SINCE, "lastHeartbeatTime": SINCE}
    reference = {"apiVersion": disk["apiVersion"], "kind": "DataVolume", "name": meta["name"], "uid": meta["uid"]}
    size, storage_class = spec["storage"]["resources"], spec["storage"]["storageClassName"]
    marks = {f"{_CDI}/storage.pod.phase": "Succeeded", f"{_CDI}/createdForDataVolume": meta["uid"]}
    claim = stored(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": meta["name"],
                "namespace": meta["namespace"],
                "labels": {"app": "containerized-data-importer"},
                "annotations": meta.get("annotations", {}) | marks | annotations,
                "ownerReferences": [reference | {"controller": True, "blockOwnerDeletion": True}],
            },
        }
    )
    volume_name = f"pvc-{claim['metadata']['uid']}"
    access, capacity = {"accessModes": ["ReadWriteMany"]}, {"capacity": size["requests"]}
    claim["spec"] = access | {"resources": size, "storageClassName": storage_class, "volumeMode": "Block"}
    claim["spec"]["volumeName"] = volume_name
    claim["status"] = access | capacity | {"phase": "Bound"}
    reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "uid": claim["metadata"]["uid"]}
    volume = stored({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": volume_name}})
    volume["spec"] = access | capacity | {"storageClassName": storage_class, "volumeMode": "Block"}
    volume["spec"] |= {"csi": {"driver": seed.DRIVER, "volumeHandle": volume_name}}
    volume["spec"] |= {"claimRef": reference | {"namespace": meta["namespace"], "name": meta["name"]}}
    volume["spec"] |= {"persistentVolumeReclaimPolicy": "Delete"}
    volume["status"] = {"phase": "Bound"}
    yield from (disk, claim, volume)


def _goldens(lab: Lab) -> Iterator[Object]:
    for index in range(GOLDENS):
        yield from finished(by_hand(lab, schematic(index), "replicated"), {})


def _workers() -> Iterator[Object]:
    """Each tenant has four pools, and each pool another golden; a quarter of the goldens has no user."""
    for tenant in range(TENANTS):
        for index in range(DISKS_PER_TENANT):
            pool = index % 4
            image = parts.golden(schematic((tenant * 4 + pool) % (GOLDENS * 3 // 4)))
            name = f"kubernetes-main-p{pool}-{index:05}-disk-system"
            marks = {f"{_IMAGE}/golden": image, f"{_IMAGE}/pool": f"kubernetes-main-p{pool}"}
            kind = {f"{_CDI}/cloneType": "csi-clone"}
            storage = {"resources": {"requests": {"storage": "20Gi"}}, "storageClassName": "replicated"}
            source = {"pvc": {"namespace": parts.GOLDENS, "name": image}}
            disk = {
                "apiVersion": f"{_CDI}/v1beta1",
                "kind": "DataVolume",
                "metadata": {"name": name, "namespace": f"tenant-t{tenant:02}", "annotations": marks | kind},
                "spec": {"contentType": "kubevirt", "source": source, "storage": storage},
            }
            done = {f"{_CDI}/clonePhase": "Succeeded", "k8s.io/CloneOf": "true"}
            # A volume per worker is left out: the lab's own bookkeeping looks at all volumes for each claim.
            yield from list(finished(disk, done))[:2]


async def big_site(api: Api, lab: Lab) -> None:
    """200 finished goldens and 5,000 finished worker disks in 50 tenants, without pools, machines and bytes"""
    await parts.base(api, lab)
    await enable(api, lab, parts.catalog(lab, images=[]))
    spaces = [f"tenant-t{tenant:02}" for tenant in range(TENANTS)]
    made = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in spaces]
    await parts.together(16, *(parts.create_once(api, one) for one in made))
    await store(lab.home, _goldens(lab))
    await store(lab.home, _workers())
    wanted = GOLDENS + TENANTS * DISKS_PER_TENANT

    def there(seen: Any) -> bool:
        return all(len(seen[kind].objects) >= wanted for kind in ("DataVolume", "PersistentVolumeClaim"))

    await until(api, f"{wanted} disks", ["DataVolume", "PersistentVolumeClaim"], there, 60.0)
