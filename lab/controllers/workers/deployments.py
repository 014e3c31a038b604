# SPDX-License-Identifier: Apache-2.0
"""MachineDeployments: replicas within the autoscaler's bounds, one machine set per template, rolling updates."""

from __future__ import annotations

from lab.api import Key, Object
from lab.controllers.objects import annotations, conditions, deleting, digest, owned_by, owner, status
from lab.controllers.runtime import Controller
from lab.controllers.workers.rollout import Group, absolute, autoscaled, step

HASH = "machine-template-hash"
REVISION = "machinedeployment.clusters.x-k8s.io/revision"


def machine_set(deployment: Object, revision: int) -> Object:
    """The set of the deployment's present template. Its name follows from the template, so it cannot be made twice."""
    meta, spec = deployment["metadata"], deployment["spec"]
    template = spec["template"]
    suffix = digest(template["spec"], 5)
    tags = (template.get("metadata", {}).get("labels") or {}) | {HASH: suffix}
    selector = (spec["selector"].get("matchLabels") or {}) | {HASH: suffix}
    return {
        "apiVersion": deployment["apiVersion"],
        "kind": "MachineSet",
        "metadata": {
            "name": f"{meta['name']}-{suffix}",
            "namespace": meta["namespace"],
            "labels": tags,
            "annotations": {REVISION: str(revision)},
            "ownerReferences": [owner(deployment)],
        },
        "spec": {
            "clusterName": spec["clusterName"],
            "replicas": 0,
            "selector": {"matchLabels": selector},
            "template": {"metadata": {"labels": tags}, "spec": template["spec"]},
        },
    }


class Deployments(Controller):
    """Keys are MachineDeployments."""

    name = "workers"
    kind = "MachineDeployment"

    def setup(self) -> None:
        self.watch("MachineDeployment")
        self.watch("MachineSet", self._owners)
        self.watch("KubevirtMachineTemplate", self._users)
        self.watch("Cluster", lambda _, cluster: self._of_cluster(cluster))

    @staticmethod
    def _owners(_: str, obj: Object) -> list[Key]:
        references = obj["metadata"].get("ownerReferences", [])
        namespace = obj["metadata"]["namespace"]
        return [(namespace, one["name"]) for one in references if one["kind"] == "MachineDeployment"]

    def _users(self, _: str, template: Object) -> list[Key]:
        namespace, name = template["metadata"]["namespace"], template["metadata"]["name"]
        deployments = self.runtime.cache("MachineDeployment").in_namespace(namespace)
        return [(namespace, one["metadata"]["name"]) for one in deployments if _template_name(one) == name]

    def _of_cluster(self, cluster: Object) -> list[Key]:
        namespace, name = cluster["metadata"]["namespace"], cluster["metadata"]["name"]
        deployments = self.runtime.cache("MachineDeployment").in_namespace(namespace)
        return [(namespace, one["metadata"]["name"]) for one in deployments if one["spec"]["clusterName"] == name]

    async def reconcile(self, key: Key) -> float | None:
        deployment = self.runtime.cache("MachineDeployment").get(*key)
        if deployment is None or deleting(deployment) or deployment["spec"].get("paused"):
            return None
        desired = autoscaled(deployment)
        deployment = await self.write.patch("MachineDeployment", key, {"spec": {"replicas": desired}})
        if deployment is None:
            return None
        await self._own(deployment)
        current, olds = await self._sets(deployment)
        strategy = (deployment["spec"].get("strategy") or {}).get("rollingUpdate") or {}
        surge = absolute(strategy.get("maxSurge", 1), desired, up=True)
        unavailable = absolute(strategy.get("maxUnavailable", 0), desired, up=False)
        grown, left = step(desired, surge, unavailable, _group(current), [_group(old) for old in olds])
        for obj, replicas in zip([current, *olds], [grown, *left], strict=True):
            await self.write.patch("MachineSet", (key[0], obj["metadata"]["name"]), {"spec": {"replicas": replicas}})
        await self._report(deployment, current, olds)
        return None

    async def _own(self, deployment: Object) -> None:
        """The cluster owns the deployment, and its template: the chart keeps no earlier template without that."""
        namespace = deployment["metadata"]["namespace"]
        cluster = self.runtime.cache("Cluster").get(namespace, deployment["spec"]["clusterName"])
        template = self.runtime.cache("KubevirtMachineTemplate").get(namespace, _template_name(deployment))
        for obj in (deployment, template):
            if cluster is None or obj is None or owned_by(obj, cluster["metadata"]["uid"]):
                continue
            references = [*obj["metadata"].get("ownerReferences", []), owner(cluster, controller=False)]
            key = namespace, obj["metadata"]["name"]
            await self.write.patch(obj["kind"], key, {"metadata": {"ownerReferences": references}})

    async def _sets(self, deployment: Object) -> tuple[Object, list[Object]]:
        """The set of the present template, made if need be, and the others, oldest first."""
        namespace, uid = deployment["metadata"]["namespace"], deployment["metadata"]["uid"]
        mine = [one for one in self.runtime.cache("MachineSet").in_namespace(namespace) if owned_by(one, uid)]
        mine = [one for one in mine if not deleting(one)]
        mine.sort(key=lambda one: int(annotations(one).get(REVISION, "0")))
        wanted = deployment["spec"]["template"]["spec"]
        current = next((one for one in reversed(mine) if one["spec"]["template"]["spec"] == wanted), None)
        if current is None:
            last = int(annotations(mine[-1]).get(REVISION, "0")) if mine else 0
            current = await self.write.create_once(machine_set(deployment, last + 1))
        name = current["metadata"]["name"]
        return current, [one for one in mine if one["metadata"]["name"] != name]

    async def _report(self, deployment: Object, current: Object, olds: list[Object]) -> None:
        cache, key = self.runtime.cache("MachineSet"), (deployment["metadata"]["namespace"], "")
        fresh = [cache.get(key[0], one["metadata"]["name"]) or one for one in (current, *olds)]
        desired, ready = deployment["spec"]["replicas"], sum(_count(one, "readyReplicas") for one in fresh)
        have, new = sum(_count(one, "replicas") for one in fresh), _count(fresh[0], "replicas")
        done = have == ready == new == desired
        enough = ready >= desired - 1
        reason = "" if enough else "WaitingForAvailableMachines"
        message = "" if enough else f"Minimum availability requires {desired} replicas, current {ready} available"
        values = {
            "observedGeneration": deployment["metadata"]["generation"],
            "replicas": have,
            "readyReplicas": ready,
            "availableReplicas": ready,
            "updatedReplicas": new,
            "unavailableReplicas": max(desired - ready, 0),
            "phase": "Running" if done else "ScalingDown" if have > desired else "ScalingUp",
            "selector": ",".join(f"{key}={value}" for key, value in sorted(_selector(deployment).items())),
            "conditions": conditions(deployment, ("Available", "True" if enough else "False", reason, message)),
        }
        await self.write.status("MachineDeployment", (key[0], deployment["metadata"]["name"]), values)


def _selector(deployment: Object) -> dict[str, str]:
    return deployment["spec"]["selector"].get("matchLabels") or {}


def _template_name(deployment: Object) -> str:
    return str(deployment["spec"]["template"]["spec"]["infrastructureRef"].get("name", ""))


def _count(machine_set: Object, field: str) -> int:
    return int(status(machine_set).get(field) or 0)


def _group(machine_set: Object) -> Group:
    return Group(int(machine_set["spec"].get("replicas") or 0), _count(machine_set, "readyReplicas"))
