# SPDX-License-Identifier: Apache-2.0
"""Cluster states and shorthands for the tests of the lab's charts."""

from __future__ import annotations

import copy
from typing import Any

from lab.chart import ObjectLookups, render_pool

SCHEMATIC = "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515"
GOLDEN = f"talos-worker-{SCHEMATIC}-v1.13.6"
SIZED = {"cluster": "shop", "instanceType": "", "resources": {"cpu": 2, "memory": "4Gi"}}


def stored(objects: list[dict[str, Any]]) -> ObjectLookups:
    """The objects as an API server has them that got them in this order, a second apart."""
    objects = copy.deepcopy(objects)
    for second, obj in enumerate(objects):
        obj["metadata"].setdefault("creationTimestamp", f"2026-09-01T10:00:{second:02d}Z")
    return ObjectLookups(objects)


def pool(values: dict[str, Any], *objects: dict[str, Any], name: str = "kubernetes-nodes-shop-md0", **more: Any) -> Any:
    cluster_values = more.pop("cluster_values", {})
    return render_pool("tenant-acme", name, {**SIZED, **values}, cluster_values, stored(list(objects)), **more)


def of_kind(objects: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [obj for obj in objects if obj["kind"] == kind]


def machine(objects: list[dict[str, Any]]) -> dict[str, Any]:
    return objects[0]["spec"]["template"]["spec"]["virtualMachineTemplate"]["spec"]


def golden(**changes: Any) -> dict[str, Any]:
    spec = {"storage": {"resources": {"requests": {"storage": "6Gi"}}, "storageClassName": "replicated"}}
    metadata = {"name": GOLDEN, "namespace": "cozy-public"}
    return {"kind": "DataVolume", "metadata": metadata, "spec": spec, "status": {"phase": "Succeeded"}, **changes}


def cloned_disk() -> dict[str, Any]:
    prefix = "kubernetes-worker-image.cozystack.io"
    marks = {f"{prefix}/golden": GOLDEN, f"{prefix}/pool": "kubernetes-shop-md0"}
    metadata = {"name": "d", "namespace": "tenant-acme", "annotations": marks}
    return {"kind": "DataVolume", "metadata": metadata, "status": {"phase": "Succeeded"}}


def storage_class(name: str, created: str, *marks: str) -> dict[str, Any]:
    metadata = {"name": name, "creationTimestamp": created, "annotations": dict.fromkeys(marks, "true")}
    return {"kind": "StorageClass", "metadata": metadata}
