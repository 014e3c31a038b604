# SPDX-License-Identifier: Apache-2.0
"""What a clone puts beside its source, and how that goes away again."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

from lab.api import Key, Object, key_of
from lab.controllers.objects import labels, status
from lab.controllers.runtime import Runtime, Writer
from lab.controllers.storage import CLONING

FINALIZER = "cdi.kubevirt.io/dataVolumeFinalizer"
OWNED_BY = "cdi.kubevirt.io/OwnedByUID"
_SNAPSHOTTING = "snapshot.storage.kubernetes.io/pvc-as-source-protection"
_protecting = asyncio.Lock()


def copy_file(source: Path, target: Path) -> None:
    """Whole or not at all; a source that nobody filled is an empty disk. Blocks; run it in a thread."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    if source.exists():
        shutil.copyfile(source, part)
    else:
        part.touch()
    os.replace(part, target)


def _helpers(runtime: Runtime, uid: str) -> list[Object]:
    kinds = ("Pod", "PersistentVolumeClaim", "VolumeSnapshot")
    return [one for kind in kinds for one in runtime.cache(kind).objects.values() if labels(one).get(OWNED_BY) == uid]


async def clean(runtime: Runtime, write: Writer, disk: Object) -> None:
    """Take away what a clone put beside its source."""
    target = runtime.cache("PersistentVolumeClaim").get(*key_of(disk))
    if target is not None:
        for helper in _helpers(runtime, target["metadata"]["uid"]):
            await write.delete(helper)
    for (_, name), found in list(runtime.cache("VolumeCloneSource").objects.items()):
        if name.endswith(disk["metadata"]["uid"]):
            await write.delete(found)
    source = disk["spec"].get("source", {}).get("pvc")
    if source:
        await protect(runtime, write, (source.get("namespace") or key_of(disk)[0], source["name"]))


async def protect(runtime: Runtime, write: Writer, key: Key) -> None:
    """A claim that is being cloned or snapshot cannot go: provisioner and snapshotter hold it by finalizers."""
    async with _protecting:
        claim = runtime.cache("PersistentVolumeClaim").get(*key)
        if claim is None:
            return
        cloning = any(
            (one["spec"].get("dataSource") or {}).get("name") == key[1]
            and status(one).get("phase", "Pending") == "Pending"
            for one in runtime.cache("PersistentVolumeClaim").in_namespace(key[0])
        )
        snapshotting = any(
            one["spec"]["source"].get("persistentVolumeClaimName") == key[1] and not status(one).get("readyToUse")
            for one in runtime.cache("VolumeSnapshot").in_namespace(key[0])
        )
        await write.finalizer(claim, CLONING, cloning)
        claim = runtime.cache("PersistentVolumeClaim").get(*key)
        if claim is not None:
            await write.finalizer(claim, _SNAPSHOTTING, snapshotting)
