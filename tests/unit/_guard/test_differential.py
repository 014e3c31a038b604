# SPDX-License-Identifier: Apache-2.0
"""The rules against the lab's charts, which share no line with them, on generated pools, catalogs and cluster states.

What passes here is not refused there, and the other way round; and where both pass, template, disk and golden images are equal.
"""

from __future__ import annotations

import copy

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.judge import judge_catalog, judge_pools
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.report import describe_pool
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.state import ClusterState
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.table import CATALOG_RULES, POOL_RULES
from ansible_collections.cozystack.worker_image.plugins.module_utils._image.catalog import Catalog
from ansible_collections.cozystack.worker_image.plugins.module_utils._image.render import render_goldens
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.pool import Pool
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from lab.chart import ObjectLookups, Refused, render_catalog, render_pool

from .build import (
    BETA,
    GA,
    GOLDEN,
    NAMESPACE,
    POOL,
    SCHEMATIC,
    VIRT,
    claim,
    control_plane,
    deployment,
    disk,
    golden,
    instance_type,
    storage_class,
)
from .catalogs import CATALOG_ROWS
from .table import POOL_ROWS

CHART_IDS = {item.id for item in (*POOL_RULES, *CATALOG_RULES) if item.chart and item.refuses}
RELAXED = settings(
    deadline=None, max_examples=250, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def lab_says(spec, objects, cluster_values):
    """(rule, None) when the lab refuses, (None, objects) when it renders."""
    try:
        rendered = render_pool(
            NAMESPACE, "kubernetes-nodes-myk8s-md0", copy.deepcopy(spec), cluster_values, ObjectLookups(objects)
        )
    except Refused as refused:
        return refused.rule, None
    return None, rendered


def disagreement(spec, objects, cluster_values):
    """What differs between the product and the lab; blank when nothing does."""
    state = ClusterState.from_objects(objects, cluster_values={NAMESPACE: cluster_values})
    pool = Pool.named(NAMESPACE, "myk8s-md0", spec)
    ours = [finding.id for finding in judge_pools([pool], state).refusals if finding.id in CHART_IDS]
    rule, rendered = lab_says(spec, objects, cluster_values)
    if rule is not None:
        return "" if rule in ours else f"the lab refuses by {rule}, we by {ours}"
    if ours:
        return f"the lab renders, we refuse by {ours}"
    template = rendered[0]
    found = describe_pool(pool, state)
    if template["metadata"]["name"] != found["machine_template"]:
        return f"template {found['machine_template']}, the lab's is {template['metadata']['name']}"
    (volume,) = template["spec"]["template"]["spec"]["virtualMachineTemplate"]["spec"]["dataVolumeTemplates"]
    theirs = {"annotations": volume["metadata"]["annotations"], **volume["spec"]}
    return "" if theirs == found["worker_disk"] else f"disk {found['worker_disk']}, the lab's is {theirs}"


TALOS = ["v1.13.6", "v1.13.7", "v1.14.0", "v1.12.4", "v1.13", "1.13.6", "", None, 1.13, "v1.13.6\n"]
SCHEMATICS = [SCHEMATIC, "abc", "ABC", "", None, "a-", 12]
URLS = ["https://factory.talos.dev", "http://m/t/", "http://m//", "ftp://m", "", None, "http://m x"]
QUANTITIES = [
    "6Gi",
    "6G",
    "6144Mi",
    "20Gi",
    "1e10",
    "1e1.5",
    "0",
    "-1",
    0,
    None,
    "",
    21474836480,
    6442450944,
    "6 Gi",
    "7Gi",
    True,
    1.5,
    [],
    "5999Mi",
]
CPUS = [0, "0", 1, 2, "2", "500m", "1500m", "-1", None, "2k", 1.5, "0.5", "3"]
DURATIONS = ["30m", "1h30m", "0m", "30", "", None, "20m0s", 5]
PERCENTS = ["7%", "10%", "0%", "101%", "abc%", "500Mi", "1Gi", "x", "", None, "9.5%", "100%"]
MEMORY = ["128Mi", "4Gi", "0", "128mb", "1e9", "", None, "1e3Ki", 5]
CORES = ["100m", "0", "1.5m", "2", "0.0005", "", None]


def some(**choices):
    """A mapping with some of the keys, each with one of its values."""
    return st.fixed_dictionaries(
        {},
        optional={
            key: value if isinstance(value, st.SearchStrategy) else st.sampled_from(value)
            for key, value in choices.items()
        },
    )


images = st.one_of(
    st.sampled_from([None, {}, {"builtin": {}}, {"factory": {}}, {"builtin": None}, {"builtin": {}, "factory": {}}]),
    st.fixed_dictionaries({"builtin": some(version=TALOS, schematicID=SCHEMATICS)}),
    st.fixed_dictionaries({"factory": some(version=TALOS, schematicID=SCHEMATICS, imageFactoryURL=URLS)}),
)
specs = st.builds(
    lambda base, change: {**base, **change},
    st.sampled_from(
        [
            {"cluster": "myk8s", "instanceType": "", "resources": {"cpu": 2, "memory": "4Gi"}},
            {
                "cluster": "myk8s",
                "instanceType": "",
                "resources": {"cpu": 2, "memory": "4Gi"},
                "osImage": {"builtin": {}},
            },
            {"cluster": "myk8s", "osImage": {"builtin": {}}},
        ]
    ),
    some(
        cluster=["myk8s", "", "my", "myk8s-md0"],
        osImage=images,
        talos=some(version=TALOS, schematicID=SCHEMATICS, imageFactoryURL=URLS, installerRepository=["x", ""]),
        version=["v1.35", "v1.31", "v1.30", "v1.36", None, 1.35],
        storageClass=["", "replicated", "local", None, 5],
        diskSize=QUANTITIES,
        instanceType=["", "u1.medium", "gone", None],
        resources=some(cpu=CPUS, memory=["4Gi", "550Mi", 0, None, 4294967296]),
        podCpuLimit=CPUS,
        podCpuRequest=CPUS,
        roles=[[], ["a"], ["b", "a"], "a", None],
        gpus=[[], [{"name": "x/y"}], [{}], None],
        logSerialConsole=[True, False, "true", None],
        maxNodeProvisionTime=DURATIONS,
        readyFalseTimeout=DURATIONS,
        maxUnhealthy=["50%", "1", "half", "1.5", "", None, 1],
        kubelet=some(
            systemReservedMemory=MEMORY,
            kubeReservedMemory=MEMORY,
            systemReservedCpu=CORES,
            kubeReservedCpu=CORES,
            evictionHardMemory=PERCENTS,
            evictionSoftMemory=PERCENTS,
        ),
        minReplicas=[0, 3, "3", None],
    ),
)
classes = st.builds(
    storage_class,
    st.sampled_from(["replicated", "local", "fast"]),
    st.sampled_from([GA, BETA, VIRT, "other"]),
    created=st.sampled_from(["2025-01-01T00:00:00Z", "2025-06-01T00:00:00Z", "2026-01-01T00:00:00Z"]),
)
phases = st.sampled_from(["Succeeded", "Failed", "ImportInProgress", "Pending", "", None, "CSICloneInProgress"])
goldens = st.builds(
    golden,
    phases,
    st.sampled_from(["replicated", "local", "", None]),
    st.sampled_from(["6Gi", "30Gi", None, "6G"]),
    name=st.sampled_from([GOLDEN, f"talos-worker-{SCHEMATIC}-v1.14.0", "talos-worker-abc-v1.13.6"]),
    namespace=st.sampled_from(["cozy-public", "cozy-public", NAMESPACE]),
    running=st.sampled_from([None, "True", "False", "Unknown"]),
    restartCount=st.sampled_from([0, 2, 3, 9]),
)
claims = st.builds(
    claim,
    st.sampled_from(["replicated", "local", "", None]),
    st.sampled_from(["6Gi", "30Gi", None]),
    name=st.sampled_from([GOLDEN, "d1", "d2"]),
    namespace=st.sampled_from(["cozy-public", NAMESPACE]),
)
disks = st.builds(
    disk,
    st.sampled_from(["Succeeded", "CSICloneInProgress", "Failed"]),
    st.sampled_from([POOL, f"{POOL}-gpu", None]),
    st.sampled_from([GOLDEN, "talos-worker-abc-v1.13.6", None]),
    st.just("d1"),
)
others = st.one_of(
    st.builds(
        deployment,
        st.sampled_from(["kubernetes-nodes-myk8s-md0", "x", ""]),
        st.sampled_from(["kubernetes-myk8s", "y", ""]),
    ),
    st.builds(control_plane, st.sampled_from(["v1.35.6", "1.34.0", "v1.31.0", ""])),
    st.builds(
        instance_type,
        st.sampled_from(["u1.medium", "u1.large"]),
        st.sampled_from([1, 2, None]),
        st.sampled_from(["4Gi", None]),
    ),
)
clusters = st.lists(st.one_of(goldens, claims, classes, disks, others), max_size=7)
settings_of_site = st.sampled_from(
    [{}, {"ephemeral-storage-allocation-ratio": "10"}],
)


def unique(objects):
    """Each name once, as an API server has it; the later one stays."""
    return list(
        {(obj["kind"], obj["metadata"].get("namespace"), obj["metadata"]["name"]): obj for obj in objects}.values()
    )


def clear_default(objects):
    """Whether creation times tell the default classes apart; ties are nobody's contract."""
    stamps = [obj["metadata"]["creationTimestamp"] for obj in objects if obj["kind"] == "StorageClass"]
    return len(set(stamps)) == len(stamps)


@RELAXED
@given(specs, clusters, settings_of_site)
def test_pools_agree_with_the_lab(spec, objects, cluster_values):
    objects = unique(objects)
    assume(clear_default(objects))
    assert disagreement(spec, objects, cluster_values) == ""


# Which of several finished disks tells the class is not recorded; we take the first whose claim states one.
SEVERAL_DISKS = {"class/cloned-second-disk-tells"}


@pytest.mark.parametrize("row", POOL_ROWS, ids=lambda row: row.id)
def test_rows_agree_with_the_lab(row):
    if (
        row.known
        or row.id in SEVERAL_DISKS
        or row.name != "myk8s-md0"
        or row.spec.get("substrate") == "proxmox"
        or not clear_default(row.objects)
    ):
        pytest.skip("beyond what the lab's chart is given")
    assert disagreement(row.spec, list(row.objects), {}) == ""


entries = st.fixed_dictionaries(
    {},
    optional={
        "schematicID": st.sampled_from([SCHEMATIC, "abc", "ABC", "", None, "a-"]),
        "version": st.sampled_from(["v1.13.6", "v1.14.0", "v1.13", "", None]),
        "storage": st.sampled_from(["6Gi", "8Gi", "", None, 6442450944]),
        "storageClass": st.sampled_from(["replicated", "local", "", None]),
        "imageFactoryURL": st.sampled_from(
            ["https://factory.talos.dev", "https://factory.talos.dev/", "http://m", "ftp://m", "", None]
        ),
    },
)
catalogs = st.fixed_dictionaries(
    {},
    optional={
        "images": st.one_of(st.none(), st.lists(entries, max_size=3)),
        "storage": st.sampled_from(["6Gi", "8Gi", "", None]),
        "storageClass": st.sampled_from(["replicated", "local", "", None]),
        "imageFactoryURL": st.sampled_from(["https://factory.talos.dev", "http://m/", "m", "", None]),
    },
)
live_goldens = st.lists(
    st.builds(
        golden,
        st.just("Succeeded"),
        st.sampled_from(["replicated", "local", "", None]),
        st.sampled_from(["6Gi", "8Gi", None]),
        name=st.sampled_from([GOLDEN, "talos-worker-abc-v1.13.6"]),
        url=st.sampled_from(
            [
                "",
                f"https://factory.talos.dev/image/{SCHEMATIC}/v1.13.6/openstack-amd64.raw.xz",
                "http://m/image/abc/v1.13.6/openstack-amd64.raw.xz",
            ]
        ),
    ),
    max_size=2,
)


def catalog_disagreement(values, objects):
    ours = [
        finding.id
        for finding in judge_catalog(values, ClusterState.from_objects(objects)).refusals
        if finding.id in CHART_IDS
    ]
    try:
        rendered = render_catalog(copy.deepcopy(values), ObjectLookups(objects))
    except Refused as refused:
        return "" if refused.rule in ours else f"the lab refuses by {refused.rule}, we by {ours}"
    if ours:
        return f"the lab renders, we refuse by {ours}"
    expected = render_goldens(Catalog.from_values(values))
    return "" if rendered == expected else f"golden images {expected}, the lab's are {rendered}"


@RELAXED
@given(catalogs, live_goldens)
def test_catalogs_agree_with_the_lab(values, objects):
    assert catalog_disagreement(values, unique(objects)) == ""


MALFORMED = {"not-a-list", "not-a-mapping", "schematic-number"}
OTHER_WORDS = {"live-storage-other-words", "live-url-slashes"}


@pytest.mark.parametrize("row", CATALOG_ROWS, ids=lambda row: row.id)
def test_catalog_rows_agree_with_the_lab(row):
    if set(row.says) - CHART_IDS or row.id in OTHER_WORDS | MALFORMED:
        pytest.skip("refused by us alone, or let pass by us alone on purpose, or beyond the lab's chart")
    assert catalog_disagreement(row.values, list(row.objects)) == ""


def test_the_comparison_can_fail():
    spec = {
        "cluster": "myk8s",
        "instanceType": "",
        "resources": {"cpu": 2, "memory": "4Gi"},
        "osImage": {"builtin": {}},
    }
    assert disagreement(spec, [], {}) == ""
    rule, _ = lab_says(spec, [], {})
    assert rule == "golden-absent"
    assert lab_says(spec, [golden()], {})[0] is None
