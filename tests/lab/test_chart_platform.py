# SPDX-License-Identifier: Apache-2.0
"""The charts above a pool: platform, tenant, control plane."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
import yaml

from lab.chart import ObjectLookups, Refused, render_kubernetes, render_platform, render_tenant, tenant_namespace

CATALOG_PACKAGE = "cozystack.kubernetes-worker-image"


@pytest.mark.parametrize(
    ("variant", "bundles", "names"),
    [
        ("isp-full", {"enabledPackages": [CATALOG_PACKAGE, "b", "b"]}, [CATALOG_PACKAGE, "b"]),
        ("isp-full-generic", {"enabledPackages": [CATALOG_PACKAGE]}, [CATALOG_PACKAGE]),
        ("isp-full-generic", {}, ["cozystack.backupstrategy-controller"]),
        ("isp-hosted", {"enabledPackages": [CATALOG_PACKAGE, "b"]}, ["b"]),
        ("default", {"enabledPackages": [CATALOG_PACKAGE]}, []),
        ("isp-full", {"enabledPackages": [CATALOG_PACKAGE, "b"], "iaas": {"enabled": False}}, ["b"]),
        ("isp-full", {"enabledPackages": [CATALOG_PACKAGE, "b"], "disabledPackages": [CATALOG_PACKAGE]}, ["b"]),
    ],
)
def test_render_platform_emits_enabled_packages(variant: str, bundles: dict[str, Any], names: list[str]) -> None:
    packages = render_platform(variant, {"bundles": bundles})
    assert [package["metadata"]["name"] for package in packages] == names
    for package in packages:
        assert package["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
        assert package["spec"] == {"variant": "default"}


def test_render_platform_forwards_the_catalog_values() -> None:
    block = {"storage": "7Gi", "images": []}
    values = {"bundles": {"enabledPackages": [CATALOG_PACKAGE, "b"]}, "kubernetesWorkerImage": block}
    catalog, other = render_platform("isp-full", values)
    assert catalog["spec"]["components"] == {"kubernetes-worker-image": {"values": block}}
    assert "components" not in other["spec"]
    (blank,) = render_platform(
        "isp-full", {"bundles": {"enabledPackages": [CATALOG_PACKAGE]}, "kubernetesWorkerImage": {}}
    )
    assert "components" not in blank["spec"]


@pytest.mark.parametrize(
    ("parent", "name", "namespace"),
    [
        ("tenant-root", "root", "tenant-root"),
        ("tenant-root", "acme", "tenant-acme"),
        ("tenant-acme", "dev", "tenant-acme-dev"),
    ],
)
def test_tenant_namespace(parent: str, name: str, namespace: str) -> None:
    assert tenant_namespace(parent, name) == namespace


def test_render_tenant_hands_down_the_platform_values() -> None:
    inherited = {"_cluster": {"cluster-domain": "cozy.local"}, "_namespace": {"etcd": "tenant-root", "host": "e.net"}}
    secret = {
        "kind": "Secret",
        "metadata": {"name": "cozystack-values", "namespace": "tenant-root"},
        "data": {"values.yaml": base64.b64encode(json.dumps(inherited).encode()).decode()},
    }
    values = {"ingress": True, "resourceQuotas": {"cpu": 60, "storage": "200Gi"}}
    namespace, own, quota = render_tenant("tenant-root", "tenant-acme", values, ObjectLookups([secret]))
    assert namespace["metadata"]["name"] == "tenant-acme"
    handed_down = yaml.safe_load(base64.b64decode(own["data"]["values.yaml"]))
    assert handed_down["_cluster"] == inherited["_cluster"]
    assert (handed_down["_namespace"]["etcd"], handed_down["_namespace"]["host"]) == ("tenant-root", "e.net")
    assert handed_down["_namespace"]["ingress"] == "tenant-acme"
    assert quota["spec"]["hard"] == {"limits.cpu": "60", "requests.cpu": "60", "requests.storage": "200Gi"}
    assert len(render_tenant("tenant-root", "tenant-acme", {}, ObjectLookups())) == 2


def test_render_kubernetes_runs_the_full_version_of_the_minor() -> None:
    objects = render_kubernetes("tenant-acme", "kubernetes-shop", {"version": "v1.34"}, {}, ObjectLookups())
    assert [obj["kind"] for obj in objects] == ["Cluster", "KubevirtCluster", "KamajiControlPlane"]
    assert {obj["metadata"]["name"] for obj in objects} == {"kubernetes-shop"}
    assert objects[2]["spec"] == {"replicas": 2, "version": "v1.34.9"}
    with pytest.raises(Refused, match=r"version: 'v1\.36' is not one of"):
        render_kubernetes("tenant-acme", "kubernetes-shop", {"version": "v1.36"}, {}, ObjectLookups())
