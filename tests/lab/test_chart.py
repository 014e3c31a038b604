# SPDX-License-Identifier: Apache-2.0
"""The lab's charts against the recorded verdicts of the real ones, and against the rules nobody recorded."""

from __future__ import annotations

import copy
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab.chart import ObjectLookups, Refused, render_catalog, render_pool
from lab.chart.guards_sizing import check_size
from lab.chart.release import identify
from lab.chart.source import resolve
from lab.chart.template_text import printed, template_tree
from lab.chart.values import prepared

CONFORMANCE = Path(__file__).parents[1] / "conformance"
POOLS = json.loads((CONFORMANCE / "pools.json").read_text())
CATALOGS = json.loads((CONFORMANCE / "catalogs.json").read_text())

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


# Recorded verdicts


def pool_verdict(case: dict[str, Any]) -> dict[str, Any]:
    given = case["pool"]
    name = f"kubernetes-nodes-{given['name']}"
    try:
        rendered = render_pool(given["namespace"], name, given["spec"], case["cluster_values"], stored(case["objects"]))
    except Refused as refusal:
        return {"refused_by": refusal.rule}
    disk = machine(rendered)["dataVolumeTemplates"][0]
    return {
        "machine_template": rendered[0]["metadata"]["name"],
        "disk": {"annotations": disk["metadata"]["annotations"], **disk["spec"]},
    }


def catalog_verdict(case: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"golden_images": render_catalog(case["values"], stored(case["objects"]))}
    except Refused as refusal:
        # The chart stops at the first field that differs and so does the record.
        fields = {"fields": [refusal.text.split(":")[0]]} if refusal.rule == "golden-immutable" else {}
        return {"refused_by": refusal.rule, **fields}


@pytest.mark.parametrize("case", POOLS, ids=lambda case: case["id"])
def test_render_pool_agrees_with_the_recorded_chart(case: dict[str, Any]) -> None:
    assert pool_verdict(case) == case["expect"]


@pytest.mark.parametrize("case", CATALOGS, ids=lambda case: case["id"])
def test_render_catalog_agrees_with_the_recorded_chart(case: dict[str, Any]) -> None:
    assert catalog_verdict(case) == case["expect"]


def test_recorded_cases_are_all_there() -> None:
    assert (len(POOLS), len(CATALOGS)) == (288, 37)


# The machine template's text


@pytest.mark.parametrize(
    ("namespace", "cluster", "values", "name"),
    [
        ("tenant-test", "myk8s", {"roles": ["ingress-nginx"]}, "kubernetes-myk8s-md0-a6ac3e"),
        ("tenant-test", "myk8s", {}, "kubernetes-myk8s-md0-2d362e"),
        (
            "tenant-test",
            "myk8s",
            {"resources": {"cpu": 4, "memory": "8Gi"}, "gpus": [{"name": "nvidia.com/AD102GL_L40S"}]},
            "kubernetes-myk8s-md0-8ed0ab",
        ),
        (
            "tenant-test",
            "k8s",
            {
                "clusterReleaseName": "test-k8s",
                "roles": ["worker"],
                "resources": {"cpu": 8, "memory": "16Gi"},
            },
            "test-k8s-md0-767d86",
        ),
        ("tenant-acme", "shop", {"roles": ["ingress-nginx"]}, "kubernetes-shop-md0-4f12f8"),
        ("tenant-acme", "shop", {"roles": ["ingress-nginx"], "storageClass": ""}, "kubernetes-shop-md0-6f0c23"),
        (
            "tenant-acme",
            "shop",
            {
                "roles": ["ingress-nginx"],
                "osImage": {"factory": {"imageFactoryURL": "http://mirror.example.net:8080/talos"}},
            },
            "kubernetes-shop-md0-ea21cf",
        ),
        (
            "tenant-acme",
            "shop",
            {"roles": ["ingress-nginx"], "instanceType": "u1.medium", "resources": {}},
            "kubernetes-shop-md0-6a7d0f",
        ),
    ],
)
def test_machine_template_name_of_known_pools(namespace: str, cluster: str, values: dict[str, Any], name: str) -> None:
    lookups = stored([{"kind": "VirtualMachineClusterInstancetype", "metadata": {"name": "u1.medium"}}])
    given = {**SIZED, "cluster": cluster, **values}
    objects = render_pool(namespace, f"kubernetes-nodes-{cluster}-md0", given, {}, lookups)
    assert objects[0]["metadata"]["name"] == name


def test_machine_template_text_has_the_pinned_digest() -> None:
    values = prepared("KubernetesNodes", {**SIZED, "cluster": "myk8s"})
    release = identify("tenant-test", "kubernetes-nodes-myk8s-md0", values, {}, ObjectLookups())
    source = resolve(None, values["talos"])
    text = printed(template_tree(release, source, check_size(release), "20Gi", "replicated"))
    assert len(text) == 1977
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert digest == "2d362ea0cba480f81971d0a25a79f511b7bead3b306e8408883efa93e87e565a"


def test_machine_template_object_is_what_its_text_says() -> None:
    given = {
        **SIZED,
        "resources": {"cpu": "0.5", "memory": 4294967296},
        "podCpuLimit": "3",
        "gpus": [{"name": "nvidia.com/A"}],
        "logSerialConsole": True,
    }
    values = prepared("KubernetesNodes", given)
    release = identify("tenant-acme", "kubernetes-nodes-shop-md0", values, {}, ObjectLookups())
    tree = template_tree(release, resolve(None, values["talos"]), check_size(release), "20Gi", "replicated")
    # PyYAML reads a PCI address as a number in base 60; the platform's parser does not.
    text = printed(tree).replace("0000:07:00.0", '"0000:07:00.0"')
    assert pool(given)[0]["spec"]["template"] == yaml.safe_load(text)


def test_spread_constraints_select_in_the_last_entry_only() -> None:
    constraints = [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"},
        {"maxSkew": 2, "topologyKey": "host", "whenUnsatisfiable": "DoNotSchedule"},
    ]
    text = yaml.safe_dump({"topologySpreadConstraints": constraints})
    rendered = pool({}, cluster_values={"scheduling": {"globalAppTopologySpreadConstraints": text}})
    selector = {"matchLabels": {"cluster.x-k8s.io/cluster-name": "kubernetes-shop"}}
    spread = machine(rendered)["template"]["spec"]["topologySpreadConstraints"]
    assert spread == [constraints[0], {**constraints[1], "labelSelector": selector}]
    assert rendered[0]["metadata"]["name"] != pool({})[0]["metadata"]["name"]


# Rules that no recorded case reaches, and what their messages have to name


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


# Default classes


@pytest.mark.parametrize(
    ("classes", "disk_class"),
    [
        ([], None),
        ([("a", "2026-01-01T00:00:00Z", "storageclass.kubernetes.io/is-default-class")], "a"),
        (
            [
                ("a", "2026-02-01T00:00:00Z", "storageclass.beta.kubernetes.io/is-default-class"),
                ("b", "2026-01-01T00:00:00Z", "storageclass.kubernetes.io/is-default-class"),
            ],
            "a",
        ),
        (
            [
                ("a", "2026-02-01T00:00:00Z", "storageclass.kubernetes.io/is-default-class"),
                ("b", "2026-01-01T00:00:00Z", "storageclass.kubevirt.io/is-default-virt-class"),
            ],
            "b",
        ),
    ],
)
def test_builtin_pool_states_the_default_class_it_resolved(
    classes: list[tuple[str, ...]], disk_class: str | None
) -> None:
    silent = golden(spec={})
    rendered = pool(
        {"osImage": {"builtin": {}}, "storageClass": ""}, silent, *(storage_class(*each) for each in classes)
    )
    assert machine(rendered)["dataVolumeTemplates"][0]["spec"]["storage"].get("storageClassName") == disk_class


# Objects


def test_render_pool_objects_of_a_plain_pool() -> None:
    rendered = pool({"maxReplicas": 3, "roles": ["edge"], "maxUnhealthy": "1"})
    assert [obj["kind"] for obj in rendered] == [
        "KubevirtMachineTemplate",
        "MachineDeployment",
        "TalosConfigTemplate",
        "MachineHealthCheck",
        "WorkloadMonitor",
    ]
    deployment = rendered[1]
    assert deployment["metadata"] == {
        "name": "kubernetes-shop-md0",
        "namespace": "tenant-acme",
        "annotations": {
            "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size": "0",
            "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size": "3",
            "cluster.x-k8s.io/autoscaling-options-maxnodeprovisiontime": "30m",
            # 4096Mi less 2 x 256Mi less 7%, and 2000m less 2 x 100m
            "capacity.cluster-autoscaler.kubernetes.io/memory": "3297Mi",
            "capacity.cluster-autoscaler.kubernetes.io/cpu": "1800m",
        },
    }
    assert "replicas" not in deployment["spec"]
    worker = deployment["spec"]["template"]["spec"]
    assert worker["version"] == "v1.35.6"
    assert worker["bootstrap"]["configRef"]["name"] == "kubernetes-shop-md0"
    assert worker["infrastructureRef"]["name"] == rendered[0]["metadata"]["name"]
    assert deployment["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 3, "maxUnavailable": 1}
    assert deployment["spec"]["template"]["metadata"]["labels"]["node-role.kubernetes.io/edge"] == ""
    assert rendered[3]["spec"]["maxUnhealthy"] == 1
    assert rendered[4]["spec"]["minReplicas"] == 0


def test_config_template_follows_the_resolved_source_and_its_parent() -> None:
    control_plane = {
        "kind": "KamajiControlPlane",
        "metadata": {"name": "kubernetes-shop", "namespace": "tenant-acme", "uid": "u1"},
    }
    mirrors = {"ghcr.io": {"endpoints": ["http://registry.example.net"]}}
    values = {
        "osImage": {"factory": {"schematicID": "abc", "version": "v1.14.0"}},
        "talos": {"installerRepository": "registry.example.net/installer/", "registryMirrors": mirrors},
        "kubelet": {"systemReservedMemory": "300Mi"},
        "gpus": [{"name": "nvidia.com/A"}],
    }
    (config,) = of_kind(pool(values, control_plane), "TalosConfigTemplate")
    assert config["metadata"]["ownerReferences"][0]["uid"] == "u1"
    spec = config["spec"]["template"]["spec"]
    assert (spec["generateType"], spec["talosVersion"]) == ("none", "v1.14.0")
    machine_config = yaml.safe_load(spec["data"])["machine"]
    assert machine_config["install"]["image"] == "registry.example.net/installer/abc:v1.14.0"
    assert machine_config["registries"]["mirrors"] == mirrors
    assert machine_config["kubelet"]["image"] == "ghcr.io/siderolabs/kubelet:v1.35.6"
    reserved = machine_config["kubelet"]["extraConfig"]
    assert (reserved["systemReserved"]["memory"], reserved["kubeReserved"]["memory"]) == ("300Mi", "256Mi")
    assert machine_config["nodeLabels"] == {"gpu": "on"}


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({}, True),
        ({"release": "kubernetes-nodes-shop-md0-gpu"}, False),
        ({"owner": "kubernetes-other"}, False),
        ({"referenced": "kubernetes-shop-md0-bbbbbb"}, False),
        ({"kind": "ProxmoxMachineTemplate"}, False),
    ],
)
def test_earlier_template_is_kept_while_a_machine_set_names_it(changes: dict[str, str], kept: bool) -> None:
    old = {
        "kind": "KubevirtMachineTemplate",
        "metadata": {
            "name": "kubernetes-shop-md0-aaaaaa",
            "namespace": "tenant-acme",
            "annotations": {"meta.helm.sh/release-name": changes.get("release", "kubernetes-nodes-shop-md0")},
            "ownerReferences": [{"kind": "Cluster", "name": changes.get("owner", "kubernetes-shop")}],
        },
        "spec": {"template": {"spec": {"marker": 1}}},
    }
    reference = {
        "kind": changes.get("kind", "KubevirtMachineTemplate"),
        "name": changes.get("referenced", "kubernetes-shop-md0-aaaaaa"),
    }
    machine_set = {
        "kind": "MachineSet",
        "metadata": {"name": "ms", "namespace": "tenant-acme"},
        "spec": {"replicas": 0, "template": {"spec": {"infrastructureRef": reference}}},
    }
    templates = of_kind(pool({}, old, machine_set), "KubevirtMachineTemplate")
    assert [template["metadata"]["name"] for template in templates[1:]] == [old["metadata"]["name"]] * kept
    assert all(template["spec"] == old["spec"] for template in templates[1:])


# Catalog


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


# The room itself


def test_charts_stay_pure_and_apart_from_the_product() -> None:
    forbidden = re.compile(
        r"^\s*(from|import) (ansible|plugins|asyncio|aiohttp|pathlib|os|socket|subprocess)\b", re.MULTILINE
    )
    sources = list((Path(__file__).parents[2] / "lab" / "chart").glob("*.py"))
    assert sources
    assert [path.name for path in sources if forbidden.search(path.read_text())] == []
