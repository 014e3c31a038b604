# SPDX-License-Identifier: Apache-2.0
"""Each scenario reaches its state, from any other one and twice in a row, and says what it is."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lab import seed
from lab.api import Api
from lab.instance import Options
from lab.ledger import Ledger
from lab.scenarios import SCENARIOS, main, manypools, parts, states, summary
from lab.scenarios.store import transactions
from lab.scenarios.waiting import Late, condition, object_until, phase, until
from tests.lab.conftest import Lab, shared_lab
from tests.lab.helpers import Bench, live, raw

lab_test = pytest.mark.lab


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab of its own: these tests change the whole platform."""
    yield from shared_lab(tmp_path_factory, "scenarios", Options())


SPEC_SCHEMA = "/openapi/v3/apis/apps.cozystack.io/v1alpha1"


def test_every_scenario_has_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(SCENARIOS)
    assert all(10 < len(summary(name)) <= 120 for name in SCENARIOS)


def test_no_lab_no_scenario(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["empty", "--home", str(tmp_path)]) == 1
    assert "no controllers run" in capsys.readouterr().err


def test_unknown_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["nobody"])
    assert "invalid choice: 'nobody'" in capsys.readouterr().err


@lab_test
def test_cli(lab: Any, cli: Callable[..., tuple[int, str, str]]) -> None:
    code, _, errors = cli("scenario", "empty", "--home", lab.home)
    assert code == 0, errors
    assert "scenario empty reached in" in errors


async def play(bench: Bench, name: str) -> None:
    await SCENARIOS[name](bench.api, bench.lab)


async def platform(bench: Bench) -> dict[str, Any]:
    package = await bench.api.get("Package", seed.PLATFORM)
    assert package is not None
    return package


@lab_test
@live
async def test_empty(bench: Bench) -> None:
    for _ in range(2):
        await play(bench, "empty")
        package = await platform(bench)
        values = package["spec"]["components"]["platform"]["values"]
        assert package["spec"]["variant"] == "isp-full"
        assert values["bundles"]["enabledPackages"] == ["cozystack.vm-default-images", "cozystack.external-dns"]
        assert "kubernetesWorkerImage" not in values
        assert values["authentication"] == {"oidc": {"enabled": False}}
        assert package["metadata"]["annotations"]["example.net/owner"] == "platform-team"


@lab_test
@live
async def test_demo(bench: Bench) -> None:
    for _ in range(2):
        await play(bench, "demo")
        for namespace, cluster in (("tenant-acme", "shop"), ("tenant-globex", "web")):
            control_plane = await bench.api.get("KamajiControlPlane", f"kubernetes-{cluster}", namespace)
            assert control_plane is not None
            assert control_plane["spec"]["version"].startswith("v1.35.")
            assert await bench.api.get("Kubernetes", cluster, namespace)


@lab_test
@live
async def test_old_platform(bench: Bench) -> None:
    async def published() -> bool:
        document = await bench.api.request("GET", SPEC_SCHEMA)
        return "osImage" in json.dumps(document["components"]["schemas"])

    await play(bench, "old-platform")
    assert await bench.api.get("PackageSource", seed.CATALOG) is None
    assert not await published()
    await play(bench, "empty")
    assert await bench.api.get("PackageSource", seed.CATALOG)
    assert await published()


@lab_test
@pytest.mark.parametrize("name", ["hosted", "disabled-package"])
@live
async def test_catalog_not_emitted(bench: Bench, name: str) -> None:
    await play(bench, "empty")
    await parts.gone(bench.api, "Package", seed.CATALOG)
    await play(bench, name)
    values = (await platform(bench))["spec"]["components"]["platform"]["values"]
    assert seed.CATALOG in values["bundles"]["enabledPackages"]
    assert await bench.api.get("Package", seed.CATALOG) is None


@lab_test
@live
async def test_no_platform(bench: Bench) -> None:
    for _ in range(2):
        await play(bench, "no-platform")
        assert await bench.api.get("Package", seed.PLATFORM) is None
    await play(bench, "empty")


@lab_test
@live
async def test_failing_import(bench: Bench) -> None:
    for _ in range(2):
        await play(bench, "failing-import")
        name = parts.golden(states.MISSING_SCHEMATIC)
        golden = await bench.api.get("DataVolume", name, "cozy-public")
        assert golden is not None
        assert phase(golden) == "ImportInProgress"
        assert golden["status"]["restartCount"] >= 3
    await bench.api.delete("DataVolume", name, "cozy-public")
    await play(bench, "empty")


@lab_test
@live
async def test_two_defaults(bench: Bench) -> None:
    for _ in range(2):
        await play(bench, "two-defaults")
    classes = await bench.api.list("StorageClass")
    marked = "storageclass.kubernetes.io/is-default-class"
    defaults = {
        one["metadata"]["name"] for one in classes if one["metadata"].get("annotations", {}).get(marked) == "true"
    }
    assert defaults == {"fast", "replicated"}
    await bench.api.delete("StorageClass", "fast")
    await bench.absent("StorageProfile", "", "fast")


@lab_test
@live
async def test_lost_golden(bench: Bench) -> None:
    for _ in range(2):
        await play(bench, "lost-golden")
        assert await bench.api.get("DataVolume", parts.golden(), "cozy-public") is None
        assert await bench.api.get("PersistentVolumeClaim", parts.golden(), "cozy-public") is None
        [disk] = await bench.api.list("DataVolume", "tenant-acme")
        assert phase(disk) == "Succeeded"
        assert bench.volume("tenant-acme", disk["metadata"]["name"]).read_bytes() == raw(parts.SCHEMATIC)
    await _without_pool(bench)


@lab_test
@live
async def test_class_mismatch(bench: Bench) -> None:
    for _ in range(2):
        await play(bench, "class-mismatch")
        golden = await bench.api.get("DataVolume", parts.golden(), "cozy-public")
        assert golden is not None
        assert golden["spec"]["storage"]["storageClassName"] == "replicated"
        [disk] = await bench.api.list("DataVolume", "tenant-acme")
        assert phase(disk) == "CSICloneInProgress"
        assert disk["spec"]["storage"]["storageClassName"] == "local"
        left = [one["metadata"]["name"] for one in await bench.api.list("PersistentVolumeClaim", "cozy-public")]
        assert any(name.startswith("tmp-pvc-") for name in left)
        # The release that made it is healthy: nothing but the disk knows.
        release = await bench.api.get("HelmRelease", "kubernetes-nodes-shop-md0", "tenant-acme")
        assert condition(release, "Ready")["status"] == "True"
    await _without_pool(bench)


async def _without_pool(bench: Bench) -> None:
    await bench.api.delete("KubernetesNodes", "shop-md0", "tenant-acme")
    await until(
        bench.api,
        "disks of shop-md0 gone",
        ["DataVolume", "HelmRelease"],
        lambda seen: (
            not seen["DataVolume"].in_namespace("tenant-acme")
            and not seen["HelmRelease"].get("tenant-acme", "kubernetes-nodes-shop-md0")
        ),
    )


def test_no_two_objects_of_a_kind_share_a_revision() -> None:
    """Else a watch may miss the second one for ever."""
    kinds = ["HelmRelease", "MachineDeployment", "MachineDeployment", "Namespace", "HelmRelease", "Namespace"]
    made = [{"kind": kind, "metadata": {"name": f"n{index}"}} for index, kind in enumerate(kinds)]
    written = [
        [base64.b64decode(put["requestPut"]["key"]).decode() for put in one["success"]] for one in transactions(made)
    ]
    assert [key.rpartition("/")[2] for keys in written for key in keys] == [f"n{index}" for index in range(6)]
    assert [len(keys) for keys in written] == [2, 3, 1]


@lab_test
def test_many_pools_shrunk(lab: Any) -> None:
    """Three tenants with four pools go the same way as fifty with twenty; the controllers agree with what they find."""

    async def body() -> tuple[list[dict[str, Any]], str]:
        async with Api(lab.home / "kubeconfig", "lab-test") as api:
            here = parts.Lab.at(lab.home)
            for _ in range(2):
                await manypools.many_pools(api, here, 3, 4)
            mark = Ledger(lab.home / "audit.log").mark()
            pool = {"cluster": "main", "minReplicas": 0, "maxReplicas": 5}
            await parts.pool(api, "tenant-t02", "main", "p03", pool)
            return await api.list("KubernetesNodes"), mark

    pools, mark = asyncio.run(body())
    mine = [one for one in pools if one["metadata"]["name"].startswith("main-p")]
    assert len(mine) == 12
    assert sum("builtin" in (one["spec"].get("osImage") or {}) for one in mine) == 6
    assert all(one["status"]["conditions"][-1]["type"] == "WorkloadsReady" for one in mine)
    writes = Ledger(lab.home / "audit.log").since(mark).writes()
    assert {one.name for one in writes if one.resource == "machinedeployments.cluster.x-k8s.io"} == {
        "kubernetes-main-p03"
    }
    assert not [one for one in writes if one.verb == "create"], "nothing was missing"


@lab_test
@live
async def test_late_says_what_and_what_was_seen(bench: Bench) -> None:
    with pytest.raises(
        Late, match=r"Namespace /default grows a tail: not within 0.2 s; last seen: \{\"phase\": \"Active\"\}"
    ):
        await object_until(bench.api, "Namespace", "", "default", lambda _: False, "grows a tail", seconds=0.2)
