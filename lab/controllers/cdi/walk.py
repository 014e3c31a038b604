# SPDX-License-Identifier: Apache-2.0
"""What every way of filling a disk has in common: the target claim, reports, waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from lab.api import ApiError, Object, key_of
from lab.controllers.cdi.claims import IMMEDIATE, USE_POPULATOR, Claim, ClaimInvalid, plan
from lab.controllers.cdi.states import NOT_RUNNING, Verdict, bound_of, status_of
from lab.controllers.events import tell
from lab.controllers.objects import annotations, deleting, labels, owned_by, owner, size, status
from lab.controllers.runtime import Runtime, Writer
from lab.controllers.storage import SELECTED_NODE, volume_path

ADOPT = "cdi.kubevirt.io/allowClaimAdoption"
CREATED_FOR = "cdi.kubevirt.io/createdForDataVolume"
POD_PHASE = "cdi.kubevirt.io/storage.pod.phase"
APP = {"app": "containerized-data-importer"}
_SOURCE_NAMES = {
    "VolumeImportSource": "volume-import-source",
    "VolumeCloneSource": "volume-clone-source",
    "VolumeUploadSource": "volume-upload-source",
}


class Walk:
    """One disk on its way to Succeeded. It is cancelled when the disk is deleted or its claim is lost."""

    component = "datavolume-import-controller"
    populator_kind = ""
    # Phase: reason and text of the event about it; {disk}, {name} and, for a clone, {source}.
    phase_events: ClassVar[dict[str, tuple[str, str]]] = {}
    waiting_for_consumer = "PendingPopulation"

    def __init__(self, runtime: Runtime, write: Writer, disk: Object) -> None:
        self.runtime, self.write = runtime, write
        self.key, self.uid = key_of(disk), disk["metadata"]["uid"]
        self._last = disk

    async def run(self) -> None:
        """From wherever the disk is to Succeeded."""
        raise NotImplementedError

    @property
    def disk(self) -> Object:
        """The newest known version of the disk."""
        found = self.runtime.cache("DataVolume").get(*self.key)
        if found is not None and found["metadata"]["uid"] == self.uid:
            self._last = found
        return self._last

    @property
    def target(self) -> Object | None:
        return self.runtime.cache("PersistentVolumeClaim").get(*self.key)

    @property
    def path(self) -> Path:
        return volume_path(self.runtime.volumes, *self.key)

    async def report(self, phase: str | None = None, *, bound: Verdict | None = None, **values: Any) -> None:
        if phase is not None:
            values["phase"] = phase
        known = self.runtime.cache("DataVolume").get(*self.key)
        if known is not None and known["metadata"]["uid"] != self.uid:
            return  # another disk of this name; this walk is about to be cancelled
        disk, bound = self.disk, bound or bound_of(self.target, self.key[1])
        before = status(disk).get("phase", "")
        await self.write.status("DataVolume", self.key, status_of(disk, bound, **values))
        if phase is not None and phase != before and phase in self.phase_events:
            reason, text = self.phase_events[phase]
            await self.say(reason, text.format(name=self.key[1], disk="/".join(self.key), source=self.source_name))

    source_name = ""

    async def say(self, reason: str, message: str, *, warning: bool = False, about: Object | None = None) -> None:
        """An event of this controller, about the disk itself unless another object is given."""
        await tell(self.write, about or self.disk, reason, message, component=self.component, warning=warning)

    async def refuse(self, reason: str, message: str, phase: str | None = None, **values: Any) -> None:
        """No claim can be made: condition Bound says why, and so does an event."""
        await self.report(phase, bound=("False", reason, message), **values)
        await self.say(reason, message, warning=True)

    async def when(self, kinds: tuple[str, ...], check: Callable[[], Any]) -> Any:
        """Wait until ``check`` gives something true, looking again whenever an object of these kinds changes."""
        wake = asyncio.Event()

        def listen(*_: object) -> None:
            wake.set()

        for kind in kinds:
            self.runtime.cache(kind).listeners.append(listen)
        try:
            while not (value := check()):
                await wake.wait()
                wake.clear()
            return value
        finally:
            for kind in kinds:
                self.runtime.cache(kind).listeners.remove(listen)

    async def claim(self, source: Object | None = None) -> Claim:
        """The claim to make, waiting as long as none can be made."""

        def planned() -> Claim | None:
            try:
                return plan(self.disk, self.runtime, source)
            except ClaimInvalid:
                return None

        try:
            return plan(self.disk, self.runtime, source)
        except ClaimInvalid as trouble:
            await self.refuse("ErrClaimNotValid", str(trouble))
            found: Claim = await self.when(("StorageClass", "StorageProfile"), planned)
            return found

    async def make_target(self, claim: Claim, populator: bool, extra: dict[str, str]) -> Object | None:
        """The disk's claim; None when an existing one was adopted and there is nothing to fill."""
        while (found := self.target) is not None:
            if annotations(found).get(CREATED_FOR) == self.uid:
                return found
            if not deleting(found) and not found["metadata"].get("ownerReferences"):
                if annotations(self.disk).get(ADOPT) == "true":
                    await self._adopt(found)
                    return None
                text = f"Destination PVC {self.key[0]}/{self.key[1]} already exists"
                await self.refuse("ErrResourceExists", text)
            await self.runtime.until("PersistentVolumeClaim", self.key, lambda now, old=found: now is not old)
        if populator:
            await self.write.create_once(self.populator_source())
        target = self._target(claim, populator, extra)
        try:
            return await self.write.create(target)
        except ApiError as error:
            message = error.body.get("message", "") if isinstance(error.body, dict) else ""
            if error.status == 403 and "exceeded quota" in message:
                await self.refuse("ErrExceededQuota", message, "Pending", running=NOT_RUNNING)
            raise

    def populator_source(self) -> Object:
        """The object that the claim names as where its content comes from; without owner when that is elsewhere."""
        kind = self.populator_kind
        meta = {"name": f"{_SOURCE_NAMES[kind]}-{self.uid}", "namespace": self.key[0]}
        meta |= {"ownerReferences": [owner(self.disk)]}
        source = {key: value for key, value in self.disk["spec"]["source"].items() if key != "upload"}
        content = {"contentType": self.disk["spec"].get("contentType", "kubevirt")}
        spec = content | ({"source": source} if source else {})
        return {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": kind, "metadata": meta, "spec": spec}

    async def remove_source(self) -> None:
        """CDI takes the populator's object away once the disk is whole."""
        cache = self.runtime.cache(self.populator_kind)
        for found in [one for key, one in cache.objects.items() if key[1].endswith(f"-{self.uid}")]:
            await self.write.delete(found)

    def _target(self, claim: Claim, populator: bool, extra: dict[str, str]) -> Object:
        disk, spec = self.disk, claim.spec()
        if populator:
            kind = self.populator_kind
            name = f"{_SOURCE_NAMES[kind]}-{self.uid}"
            spec["dataSourceRef"] = {"apiGroup": "cdi.kubevirt.io", "kind": kind, "name": name}
        marks = {CREATED_FOR: self.uid, USE_POPULATOR: str(populator).lower()}
        meta = {
            "name": self.key[1],
            "namespace": self.key[0],
            "labels": labels(disk) | APP,
            "annotations": annotations(disk) | marks | extra,
            "ownerReferences": [owner(disk)],
        }
        return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}

    async def _adopt(self, claim: Object) -> None:
        meta = {"annotations": {CREATED_FOR: self.uid}, "ownerReferences": [owner(self.disk)]}
        await self.write.patch("PersistentVolumeClaim", self.key, {"metadata": meta})
        await self.report("Succeeded", claimName=claim["metadata"]["name"], progress="100.0%", running=NOT_RUNNING)

    async def consumer(self, claim: Claim) -> None:
        """On a class that waits, somebody has to want the disk: a scheduled pod, or the annotation."""
        if not claim.waits or IMMEDIATE in annotations(self.disk):
            return

        def wanted(target: Object | None) -> bool:
            return target is not None and SELECTED_NODE in annotations(target)

        if not wanted(self.target):
            await self.report(self.waiting_for_consumer)
            await self.runtime.until("PersistentVolumeClaim", self.key, wanted)

    @property
    def room(self) -> int:
        """Bytes that the disk requested, the file system's own share not counted."""
        given = self.disk["spec"].get("storage") or self.disk["spec"].get("pvc") or {}
        wanted = (given.get("resources") or {}).get("requests", {}).get("storage")
        target = self.target
        return size(wanted or target["spec"]["resources"]["requests"]["storage"]) if wanted or target else 0

    def filled(self) -> bool:
        """True if an earlier life of this controller filled the claim and only the last report is missing."""
        target = self.target
        if target is None or not owned_by(target, self.uid):
            return False
        done = annotations(target).get(POD_PHASE) == "Succeeded" and status(target).get("phase") == "Bound"
        return done and self.path.exists()
