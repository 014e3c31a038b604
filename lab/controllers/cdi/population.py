# SPDX-License-Identifier: Apache-2.0
"""What imports and uploads share: the prime claim, scratch space, the pod that writes, and the handing over."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from lab.api import ApiError, Object, key_of
from lab.controllers.cdi import pods
from lab.controllers.cdi.claims import IMMEDIATE, Claim, scratch_class
from lab.controllers.cdi.states import NOT_RUNNING
from lab.controllers.cdi.walk import APP, POD_PHASE, Walk
from lab.controllers.events import tell
from lab.controllers.objects import annotations, labels, owner, status
from lab.controllers.storage import bind

RESTARTS = "cdi.kubevirt.io/storage.pod.restarts"
RETAIN = "cdi.kubevirt.io/storage.pod.retainAfterCompletion"
PRIME = "cdi.kubevirt.io/storage.populator.pvcPrime"
IMPORT = "cdi.kubevirt.io/storage.import."


@dataclass(frozen=True)
class Names:
    """What the helpers of one disk are called; ``work`` is the claim that is written to."""

    work: str
    pod: str
    scratch: str

    @classmethod
    def of(cls, target: Object, populator: bool, pod: str) -> Names:
        """``pod`` is how the pod's name begins."""
        name, prime = target["metadata"]["name"], f"prime-{target['metadata']['uid']}"
        work = prime if populator else name
        return cls(work, f"{pod}-{work}", f"{work}-scratch")


class Population(Walk):
    """A disk that a pod of CDI fills."""

    async def begin(self) -> None:
        """The claim is there. A disk that was further already, before CDI started again, does not fall back."""
        if status(self.disk).get("phase") in (None, "", "Pending"):
            await self.report("Pending", progress="N/A", claimName=self.key[1], running=NOT_RUNNING)

    async def mark(self, names: Names, values: dict[str, str]) -> None:
        """Annotate the claim that is written to, and the disk's own, which shows what happens to it."""
        for name in dict.fromkeys((names.work, self.key[1])):
            await self.write.annotate("PersistentVolumeClaim", (self.key[0], name), dict(values))

    async def work_claim(self, names: Names, target: Object, claim: Claim, populator: bool) -> Object:
        """With a populator the target stays Pending, and a prime claim like it is filled."""
        if not populator:
            return target
        kept = {key: value for key, value in annotations(target).items() if key.startswith(IMPORT)}
        meta = {
            "name": names.work,
            "namespace": self.key[0],
            "labels": labels(self.disk) | APP,
            "annotations": kept | {f"{IMPORT}importPodName": names.pod, IMMEDIATE: "true"},
            "ownerReferences": [owner(target)],
        }
        prime = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": claim.spec()}
        await self.write.annotate("PersistentVolumeClaim", self.key, {PRIME: names.work})
        return await self.write.create_once(prime)

    def scratch(self, names: Names, work: Object, claim: Claim) -> Object:
        spec = claim.spec() | {"accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem"}
        spec["storageClassName"] = scratch_class(self.runtime, claim)
        meta = {
            "name": names.scratch,
            "namespace": self.key[0],
            "labels": APP | {"velero.io/exclude-from-backup": "true"},
            "ownerReferences": [owner(work)],
        }
        return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}

    async def bound(self, name: str) -> None:
        """Until a helper's claim has its volume; what the provisioner says meanwhile surfaces on the disk."""
        key, rules = (self.key[0], name), self.runtime.rules
        while not name.endswith("-scratch") and (rule := rules.take("cdi", "no-volume", self.key)):
            claim = self.runtime.cache("PersistentVolumeClaim").get(*key)
            if claim is not None:
                await self._provisioning_failed(claim, rule.message)
            await asyncio.sleep(rule.seconds or self.runtime.timings.provision_retry)
        await self.runtime.until(
            "PersistentVolumeClaim", key, lambda found: found is not None and status(found).get("phase") == "Bound"
        )

    async def _provisioning_failed(self, claim: Object, message: str) -> None:
        storage_class, name = claim["spec"]["storageClassName"], claim["metadata"]["name"]
        text = f'failed to provision volume with StorageClass "{storage_class}": {message}'
        driver = (self.runtime.cache("StorageClass").get("", storage_class) or {}).get("provisioner", "")
        await tell(self.write, claim, "ProvisioningFailed", text, component=f"{driver}_csi-controller", warning=True)
        if name != self.key[1]:
            pending = f"target PVC {self.key[1]} Pending and [{name}] : {text}"
            await self.report(bound=("False", "Pending", pending))

    async def pod_says(
        self, pod: Object, phase: str, restarts: int, state: dict[str, Any], last: dict[str, Any] | None = None
    ) -> None:
        await self.write.status("Pod", key_of(pod), pods.pod_status(pod, phase, restarts, state, last))

    async def kubelet(self, pod: Object, reason: str, message: str, component: str = "kubelet") -> None:
        """A warning about a pod."""
        await tell(self.write, pod, reason, message, component=component, warning=True)

    async def back_off(self, pod: Object, delay: float, restarts: int, last: dict[str, Any]) -> None:
        """The kubelet waits before it starts a failed container again."""
        await self.pod_says(pod, "Running", restarts, pods.backing_off(pod, delay), last)
        meta, container = pod["metadata"], pod["spec"]["containers"][0]["name"]
        where = f"{meta['name']}_{meta['namespace']}({meta['uid']})"
        await self.kubelet(pod, "BackOff", f"Back-off restarting failed container {container} in pod {where}")

    async def make_pod(self, names: Names, pod: Object) -> Object:
        """Create it, as soon as it may be: a quota or a policy may refuse. CDI says so in general words only."""
        while True:
            rule = self.runtime.rules.take("cdi", "refuse-pod", self.key)
            reason, seconds = (rule.reason or "ErrExceededQuota", rule.seconds) if rule else ("", 0.0)
            if not rule:
                try:
                    return await self.write.create_once(pod)
                except ApiError as error:
                    if error.status != 403:
                        raise
                    reason = "ErrExceededQuota" if "exceeded quota" in str(error) else "ErrStartingPod"
            text = (
                f"Error starting pod '{names.pod}': For more information, request access to cdi-deploy logs from your "
                "sysadmin"
            )
            await self.mark(names, {POD_PHASE: "Failed"})
            await self.report("ImportScheduled", running=("False", reason, text))
            await self.say(reason, text, warning=True, about=self.target)
            await asyncio.sleep(seconds or self.runtime.timings.import_retry)

    async def hand_over(self, names: Names, populator: bool) -> None:
        target = self.target
        if populator and target is not None:
            await bind(self.write, target)
        await self.mark(names, {POD_PHASE: "Succeeded"})

    async def clear(self, names: Names, populator: bool) -> None:
        """Take the helpers away, or leave them with a retained pod."""
        claims, retained = self.runtime.cache("PersistentVolumeClaim"), annotations(self.disk).get(RETAIN) == "true"
        pod = self.runtime.cache("Pod").get(self.key[0], names.pod)
        await self.remove_source()
        if pod is not None and retained:
            await self.pod_says(pod, "Succeeded", 0, pods.terminated(0, "Import Complete"))
            return
        if pod is not None:
            await self.write.delete(pod)
        for name in (names.scratch, *([names.work] if populator else [])):
            claim = claims.get(self.key[0], name)
            if claim is not None:
                await self.write.delete(claim)
