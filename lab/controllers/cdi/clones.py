# SPDX-License-Identifier: Apache-2.0
"""One claim out of another: by the driver, by a snapshot, or by copying through the host."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from lab.api import Key, Object, key_of
from lab.controllers.cdi import pods
from lab.controllers.cdi.claims import USE_POPULATOR, Claim, populated
from lab.controllers.cdi.helpers import FINALIZER, OWNED_BY, clean, copy_file, protect
from lab.controllers.cdi.states import Verdict
from lab.controllers.cdi.strategy import FALLBACK_EVENTS, capacity_of, choose, fallback_mark, holder, ready
from lab.controllers.cdi.walk import APP, POD_PHASE, Walk
from lab.controllers.events import tell
from lab.controllers.objects import size, status
from lab.controllers.storage import bind, claim_size, volume_path

CLONE_TYPE, CLONE_PHASE = "cdi.kubevirt.io/cloneType", "cdi.kubevirt.io/clonePhase"
_PENDING: Verdict = ("False", "Pending", "Clone Pending")
_POPULATOR: Verdict = ("True", "Populator is running", "")
_KINDS = ("DataVolume", "PersistentVolumeClaim", "Pod")
_POPULATOR_NAME = "clone-populator"


class Clone(Walk):
    """``spec.source.pvc``."""

    component = "datavolume-pvc-clone-controller"
    populator_kind = "VolumeCloneSource"
    phase_events: ClassVar = {
        "CloneScheduled": ("CloneScheduled", "Cloning from {source} into {disk} scheduled"),
        "CloneInProgress": ("CloneInProgress", "Cloning from {source} into {disk} in progress"),
        "CSICloneInProgress": ("CSICloneInProgress", "CSI Volume clone in progress (for pvc {source})"),
        "SnapshotForSmartCloneInProgress": (
            "SnapshotForSmartCloneInProgress",
            "Creating snapshot for smart-clone is in progress (for pvc {source})",
        ),
        "Succeeded": ("CloneSucceeded", "Successfully cloned from {source} into {disk}"),
    }

    @property
    def source_name(self) -> str:
        return "/".join(self.source_key)

    def populator_source(self) -> Object:
        """Beside the source, so it can have no owner; it goes with the other helpers."""
        found = super().populator_source()
        found["metadata"] = {"name": found["metadata"]["name"], "namespace": self.source_key[0], "labels": APP}
        source = {"apiGroup": "", "kind": "PersistentVolumeClaim", "name": self.source_key[1]}
        return found | {"spec": {"source": source, "storage": self.disk["spec"].get("storage") or {}}}

    @property
    def source_key(self) -> Key:
        given = self.disk["spec"]["source"]["pvc"]
        return given.get("namespace") or self.key[0], given["name"]

    @property
    def source(self) -> Object | None:
        return self.runtime.cache("PersistentVolumeClaim").get(*self.source_key)

    async def run(self) -> None:
        claim = await self._valid_claim()
        populator = populated(self.disk, self.runtime, claim)
        await self.write.finalizer(self.disk, FINALIZER, True)
        marks = {"cdi.kubevirt.io/dataSourceNamespace": self.source_key[0]}
        target = await self.make_target(claim, populator, marks)
        if target is None:
            await self._finish()
            return
        await self.write.annotate("DataVolume", self.key, {USE_POPULATOR: str(populator).lower()})
        if not self.filled():
            await self.report("CloneScheduled", progress="N/A", claimName=self.key[1], running=_PENDING)
            await self.consumer(claim)
            source = await self._ready_source()
            strategy, reason = choose(source, claim, populator, self.runtime)
            await self._mark({CLONE_TYPE: strategy} | fallback_mark(reason))
            await self.write.annotate("DataVolume", self.key, {CLONE_TYPE: strategy})
            if reason:
                await self._about_target(FALLBACK_EVENTS[reason], reason)
            steps = {"csi-clone": self._by_driver, "snapshot": self._by_snapshot, "copy": self._by_host}
            await steps[strategy](source, claim)
            done = {POD_PHASE: "Succeeded", CLONE_PHASE: "Succeeded", "k8s.io/CloneOf": "true"}
            await self._mark(done)
        await clean(self.runtime, self.write, self.disk)
        await self._finish()

    async def _finish(self) -> None:
        await self.report("Succeeded", progress="100.0%", running=("False", "Completed", "Clone Complete"))
        await self.write.finalizer(self.disk, FINALIZER, False)

    async def _about_target(self, reason: str, message: str) -> None:
        target = self.target
        if target is not None:
            await tell(self.write, target, reason, message, component=_POPULATOR_NAME, warning=True)

    async def _mark(self, values: dict[str, str]) -> None:
        await self.write.annotate("PersistentVolumeClaim", self.key, dict(values))

    async def _valid_claim(self) -> Claim:
        """Until there is a source, and one that fits. The phase stays as it is meanwhile: blank for a new disk."""
        while True:
            source = self.source
            if source is None:
                text = f"The source pvc {self.source_key[1]} doesn't exist"
                await self.refuse("CloneWithoutSource", text)
                source = await self.runtime.until("PersistentVolumeClaim", self.source_key, lambda found: found)
            claim = await self.claim(source)
            block = source["spec"].get("volumeMode") == "Block" or "pvc" in self.disk["spec"]
            needed = claim_size(source) if block else capacity_of(source)
            if size(claim.request) >= needed or not block:
                return claim
            text = "target resources requests storage size is smaller than the source"
            await self.refuse("CloneValidationFailed", text)
            await self.runtime.until(
                "PersistentVolumeClaim", self.source_key, lambda found, old=source: found is not old
            )

    async def _ready_source(self) -> Object:
        """Without a limit: until the source is whole, bound and free."""

        def look() -> str | None:
            source = self.source
            if source is None:
                return "gone"
            return "ready" if ready(source, self.runtime) else None

        await self._tell_why_not(self.source)
        while True:
            found = await self.when(_KINDS, look)
            source = self.source
            if found == "ready" and source is not None:
                return source
            text = "source claim does not exist"
            await self._mark({CLONE_PHASE: "Error", "cdi.kubevirt.io/cloneError": text})
            await self.report(running=("False", "Error", text))
            await self.runtime.until("PersistentVolumeClaim", self.source_key, lambda claim: claim is not None)
            await self.report(running=_PENDING)

    async def _tell_why_not(self, source: Object | None) -> None:
        """What keeps the clone waiting, if that is in CDI's power to say."""
        if source is None or ready(source, self.runtime):
            return
        pod = holder(source, self.runtime)
        if pod is not None:
            where = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
            text = f"pod {where} using PersistentVolumeClaim {self.source_key[1]}"
            await self._about_target("CloneSourceInUse", text)
        else:
            await self.say("ImportPVCNotReady", "The source PVC is not fully imported", warning=True)

    async def _by_driver(self, source: Object, claim: Claim) -> None:
        """A temporary claim beside the source is cloned by the driver, then its volume moves over."""
        await self._mark({CLONE_PHASE: "CSIClone"})
        temporary = await self.write.create_once(self._temporary(source, claim))
        await protect(self.runtime, self.write, self.source_key)
        await self.report("CSICloneInProgress", progress="N/A", running=_POPULATOR)
        grow = size(claim.request) > capacity_of(source)
        if source["spec"].get("storageClassName") != claim.class_name or self._hangs():
            # One driver, two classes: the driver never gets there, and nothing on the disk says so
            # (cozystack/cozystack#2908).
            await self._prepare(temporary)
            await asyncio.Event().wait()
        await self._step()
        await self._copy()
        temporary = await bind(self.write, temporary) or temporary
        await protect(self.runtime, self.write, self.source_key)
        if grow:
            await self._prepare(temporary)
            await self.report("PrepClaimInProgress", running=_POPULATOR)
            await self._step()
        await self._rebind()

    def _hangs(self) -> bool:
        return self.runtime.rules.take("cdi", "hang", self.key) is not None

    def _temporary(self, source: Object, claim: Claim) -> Object:
        uid = (self.target or {"metadata": {}})["metadata"].get("uid", self.uid)
        spec = claim.spec()
        spec["resources"] = {
            "requests": {"storage": (status(source).get("capacity") or {}).get("storage") or claim.request}
        }
        spec["dataSource"] = {"kind": "PersistentVolumeClaim", "name": self.source_key[1]}
        meta = {"name": f"tmp-pvc-{uid}", "namespace": self.source_key[0], "labels": APP | {OWNED_BY: uid}}
        return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}

    async def _prepare(self, temporary: Object) -> None:
        target = self.target
        if target is not None:
            await self.write.create_once(pods.preparation(target, temporary))

    async def _step(self) -> None:
        await asyncio.sleep(self.runtime.timings.clone_step)

    async def _copy(self) -> None:
        source = volume_path(self.runtime.volumes, *self.source_key)
        await asyncio.to_thread(copy_file, source, self.path)

    async def _rebind(self) -> None:
        await self.report("RebindInProgress", running=_POPULATOR)
        target = self.target
        if target is not None:
            await bind(self.write, target)

    async def _by_snapshot(self, _: Object, claim: Claim) -> None:
        await self._mark({CLONE_PHASE: "Snapshot"})
        snapshot = await self.write.create_once(self._snapshot(claim))
        await protect(self.runtime, self.write, self.source_key)
        await self.report("SnapshotForSmartCloneInProgress", running=_POPULATOR)
        if self._hangs():
            await asyncio.Event().wait()
        await self._step()
        await self.write.status("VolumeSnapshot", key_of(snapshot), {"readyToUse": True, "restoreSize": claim.request})
        await protect(self.runtime, self.write, self.source_key)
        await self._mark({CLONE_PHASE: "SnapshotClone"})
        await self.report("CloneFromSnapshotSourceInProgress", running=_POPULATOR)
        await self._step()
        await self._copy()
        await self._rebind()

    def _snapshot(self, claim: Claim) -> Object:
        uid = (self.target or {"metadata": {}})["metadata"].get("uid", self.uid)
        classes = self.runtime.cache("VolumeSnapshotClass").objects.values()
        fitting = sorted(one["metadata"]["name"] for one in classes if one.get("driver") == claim.driver)
        meta = {"name": f"tmp-snapshot-{uid}", "namespace": self.source_key[0], "labels": APP | {OWNED_BY: uid}}
        spec = {"source": {"persistentVolumeClaimName": self.source_key[1]}, "volumeSnapshotClassName": fitting[0]}
        return {"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot", "metadata": meta, "spec": spec}

    async def _by_host(self, _: Object, __: Claim) -> None:
        await self._mark({CLONE_PHASE: "HostClone"})
        await self.report("CloneInProgress", progress="0.00%", running=("True", "Pod is running", ""))
        if self._hangs():
            await asyncio.Event().wait()
        await asyncio.sleep(self.runtime.timings.copy_seconds)
        await self._copy()
        target = self.target
        if target is not None and status(target).get("phase") != "Bound":
            await bind(self.write, target)
