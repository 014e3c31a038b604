# SPDX-License-Identifier: Apache-2.0
"""Machines: each becomes a KubevirtMachine, a virtual machine of the same name, and that one's disks."""

from __future__ import annotations

import asyncio
import copy
from typing import Any, ClassVar

from lab.api import Key, Object
from lab.controllers.objects import condition, conditions, deleting, owner, status
from lab.controllers.runtime import Controller
from lab.controllers.storage import SELECTED_NODE

CLONED_FROM = "cluster.x-k8s.io/cloned-from-name"
ADOPT = "cdi.kubevirt.io/allowClaimAdoption"
CREATED_BY = "kubevirt.io/created-by"
_NODE = "lab-node-1"


def virtual_machine(machine: Object, infrastructure: Object) -> Object:
    """The VM of a KubevirtMachine: labels for the provider, disks named after the machine, nothing put on the disks."""
    name, namespace = infrastructure["metadata"]["name"], infrastructure["metadata"]["namespace"]
    template = copy.deepcopy(infrastructure["spec"]["virtualMachineTemplate"])
    tags = {
        "kubevirt.io/vm": name,
        "name": name,
        "cluster.x-k8s.io/role": "worker",
        "cluster.x-k8s.io/cluster-name": machine["spec"]["clusterName"],
    }
    spec = template["spec"]
    inner = spec["template"].setdefault("metadata", {})
    inner["labels"] = (inner.get("labels") or {}) | tags
    for disk in spec.get("dataVolumeTemplates", []):
        disk["metadata"]["name"] = f"{name}-{disk['metadata']['name']}"
    volumes = spec["template"]["spec"].setdefault("volumes", [])
    for volume in volumes:
        if "dataVolume" in volume:
            volume["dataVolume"]["name"] = f"{name}-{volume['dataVolume']['name']}"
    volumes.append({"name": "cloudinitvolume", "cloudInitConfigDrive": {"secretRef": {"name": f"{name}-userdata"}}})
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": ((template.get("metadata") or {}).get("labels") or {}) | tags,
            "ownerReferences": [owner(infrastructure)],
        },
        "spec": spec,
    }


def disk_of(vm: Object, template: dict[str, Any]) -> Object:
    """A DataVolume from a VM's template: the whole metadata of the template, and KubeVirt's own marks."""
    meta = copy.deepcopy(template.get("metadata") or {})
    meta["namespace"] = vm["metadata"]["namespace"]
    meta["annotations"] = (meta.get("annotations") or {}) | {ADOPT: "true"}
    meta["labels"] = (meta.get("labels") or {}) | {CREATED_BY: vm["metadata"]["uid"]}
    meta["ownerReferences"] = [owner(vm)]
    return {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume", "metadata": meta, "spec": template["spec"]}


def trouble(name: str, disk: Object | None) -> tuple[str, str] | None:
    """Reason and message of condition VMProvisioned while a disk is not whole, None when it is."""
    phase = status(disk or {}).get("phase") or "Pending"
    if phase == "Succeeded":
        return None
    running = condition(disk or {}, "Running")
    waiting = f"DataVolume {name} is not ready; Phase: {phase}"
    if running.get("status") == "False" and running.get("reason") == "ImagePullFailed":
        return "DVImagePullFailed", f"DataVolume {name} import is not running: {running.get('message', '')}"
    if phase == "Failed":
        return "DVFailed", waiting
    if running.get("status") == "False" and running.get("reason") == "Error":
        return "DVNotReady", f"DataVolume {name} import is not running: {running.get('message', '')}"
    return ("DVPending" if phase == "Pending" else "DVNotReady"), waiting


class Machines(Controller):
    """Keys are Machines; all that is made of one has its name."""

    name = "workers"
    kind = "Machine"
    limit: ClassVar[int] = 32

    def setup(self) -> None:
        self.watch("Machine")
        for kind in ("KubevirtMachine", "VirtualMachine"):
            self.watch(kind)
        self.watch("DataVolume", self._owner)
        self.watch("KubevirtMachineTemplate", self._waiting)

    @staticmethod
    def _owner(_: str, disk: Object) -> list[Key]:
        references = disk["metadata"].get("ownerReferences", [])
        return [(disk["metadata"]["namespace"], one["name"]) for one in references if one["kind"] == "VirtualMachine"]

    def _waiting(self, _: str, template: Object) -> list[Key]:
        namespace = template["metadata"]["namespace"]
        machines = self.runtime.cache("Machine").in_namespace(namespace)
        return [(namespace, one["metadata"]["name"]) for one in machines if status(one).get("phase") == "Pending"]

    async def reconcile(self, key: Key) -> float | None:
        machine = self.runtime.cache("Machine").get(*key)
        if machine is None or deleting(machine):
            return None
        infrastructure = await self._infrastructure(key, machine)
        if infrastructure is None or deleting(infrastructure):
            await self.write.status("Machine", key, {"phase": "Pending", "infrastructureReady": False})
            return None
        vm = self.runtime.cache("VirtualMachine").get(*key)
        if vm is None:
            denied = await self._denied(key, infrastructure)
            if denied:
                await self._report(key, "Provisioning", ("VMCreateFailed", denied))
                return self.timings.release_retry
            vm = await self.write.create_once(virtual_machine(machine, infrastructure))
        if deleting(vm):
            return None
        await self._run(key, vm)
        return None

    async def _infrastructure(self, key: Key, machine: Object) -> Object | None:
        """The KubevirtMachine, cloned from the template that the machine's set names; None as long as there is none."""
        found = self.runtime.cache("KubevirtMachine").get(*key)
        if found is not None:
            return found
        sets = self.runtime.cache("MachineSet")
        for reference in machine["metadata"].get("ownerReferences", []):
            machine_set = sets.get(key[0], reference["name"]) if reference["kind"] == "MachineSet" else None
            name = machine_set["spec"]["template"]["spec"]["infrastructureRef"]["name"] if machine_set else ""
            template = self.runtime.cache("KubevirtMachineTemplate").get(key[0], name)
            if template is not None:
                return await self.write.create_once(self._clone(key, machine, template))
        return None

    @staticmethod
    def _clone(key: Key, machine: Object, template: Object) -> Object:
        meta = {
            "name": key[1],
            "namespace": key[0],
            "labels": machine["metadata"].get("labels", {}),
            "annotations": {CLONED_FROM: template["metadata"]["name"]},
            "ownerReferences": [owner(machine)],
        }
        spec = template["spec"]["template"]["spec"]
        return {"apiVersion": template["apiVersion"], "kind": "KubevirtMachine", "metadata": meta, "spec": spec}

    async def _denied(self, key: Key, infrastructure: Object) -> str | None:
        """KubeVirt asks, when a VM is created, whether its namespace's default account may clone the sources."""
        user = f"system:serviceaccount:{key[0]}:default"
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{key[0]}", "system:authenticated"]
        for template in infrastructure["spec"]["virtualMachineTemplate"]["spec"].get("dataVolumeTemplates", []):
            source = (template["spec"].get("source") or {}).get("pvc") or {}
            namespace = source.get("namespace", key[0])
            if namespace == key[0]:
                continue
            attempts = (
                {
                    "group": "cdi.kubevirt.io",
                    "resource": "datavolumes",
                    "subresource": "source",
                    "name": source["name"],
                },
                {"resource": "pods"},
            )
            for attempt in attempts:
                asked = {"user": user, "groups": groups}
                asked["resourceAttributes"] = attempt | {"verb": "create", "namespace": namespace}
                if await self._allowed(asked):
                    break
            else:
                text = f"User {user} has insufficient permissions in clone source namespace {namespace}"
                return f"Authorization failed, message is: {text}"
        return None

    async def _allowed(self, spec: dict[str, Any]) -> bool:
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        answer = await self.write.api.request("POST", path, body)
        return bool(answer["status"].get("allowed"))

    async def _run(self, key: Key, vm: Object) -> None:
        """Make the disks, and boot when they are whole."""
        first: tuple[str, str] | None = None
        for template in vm["spec"].get("dataVolumeTemplates", []):
            name = template["metadata"]["name"]
            disk = self.runtime.cache("DataVolume").get(key[0], name)
            if disk is None:
                disk = await self.write.create_once(disk_of(vm, template))
            await self._schedule(disk)
            first = first or trouble(name, disk)
        if first is not None:
            await self._report(key, "Provisioning", first)
            return
        machine = self.runtime.cache("Machine").get(*key)
        if machine is None or status(machine).get("phase") == "Running":
            return
        if self.runtime.rules.take(self.name, "hang", key):
            await self._report(key, "Provisioned", None)
            return
        await asyncio.sleep(self.timings.machine_boot)
        await self._boot(key, vm)

    async def _schedule(self, disk: Object) -> None:
        """The launcher pod is the first consumer of a disk on a class that waits for one."""
        if status(disk).get("phase") in ("PendingPopulation", "WaitForFirstConsumer"):
            claim = disk["metadata"]["namespace"], disk["metadata"]["name"]
            await self.write.annotate("PersistentVolumeClaim", claim, {SELECTED_NODE: _NODE})

    async def _boot(self, key: Key, vm: Object) -> None:
        instance = {
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachineInstance",
            "metadata": {
                "name": key[1],
                "namespace": key[0],
                "labels": vm["spec"]["template"]["metadata"]["labels"],
                "ownerReferences": [owner(vm)],
            },
            "spec": vm["spec"]["template"]["spec"],
            "status": {"phase": "Running", "nodeName": _NODE},
        }
        await self.write.create_once(instance)
        ready = {"created": True, "ready": True, "printableStatus": "Running"}
        await self.write.status("VirtualMachine", key, ready)
        await self._report(key, "Running", None)

    async def _report(self, key: Key, phase: str, why: tuple[str, str] | None) -> None:
        """State of the KubevirtMachine, the VM and the Machine; ``why`` is reason and message of what is missing."""
        infrastructure = self.runtime.cache("KubevirtMachine").get(*key)
        ready = phase == "Running"
        if infrastructure is not None:
            verdict = ("VMProvisioned", "False", *why) if why else ("VMProvisioned", "True", "", "")
            values = {"ready": ready, "conditions": conditions(infrastructure, verdict)}
            await self.write.status("KubevirtMachine", key, values)
        if not ready:
            await self.write.status("VirtualMachine", key, {"printableStatus": "Provisioning", "ready": False})
        values = {"phase": phase, "bootstrapReady": True, "infrastructureReady": ready}
        if ready:
            values["nodeRef"] = {"apiVersion": "v1", "kind": "Node", "name": key[1]}
        await self.write.status("Machine", key, values)
