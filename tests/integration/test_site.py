# SPDX-License-Identifier: Apache-2.0
"""The main job, run the way an operator runs it: site.yml in check mode, for real, again, and after being killed."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.site import CATALOG, PLATFORM, PRODUCT, ROOT, SCHEMATIC, Site, golden, kill_tree

SCENARIO = "demo"
pytestmark = pytest.mark.lab


def data(site: Site) -> dict[str, Any]:
    os_image = {"builtin": {}}
    return {
        "catalog_values": {
            "imageFactoryURL": site.lab["image_source"],
            "storageClass": "replicated",
            "storage": "6Gi",
            "images": [{"schematicID": SCHEMATIC, "version": "v1.13.6"}],
        },
        "tenant_pools_pools": [
            {
                "namespace": "tenant-acme",
                "cluster": "shop",
                "pool": "md0",
                "spec": {"minReplicas": 2, "osImage": os_image},
            },
            {
                "namespace": "tenant-acme",
                "cluster": "shop",
                "pool": "md0-gpu",
                "spec": {"minReplicas": 1, "osImage": os_image},
            },
            {
                "namespace": "tenant-globex",
                "cluster": "web",
                "pool": "front",
                "spec": {"minReplicas": 1, "osImage": os_image},
            },
        ],
    }


def package(site: Site) -> dict[str, Any]:
    found = site.get("Package", PLATFORM)
    assert found is not None
    return found


def test_1_check_mode_on_an_empty_platform_says_what_it_would_do_and_writes_nothing(site: Site) -> None:
    before, mark = package(site), site.mark()
    run = site.site_yml(data(site), "--check", "--diff")
    assert run.code == 0, run.output
    for text in (
        "Golden Talos v1.13.6 (schematic ce4c980550dd): planned",
        "Pool tenant-acme/shop-md0: would be created",
        "enabledPackages",
        "osImage",
    ):
        assert text in run.output
    assert "golden-planned" in run.output
    assert not site.since(mark).writes()
    assert package(site)["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


def test_2_the_first_run_imports_once_and_clones_for_every_worker(site: Site) -> None:
    before = package(site)
    run = site.site_yml(data(site))
    assert run.code == 0, run.output
    assert site.downloads() == 1
    disks = [item for item in site.list("DataVolume") if item["metadata"]["namespace"] != "cozy-public"]
    assert len(disks) == 4
    assert {item["status"]["phase"] for item in disks} == {"Succeeded"}
    volumes = Path(site.lab["volumes"])
    digests = {
        hashlib.sha256(
            (volumes / item["metadata"]["namespace"] / f"{item['metadata']['name']}.raw").read_bytes()
        ).hexdigest()
        for item in disks
    }
    assert digests == {hashlib.sha256((volumes / "cozy-public" / f"{golden()}.raw").read_bytes()).hexdigest()}
    assert "Pool tenant-globex/web-front: created; clones the golden of Talos v1.13.6" in run.output
    foreign_survives(before, package(site))


def foreign_survives(before: dict[str, Any], after: dict[str, Any]) -> None:
    old, new = (item["spec"]["components"]["platform"]["values"] for item in (before, after))
    assert [name for name in new["bundles"]["enabledPackages"] if name != CATALOG] == old["bundles"]["enabledPackages"]
    assert {key: value for key, value in new.items() if key not in ("bundles", "kubernetesWorkerImage")} == {
        key: value for key, value in old.items() if key not in ("bundles", "kubernetesWorkerImage")
    }
    assert after["metadata"].get("annotations") == before["metadata"].get("annotations")
    assert after["spec"]["variant"] == before["spec"]["variant"]


@pytest.mark.parametrize("flags", [(), ("--check", "--diff")], ids=["real", "check"])
def test_3_a_second_run_changes_nothing_and_asks_little(site: Site, flags: tuple[str, ...]) -> None:
    mark = site.mark()
    run = site.site_yml(data(site), *flags)
    assert run.code == 0, run.output
    assert "changed=0" in run.output
    since = site.since(mark)
    assert not since.writes()
    assert since.count() <= 15, since


def test_3_the_connection_may_come_from_the_inventory_and_tasks_may_run_async(site: Site) -> None:
    """One host is one cluster: its kubeconfig is its variable, and reaches every module by the action group."""
    env = {"K8S_AUTH_KUBECONFIG": "", "KUBECONFIG": "/nowhere"}
    run = site.site_yml({**data(site), "cozystack_kubeconfig": site.lab["kubeconfig"]}, env=env)
    assert run.code == 0, run.output
    assert "changed=0" in run.output
    task = {f"{PRODUCT}.node_pools": {"pools": data(site)["tenant_pools_pools"]}, "async": 60, "poll": 1}
    assert site.play(task).result["changed"] is False


def test_4_a_change_rolls_only_what_it_has_to(site: Site) -> None:
    changed = data(site)
    changed["tenant_pools_pools"][0]["spec"]["maxReplicas"] = 7
    mark = site.mark()
    run = site.site_yml(changed)
    assert run.code == 0, run.output
    assert [(item.verb, item.resource, item.name) for item in site.since(mark).writes()] == [
        ("patch", "kubernetesnodeses.apps.cozystack.io", "shop-md0")
    ]
    assert site.downloads() == 1


MOMENTS = ["TASK [cozystack.worker_image.catalog", "Package", "HelmRelease", "DataVolume", "KubernetesNodes"]


@pytest.mark.parametrize("moment", MOMENTS)
def test_5_a_killed_run_is_completed_by_the_next_one(site: Site, moment: str, tmp_path: Path) -> None:
    """Kill ansible-playbook and its module at the moment when a first sign of progress is there; then run again."""
    number = MOMENTS.index(moment)
    version = f"v1.13.{number + 10}"
    wanted = data(site)
    wanted["catalog_values"]["images"] = [{"schematicID": SCHEMATIC, "version": version}]
    wanted["tenant_pools_pools"] = [
        {
            "namespace": "tenant-globex",
            "cluster": "web",
            "pool": f"kill{number}",
            "spec": {"minReplicas": 1, "talos": {"version": version}, "osImage": {"builtin": {}}},
        }
    ]
    process = subprocess.Popen(
        site.site_command(wanted, tmp_path),
        cwd=ROOT,
        env=site.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    kill_at(site, process, moment, version, f"web-kill{number}")
    run = site.site_yml(wanted)
    assert run.code == 0, run.output
    again = site.site_yml(wanted)
    assert "changed=0" in again.output, again.output
    volume = site.get("DataVolume", golden(version), "cozy-public")
    assert volume is not None
    assert volume["status"]["phase"] == "Succeeded"
    pool = site.get("KubernetesNodes", f"web-kill{number}", "tenant-globex")
    assert pool is not None
    assert pool["spec"]["osImage"] == {"builtin": {}}


def kill_at(site: Site, process: subprocess.Popen[str], moment: str, version: str, pool: str) -> None:
    """Kill the whole process group as soon as the moment has come."""
    assert process.stdout is not None
    if moment.startswith("TASK"):
        for line in process.stdout:
            if moment in line:
                break
    else:
        signs: dict[str, Callable[[dict[str, Any]], bool]] = {
            "Package": lambda item: version in str(item["spec"]),
            "HelmRelease": lambda item: (
                item["metadata"]["name"] == "kubernetes-worker-image" and version in str(item["spec"])
            ),
            "DataVolume": lambda item: item["metadata"]["name"] == golden(version),
            "KubernetesNodes": lambda item: item["metadata"]["name"] == pool,
        }
        assert site.wait_for(moment, signs[moment]), moment
    if process.poll() is None:
        kill_tree(process.pid)
    process.wait(timeout=30)
    process.stdout.close()
