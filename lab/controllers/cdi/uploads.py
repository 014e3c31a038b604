# SPDX-License-Identifier: Apache-2.0
"""Bytes that somebody sends into a claim: the pod that takes them, as far as a client sees it."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from lab.api import Object
from lab.controllers.cdi import pods
from lab.controllers.cdi.claims import USE_POPULATOR, populated
from lab.controllers.cdi.population import RESTARTS, Names, Population
from lab.controllers.cdi.states import RUNNING_POD
from lab.controllers.cdi.walk import POD_PHASE
from lab.controllers.objects import deleting, status
from lab.upload.slots import Slot

POD_READY = "cdi.kubevirt.io/storage.pod.ready"
UPLOAD_TARGET = "cdi.kubevirt.io/storage.upload.target"


class Upload(Population):
    """``spec.source.upload``. A broken transfer starts the pod again, and then it waits for all bytes anew."""

    component = "datavolume-upload-controller"
    populator_kind = "VolumeUploadSource"
    phase_events: ClassVar = {
        "UploadScheduled": ("UploadScheduled", "Upload into {name} scheduled"),
        "UploadReady": ("UploadReady", "Upload into {name} ready"),
        "Succeeded": ("UploadSucceeded", "Successfully uploaded into {name}"),
    }

    async def run(self) -> None:
        claim = await self.claim()
        populator = populated(self.disk, self.runtime, claim)
        if not populator:
            self.waiting_for_consumer = "WaitForFirstConsumer"
        target = await self.make_target(claim, populator, {UPLOAD_TARGET: ""})
        if target is None:
            return
        await self.write.annotate("DataVolume", self.key, {USE_POPULATOR: str(populator).lower()})
        names = Names.of(target, populator, "cdi-upload")
        if not self.filled():
            await self.begin()
            await self.consumer(claim)
            work = await self.work_claim(names, target, claim, populator)
            await self.write.create_once(self.scratch(names, work, claim))
            while not await self._received(names, work):
                pass
            await self.hand_over(names, populator)
        await self.clear(names, populator)
        await self.report("Succeeded", progress="100.0%", running=("False", "Completed", "Upload Complete"))

    async def _received(self, names: Names, work: Object) -> bool:
        """One life of the upload pod's container; True if it ended with the image in its place."""
        pod = await self.make_pod(names, pods.upload_server(names.pod, self.disk, work, names.scratch))
        restarts = int(status(self.disk).get("restartCount") or 0)
        await self.mark(names, {POD_PHASE: "Pending", POD_READY: "false"})
        await self.pod_says(pod, "Pending", restarts, pods.waiting("ContainerCreating"))
        await self.report("UploadScheduled", running=("False", "ContainerCreating", ""))
        await self.bound(names.work)
        await self.bound(names.scratch)
        await asyncio.sleep(self.runtime.timings.pod_start)
        await self.pod_says(pod, "Running", restarts, pods.running())
        slot = self.runtime.uploads[self.key] = Slot(self.path, self.room)
        try:
            await self.mark(names, {POD_PHASE: "Running", POD_READY: "true"})
            await self.report("UploadReady", running=RUNNING_POD, restartCount=restarts)
            trouble = await self._outcome(slot, pod)
        finally:
            slot.outcome.cancel()
            del self.runtime.uploads[self.key]
        if trouble is None:
            return True
        if trouble:
            await self._failed(names, pod, restarts, trouble)
        return False

    async def _outcome(self, slot: Slot, pod: Object) -> str | None:
        """Blank when the pod went, with whatever it was doing."""
        uid, key = pod["metadata"]["uid"], (self.key[0], pod["metadata"]["name"])

        def gone(found: Object | None) -> bool:
            return found is None or deleting(found) or found["metadata"]["uid"] != uid

        watching = asyncio.create_task(self.runtime.until("Pod", key, gone))
        try:
            await asyncio.wait((watching, slot.outcome), return_when=asyncio.FIRST_COMPLETED)
            return slot.outcome.result() if slot.outcome.done() else ""
        finally:
            watching.cancel()

    async def _failed(self, names: Names, pod: Object, restarts: int, trouble: str) -> None:
        delay = self.runtime.timings.import_retry
        await self.mark(names, {RESTARTS: str(restarts + 1), POD_READY: "false"})
        await self.back_off(pod, delay, restarts, pods.terminated(1, trouble))
        await self.report("UploadScheduled", running=("False", "Error", trouble), restartCount=restarts + 1)
        await asyncio.sleep(delay)
