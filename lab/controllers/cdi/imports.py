# SPDX-License-Identifier: Apache-2.0
"""HTTP into a claim, by a populator (a prime claim is filled and its volume handed over) or straight into the claim."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from lab.api import Object
from lab.controllers.cdi import pods
from lab.controllers.cdi.claims import USE_POPULATOR, Claim, populated
from lab.controllers.cdi.fetch import FATAL, KILLED, ImportFailure
from lab.controllers.cdi.population import IMPORT, RESTARTS, Names, Population
from lab.controllers.cdi.states import NOT_RUNNING, RUNNING_POD
from lab.controllers.cdi.transfer import Transfer
from lab.controllers.cdi.walk import POD_PHASE
from lab.controllers.misbehave import Rule
from lab.controllers.objects import deleting, status


class HttpImport(Population):
    """``spec.source.http``."""

    populator_kind = "VolumeImportSource"
    phase_events: ClassVar = {
        "ImportScheduled": ("ImportScheduled", "Import into {name} scheduled"),
        "ImportInProgress": ("ImportInProgress", "Import into {name} in progress"),
        "Succeeded": ("ImportSucceeded", "Successfully imported into PVC {name}"),
    }

    http: dict[str, Any]

    async def _read_source(self) -> None:
        """From the server: a watch that began before the definition was changed still prunes what is new in it."""
        disk = await self.write.api.get("DataVolume", self.key[1], self.key[0]) or self.disk
        self.http = disk["spec"]["source"].get("http") or self.disk["spec"]["source"]["http"]

    def _marks(self) -> dict[str, str]:
        """The source, as CDI mirrors it into annotations of the claim."""
        http = self.http
        found = {"endpoint": http["url"], "source": "http", "requiresScratch": "true"}
        found |= {"secretName": http["secretRef"]} if "secretRef" in http else {}
        found |= {key: http[key] for key in ("certConfigMap", "checksum") if key in http}
        found |= {f"extraHeaders.{index}": line for index, line in enumerate(http.get("extraHeaders", []))}
        return {f"{IMPORT}{key}": value for key, value in found.items()} | {
            "cdi.kubevirt.io/storage.contentType": "kubevirt"
        }

    async def run(self) -> None:
        await self._read_source()
        claim = await self.claim()
        populator = populated(self.disk, self.runtime, claim)
        if not populator:
            self.waiting_for_consumer = "WaitForFirstConsumer"
        target = await self.make_target(claim, populator, self._marks())
        if target is None:
            return
        await self.write.annotate("DataVolume", self.key, {USE_POPULATOR: str(populator).lower()})
        names = Names.of(target, populator, "importer")
        if not self.filled():
            await self.begin()
            await self.consumer(claim)
            work = await self.work_claim(names, target, claim, populator)
            await self._prepare(names, work, claim)
            if not await self._attempts(names, work):
                return
            await self.hand_over(names, populator)
        await self.clear(names, populator)
        await self.report("Succeeded", progress="100.0%", running=("False", "Completed", "Import Complete"))

    async def _prepare(self, names: Names, work: Object, claim: Claim) -> None:
        """Two pods per import are normal: the first one finds out that it needs scratch space."""
        old = self.runtime.cache("Pod").get(self.key[0], names.pod)
        if old is not None and status(old).get("phase") != "Failed":
            await self.write.delete(old)  # of an earlier life; an import starts at its first byte anyway
        if self.runtime.cache("PersistentVolumeClaim").get(self.key[0], names.scratch) is None:
            first = await self._pod(names, work, None)
            await self.bound(names.work)
            await self._start(names, first, 0)
            text = "scratch space required and none found"
            await self.pod_says(first, "Running", 0, pods.terminated(0, text))
            await self.report(running=("False", "Scratch space required", text))
            await self.write.delete(first)
        await self.write.create_once(self.scratch(names, work, claim))
        await self._pod(names, work, names.scratch)
        await self.bound(names.scratch)
        await self.bound(names.work)

    async def _pod(self, names: Names, work: Object, scratch: str | None) -> Object:
        pod = await self.make_pod(names, pods.importer(names.pod, self.disk, work, scratch))
        if status(pod).get("phase") == "Failed":
            return pod
        await self.mark(names, {POD_PHASE: "Pending"})
        await self.pod_says(pod, "Pending", 0, pods.waiting("ContainerCreating"))
        await self.report("ImportScheduled", running=("False", "ContainerCreating", ""))
        return pod

    async def _start(self, names: Names, pod: Object, restarts: int) -> None:
        await self._startable(pod)
        await asyncio.sleep(self.runtime.timings.pod_start)
        await self.pod_says(pod, "Running", restarts, pods.running())
        await self.mark(names, {POD_PHASE: "Running"})
        await self.report("ImportInProgress", running=RUNNING_POD, restartCount=restarts)

    async def _startable(self, pod: Object) -> None:
        """Until a node has taken the pod, pulled its image, and found what it mounts."""
        key, rules = (pod["metadata"]["namespace"], pod["metadata"]["name"]), self.runtime.rules
        if rule := rules.take("cdi", "unschedulable", self.key):
            await self.write.status("Pod", key, pods.unschedulable(rule.message))
            await self.report(running=("False", "Unschedulable", "Importer pod cannot be scheduled"))
            await self.kubelet(pod, "FailedScheduling", rule.message, "default-scheduler")
            await self._stay(rule)
        if rule := rules.take("cdi", "no-image", self.key):
            text = f'Back-off pulling image "{pods.IMAGE}": ErrImagePull: {rule.message}'
            await self.pod_says(pod, "Pending", 0, pods.waiting("ImagePullBackOff", text))
            await self.report(running=("False", "ImagePullFailed", f"failed to pull image: {text}"))
            await self.kubelet(pod, "Failed", f'Failed to pull image "{pods.IMAGE}": {rule.message}')
            await self._stay(rule)
        await Transfer(self, self.http).ingredients(pod)

    async def _stay(self, rule: Rule) -> None:
        """In a scripted trouble for its seconds, or until the rule is withdrawn and everything starts again."""
        if rule.seconds:
            await asyncio.sleep(rule.seconds)
        else:
            await asyncio.Event().wait()

    async def _attempts(self, names: Names, work: Object) -> bool:
        """For ever, from the first byte each time: a failing import never becomes Failed. False after a checksum error."""
        restarts = int(status(self.disk).get("restartCount") or 0)
        delay, key = self.runtime.timings.import_retry, (self.key[0], names.pod)
        while True:
            pod = self.runtime.cache("Pod").get(*key)
            if pod is None or deleting(pod):
                pod = await self._pod(names, work, names.scratch)
            # CDI leaves a failed pod alone; whoever deletes it starts the import again.
            if status(pod).get("phase") == "Failed":
                await self._left_alone(names, pod)
                continue
            await self._start(names, pod, restarts)
            if rule := self.runtime.rules.take("cdi", "evict", self.key):
                await self.write.status("Pod", key, pods.evicted(rule.message))
                await self.kubelet(pod, "Evicted", rule.message)
                continue
            try:
                await Transfer(self, self.http).run()
            except ImportFailure as failure:
                if failure.reason == FATAL:
                    await self._fatal(names, pod, failure)
                    return False
                await self._failed(pod, restarts, failure, delay)
                await self._back_off(key, delay)
                if failure.reason == KILLED and restarts == 0:
                    # Once CDI tries it with direct I/O, in a new pod.
                    await self.write.delete(pod)
                delay = min(delay * 2, self.runtime.timings.import_retry_max)
                restarts += 1
                await self.mark(names, {RESTARTS: str(restarts)})
            else:
                return True

    async def _left_alone(self, names: Names, pod: Object) -> None:
        await self.mark(names, {POD_PHASE: "Failed"})
        await self.report("ImportScheduled", running=NOT_RUNNING)
        await self.say("ImportFailed", f"Failed to import into PVC {self.key[1]}", warning=True)
        uid = pod["metadata"]["uid"]
        await self.runtime.until(
            "Pod",
            (self.key[0], names.pod),
            lambda found: found is None or found["metadata"]["uid"] != uid or status(found).get("phase") != "Failed",
        )

    async def _failed(self, pod: Object, restarts: int, failure: ImportFailure, delay: float) -> None:
        message, killed = str(failure), failure.reason == KILLED
        last = pods.terminated(137 if killed else 1, message, KILLED if killed else "Error")
        await self.back_off(pod, delay, restarts, last)
        await self.report("ImportInProgress", running=("False", failure.reason, message), progress="N/A")

    async def _fatal(self, names: Names, pod: Object, failure: ImportFailure) -> None:
        """CDI 1.65 and newer: no further attempt."""
        await self.mark(names, {f"{IMPORT}fatalError": "true", POD_PHASE: "Failed"})
        await self.write.delete(pod)
        await self.report("Failed", running=("False", "ChecksumError", str(failure)), progress="N/A")
        await self.say("ImportFailed", f"Failed to import into PVC {self.key[1]}", warning=True)

    async def _back_off(self, key: tuple[str, str], delay: float) -> None:
        """Cut short when somebody takes the pod away or it fails."""

        def ended(pod: Object | None) -> bool:
            return pod is None or deleting(pod) or status(pod).get("phase") == "Failed"

        try:
            async with asyncio.timeout(delay):
                await self.runtime.until("Pod", key, ended)
        except TimeoutError:
            pass


class Blank(Population):
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
        names = Names.of(target, True, "importer")
        await self.hand_over(names, True)
        await self.clear(names, True)
        await self.report("Succeeded", progress="100.0%", running=("False", "Completed", "Import Complete"))
