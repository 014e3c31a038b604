# SPDX-License-Identifier: Apache-2.0
"""Importer pods: nothing runs in them, but they look and count restarts as the real ones do."""

from __future__ import annotations

from typing import Any

from lab.api import Object
from lab.controllers.cdi.walk import APP
from lab.controllers.objects import now, owner

IMAGE = "quay.io/kubevirt/cdi-importer:v1.64.0"
_RESOURCES = {"limits": {"cpu": "750m", "memory": "600M"}, "requests": {"cpu": "100m", "memory": "60M"}}


def importer(name: str, disk: Object, work: Object, scratch: str | None, url: str) -> Object:
    """The pod that fills claim ``work``; labels of the disk reach it, annotations do not."""
    claims = {"cdi-data-vol": work["metadata"]["name"]} | ({"cdi-scratch-vol": scratch} if scratch else {})
    block = work["spec"].get("volumeMode") == "Block"
    container: dict[str, Any] = {
        "name": "importer",
        "image": IMAGE,
        "env": [{"name": "IMPORTER_SOURCE", "value": "http"}, {"name": "IMPORTER_ENDPOINT", "value": url}],
        "resources": _RESOURCES,
    }
    if block:
        container["volumeDevices"] = [{"name": "cdi-data-vol", "devicePath": "/dev/cdi-block-volume"}]
    else:
        container["volumeMounts"] = [{"name": "cdi-data-vol", "mountPath": "/data"}]
    if scratch:
        container.setdefault("volumeMounts", []).append({"name": "cdi-scratch-vol", "mountPath": "/scratch"})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": work["metadata"]["namespace"],
            "labels": disk["metadata"].get("labels", {}) | APP | {"cdi.kubevirt.io": "importer"},
            "annotations": {"cdi.kubevirt.io/storage.createdByController": "yes"},
            "ownerReferences": [owner(work)],
        },
        "spec": {
            "restartPolicy": "OnFailure",
            "containers": [container],
            "volumes": [{"name": one, "persistentVolumeClaim": {"claimName": claim}} for one, claim in claims.items()],
        },
    }


def preparation(target: Object, temporary: Object) -> Object:
    """The pod that mounts a temporary claim so that it gets bound or grown."""
    uid = target["metadata"]["uid"]
    volume = {"name": "vol", "persistentVolumeClaim": {"claimName": temporary["metadata"]["name"]}}
    container = {"name": "dummy", "image": IMAGE, "resources": _RESOURCES}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"prep-{uid}",
            "namespace": temporary["metadata"]["namespace"],
            "labels": APP | {"cdi.kubevirt.io": "cdi-populator-prep", "cdi.kubevirt.io/OwnedByUID": uid},
        },
        "spec": {"restartPolicy": "OnFailure", "containers": [container], "volumes": [volume]},
    }


def pod_status(phase: str, restarts: int, state: dict[str, Any], last: dict[str, Any] | None = None) -> dict[str, Any]:
    """Status of a one-container pod whose container is in ``state``."""
    container = {
        "name": "importer",
        "image": IMAGE,
        "imageID": IMAGE,
        "ready": "running" in state,
        "restartCount": restarts,
        "state": state,
        "lastState": last or {},
    }
    return {"phase": phase, "containerStatuses": [container]}


def running() -> dict[str, Any]:
    return {"running": {"startedAt": now()}}


def terminated(code: int, message: str) -> dict[str, Any]:
    reason = "Completed" if code == 0 else "Error"
    ended = {"exitCode": code, "reason": reason, "message": message, "startedAt": now(), "finishedAt": now()}
    return {"terminated": ended}


def backing_off(name: str) -> dict[str, Any]:
    text = f"back-off restarting failed container=importer pod={name}"
    return {"waiting": {"reason": "CrashLoopBackOff", "message": text}}
