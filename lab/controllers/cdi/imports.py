# SPDX-License-Identifier: Apache-2.0
"""HTTP into a claim, by a populator (a prime claim is filled and its volume handed over) or straight into the claim."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass
from typing import Any

from lab.api import Object
from lab.controllers.cdi import pods
from lab.controllers.cdi.claims import IMMEDIATE, USE_POPULATOR, Claim, populated, scratch_class
from lab.controllers.cdi.fetch import Download, ImportFailure, unpack
from lab.controllers.cdi.states import NOT_RUNNING, RUNNING_POD
from lab.controllers.cdi.walk import APP, POD_PHASE, Walk
from lab.controllers.objects import annotations, deleting, labels, owner, status
from lab.controllers.storage import bind

RESTARTS = "cdi.kubevirt.io/storage.pod.restarts"
RETAIN = "cdi.kubevirt.io/storage.pod.retainAfterCompletion"
_IDLE_SECONDS = 6.0  # 10 minutes on a platform
_TOLD_SECONDS = 0.1
_unpacking = asyncio.Semaphore(2)


@dataclass(frozen=True)
class Names:
    """What the helpers of one import are called; ``work`` is the claim that is written to."""

    work: str
    pod: str
    scratch: str

    @classmethod
    def of(cls, target: Object, populator: bool) -> Names:
        name, prime = target["metadata"]["name"], f"prime-{target['metadata']['uid']}"
        work = prime if populator else name
        return cls(work, f"importer-{work}", f"{work}-scratch")


class HttpImport(Walk):
    """``spec.source.http``."""

    populator_kind = "VolumeImportSource"

    @property
    def http(self) -> dict[str, Any]:
        source: dict[str, Any] = self.disk["spec"]["source"]["http"]
        return source

    async def run(self) -> None:
        claim = await self.claim()
        populator = populated(self.disk, self.runtime, claim)
        if not populator:
            self.waiting_for_consumer = "WaitForFirstConsumer"
        source = {"endpoint": self.http["url"], "source": "http"}
        extra = {f"cdi.kubevirt.io/storage.import.{key}": value for key, value in source.items()}
        target = await self.make_target(claim, populator, extra | {"cdi.kubevirt.io/storage.contentType": "kubevirt"})
        if target is None:
            return
        await self.write.annotate("DataVolume", self.key, {USE_POPULATOR: str(populator).lower()})
        names = Names.of(target, populator)
        if not self.filled():
            await self.report("Pending", progress="N/A", claimName=self.key[1], running=NOT_RUNNING)
            await self.consumer(claim)
            work = await self._work_claim(names, target, claim, populator)
            await self._prepare(names, work, claim)
            await self._attempts(names, work)
            await self._hand_over(names, populator)
        await self._clear(names, populator)
        await self.report("Succeeded", progress="100.0%", running=("False", "Completed", "Import Complete"))

    async def _work_claim(self, names: Names, target: Object, claim: Claim, populator: bool) -> Object:
        """With a populator the target stays Pending, and a prime claim like it is filled."""
        if not populator:
            return target
        marks = {"cdi.kubevirt.io/storage.import.importPodName": names.pod, IMMEDIATE: "true"}
        meta = {
            "name": names.work,
            "namespace": self.key[0],
            "labels": labels(self.disk) | APP,
            "annotations": marks,
            "ownerReferences": [owner(target)],
        }
        prime = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": claim.spec()}
        await self.write.annotate(
            "PersistentVolumeClaim", self.key, {"cdi.kubevirt.io/storage.populator.pvcPrime": names.work}
        )
        return await self.write.create_once(prime)

    async def _prepare(self, names: Names, work: Object, claim: Claim) -> None:
        """Two pods per import are normal: the first one finds out that it needs scratch space."""
        old = self.runtime.cache("Pod").get(self.key[0], names.pod)
        if old is not None and status(old).get("phase") != "Failed":
            await self.write.delete(old)  # of an earlier life; an import starts at its first byte anyway
        if self.runtime.cache("PersistentVolumeClaim").get(self.key[0], names.scratch) is None:
            first = await self._pod(names, work, None)
            await self._bound(names.work)
            await self._start(first, 0)
            text = "scratch space required and none found"
            await self._pod_says(first, "Running", 0, pods.terminated(0, text))
            await self.report(running=("False", "Scratch space required", text))
            await self.write.delete(first)
        await self.write.create_once(self._scratch(names, work, claim))
        await self._pod(names, work, names.scratch)
        await self._bound(names.scratch)
        await self._bound(names.work)

    def _scratch(self, names: Names, work: Object, claim: Claim) -> Object:
        spec = claim.spec() | {"accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem"}
        spec["storageClassName"] = scratch_class(self.runtime, claim)
        meta = {
            "name": names.scratch,
            "namespace": self.key[0],
            "labels": APP | {"velero.io/exclude-from-backup": "true"},
            "ownerReferences": [owner(work)],
        }
        return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}

    async def _bound(self, claim: str) -> None:
        await self.runtime.until(
            "PersistentVolumeClaim",
            (self.key[0], claim),
            lambda found: found is not None and status(found).get("phase") == "Bound",
        )

    async def _pod(self, names: Names, work: Object, scratch: str | None) -> Object:
        pod = await self.write.create_once(pods.importer(names.pod, self.disk, work, scratch, self.http["url"]))
        await self._pod_says(pod, "Pending", 0, {"waiting": {"reason": "ContainerCreating"}})
        await self.report("ImportScheduled", running=("False", "ContainerCreating", ""))
        return pod

    async def _pod_says(
        self, pod: Object, phase: str, restarts: int, state: dict[str, Any], last: dict[str, Any] | None = None
    ) -> None:
        key = pod["metadata"]["namespace"], pod["metadata"]["name"]
        await self.write.status("Pod", key, pods.pod_status(phase, restarts, state, last))

    async def _start(self, pod: Object, restarts: int) -> None:
        await asyncio.sleep(self.runtime.timings.pod_start)
        await self._pod_says(pod, "Running", restarts, pods.running())
        await self.report("ImportInProgress", running=RUNNING_POD, restartCount=restarts)

    async def _attempts(self, names: Names, work: Object) -> None:
        """For ever, from the first byte each time: a failing import never becomes Failed."""
        restarts = int(status(self.disk).get("restartCount") or 0)
        delay, key = self.runtime.timings.import_retry, (self.key[0], names.pod)
        while True:
            pod = self.runtime.cache("Pod").get(*key)
            if pod is None or deleting(pod):
                pod = await self._pod(names, work, names.scratch)
            # CDI leaves a failed pod alone; whoever deletes it starts the import again.
            if status(pod).get("phase") == "Failed":
                await self.report("ImportScheduled", running=NOT_RUNNING)
                await self.write.annotate("PersistentVolumeClaim", self.key, {POD_PHASE: "Failed"})
                await self.runtime.until("Pod", key, lambda found, old=pod: found is None or found is not old)
                continue
            await self._start(pod, restarts)
            try:
                await self._transfer()
            except ImportFailure as failure:
                await self._failed(pod, restarts, failure)
                await self._back_off(key, delay)
                delay = min(delay * 2, self.runtime.timings.import_retry_max)
                restarts += 1
                await self.write.annotate("PersistentVolumeClaim", self.key, {RESTARTS: str(restarts)})
            else:
                return

    async def _failed(self, pod: Object, restarts: int, failure: ImportFailure) -> None:
        message = str(failure)
        last = pods.terminated(1, message)
        await self._pod_says(pod, "Running", restarts, pods.backing_off(pod["metadata"]["name"]), last)
        await self.report("ImportInProgress", running=("False", failure.reason, message), progress="N/A")

    async def _back_off(self, key: tuple[str, str], delay: float) -> None:
        """Cut short when somebody takes the pod away or it fails."""

        def ended(pod: Object | None) -> bool:
            return pod is None or deleting(pod) or status(pod).get("phase") == "Failed"

        try:
            async with asyncio.timeout(delay):
                await self.runtime.until("Pod", key, ended)
        except TimeoutError:
            pass

    async def _transfer(self) -> None:
        """One attempt. Errors: ImportFailure."""
        rules = self.runtime.rules
        if rules.take("cdi", "hang", self.key):
            await asyncio.Event().wait()
        if rule := rules.take("cdi", "fail", self.key):
            raise ImportFailure(rule.message, rule.reason or "Error")
        slow = rules.take("cdi", "slow", self.key)
        packed, part = self.path.with_suffix(".download"), self.path.with_suffix(".part")
        try:
            await Download(self.http["url"], packed, _IDLE_SECONDS, await self._authorities(), self._teller(slow)).run()
            async with _unpacking:
                await asyncio.to_thread(unpack, packed, part, self.room)
            os.replace(part, self.path)
        finally:
            packed.unlink(missing_ok=True)
            part.unlink(missing_ok=True)

    def _teller(self, slow: Any) -> Any:
        """Reports progress now and then, and spreads the import over the time that it shall take."""
        begun, told, least = time.monotonic(), 0.0, self.runtime.timings.import_seconds

        async def tell(share: float | None) -> None:
            nonlocal told
            if slow:
                await asyncio.sleep(64 * 1024 / max(slow.bytes_per_second, 1))
            elif share is not None:
                await asyncio.sleep(max(0.0, begun + least * share - time.monotonic()))
            # 100 is withheld until the conversion has ended.
            if share is not None and share < 1 and time.monotonic() - told >= _TOLD_SECONDS:
                told = time.monotonic()
                await self.report(progress=f"{share * 100:.2f}%")

        return tell

    async def _authorities(self) -> str:
        """PEM texts of ``certConfigMap``; a missing one keeps the pod from starting."""
        name = self.http.get("certConfigMap")
        if not name:
            return ""
        found = await self.runtime.until("ConfigMap", (self.key[0], name), lambda one: one)
        return "\n".join((found.get("data") or {}).values())

    async def _hand_over(self, names: Names, populator: bool) -> None:
        target = self.target
        if populator and target is not None:
            await bind(self.write, target)
        await self.write.annotate("PersistentVolumeClaim", self.key, {POD_PHASE: "Succeeded"})

    async def _clear(self, names: Names, populator: bool) -> None:
        claims, retained = self.runtime.cache("PersistentVolumeClaim"), annotations(self.disk).get(RETAIN) == "true"
        pod = self.runtime.cache("Pod").get(self.key[0], names.pod)
        if pod is not None and retained:
            await self._pod_says(pod, "Succeeded", 0, pods.terminated(0, "Import Complete"))
            return
        if pod is not None:
            await self.write.delete(pod)
        for name in (names.scratch, *([names.work] if populator else [])):
            claim = claims.get(self.key[0], name)
            if claim is not None:
                await self.write.delete(claim)


class Upload(Walk):
    """``spec.source.upload``, up to the point where somebody has to send the bytes."""

    populator_kind = "VolumeUploadSource"

    async def run(self) -> None:
        claim = await self.claim()
        target = await self.make_target(claim, populated(self.disk, self.runtime, claim), {})
        if target is None:
            return
        await self.report("Pending", progress="N/A", claimName=self.key[1], running=NOT_RUNNING)
        await self.consumer(claim)
        await self.report("UploadScheduled")
        await asyncio.sleep(self.runtime.timings.pod_start)
        await self.report("UploadReady", running=RUNNING_POD)


class Blank(Walk):
    """``spec.source.blank``: an empty disk."""

    populator_kind = "VolumeImportSource"

    async def run(self) -> None:
        claim = await self.claim()
        target = await self.make_target(claim, True, {})
        if target is None:
            return
        await self.report("Pending", progress="N/A", claimName=self.key[1], running=NOT_RUNNING)
        await self.consumer(claim)
        path = self.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        await bind(self.write, target)
        await self.report("Succeeded", progress="100.0%", running=("False", "Completed", "Import Complete"))
