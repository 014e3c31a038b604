# SPDX-License-Identifier: Apache-2.0
"""ResourceQuota accounting. Without it the API server refuses every claim where a quota is: its status is unknown."""

from __future__ import annotations

import math
from fractions import Fraction

from lab.api import Key, Object
from lab.controllers.objects import amount, status
from lab.controllers.runtime import Controller

_SETTLE = 0.05


def _sum(pods: list[Object], side: str, resource: str) -> Fraction:
    containers = [container for pod in pods for container in pod["spec"]["containers"]]
    given = [one.get("resources", {}).get(side, {}).get(resource, "0") for one in containers]
    return sum(map(amount, given), Fraction(0))


def usage(hard: dict[str, str], claims: list[Object], pods: list[Object]) -> dict[str, Fraction]:
    """What is used of each resource that the quota limits; unknown resources count as unused."""
    running = [pod for pod in pods if status(pod).get("phase") not in ("Succeeded", "Failed")]
    storage = sum((amount(one["spec"]["resources"]["requests"]["storage"]) for one in claims), Fraction(0))
    counted = {
        "requests.storage": storage,
        "persistentvolumeclaims": Fraction(len(claims)),
        "pods": Fraction(len(running)),
    }
    for resource in ("cpu", "memory"):
        counted[resource] = counted[f"requests.{resource}"] = _sum(running, "requests", resource)
        counted[f"limits.{resource}"] = _sum(running, "limits", resource)
    return {name: counted.get(name, Fraction(0)) for name in hard}


def _text(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else f"{math.ceil(value * 1000)}m"


class Quotas(Controller):
    """Keys are quotas."""

    name = "quotas"

    def setup(self) -> None:
        self.watch("ResourceQuota")
        for kind in ("PersistentVolumeClaim", "Pod"):
            self.runtime.cache(kind).listeners.append(self._changed)

    def _changed(self, _: str, key: Key, __: Object) -> None:
        """A moment later: admission itself counts what is created, and answers must not cross."""
        for other in self.runtime.cache("ResourceQuota").objects:
            if other[0] == key[0]:
                self.enqueue(other, _SETTLE)

    async def reconcile(self, key: Key) -> float | None:
        quota = self.runtime.cache("ResourceQuota").get(*key)
        if quota is None:
            return None
        hard = quota["spec"].get("hard", {})
        claims = self.runtime.cache("PersistentVolumeClaim").in_namespace(key[0])
        used = usage(hard, claims, self.runtime.cache("Pod").in_namespace(key[0]))
        # Numbers, since the server writes quantities its own way.
        known = {name: amount(value) for name, value in status(quota).get("used", {}).items()}
        if known != used or status(quota).get("hard") != hard:
            written = {name: _text(value) for name, value in used.items()}
            await self.write.status("ResourceQuota", key, {"hard": hard, "used": written})
        return None
