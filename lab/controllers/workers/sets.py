# SPDX-License-Identifier: Apache-2.0
"""MachineSets: as many machines as wanted; those that never came up go first."""

from __future__ import annotations

import secrets

from lab.api import Key, Object
from lab.controllers.objects import deleting, owned_by, owner, status
from lab.controllers.runtime import Controller

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


def machine(machine_set: Object) -> Object:
    """A new machine with a random name, of which its KubevirtMachine, VM and disk names are made."""
    meta, template = machine_set["metadata"], machine_set["spec"]["template"]
    name = f"{meta['name']}-{''.join(secrets.choice(_ALPHABET) for _ in range(5))}"
    reference = template["spec"]["infrastructureRef"] | {"kind": "KubevirtMachine", "name": name}
    tags = template["metadata"]["labels"] | {"cluster.x-k8s.io/set-name": meta["name"]}
    return {
        "apiVersion": machine_set["apiVersion"],
        "kind": "Machine",
        "metadata": {
            "name": name,
            "namespace": meta["namespace"],
            "labels": tags,
            "ownerReferences": [owner(machine_set)],
        },
        "spec": template["spec"] | {"infrastructureRef": reference},
    }


def running(obj: Object) -> bool:
    return status(obj).get("phase") == "Running"


class Sets(Controller):
    """Keys are MachineSets."""

    name = "workers"
    kind = "MachineSet"

    def setup(self) -> None:
        self.watch("MachineSet")
        self.watch("Machine", self._owners)

    @staticmethod
    def _owners(_: str, obj: Object) -> list[Key]:
        references = obj["metadata"].get("ownerReferences", [])
        return [(obj["metadata"]["namespace"], one["name"]) for one in references if one["kind"] == "MachineSet"]

    async def reconcile(self, key: Key) -> float | None:
        machine_set = self.runtime.cache("MachineSet").get(*key)
        if machine_set is None or deleting(machine_set):
            return None
        machines, wanted = self._machines(machine_set), int(machine_set["spec"].get("replicas") or 0)
        for _ in range(wanted - len(machines)):
            await self.write.create(machine(machine_set))
        for one in machines[: max(len(machines) - wanted, 0)]:
            await self.write.delete(one)
        machines = self._machines(machine_set)
        if not wanted and not machines and not status(machine_set).get("replicas"):
            return None  # nothing to say, and a pool without workers has one write less
        ready = sum(running(one) for one in machines)
        values = {
            "observedGeneration": machine_set["metadata"]["generation"],
            "replicas": len(machines),
            "fullyLabeledReplicas": len(machines),
            "readyReplicas": ready,
            "availableReplicas": ready,
        }
        await self.write.status("MachineSet", key, values)
        return None

    def _machines(self, machine_set: Object) -> list[Object]:
        """In the order in which they may go."""
        namespace, uid = machine_set["metadata"]["namespace"], machine_set["metadata"]["uid"]
        mine = [one for one in self.runtime.cache("Machine").in_namespace(namespace) if owned_by(one, uid)]
        mine.sort(key=lambda one: one["metadata"]["creationTimestamp"], reverse=True)
        return sorted((one for one in mine if not deleting(one)), key=running)
