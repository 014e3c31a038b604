# SPDX-License-Identifier: Apache-2.0
"""The charts above a pool, much reduced: the tenant that holds it and the control plane that it joins."""

from __future__ import annotations

import base64
from typing import Any

import yaml

from lab.chart.refusal import Lookups, Object, dig
from lab.chart.values import KUBERNETES_RELEASES, Values, prepared

VALUES_SECRET = "cozystack-values"
_ROOT = "tenant-root"
_SERVICES = ("etcd", "gateway", "ingress", "monitoring", "seaweedfs")


def render_kubernetes(
    namespace: str, release_name: str, values: Values, cluster_values: Values, lookups: Lookups
) -> list[Object]:
    """Cluster, KubevirtCluster and KamajiControlPlane, all named like the release. Raises Refused ``values-schema``."""
    values = prepared("Kubernetes", values)
    infra, control = "infrastructure.cluster.x-k8s.io/v1alpha1", "controlplane.cluster.x-k8s.io/v1alpha1"

    def named(api_version: str, kind: str, spec: Values) -> Object:
        metadata = {"name": release_name, "namespace": namespace}
        return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}

    def reference(api_version: str, kind: str) -> Values:
        return {"apiVersion": api_version, "kind": kind, "name": release_name, "namespace": namespace}

    cluster = {
        "controlPlaneRef": reference(control, "KamajiControlPlane"),
        "infrastructureRef": reference(infra, "KubevirtCluster"),
    }
    control_plane = {
        "replicas": int(values["controlPlane"].get("replicas") or 0),
        "version": KUBERNETES_RELEASES[values["version"]],
    }
    return [
        named("cluster.x-k8s.io/v1beta1", "Cluster", cluster),
        named(infra, "KubevirtCluster", {}),
        named(control, "KamajiControlPlane", control_plane),
    ]


def tenant_namespace(parent: str, name: str) -> str:
    """The namespace a tenant gets: ``tenant-<name>`` below the root tenant, ``<parent>-<name>`` further down."""
    if name == "root":
        return _ROOT
    return f"tenant-{name}" if parent == _ROOT else f"{parent}-{name}"


def render_tenant(namespace: str, release_name: str, values: Values, lookups: Lookups) -> list[Object]:
    """Namespace, the values Secret its releases read, and a ResourceQuota when there are quotas.

    The platform's own values are handed down from the Secret of the parent namespace. Raises Refused ``values-schema``.
    """
    values = prepared("Tenant", values)
    child = tenant_namespace(namespace, release_name.removeprefix("tenant-"))
    inherited = _read_values(lookups.get("Secret", namespace, VALUES_SECRET))
    # A tenant runs a service itself or uses the one of the nearest tenant above it.
    own = {service: child if values[service] else "" for service in _SERVICES} | {"host": values["host"]}
    handed_down = {
        "_cluster": inherited.get("_cluster") or {},
        "_namespace": {key: value or dig(inherited, "_namespace", key) or "" for key, value in own.items()},
    }
    encoded = base64.b64encode(yaml.safe_dump(handed_down).encode()).decode()
    objects: list[Object] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": child}},
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": VALUES_SECRET, "namespace": child},
            "type": "Opaque",
            "data": {"values.yaml": encoded},
        },
    ]
    if values["resourceQuotas"]:
        objects.append(_quota(child, values["resourceQuotas"]))
    return objects


def _read_values(secret: Object | None) -> Values:
    encoded = dig(secret, "data", "values.yaml")
    return (yaml.safe_load(base64.b64decode(encoded)) or {}) if encoded else {}


def _quota(namespace: str, quotas: Values) -> Object:
    hard: dict[str, Any] = {}
    for resource, amount in quotas.items():
        sides = {"cpu": ("limits.", "requests."), "memory": ("limits.", "requests."), "storage": ("requests.",)}
        for side in sides.get(resource, ("",)):
            hard[side + resource] = str(amount)
    metadata = {"name": "tenant-quota", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": hard}}
