# SPDX-License-Identifier: Apache-2.0
"""Names and values of a pool."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.pool import (
    API_DEFAULTS,
    POOL_DEFAULTS,
    Pool,
    published_defaults,
)

RECORDED = json.loads((Path(__file__).parents[2] / "lab" / "apps-api.json").read_text())


def test_names():
    pool = Pool("tenant-acme", "shop", "md0", {})
    assert (pool.name, pool.cluster_name, pool.object_name) == ("shop-md0", "kubernetes-shop", "kubernetes-shop-md0")
    assert (pool.release_name, pool.subject) == ("kubernetes-nodes-shop-md0", "tenant-acme/shop-md0")


def test_wrapped_pool_is_named_after_its_own_release():
    pool = Pool("tenant-test", "k8s", "md0", {"clusterReleaseName": "test-k8s"})
    assert (pool.cluster_name, pool.object_name) == ("test-k8s", "test-k8s-md0")


@pytest.mark.parametrize(
    ("name", "cluster", "pool"),
    [
        ("my-k8s-eu-md0", "my-k8s-eu", "md0"),
        ("my-k8s-eu-md0", "my-k8s", "eu-md0"),
        ("other-md0", "shop", ""),
        ("shop", "shop", ""),
        ("shop-md0", "", ""),
    ],
)
def test_the_cluster_decides_where_a_name_splits(name, cluster, pool):
    found = Pool.named("t", name, {"cluster": cluster})
    assert (found.name, found.cluster, found.pool) == (name, cluster, pool)


def test_from_api():
    pool = Pool.from_api(
        {"metadata": {"name": "shop-md0", "namespace": "t"}, "spec": {"cluster": "shop", "diskSize": "30Gi"}}
    )
    assert (pool.subject, pool.pool, pool.disk_size) == ("t/shop-md0", "md0", "30Gi")


@pytest.mark.parametrize(
    ("spec", "size"),
    [
        ({}, "20Gi"),
        ({"diskSize": 0}, "20Gi"),
        ({"diskSize": None}, "20Gi"),
        ({"diskSize": ""}, "20Gi"),
        ({"diskSize": "0"}, "0"),
        ({"diskSize": 21474836480}, "2.147483648e+10"),
    ],
)
def test_disk_size(spec, size):
    assert Pool("t", "c", "p", spec).disk_size == size


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ({}, "replicated"),
        ({"storageClass": ""}, ""),
        ({"storageClass": None}, ""),
        ({"storageClass": "local"}, "local"),
    ],
)
def test_storage_class(spec, name):
    assert Pool("t", "c", "p", spec).storage_class == name


@pytest.mark.parametrize(
    ("resources", "sized"),
    [
        ({}, False),
        ({"cpu": 2}, False),
        ({"cpu": 2, "memory": "4Gi"}, True),
        ({"cpu": 0, "memory": "4Gi"}, False),
        (None, False),
    ],
)
def test_sized_by_resources(resources, sized):
    assert Pool("t", "c", "p", {"resources": resources}).sized_by_resources is sized


def test_defaults_are_those_the_api_showed():
    (created,) = [entry for entry in RECORDED if entry["name"] == "get"]
    served = dict(created["response"]["body"]["spec"])
    declared = {"cluster": served["cluster"], "osImage": served["osImage"]}
    assert {**API_DEFAULTS, **declared} == served
    assert POOL_DEFAULTS["kubelet"] == {}


def test_published_defaults_take_over():
    schema = {
        "talos": {
            "type": "object",
            "default": {},
            "properties": {"version": {"default": "v1.14.0"}, "schematicID": {"default": "abc"}},
        },
        "version": {"type": "string", "default": "v1.36"},
        "kubelet": {"default": {}, "properties": {"evictionHardMemory": {"default": "7%"}}},
        "osImage": {"type": "object", "default": {}},
        "substrate": {"type": "string", "default": "kubevirt"},
        "labels": "junk",
    }
    found = published_defaults(schema)
    assert (found["version"], found["talos"]["version"], found["talos"]["schematicID"]) == ("v1.36", "v1.14.0", "abc")
    assert (found["talos"]["imageFactoryURL"], found["kubelet"], found["substrate"]) == (
        "https://factory.talos.dev",
        {},
        "kubevirt",
    )
    assert "osImage" not in found
    assert Pool("t", "c", "p", {}).with_defaults(found).values["talos"]["version"] == "v1.14.0"


def test_pools_with_other_defaults_are_equal():
    pool = Pool("t", "c", "p", {})
    assert pool.with_defaults({"x": 1}) == pool
    assert pool.with_spec({"x": 1}) != pool
