# SPDX-License-Identifier: Apache-2.0
"""The scenarios about goldens: each reaches its state twice in a row, and what can heal does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab.api import Object
from lab.instance import Options
from lab.scenarios import SCENARIOS, bigsite, goldens, parts, retire
from lab.scenarios.waiting import condition, phase
from tests.lab.conftest import Lab, shared_lab
from tests.lab.helpers import Bench, live

pytestmark = pytest.mark.lab
TOO_SMALL = "DataVolume too small to contain image"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab of its own: these tests change the whole platform."""
    yield from shared_lab(tmp_path_factory, "golden-scenarios", Options())


async def play(bench: Bench, name: str) -> None:
    await SCENARIOS[name](bench.api, bench.lab)


async def golden(bench: Bench, scenario: str) -> Object:
    found = await bench.api.get("DataVolume", goldens.name(scenario), parts.GOLDENS)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("scenario", "text"),
    [
        ("too-small", TOO_SMALL),
        ("oversized", TOO_SMALL),
        ("html-source", "Unable to process data: Unable to convert source data to target format"),
        ("truncated-source", "Unable to process data: unexpected EOF"),
        ("untrusted-source", "tls: failed to verify certificate: x509: certificate signed by unknown authority"),
    ],
)
@live
async def test_failing_goldens(bench: Bench, scenario: str, text: str) -> None:
    for _ in range(2):
        await play(bench, scenario)
        failing = await bench.disk(
            parts.GOLDENS, goldens.name(scenario), lambda disk: text in condition(disk, "Running").get("message", "")
        )
        assert phase(failing) == "ImportInProgress"
        assert failing["status"]["restartCount"] >= 1


@live
async def test_retrying_import_heals(bench: Bench) -> None:
    for _ in range(2):
        await play(bench, "retrying-import")
        done = await bench.succeeded(parts.GOLDENS, goldens.name("retrying-import"))
        assert done["status"]["restartCount"] == 2


@live
async def test_stuck_import_needs_its_pod_deleted(bench: Bench) -> None:
    for _ in range(2):
        await play(bench, "stuck-import")
        stuck = await golden(bench, "stuck-import")
        assert phase(stuck) == "ImportScheduled"
    pods = await bench.api.list("Pod", parts.GOLDENS, "cdi.kubevirt.io=importer")
    [failed] = [pod for pod in pods if phase(pod) == "Failed"]
    await bench.api.delete("Pod", failed["metadata"]["name"], parts.GOLDENS)
    await bench.succeeded(parts.GOLDENS, goldens.name("stuck-import"))


@live
async def test_waiting_consumer(bench: Bench) -> None:
    for _ in range(2):
        await play(bench, "waiting-consumer")
        waiting = await golden(bench, "waiting-consumer")
        assert phase(waiting) == "PendingPopulation"
        assert goldens.IMMEDIATE not in waiting["metadata"]["annotations"]


@live
async def test_slow_source(bench: Bench) -> None:
    await play(bench, "slow-source")
    slow = await golden(bench, "slow-source")
    assert 0 < float(slow["status"]["progress"].removesuffix("%")) < 100


@live
async def test_cdi_165_and_back(bench: Bench) -> None:
    definition = "datavolumes.cdi.kubevirt.io"
    for scenario, version, known in (("cdi-1.65", "v1.65.0", True), ("empty", "v1.64.0", False)):
        await play(bench, scenario)
        cdi = await bench.api.get("CDI", "cdi")
        found = await bench.api.get("CustomResourceDefinition", definition)
        assert cdi is not None
        assert found is not None
        assert cdi["status"]["observedVersion"] == version
        schema = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        assert ("checksum" in schema["source"]["properties"]["http"]["properties"]) == known


@live
async def test_leftovers(bench: Bench) -> None:
    for _ in range(2):
        await play(bench, "leftovers")
    label = "cdi.kubevirt.io/OwnedByUID"
    kinds = ("PersistentVolumeClaim", "Pod")
    found = [one["metadata"]["name"] for kind in kinds for one in await bench.api.list(kind, parts.GOLDENS, label)]
    assert sorted(name.split("-")[0] for name in found) == ["prep", "prime", "prime", "tmp"]


@live
async def test_retire(bench: Bench) -> None:
    for _ in range(2):
        await play(bench, "retire")
    for role in retire.ROLES:
        assert phase(await golden(bench, f"retire {role}")) == "Succeeded"
    claim = await bench.api.get("PersistentVolumeClaim", retire.golden("cloning"), parts.GOLDENS)
    assert claim is not None
    assert claim["metadata"]["finalizers"] == ["provisioner.storage.kubernetes.io/cloning-protection"]
    temporary = await bench.api.list("PersistentVolumeClaim", parts.GOLDENS, "cdi.kubevirt.io/OwnedByUID")
    clones = [
        one for one in temporary if (one["spec"].get("dataSource") or {}).get("name") == claim["metadata"]["name"]
    ]
    assert len(clones) == 1
    pools = {one["metadata"]["name"] for one in await bench.api.list("KubernetesNodes", "tenant-acme")}
    assert {"shop-used", "shop-idle"} <= pools
    disks = await bench.api.list("DataVolume", "tenant-acme")
    sources = {one["spec"]["source"].get("pvc", {}).get("name") for one in disks}
    assert {retire.golden("pool"), retire.golden("cloning")} <= sources
    assert retire.golden("free") not in sources


@live
async def test_big_site(bench: Bench) -> None:
    for _ in range(2):
        await play(bench, "big-site")
    disks = await bench.api.list("DataVolume")
    workers = [one for one in disks if one["metadata"]["namespace"].startswith("tenant-t")]
    assert len(workers) == bigsite.TENANTS * bigsite.DISKS_PER_TENANT == 5000
    assert {phase(one) for one in workers} == {"Succeeded"}
    ready = {one["metadata"]["name"] for one in disks if one["metadata"]["namespace"] == parts.GOLDENS}
    assert len({parts.golden(bigsite.schematic(index)) for index in range(bigsite.GOLDENS)} & ready) == 200
    page = await bench.api.request("GET", "/api/v1/persistentvolumeclaims", query={"limit": "500"})
    assert len(page["items"]) == 500
    assert page["metadata"]["continue"]
    # What was written past the API can be changed and deleted through it.
    name, namespace = workers[0]["metadata"]["name"], workers[0]["metadata"]["namespace"]
    await bench.api.delete("DataVolume", name, namespace)
    await bench.absent("PersistentVolumeClaim", namespace, name)
