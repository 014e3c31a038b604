# SPDX-License-Identifier: Apache-2.0
"""Small builders of API objects for the tables."""

from __future__ import annotations

from typing import Any

SCHEMATIC = "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515"
GOLDEN = f"talos-worker-{SCHEMATIC}-v1.13.6"
DRIVER, OTHER = "linstor.csi.linbit.com", "ebs.csi.aws.com"
NAMESPACE, POOL = "tenant-test", "kubernetes-myk8s-md0"
SIZED = {"cluster": "myk8s", "instanceType": "", "resources": {"cpu": 2, "memory": "4Gi"}}
CLONE = {**SIZED, "osImage": {"builtin": {}}}
GA = "storageclass.kubernetes.io/is-default-class"
BETA = "storageclass.beta.kubernetes.io/is-default-class"
VIRT = "storageclass.kubevirt.io/is-default-virt-class"


def _storage(storage_class: str | None, size: str | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if size is not None:
        found["resources"] = {"requests": {"storage": size}}
    if storage_class is not None:
        found["storageClassName"] = storage_class
    return found


def golden(
    phase: str | None = "Succeeded",
    storage_class: str | None = "replicated",
    size: str | None = "6Gi",
    name: str = GOLDEN,
    namespace: str = "cozy-public",
    url: str = "",
    annotations: dict[str, str] | None = None,
    running: str | None = None,
    message: str = "",
    **status: Any,
) -> dict[str, Any]:
    if phase is not None:
        status["phase"] = phase
    if running is not None:
        status["conditions"] = [{"type": "Running", "status": running, "reason": "Error", "message": message}]
    spec: dict[str, Any] = {"storage": _storage(storage_class, size)}
    if url:
        spec["source"] = {"http": {"url": url}}
    metadata = {"name": name, "namespace": namespace, "annotations": annotations or {}}
    return {"kind": "DataVolume", "metadata": metadata, "spec": spec, "status": status}


def claim(
    storage_class: str | None = "replicated",
    size: str | None = "6Gi",
    name: str = GOLDEN,
    namespace: str = "cozy-public",
    capacity: str | None = None,
    mode: str = "",
    phase: str = "Bound",
) -> dict[str, Any]:
    spec: dict[str, Any] = _storage(storage_class, size)
    spec |= {"volumeMode": mode} if mode else {}
    status: dict[str, Any] = {"phase": phase, "capacity": {"storage": capacity} if capacity else {}}
    return {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
        "status": status,
    }


def disk(
    phase: str = "Succeeded", pool: str | None = POOL, source: str | None = GOLDEN, name: str = "d1", **more: Any
) -> dict[str, Any]:
    annotations = {
        "kubernetes-worker-image.cozystack.io/pool": pool,
        "kubernetes-worker-image.cozystack.io/golden": source,
    }
    known = {key: value for key, value in annotations.items() if value is not None}
    return golden(phase, size="20Gi", name=name, **{"namespace": NAMESPACE, "annotations": known, **more})


def storage_class(
    name: str,
    *marks: str,
    created: str = "2026-01-01T00:00:00Z",
    expandable: bool | None = None,
    driver: str = DRIVER,
) -> dict[str, Any]:
    metadata = {"name": name, "creationTimestamp": created, "annotations": dict.fromkeys(marks, "true")}
    found: dict[str, Any] = {"kind": "StorageClass", "metadata": metadata, "provisioner": driver}
    return found if expandable is None else {**found, "allowVolumeExpansion": expandable}


def deployment(
    release: str = "kubernetes-nodes-myk8s-md0", cluster: str = "kubernetes-myk8s", name: str = POOL
) -> dict[str, Any]:
    metadata = {"name": name, "namespace": NAMESPACE, "annotations": {"meta.helm.sh/release-name": release}}
    return {"kind": "MachineDeployment", "metadata": metadata, "spec": {"clusterName": cluster}}


def control_plane(version: str, name: str = "kubernetes-myk8s", namespace: str = NAMESPACE) -> dict[str, Any]:
    return {
        "kind": "KamajiControlPlane",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"version": version},
    }


def instance_type(name: str = "u1.medium", cpu: Any = 1, memory: Any = "4Gi") -> dict[str, Any]:
    spec = {"cpu": {"guest": cpu} if cpu else {}, "memory": {"guest": memory} if memory else {}}
    return {"kind": "VirtualMachineClusterInstancetype", "metadata": {"name": name}, "spec": spec}


def parent(name: str = "myk8s", namespace: str = NAMESPACE, **spec: Any) -> dict[str, Any]:
    return {"kind": "Kubernetes", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def release(kind: str = "KubernetesNodes", app: str = "myk8s-md0", suspend: bool = False) -> dict[str, Any]:
    labels = {"apps.cozystack.io/application.kind": kind, "apps.cozystack.io/application.name": app}
    metadata = {"name": "kubernetes-nodes-myk8s-md0", "namespace": NAMESPACE, "labels": labels}
    return {"kind": "HelmRelease", "metadata": metadata, "spec": {"suspend": suspend}}


def profile(
    name: str, mode: str = "Block", strategy: str = "", snapshots: str = "", minimum: str = "", access: bool = True
) -> dict[str, Any]:
    sets = [{"volumeMode": mode, "accessModes": ["ReadWriteMany"]}] if access else []
    status = {"claimPropertySets": sets, "cloneStrategy": strategy, "snapshotClass": snapshots}
    notes = {"cdi.kubevirt.io/minimumSupportedPvcSize": minimum} if minimum else {}
    return {"kind": "StorageProfile", "metadata": {"name": name, "annotations": notes}, "status": status}


def cdi(override: str | None, scratch: str = "", version: str = "v1.64.0") -> dict[str, Any]:
    spec: dict[str, Any] = {} if override is None else {"cloneStrategyOverride": override}
    spec["config"] = {"scratchSpaceStorageClass": scratch} if scratch else {}
    return {"kind": "CDI", "metadata": {"name": "cdi"}, "spec": spec, "status": {"observedVersion": version}}


def cdi_config(general: str = "0.06", **of_class: str) -> dict[str, Any]:
    overhead = {"global": general, "storageClass": of_class}
    return {"kind": "CDIConfig", "metadata": {"name": "config"}, "status": {"filesystemOverhead": overhead}}


def snapshot_class(name: str = "snaps", driver: str = DRIVER) -> dict[str, Any]:
    return {"kind": "VolumeSnapshotClass", "metadata": {"name": name}, "driver": driver}


def csi_driver(name: str = DRIVER) -> dict[str, Any]:
    return {"kind": "CSIDriver", "metadata": {"name": name}}


def volume(driver: str = DRIVER, name: str = GOLDEN) -> dict[str, Any]:
    spec = {"csi": {"driver": driver}, "claimRef": {"namespace": "cozy-public", "name": name}}
    return {"kind": "PersistentVolume", "metadata": {"name": f"pv-{name[:9]}"}, "spec": spec}
