# SPDX-License-Identifier: Apache-2.0
"""WorkloadMonitors: operational as long as enough of the selected workers run."""

from __future__ import annotations

from lab.api import Key, Object
from lab.controllers.objects import deleting, labels
from lab.controllers.runtime import Controller


class Monitors(Controller):
    """Keys are WorkloadMonitors."""

    name = "workers"
    kind = "WorkloadMonitor"

    def setup(self) -> None:
        self.watch("WorkloadMonitor")
        self.watch("VirtualMachineInstance", self._selecting)

    def _selecting(self, _: str, instance: Object) -> list[Key]:
        namespace = instance["metadata"]["namespace"]
        monitors = self.runtime.cache("WorkloadMonitor").in_namespace(namespace)
        return [(namespace, one["metadata"]["name"]) for one in monitors if _selects(one, instance)]

    async def reconcile(self, key: Key) -> float | None:
        monitor = self.runtime.cache("WorkloadMonitor").get(*key)
        if monitor is None or deleting(monitor):
            return None
        instances = self.runtime.cache("VirtualMachineInstance").in_namespace(key[0])
        running = sum(_selects(monitor, one) for one in instances)
        enough = running >= int(monitor["spec"].get("minReplicas") or 0)
        values = {"operational": enough, "availableReplicas": running, "observedReplicas": running}
        await self.write.status("WorkloadMonitor", key, values)
        return None


def _selects(monitor: Object, instance: Object) -> bool:
    return monitor["spec"].get("selector", {}).items() <= labels(instance).items()
