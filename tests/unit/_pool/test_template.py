# SPDX-License-Identifier: Apache-2.0
"""The machine template's bytes: vectors of the platform, site-wide settings, and what is not part of it."""

from __future__ import annotations

import hashlib

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.goyaml import Unprintable, yaml_lines
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.pool import Pool
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.template import (
    TemplateUnknown,
    boot_disk,
    machine_template_name,
    render_machine_template,
)

SMALL = {"instanceType": "", "resources": {"cpu": 2, "memory": "4Gi"}}
LARGE = {"instanceType": "", "resources": {"cpu": 4, "memory": "8Gi"}}
INGRESS = {"roles": ["ingress-nginx"]}
GPU = {"gpus": [{"name": "nvidia.com/AD102GL_L40S"}]}
WRAPPED = {
    "clusterReleaseName": "test-k8s",
    "roles": ["worker"],
    "instanceType": "",
    "resources": {"cpu": 8, "memory": "16Gi"},
}
MIRROR = {"talos": {"imageFactoryURL": "http://mirror.example.net:8080/talos"}}

VECTORS = [
    ("tenant-test", "myk8s", {**SMALL, **INGRESS}, "kubernetes-myk8s-md0-a6ac3e"),
    ("tenant-test", "myk8s", SMALL, "kubernetes-myk8s-md0-2d362e"),
    ("tenant-test", "myk8s", {**LARGE, **GPU}, "kubernetes-myk8s-md0-8ed0ab"),
    ("tenant-test", "k8s", WRAPPED, "test-k8s-md0-767d86"),
    ("tenant-acme", "shop", {**SMALL, **INGRESS}, "kubernetes-shop-md0-4f12f8"),
    ("tenant-acme", "shop", {**SMALL, **INGRESS, "storageClass": ""}, "kubernetes-shop-md0-6f0c23"),
    ("tenant-acme", "shop", {**SMALL, **INGRESS, **MIRROR}, "kubernetes-shop-md0-ea21cf"),
    ("tenant-acme", "shop", INGRESS, "kubernetes-shop-md0-6a7d0f"),
    ("tenant-test", "myk8s", {**SMALL, **INGRESS, "osImage": {"builtin": {}}}, "kubernetes-myk8s-md0-2e82d0"),
]


@pytest.mark.parametrize(("namespace", "cluster", "spec", "name"), VECTORS)
def test_vectors(namespace, cluster, spec, name):
    assert machine_template_name(Pool(namespace, cluster, "md0", spec), {}, "replicated") == name


def test_whole_digest():
    text = render_machine_template(Pool("tenant-test", "myk8s", "md0", SMALL), {}, "")
    assert len(text.encode()) == 1977
    assert (
        hashlib.sha256(text.encode()).hexdigest() == "2d362ea0cba480f81971d0a25a79f511b7bead3b306e8408883efa93e87e565a"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"minReplicas": 3, "maxReplicas": 9},
        {"version": "v1.33"},
        {"kubelet": {"systemReservedMemory": "512Mi"}},
        {"maxUnhealthy": "1", "nodeStartupTimeout": "5m"},
        {"images": {"kubectl": "x"}},
        {"talos": {"installerRepository": "x"}},
        {"labels": {"a": "b"}, "taints": [], "kernelModules": []},
        {"logSerialConsole": False},
        {"osImage": {"factory": {}}},
        {"diskSize": 0},
    ],
)
def test_not_part_of_the_name(change):
    before, after = (machine_template_name(Pool("t", "c", "p", {**SMALL, **more}), {}, "") for more in ({}, change))
    assert before == after


@pytest.mark.parametrize(
    "change",
    [
        {"roles": ["a"]},
        {"gpus": [{"name": "a"}]},
        {"podCpuLimit": 0},
        {"podCpuRequest": 0},
        {"logSerialConsole": True},
        {"diskSize": "20480Mi"},
        {"storageClass": "local"},
        {"osImage": {"builtin": {}}},
        {"talos": {"version": "v1.13.7"}},
        {"resources": {"cpu": "2.0", "memory": "4Gi"}},
        {"resources": {"cpu": 2, "memory": "4096Mi"}},
    ],
)
def test_part_of_the_name(change):
    before, after = (
        machine_template_name(Pool("t", "c", "p", {**SMALL, **more}), {}, "replicated") for more in ({}, change)
    )
    assert before != after


@pytest.mark.parametrize(
    ("ratio", "requested"),
    [
        (None, "53687091"),
        ("40", "53687091"),
        ("10", "214748364"),
        (10, "214748364"),
        ("0", "53687091"),
        ("junk", "53687091"),
        ("1", "2147483648"),
    ],
)
def test_ephemeral_ratio(ratio, requested):
    text = render_machine_template(Pool("t", "c", "p", SMALL), {"ephemeral-storage-allocation-ratio": ratio}, "")
    assert f'                ephemeral-storage: "{requested}"' in text.splitlines()


def test_instance_type_alone_states_no_size():
    text = render_machine_template(Pool("t", "c", "p", {}), {}, "")
    assert "        name: u1.medium\n" in text
    assert "cores:" not in text
    assert "guest:" not in text


def test_spread_constraints_take_the_selector_into_the_last_one():
    written = "topologySpreadConstraints:\n- maxSkew: 1\n  whenUnsatisfiable: DoNotSchedule\n  topologyKey: topology.kubernetes.io/zone\n"
    values = {"scheduling": {"globalAppTopologySpreadConstraints": written}}
    text = render_machine_template(Pool("t", "c", "p", SMALL), values, "")
    assert (
        "        spec:\n"
        "          topologySpreadConstraints:\n"
        "          - maxSkew: 1\n"
        "            topologyKey: topology.kubernetes.io/zone\n"
        "            whenUnsatisfiable: DoNotSchedule\n"
        "            labelSelector:\n"
        "              matchLabels:\n"
        "                cluster.x-k8s.io/cluster-name: kubernetes-c\n"
        "          domain:\n"
    ) in text


@pytest.mark.parametrize("written", ["a: [", "- just\n- a list", "a: 'it needs: quotes'"])
def test_constraints_that_cannot_be_laid_out(written):
    values = {"scheduling": {"globalAppTopologySpreadConstraints": written}}
    with pytest.raises(TemplateUnknown, match="cannot be laid out as the chart does"):
        machine_template_name(Pool("t", "c", "p", SMALL), values, "")


def test_other_substrates_have_no_machine_template():
    with pytest.raises(TemplateUnknown, match="not on the kubevirt substrate"):
        machine_template_name(Pool("t", "c", "p", {"substrate": "proxmox"}), {}, "")


def test_boot_disk_states_the_resolved_class_only_for_clones():
    clone = Pool("t", "c", "p", {"storageClass": "", "osImage": {"builtin": {}}})
    imported = Pool("t", "c", "p", {"storageClass": ""})
    assert boot_disk(clone, "fast")["storage"]["storageClassName"] == "fast"
    assert "storageClassName" not in boot_disk(clone, "")["storage"]
    assert "storageClassName" not in boot_disk(imported, "fast")["storage"]


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        ({"b": 1, "a": "x"}, ["a: x", "b: 1"]),
        ({"a": {"b": {}}, "c": []}, ["a:", "  b: {}", "c: []"]),
        ({"a": [1, {"x": 1, "z": [True]}, None]}, ["a:", "- 1", "- x: 1", "  z:", "  - true", "- null"]),
        (
            {"a": "1", "b": "true", "c": "1e3", "d": "", "e": "0x1f", "f": "500m", "g": "a.b/c-d"},
            ['a: "1"', 'b: "true"', 'c: "1e3"', 'd: ""', 'e: "0x1f"', "f: 500m", "g: a.b/c-d"],
        ),
    ],
)
def test_yaml_lines(data, lines):
    assert list(yaml_lines(data)) == lines


@pytest.mark.parametrize("data", [[1], {"a": "b: c"}, {"a": "-"}, {"a": "2026-01-01"}, {"a": "x y"}, {"a": "*"}])
def test_yaml_lines_refuses_what_it_does_not_know(data):
    with pytest.raises(Unprintable):
        list(yaml_lines(data))
