# SPDX-License-Identifier: Apache-2.0
"""The life of a catalog beyond its first import: killed runs, deleted goldens, orphans, trouble, and a module that runs elsewhere."""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.site import BIN, CATALOG, PRODUCT, ROOT, SCHEMATIC, Run, Site, golden, kill_tree

SCENARIO = "demo"
pytestmark = pytest.mark.lab
ELSEWHERE = {"ANSIBLE_CONNECTION_PLUGINS": str(ROOT / "tests" / "integration" / "connections")}


def entry(version: str) -> dict[str, str]:
    return {"schematicID": SCHEMATIC, "version": version}


def catalog(site: Site, *versions: str, **more: Any) -> dict[str, Any]:
    base = {"imageFactoryURL": site.lab["image_source"], "storageClass": "replicated", "storage": "6Gi"}
    return {**base, **more, "images": [entry(version) for version in versions]}


def ids(result: dict[str, Any], key: str = "advice") -> list[str]:
    return [found["id"] for found in result[key]]


def slow(site: Site, version: str, bytes_per_second: int) -> None:
    site.faults({"path": version.replace(".", r"\.") + "/", "kind": "slow", "bytes_per_second": bytes_per_second})


def catalog_yml(site: Site, data: dict[str, Any], *flags: str) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        done = site.command(*command(site, data, Path(folder), *flags))
        return Run(done.returncode, done.stdout + done.stderr)


def command(site: Site, data: dict[str, Any], folder: Path, *flags: str) -> list[str]:
    """The command line of playbooks/catalog.yml for one site."""
    host = {"ansible_connection": "local", "ansible_python_interpreter": str(BIN / "python"), **data}
    inventory = folder / "hosts.yml"
    inventory.write_text(yaml.safe_dump({"all": {"hosts": {"site-a": host}}}))
    return [str(BIN / "ansible-playbook"), "-i", str(inventory), f"{PRODUCT}.catalog", *flags]


def test_the_playbook_plans_imports_and_then_has_nothing_to_do(site: Site) -> None:
    data = {"catalog_values": catalog(site, "v1.13.6")}
    mark = site.mark()
    check = catalog_yml(site, data, "--check", "--diff")
    assert check.code == 0, check.output
    assert "Golden Talos v1.13.6 (schematic ce4c980550dd): planned" in check.output
    assert not site.since(mark).writes()
    run = catalog_yml(site, data)
    assert run.code == 0, run.output
    assert "Golden Talos v1.13.6 (schematic ce4c980550dd): ready, 6Gi on class replicated" in run.output
    again = catalog_yml(site, data)
    assert "changed=0" in again.output, again.output


def test_a_run_that_is_killed_in_the_middle_of_an_import_is_taken_up(site: Site, tmp_path: Path) -> None:
    slow(site, "v1.13.30", 400_000)
    data = {"catalog_values": catalog(site, "v1.13.30")}
    process = subprocess.Popen(
        command(site, data, tmp_path),
        cwd=ROOT,
        env=site.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert site.wait_for(
            "DataVolume",
            lambda one: (
                one["metadata"]["name"] == golden("v1.13.30")
                and one.get("status", {}).get("phase") == "ImportInProgress"
            ),
        )
    finally:
        kill_tree(process.pid)
        process.wait(timeout=30)
    run = catalog_yml(site, data)
    site.faults()
    assert run.code == 0, run.output
    assert "changed=0" in run.output
    assert "importing" in run.output
    assert site.downloads("/v1.13.30/") == 1


def test_a_deleted_golden_comes_back_only_when_forced(site: Site) -> None:
    options = {"catalog": catalog(site, "v1.13.6")}
    before = site.downloads("/v1.13.6/")
    site.api(lambda api: api.delete("DataVolume", golden(), "cozy-public"))
    assert_gone(site, golden())
    mark, started = site.mark(), time.monotonic()
    plain, quiet = site.play(
        {f"{PRODUCT}.image_catalog": options}, {f"{PRODUCT}.image_catalog": {**options, "wait": False}}
    ).results
    assert plain["failed"] is True
    assert "force_render=true" in plain["msg"]
    assert "timed_out" not in plain
    assert time.monotonic() - started < 30
    assert ids(plain) == ids(quiet) == ["golden-not-rendered"]
    assert (quiet["changed"], quiet["goldens"][0]["state"]) == (False, "absent")
    check = site.module("image_catalog", check=True, **options, force_render=True)
    assert [(step["kind"], step["name"]) for step in check["plan"]["steps"]] == [
        ("HelmRelease", "kubernetes-worker-image")
    ]
    assert check["plan"]["steps"][0]["effect"] == f"imports 1 golden, 6 GiB once: {golden()} (6Gi)"
    assert check["goldens"][0]["state"] == "planned"
    assert not site.since(mark).writes()
    forced = site.module("image_catalog", **options, force_render=True, expected_plan=check["plan"]["hash"])
    assert (forced["changed"], forced["goldens"][0]["state"]) == (True, "ready"), forced
    assert forced["plan"] == check["plan"]
    assert site.downloads("/v1.13.6/") == before + 1
    assert site.since(mark).writes().count() == 1
    again = site.module("image_catalog", **options, force_render=True)
    assert (again["changed"], ids(again)) == (False, [])


def assert_gone(site: Site, name: str) -> None:
    """Neither DataVolume nor claim is there any more; the lab collects the claim a moment later."""
    for _ in range(100):
        if not [kind for kind in ("DataVolume", "PersistentVolumeClaim") if site.get(kind, name, "cozy-public")]:
            return
        time.sleep(0.1)
    raise AssertionError(f"{name} is still there")


def test_goldens_that_an_exact_list_orphans_are_named_and_stay(site: Site) -> None:
    both = site.module("image_catalog", catalog=catalog(site, "v1.13.6", "v1.13.31"))
    assert [item["state"] for item in both["goldens"]] == ["ready", "ready"]
    one = catalog(site, "v1.13.6")
    merged = site.module("image_catalog", catalog=one)
    assert (merged["changed"], ids(merged)) == (False, [])
    refused = site.module("image_catalog", catalog=one, entries="exact", refuse_on=["golden-orphaned"])
    assert golden("v1.13.31") in refused["msg"]
    check = site.module("image_catalog", check=True, catalog=one, entries="exact")
    exact = site.module("image_catalog", catalog=one, entries="exact")
    assert check["plan"] == exact["plan"]
    assert exact["plan"]["steps"][0]["effect"] == "imports nothing"
    (told,) = [found for found in exact["advice"] if found["id"] == "golden-orphaned"]
    names = {found["name"] for found in told["evidence"]["goldens"]}
    assert golden("v1.13.31") in names
    assert golden("v1.13.6") not in names
    assert site.get("DataVolume", golden("v1.13.31"), "cozy-public") is not None
    assert ids(site.module("image_catalog", catalog=one, entries="exact")) == []


def test_every_drifted_field_is_in_the_result_before_anything_is_written(site: Site) -> None:
    mark = site.mark()
    drifted = site.module("image_catalog", catalog=catalog(site, "v1.13.6", storage="8Gi", storageClass="local"))
    assert ids(drifted, "refusals") == ["golden-immutable"]
    assert drifted["goldens"][0]["drift"] == [
        {"field": "storage", "live": "6Gi", "wanted": "8Gi", "from": "storage"},
        {"field": "storageClass", "live": "replicated", "wanted": "local", "from": "storageClass"},
    ]
    assert site.since(mark).writes().count() == 0


def test_a_failing_source_ends_the_wait_with_cause_and_remedy(site: Site) -> None:
    site.faults({"path": r"v1\.13\.32/", "kind": "status", "status": 404})
    failed = site.module("image_catalog", catalog=catalog(site, "v1.13.32"), max_restarts=2)
    site.faults()
    assert failed["failed"] is True
    assert "timed_out" not in failed
    (found,) = failed["goldens"]
    assert (found["state"], found["trouble"]) == ("failing", "image-not-found")
    assert 2 <= found["restarts"] <= 3
    assert found["cause"] in failed["msg"]
    assert found["remedy"] in failed["msg"]
    assert (failed["changed"], len(failed["plan"]["steps"])) == (True, 1)
    # The source is repaired: CDI tries again by itself, and so does the next run.
    healed = site.module("image_catalog", catalog=catalog(site, "v1.13.32"), max_restarts=10)
    assert [item["state"] for item in healed["goldens"]] == ["ready"]


def elsewhere(site: Site, **options: Any) -> Run:
    task = {f"{PRODUCT}.image_catalog": options, "vars": {"ansible_connection": "elsewhere"}}
    return site.play(task, env=ELSEWHERE, flags=("-vvv",))


def test_a_module_that_runs_elsewhere_shows_its_progress(site: Site) -> None:
    slow(site, "v1.13.34", 100_000)
    run = elsewhere(site, catalog=catalog(site, "v1.13.34"))
    site.faults()
    assert run.result["goldens"][0]["state"] == "ready", run.output
    assert (run.result["changed"], len(run.result["plan"]["steps"])) == (True, 1)
    assert "_slice" not in run.result
    moments = [int(moment) for moment in re.findall(r"\[localhost\] +([0-9]+) s  .*importing", run.output)]
    assert len(moments) >= 2, run.output
    assert moments == sorted(moments)
    assert moments[-1] >= 5
    assert run.output.count("COZYSTACK_WORKER_IMAGE_SLICE=") >= 2
    assert "COZYSTACK_WORKER_IMAGE_PROGRESS=" not in run.output
    assert site.downloads("/v1.13.34/") == 1


def test_on_the_controller_a_module_runs_once_and_is_followed(site: Site) -> None:
    run = site.play({f"{PRODUCT}.image_catalog": {"catalog": catalog(site, "v1.13.6")}}, flags=("-vvv",))
    assert run.result["changed"] is False
    assert run.output.count("COZYSTACK_WORKER_IMAGE_PROGRESS=") == 1
    assert "COZYSTACK_WORKER_IMAGE_SLICE=" not in run.output


def test_elsewhere_a_task_may_be_async(site: Site) -> None:
    task = {f"{PRODUCT}.image_catalog": {"catalog": catalog(site, "v1.13.6")}, "async": 60, "poll": 1}
    run = site.play({**task, "vars": {"ansible_connection": "elsewhere"}}, env=ELSEWHERE)
    assert run.result["goldens"][0]["state"] == "ready", run.output


def test_a_time_out_says_what_was_last_seen(site: Site) -> None:
    slow(site, "v1.13.33", 20_000)
    late = site.module("image_catalog", catalog=catalog(site, "v1.13.33"), wait_timeout=4)
    site.faults()
    assert late["timed_out"] is True
    assert re.search(r"Timed out after 4 s .*importing for [0-9]+ s .*seen: phase Import", late["msg"]), late["msg"]
    assert (late["changed"], len(late["plan"]["steps"])) == (True, 1)


def test_a_time_out_elsewhere_is_that_of_the_whole_wait(site: Site) -> None:
    slow(site, "v1.13.35", 20_000)
    run = elsewhere(site, catalog=catalog(site, "v1.13.35"), wait_timeout=14)
    site.faults()
    assert run.result["timed_out"] is True
    seen = re.search(r"Timed out after (1[4-9]|2[0-9]) s .*importing for ([0-9]+) s", run.result["msg"])
    assert seen, run.result["msg"]
    assert int(seen[2]) >= 5


def test_absent_deletes_nothing_and_says_what_remains(site: Site) -> None:
    pool = {"namespace": "tenant-acme", "cluster": "shop", "pool": "md0", "spec": {"osImage": {"builtin": {}}}}
    site.module("node_pools", pools=[pool], wait="none")
    there = {one["metadata"]["name"] for one in site.list("DataVolume", "cozy-public")}
    check = site.module("image_catalog", check=True, state="absent")
    done = site.module("image_catalog", state="absent")
    assert check["plan"] == done["plan"]
    assert check["remains"] == done["remains"]
    remains = done["remains"]
    assert (remains["package"], remains["release"]) == (CATALOG, "cozy-system/kubernetes-worker-image")
    assert {found["name"] for found in remains["goldens"]} == there
    (used,) = [found for found in remains["goldens"] if found["users"]]
    assert used == {"name": golden(), "state": "ready", "size": "6Gi", "users": 1}
    assert f"{len(there)} goldens" in done["plan"]["steps"][0]["effect"]
    again = site.module("image_catalog", state="absent")
    assert again["changed"] is False
    assert {found["name"] for found in again["remains"]["goldens"]} == there
    assert {one["metadata"]["name"] for one in site.list("DataVolume", "cozy-public")} == there
