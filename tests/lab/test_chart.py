# SPDX-License-Identifier: Apache-2.0
"""The lab's charts against the recorded verdicts of the real ones; the machine template and the objects around it."""

from __future__ import annotations

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
from tests.lab.chart_states import SIZED, golden, machine, of_kind, pool, storage_class, stored

CONFORMANCE = Path(__file__).parents[1] / "conformance"
POOLS = json.loads((CONFORMANCE / "pools.json").read_text())
CATALOGS = json.loads((CONFORMANCE / "catalogs.json").read_text())


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


# The room itself


def test_charts_stay_pure_and_apart_from_the_product() -> None:
    forbidden = re.compile(
        r"^\s*(from|import) (ansible|plugins|asyncio|aiohttp|pathlib|os|socket|subprocess)\b", re.MULTILINE
    )
    sources = list((Path(__file__).parents[2] / "lab" / "chart").glob("*.py"))
    assert sources
    assert [path.name for path in sources if forbidden.search(path.read_text())] == []
