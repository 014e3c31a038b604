# SPDX-License-Identifier: Apache-2.0
"""Importer pods: nothing runs in them, but they look and count restarts as the real ones do."""

from __future__ import annotations

from typing import Any

from lab.api import Object
from lab.controllers.cdi.walk import APP
from lab.controllers.objects import now, owner

IMAGE = "quay.io/kubevirt/cdi-importer:v1.64.0"
UPLOAD_IMAGE = "quay.io/kubevirt/cdi-uploadserver:v1.64.0"
_RESOURCES = {"limits": {"cpu": "750m", "memory": "600M"}, "requests": {"cpu": "100m", "memory": "60M"}}


def _pod(name: str, disk: Object, work: Object, role: str, container: dict[str, Any], claims: dict[str, str]) -> Object:
    """A pod that writes to claim ``work``; labels of the disk reach it, annotations do not."""
    if work["spec"].get("volumeMode") == "Block":
        container["volumeDevices"] = [{"name": "cdi-data-vol", "devicePath": "/dev/cdi-block-volume"}]
    else:
        container["volumeMounts"] = [{"name": "cdi-data-vol", "mountPath": "/data"}]
    if "cdi-scratch-vol" in claims:
        container.setdefault("volumeMounts", []).append({"name": "cdi-scratch-vol", "mountPath": "/scratch"})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": work["metadata"]["namespace"],
            "labels": disk["metadata"].get("labels", {}) | APP | {"cdi.kubevirt.io": role},
            "annotations": {"cdi.kubevirt.io/storage.createdByController": "yes"},
            "ownerReferences": [owner(work)],
        },
        "spec": {
            "restartPolicy": "OnFailure",
            "containers": [container | {"resources": _RESOURCES}],
            "volumes": [{"name": one, "persistentVolumeClaim": {"claimName": claim}} for one, claim in claims.items()],
        },
    }


def importer(name: str, disk: Object, work: Object, scratch: str | None) -> Object:
    """The pod that fetches ``spec.source.http`` of the disk."""
    http = disk["spec"]["source"]["http"]
    container: dict[str, Any] = {
        "name": "importer",
        "image": IMAGE,
        "env": [{"name": "IMPORTER_SOURCE", "value": "http"}, {"name": "IMPORTER_ENDPOINT", "value": http["url"]}],
    }
    if secret := http.get("secretRef"):
        for variable, key in (("IMPORTER_ACCESS_KEY_ID", "accessKeyId"), ("IMPORTER_SECRET_KEY", "secretKey")):
            value = {"secretKeyRef": {"name": secret, "key": key}}
            container["env"].append({"name": variable, "valueFrom": value})
    claims = {"cdi-data-vol": work["metadata"]["name"]} | ({"cdi-scratch-vol": scratch} if scratch else {})
    pod = _pod(name, disk, work, "importer", container, claims)
    if config := http.get("certConfigMap"):
        pod["spec"]["volumes"].append({"name": "cdi-cert-vol", "configMap": {"name": config}})
        mounts = pod["spec"]["containers"][0].setdefault("volumeMounts", [])
        mounts.append({"name": "cdi-cert-vol", "mountPath": "/certs"})
    return pod


def upload_server(name: str, disk: Object, work: Object, scratch: str) -> Object:
    """The pod that takes an upload."""
    container: dict[str, Any] = {"name": "cdi-upload-server", "image": UPLOAD_IMAGE}
    claims = {"cdi-data-vol": work["metadata"]["name"], "cdi-scratch-vol": scratch}
    return _pod(name, disk, work, "cdi-upload-server", container, claims)


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


def pod_status(
    pod: Object, phase: str, restarts: int, state: dict[str, Any], last: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Status of a one-container pod whose container is in ``state``."""
    container = pod["spec"]["containers"][0]
    about = {
        "name": container["name"],
        "image": container["image"],
        "imageID": container["image"],
        "ready": "running" in state,
        "restartCount": restarts,
        "state": state,
        "lastState": last or {},
    }
    return {"phase": phase, "containerStatuses": [about]}


def unschedulable(message: str) -> dict[str, Any]:
    """Status of a pod that no node takes."""
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {"phase": "Pending", "conditions": [condition | {"lastTransitionTime": now()}]}


def evicted(message: str) -> dict[str, Any]:
    """What the kubelet leaves of a pod that it has thrown out."""
    return {"phase": "Failed", "reason": "Evicted", "message": message, "containerStatuses": []}


def running() -> dict[str, Any]:
    return {"running": {"startedAt": now()}}


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return {"waiting": {"reason": reason} | ({"message": message} if message else {})}


def terminated(code: int, message: str, reason: str = "") -> dict[str, Any]:
    reason = reason or ("Completed" if code == 0 else "Error")
    ended = {"exitCode": code, "reason": reason, "startedAt": now(), "finishedAt": now()}
    return {"terminated": ended | ({"message": message} if message else {})}


def backing_off(pod: Object, seconds: float) -> dict[str, Any]:
    name, meta = pod["spec"]["containers"][0]["name"], pod["metadata"]
    where = f"pod={meta['name']}_{meta['namespace']}({meta['uid']})"
    text = f"back-off {seconds:g}s restarting failed container={name} {where}"
    return waiting("CrashLoopBackOff", text)
