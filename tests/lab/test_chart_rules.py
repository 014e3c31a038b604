# SPDX-License-Identifier: Apache-2.0
"""The rules of the pool and catalog charts that nobody recorded, and what their messages name."""

from __future__ import annotations

from typing import Any

import pytest

from lab.chart import Refused, render_catalog, render_pool
from tests.lab.chart_states import GOLDEN, cloned_disk, golden, pool, storage_class, stored


@pytest.mark.parametrize(
    ("values", "objects", "rule", "names"),
    [
        ({"cluster": "other"}, [], "pool-name-prefix", ["kubernetes-nodes-shop-md0", "kubernetes-nodes-other-"]),
        (
            {"podCpuLimit": "500m", "podCpuRequest": 1},
            [],
            "pod-cpu-request-above-limit",
            ["podCpuRequest 1", "podCpuLimit 500m"],
        ),
        ({"podCpuRequest": "-1"}, [], "pod-cpu-negative", ["podCpuRequest -1"]),
        (
            {"instanceType": "u1.medium", "resources": {}, "podCpuRequest": 0},
            [],
            "pod-cpu-with-instance-type",
            ["podCpuRequest", "u1.medium"],
        ),
        (
            {"resources": {}, "kubelet": {"evictionHardMemory": "5%"}},
            [],
            "reservation-without-size",
            ["kubelet.evictionHardMemory", "resources.memory"],
        ),
        (
            {"resources": {"memory": "4Gi"}, "kubelet": {"kubeReservedCpu": "100m"}},
            [],
            "reservation-without-size",
            ["kubelet.kubeReservedCpu", "resources.cpu"],
        ),
        ({"kubelet": {"evictionHardMemory": "7%\n"}}, [], "eviction-format", ["kubelet.evictionHardMemory"]),
        ({"substrate": "proxmox", "osImage": {"factory": {}}}, [], "substrate-without-source", ["osImage", "proxmox"]),
        ({"substrate": "proxmox"}, [], "substrate-not-modelled", ["Proxmox"]),
        (
            {"osImage": {"builtin": {}}},
            [golden(status={"phase": "Failed"})],
            "golden-failed",
            [GOLDEN, "importer pod", "cozy-public", "delete the DataVolume", "force"],
        ),
        (
            {"osImage": {"builtin": {}}},
            [],
            "golden-absent",
            [GOLDEN, "cozy-public", "cozystack.kubernetes-worker-image", "bundles.enabledPackages", "osImage.factory"],
        ),
        (
            {"osImage": {"builtin": {}}, "storageClass": ""},
            [golden(), storage_class("fast", "2026-01-01T00:00:00Z", "storageclass.kubernetes.io/is-default-class")],
            "storage-class-mismatch",
            ["fast", "replicated", GOLDEN, "resolved to the default fast", "new schematicID or version"],
        ),
        (
            {"osImage": {"builtin": {}}, "diskSize": "6G"},
            [golden()],
            "disk-smaller-than-golden",
            ["6G (6000000000 bytes)", "6Gi (6442450944 bytes)", GOLDEN, "raise diskSize"],
        ),
        (
            {"osImage": {"builtin": {}}},
            [
                golden(spec={}),
                storage_class("fast", "2026-01-01T00:00:00Z", "storageclass.kubernetes.io/is-default-class"),
            ],
            "storage-class-mismatch",
            ["storageClass replicated of the pool, fast of golden image"],
        ),
        # Neither of the two rules below is waived for a pool that has cloned its first disk.
        (
            {"osImage": {"builtin": {}}, "storageClass": "local"},
            [golden(), cloned_disk()],
            "storage-class-mismatch",
            ["storageClass local of the pool, replicated of golden image"],
        ),
        ({"osImage": {"builtin": {}}, "diskSize": "5Gi"}, [golden(), cloned_disk()], "disk-smaller-than-golden", []),
        (
            {"instanceType": "u1.medium", "resources": {"memory": "4Gi"}},
            [],
            "resources-incomplete",
            ["cpu and memory", "instanceType"],
        ),
        ({"maxNodeProvisionTime": "30m\n"}, [], "duration-format", ["maxNodeProvisionTime", "30m or 1h30m"]),
        # Unlike a null at the top, or where the chart has a default, this one reaches the schema.
        ({"resources": {"cpu": None}}, [], "values-schema", ["resources.cpu", "got null"]),
        ({"osImage": {"builtin": None}}, [], "values-schema", ["osImage.builtin", "expected object, got null"]),
        ({"version": None}, [], "values-schema", ["version"]),
        ({"talos": {"version": None}}, [], "values-schema", ["talos", "version is required"]),
        ({"minReplicas": "2"}, [], "values-schema", ["minReplicas", "expected integer, got string"]),
        ({"diskSize": "20 Gi"}, [], "values-schema", ["diskSize", "'20 Gi'"]),
        ({"diskSize": "20Gi\n"}, [], "values-schema", ["diskSize"]),
        ({"gpus": [{}]}, [], "values-schema", ["gpus.0: name is required"]),
        ({"roles": "worker"}, [], "values-schema", ["roles", "expected array"]),
        ({"osImage": {"factory": {"version": "v1.13"}}}, [], "version-format", ["osImage.factory.version", "patch"]),
        ({"talos": {"schematicID": "A"}}, [], "schematic-format", ["talos.schematicID", "'A'"]),
    ],
)
def test_render_pool_refuses(
    values: dict[str, Any], objects: list[dict[str, Any]], rule: str, names: list[str]
) -> None:
    with pytest.raises(Refused) as refusal:
        pool(values, *objects)
    assert refusal.value.rule == rule
    for name in names:
        assert name in refusal.value.text


@pytest.mark.parametrize(
    "source",
    [
        {"talos": {"version": "v1.13.6"}},
        {"talos": {"version": "v1.14.0"}, "osImage": {"factory": {"version": "v1.13.6"}}},
    ],
)
def test_render_pool_refuses_outside_the_window(source: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    # Every version that the schema lets through is in today's only row.
    monkeypatch.setitem(render_pool.__globals__["check_window"].__globals__["TALOS_WINDOWS"], "v1.13", ("v1.34",))
    with pytest.raises(Refused, match=r"Talos v1\.13\.6 does not run Kubernetes v1\.35, only v1\.34") as refusal:
        pool(source)
    assert refusal.value.rule == "talos-kubernetes-window"


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ({"version": "v9", "cluster": ""}, "values-schema"),
        ({"cluster": "", "talos": {"version": "bad"}}, "cluster-required"),
        ({"talos": {"version": "bad"}, "podCpuLimit": "-1"}, "version-format"),
        ({"podCpuLimit": "-1", "osImage": {"builtin": {}}}, "pod-cpu-negative"),
        ({"osImage": {"builtin": {}}, "maxNodeProvisionTime": "x"}, "golden-absent"),
        ({"maxNodeProvisionTime": "x", "maxUnhealthy": "x"}, "duration-format"),
        ({"maxUnhealthy": "x", "readyFalseTimeout": "x"}, "max-unhealthy-format"),
    ],
)
def test_render_pool_stops_at_the_first_rule(values: dict[str, Any], rule: str) -> None:
    with pytest.raises(Refused) as refusal:
        pool(values)
    assert refusal.value.rule == rule


@pytest.mark.parametrize("cpu", ["0.5", "500m", "1.5", "0", -1, 4294967296])
def test_whole_cores_refuses_what_is_no_number_of_cores(cpu: Any) -> None:
    with pytest.raises(Refused, match=r"resources\.cpu .* is not a whole number of cores") as refusal:
        pool({"resources": {"cpu": cpu, "memory": "4Gi"}}, whole_cores=True)
    assert refusal.value.rule == "cpu-not-whole"


@pytest.mark.parametrize("resources", [{}, {"cpu": 0}, {"cpu": "2", "memory": "4Gi"}, {"cpu": "1e1", "memory": "4Gi"}])
def test_whole_cores_accepts(resources: dict[str, Any]) -> None:
    assert pool({"resources": resources}, whole_cores=True)


def test_nulls_and_unknown_keys_render_like_absent_ones() -> None:
    nulls = dict.fromkeys(["roles", "gpus", "kubelet", "osImage", "podCpuLimit", "diskSize", "logSerialConsole"])
    assert pool({**nulls, "image": {"builtin": {}}}) == pool({})


@pytest.mark.parametrize(
    ("values", "rule", "names"),
    [
        ({"images": [{"version": "v1.13.6"}]}, "entry-schematic-required", ["images[0]", "schematicID"]),
        ({"images": [{"schematicID": "a"}]}, "entry-version-required", ["images[0]", "version"]),
        ({"images": [{"schematicID": "A", "version": "v1.13.6"}]}, "schematic-format", ["images[0].schematicID"]),
        ({"imageFactoryURL": "x"}, "factory-url-format", ["imageFactoryURL", "'x'"]),
        ({"imageFactoryURL": "http://new.example.net"}, "golden-immutable", ["imageFactoryURL", GOLDEN, "new entry"]),
    ],
)
def test_render_catalog_refuses(values: dict[str, Any], rule: str, names: list[str]) -> None:
    live = golden(spec={"source": {"http": {"url": "http://old.example.net/x"}}})
    with pytest.raises(Refused) as refusal:
        render_catalog(values, stored([live]))
    assert refusal.value.rule == rule
    for name in names:
        assert name in refusal.value.text
