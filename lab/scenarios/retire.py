# SPDX-License-Identifier: Apache-2.0
"""The scenario about retirement: goldens in and out of use."""

from __future__ import annotations

from lab.api import Api, Object
from lab.scenarios import parts
from lab.scenarios.goldens import by_hand, name, schematic, without
from lab.scenarios.parts import Lab
from lab.scenarios.states import enable
from lab.scenarios.waiting import object_until, phase

# By role; the last one is in no catalog.
ROLES = ("pool", "zero-replicas", "cloning", "free", "orphan")
_CLONE = "retire-clone"


def golden(role: str) -> str:
    return name(f"retire {role}")


async def retire(api: Api, lab: Lab) -> None:
    """five goldens: of a pool, of a pool without replicas, being cloned, free, and an orphan that no catalog lists"""
    await without(api, lab)
    await _tenant(api)
    entries = [{"schematicID": schematic(f"retire {role}"), "version": parts.VERSION} for role in ROLES[:-1]]
    await enable(api, lab, parts.catalog(lab, *entries))
    await parts.create_once(api, by_hand(lab, schematic("retire orphan"), "replicated"))
    for role in ROLES:
        await parts.golden_ready(api, golden(role))
    for pool, role, replicas in (("used", "pool", 1), ("idle", "zero-replicas", 0)):
        image = {"schematicID": schematic(f"retire {role}"), "version": parts.VERSION}
        spec = {"instanceType": "u1.medium", "osImage": {"builtin": image}, "minReplicas": replicas, "maxReplicas": 2}
        await parts.pool(api, "tenant-acme", "shop", pool, spec)
    await parts.workers(api, "tenant-acme", "kubernetes-shop-used", 1)
    # One of an earlier time has finished as soon as its hanging was withdrawn.
    await parts.gone(api, "DataVolume", _CLONE, "tenant-acme")
    claim = "PersistentVolumeClaim"
    await object_until(api, claim, "tenant-acme", _CLONE, lambda found: found is None, "gone")
    await lab.misbehave("cdi", {"action": "hang", "match": f"^tenant-acme/{_CLONE}$"})
    await parts.create_once(api, _clone(golden("cloning")))

    def hanging(disk: Object | None) -> bool:
        return phase(disk) == "CSICloneInProgress"

    await object_until(api, "DataVolume", "tenant-acme", _CLONE, hanging, "being cloned")


async def _tenant(api: Api) -> None:
    await parts.cluster(api, await parts.tenant(api, "acme"), "shop")


def _clone(source: str) -> Object:
    marks = {"cdi.kubevirt.io/storage.bind.immediate.requested": "true"}
    meta = {"name": _CLONE, "namespace": "tenant-acme", "annotations": marks}
    storage = {"resources": {"requests": {"storage": "20Gi"}}, "storageClassName": "replicated"}
    spec = {"source": {"pvc": {"namespace": parts.GOLDENS, "name": source}}, "storage": storage}
    return {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume", "metadata": meta, "spec": spec}
