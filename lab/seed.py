# SPDX-License-Identifier: Apache-2.0
"""The objects that every platform has before anybody uses it. Applying them again changes nothing.

The platform Package and everything that follows from it are not here: scenarios decide about them.
"""

from __future__ import annotations

import asyncio
import base64
import copy
import json
from typing import Any

from lab.api import Api, Object, key_of
from lab.kinds import KINDS

DRIVER = "linstor.csi.linbit.com"
SYSTEM, PUBLIC, ROOT = "cozy-system", "cozy-public", "tenant-root"
PLATFORM = "cozystack.cozystack-platform"
CATALOG = "cozystack.kubernetes-worker-image"
SINCE = "2026-09-01T10:00:00Z"
_RBAC = "rbac.authorization.k8s.io"
# What lab/crds serves with a status subresource: a status sent to the main resource is dropped there.
_WITH_STATUS = frozenset({"PackageSource", "Package"})


def _object(kind: str, api_version: str, name: str, namespace: str = "", **fields: Any) -> Object:
    metadata: Object = {"name": name, **({"namespace": namespace} if namespace else {})}
    metadata |= fields.pop("metadata", {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def ready(reason: str, message: str = "") -> list[Object]:
    """A ``conditions`` list that says Ready."""
    return [{"type": "Ready", "status": "True", "reason": reason, "message": message, "lastTransitionTime": SINCE}]


def namespaces() -> list[Object]:
    """cozy-system, cozy-public, tenant-root."""
    # An apply that owns no field at all would be recorded at the second time only, as a change.
    labels = {name: {"kubernetes.io/metadata.name": name} for name in (SYSTEM, PUBLIC, ROOT)}
    return [_object("Namespace", "v1", name, metadata={"labels": labels[name]}) for name in labels]


def storage_class(name: str, default: bool, binding: str, replicas: int) -> Object:
    """A LINSTOR class; every field but annotations, labels and allowVolumeExpansion is immutable in Kubernetes."""
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    return _object(
        "StorageClass", "storage.k8s.io/v1", name, metadata={"annotations": annotations}, provisioner=DRIVER,
        reclaimPolicy="Delete", allowVolumeExpansion=True, volumeBindingMode=binding,
        parameters={"linstor.csi.linbit.com/storagePool": "data", "linstor.csi.linbit.com/autoPlace": str(replicas)},
    )  # fmt: skip


def storage_profile(class_name: str) -> Object:
    """What CDI computes for a LINSTOR class: block volumes for many writers first (platform rule 1.9)."""
    modes = [("ReadWriteMany", "Block"), ("ReadWriteOnce", "Block"), ("ReadWriteOnce", "Filesystem")]
    sets = [{"accessModes": [access], "volumeMode": volume} for access, volume in modes]
    status = {"provisioner": DRIVER, "storageClass": class_name, "cloneStrategy": "copy", "claimPropertySets": sets}
    return _object("StorageProfile", "cdi.kubevirt.io/v1beta1", class_name, spec={}, status=status)


def storage() -> list[Object]:
    """Classes `replicated` (default) and `local`, their driver and profiles, and CDI's own objects."""
    config = {"featureGates": ["HonorWaitForFirstConsumer", "ExpandDisks"]}
    overhead = {"global": "0.06", "storageClass": {"replicated": "0.06", "local": "0.06"}}
    effective = {"scratchSpaceStorageClass": "replicated", "filesystemOverhead": overhead, "preallocation": False}
    return [
        storage_class("replicated", default=True, binding="Immediate", replicas=3),
        storage_class("local", default=False, binding="WaitForFirstConsumer", replicas=1),
        _object("CSIDriver", "storage.k8s.io/v1", DRIVER, spec={"attachRequired": True, "podInfoOnMount": True}),
        storage_profile("replicated"),
        storage_profile("local"),
        _object(
            "CDI", "cdi.kubevirt.io/v1beta1", "cdi", spec={"cloneStrategyOverride": "csi-clone", "config": config},
            status={"phase": "Deployed", "operatorVersion": "v1.64.0", "observedVersion": "v1.64.0"},
        ),
        _object("CDIConfig", "cdi.kubevirt.io/v1beta1", "config", spec=config, status=effective),
    ]  # fmt: skip


def permissions() -> list[Object]:
    """Cloning from cozy-public: service accounts of every namespace may, people may not (platform rule 1.6)."""
    group = {"kind": "Group", "name": "system:serviceaccounts", "apiGroup": _RBAC}
    clone = {"apiGroups": ["cdi.kubevirt.io"], "resources": ["datavolumes/source"], "verbs": ["create"]}
    claims = {"apiGroups": [""], "resources": ["persistentvolumeclaims"], "verbs": ["get", "list", "watch"]}
    return [
        _object("ClusterRole", f"{_RBAC}/v1", "cdi-copy-dv", rules=[clone]),
        _object(
            "RoleBinding", f"{_RBAC}/v1", "cdi-clone-dv", PUBLIC, subjects=[group],
            roleRef={"kind": "ClusterRole", "name": "cdi-copy-dv", "apiGroup": _RBAC},
        ),
        _object("Role", f"{_RBAC}/v1", "cozy:tenant:dashboard", PUBLIC, rules=[claims]),
    ]  # fmt: skip


def _component(name: str, path: str, namespace: str = SYSTEM) -> Object:
    return {"name": name, "path": path, "install": {"namespace": namespace, "releaseName": name}}


def package_source(name: str, variants: dict[str, tuple[list[str], list[Object]]]) -> Object:
    """A PackageSource; ``variants`` maps a variant's name to what it depends on and its components."""
    reference = {"kind": "OCIRepository", "name": "cozystack-packages", "namespace": SYSTEM, "path": "/"}
    listed = [
        {"name": variant, "dependsOn": depends_on, "components": components}
        for variant, (depends_on, components) in variants.items()
    ]
    return _object(
        "PackageSource", "cozystack.io/v1alpha1", name, spec={"sourceRef": reference, "variants": listed},
        status={"variants": ",".join(variants), "conditions": ready("Succeeded")},
    )  # fmt: skip


def package_sources() -> list[Object]:
    """The sources that the catalog, its dependencies, its sibling and the pool application come from."""

    def one(name: str, *depends_on: str, path: str | None = None, variant: str = "default") -> Object:
        component = _component(name, path or f"system/{name}")
        requires = [f"cozystack.{other}" for other in depends_on]
        return package_source(f"cozystack.{name}", {variant: (requires, [component])})

    platform: dict[str, tuple[list[str], list[Object]]] = {
        # The component is `platform`, its release `cozystack-platform` (platform rule 1.3).
        name: ([], [_component("cozystack-platform", "core/platform") | {"name": "platform"}])
        for name in PLATFORM_VARIANTS
    }
    source = package_source(PLATFORM, platform)
    source["metadata"]["annotations"] = {"operator.cozystack.io/skip-cozystack-values": "true"}
    return [
        source,
        one("networking"),
        one("cozystack-basics", "networking"),
        one("kubevirt-cdi", "cozystack-basics"),
        one("kubernetes-worker-image", "networking", "kubevirt-cdi"),
        one("vm-default-images", "networking", "kubevirt-cdi"),
        package_source(
            "cozystack.kubernetes-nodes-application",
            {"kubevirt": (["cozystack.networking"], [{"name": "kubernetes-nodes", "path": "apps/kubernetes-nodes"}])},
        ),
    ]  # fmt: skip


PLATFORM_VARIANTS = ("default", "isp-full", "isp-hosted", "isp-full-generic")


def platform_package(variant: str = "isp-full", values: Object | None = None) -> Object:
    """The Package that holds the platform's configuration, not applied; ``values`` as the platform chart takes them."""
    if variant not in PLATFORM_VARIANTS:
        raise ValueError(f"no variant {variant}; there are {', '.join(PLATFORM_VARIANTS)}")
    components = {"platform": {"values": copy.deepcopy(values or {})}}
    return _object("Package", "cozystack.io/v1alpha1", PLATFORM, spec={"variant": variant, "components": components})


def instancetypes() -> list[Object]:
    """The `u1` series: virtual CPUs and memory."""
    sizes = {"small": (1, 2), "medium": (1, 4), "large": (2, 8), "xlarge": (4, 16), "2xlarge": (8, 32)}
    return [
        _object(
            "VirtualMachineClusterInstancetype", "instancetype.kubevirt.io/v1beta1", f"u1.{name}",
            spec={"cpu": {"guest": cpus}, "memory": {"guest": f"{gibibytes}Gi"}},
        )
        for name, (cpus, gibibytes) in sizes.items()
    ]  # fmt: skip


def values_secret(namespace: str, cluster: Object | None = None) -> Object:
    """Secret `cozystack-values`: what the releases of a namespace inherit, `_cluster` and `_namespace`, as YAML."""
    content = {"_cluster": cluster or {}, "_namespace": {}}
    return _object(
        "Secret",
        "v1",
        "cozystack-values",
        namespace,
        data={"values.yaml": base64.b64encode(json.dumps(content).encode()).decode()},
    )


def everything() -> list[list[Object]]:
    """All base objects in waves: what is in one wave may be applied in any order."""
    secrets = [values_secret(SYSTEM), values_secret(ROOT)]
    return [namespaces(), [*storage(), *permissions(), *package_sources(), *instancetypes(), *secrets]]


async def put(api: Api, obj: Object) -> None:
    """Apply one object with its status, wherever its kind keeps that. Errors: ApiError.

    Server-side apply: one request whether it is there or not, and kube-apiserver does not hold it back when the
    definition is quite new (as it does with a create).
    """
    namespace, name = key_of(obj)
    path, query = KINDS[obj["kind"]].path(namespace, name), {"fieldManager": "lab", "force": "true"}
    await api.request("PATCH", path, obj, "application/apply-patch+yaml", query)
    if obj["kind"] in _WITH_STATUS and "status" in obj:
        await api.patch(obj["kind"], name, {"status": obj["status"]}, namespace, "status")


async def apply(api: Api) -> None:
    """Create or update them all. Errors: ApiError."""
    for wave in everything():
        await asyncio.gather(*(put(api, obj) for obj in wave))
