# SPDX-License-Identifier: Apache-2.0
"""Playbook upgrade: selection, plan, batches, brakes, roll back, retirement. What happened is read from the API server."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.inprocess import pools_job
from tests.integration.site import PRODUCT, ROOT, SCHEMATIC, Run, Site, golden
from tests.integration.upgrading import (
    NEW,
    NODES,
    OLD,
    boot_seconds,
    bring,
    catalog,
    furnish,
    hosts_command,
    images,
    kill,
    recorded,
    upgrade,
    upgrade_command,
    versions,
)

SCENARIO = "demo"
pytestmark = pytest.mark.lab

ACME = [("tenant-acme", "shop", "p0"), ("tenant-acme", "shop", "p1")]
GLOBEX = [("tenant-globex", "web", "p0"), ("tenant-globex", "web", "p1")]
NAMES = ["shop-p0", "shop-p1", "web-p0", "web-p1"]
ALL: dict[str, Any] = {"upgrade_select": {"all": True}, "upgrade_batch_size": 2}


@pytest.fixture(scope="module", autouse=True)
def old_golden(site: Site) -> None:
    bring(site, OLD)


@pytest.fixture(autouse=True)
def four_pools(site: Site, old_golden: None) -> Iterator[None]:
    """Four pools with a worker each, on the old release."""
    furnish(site, ACME + GLOBEX)
    yield
    boot_seconds(site, 0.05)
    site.misbehave(None)
    site.faults()
    site.post(site.lab["control"] + "/misbehave", {"controller": "releases", "rule": None})


def patched(site: Site, mark: Any) -> list[str]:
    return [item.name for item in site.since(mark).writes() if item.resource == NODES]


def hash_of(run: Run) -> str:
    found = re.search(r"The pools' plan: (sha256:[0-9a-f]{64})", run.output)
    assert found, run.output
    return found[1]


def test_the_plan_of_check_mode_is_what_the_run_does_in_batches(site: Site, tmp_path: Path) -> None:
    mark = site.mark()
    shown = upgrade(site, tmp_path, ALL, "--check", "--diff")
    assert shown.code == 0, shown.output
    assert site.since(mark).writes().count() == 0
    assert "4 to move, 0 there already, 0 frozen, 0 left alone" in shown.output
    assert f"to roll back, run again with osImage.builtin.version {OLD}" in shown.output
    assert "replaces 1 worker" in shown.output
    assert "4 workers are replaced; batches of 2, canary 1" in shown.output
    refused = upgrade(site, tmp_path, ALL, "-e", "upgrade_expected_plan=sha256:" + "0" * 64)
    assert refused.code != 0
    assert "the plan is no longer the approved one" in refused.output
    assert site.since(mark).writes().count() == 0
    with recorded(site) as recorder:
        done = upgrade(site, tmp_path, ALL, "-e", f"upgrade_expected_plan={hash_of(shown)}")
    assert done.code == 0, done.output
    assert versions(site) == dict.fromkeys(NAMES, NEW)
    assert recorder.waves() == [
        {"tenant-acme/shop-p0"},
        {"tenant-acme/shop-p1", "tenant-globex/web-p0"},
        {"tenant-globex/web-p1"},
    ]
    assert recorder.most() == 2
    assert "Pool tenant-acme/shop-p0: moved to v1.13.7; 1 of 1 workers up to date" in done.output
    assert "To roll back 4 pools: run again with upgrade_version v1.13.6" in done.output
    assert "stays, still used" in done.output
    assert "Idle MachineSets hold a golden" in done.output
    mark = site.mark()
    again = upgrade(site, tmp_path, ALL)
    assert again.code == 0, again.output
    assert "changed=0" in again.output
    assert site.since(mark).writes().count() == 0
    assert "0 to move, 4 there already" in again.output


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ({"tenants": ["tenant-acme"]}, NAMES[:2]),
        ({"clusters": ["web"], "names": ["web-p1", "web-p0"]}, NAMES[2:]),
        ({"tenants": ["tenant-globex"], "where": "ends_with(name, '1') && source.version == 'v1.13.6'"}, ["web-p1"]),
    ],
)
def test_only_what_is_selected_moves_and_frozen_pools_do_not(
    site: Site, tmp_path: Path, select: dict[str, Any], expected: list[str]
) -> None:
    frozen = {"upgrade_frozen": ["tenant-globex/web-p0", "tenant-else/x"]}
    mark = site.mark()
    done = upgrade(site, tmp_path, {"upgrade_select": select, **frozen})
    assert done.code == 0, done.output
    assert sorted(patched(site, mark)) == [name for name in expected if name != "web-p0"]
    if "web-p0" in expected:
        assert "Pool tenant-globex/web-p0: frozen, stays at v1.13.6" in done.output


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "nothing-selected": ({}, "Give at least one of"),
    "all-selections-empty": ({"upgrade_select": {"tenants": [], "all": False}}, "Give at least one of"),
    "unknown-key": ({"upgrade_select": {"tenants": ["tenant-acme"], "wheer": "x"}}, "wheer"),
    "unknown-tenant": ({"upgrade_select": {"tenants": ["acme"]}}, "there is no pool with tenant acme"),
    "unknown-name": ({"upgrade_select": {"tenants": ["tenant-acme"], "names": ["web-p0"]}}, "name web-p0"),
    "no-expression": ({"upgrade_select": {"where": "["}}, "is no JMESPath expression"),
    "no-version": ({**ALL, "upgrade_version": ""}, "has to name a Talos release"),
    "no-release": ({**ALL, "upgrade_version": "1.13.7"}, "is not a Talos release"),
    "no-retirement": ({**ALL, "upgrade_retire": "all"}, "one of report"),
    "unknown-canary": ({**ALL, "upgrade_canary": ["tenant-acme/shop-p9"]}, "tenant-acme/shop-p9, which is no pool"),
    "no-batch": ({**ALL, "upgrade_batch_size": -1}, "batch_size"),
    "no-schematic": ({**ALL, "upgrade_schematicID": "ABC"}, "schematic-format"),
    # A pool that is refused: before the catalog is written.
    "refused-pool": (
        {**ALL, "upgrade_version": "v1.13.93", "tenant_pools_refuse_on": ["golden-planned"]},
        "golden-planned",
    ),
    "refused-image": ({**ALL, "upgrade_version": "v1.13.91"}, "404"),
}


def test_what_cannot_be_is_refused_before_anything_is_written(site: Site, tmp_path: Path) -> None:
    """One inventory host for each case."""
    site.faults({"path": "v1.13.91", "kind": "status", "status": 404})
    mark = site.mark()
    hosts = {name: data for name, (data, _) in REFUSED.items()}
    run = site.command(*hosts_command(site, tmp_path, hosts, "--forks", "4"), timeout=400)
    output = run.stdout + run.stderr
    for name, (_, words) in REFUSED.items():
        told = re.search(
            rf"fatal: \[{name}\]: FAILED! => (.*?)\n(?:fatal|ok|changed|skipping|TASK|\[ERROR\]|\n)", output, re.DOTALL
        )
        assert told is not None, (name, output)
        assert words in told[1], (name, told[1])
        assert re.search(rf"{name} .*failed=1", output), (name, output)
    assert site.since(mark).writes().count() == 0


def test_one_site_of_an_inventory(site: Site, tmp_path: Path) -> None:
    hosts = {"site-a": {"upgrade_select": {"names": ["shop-p0"]}}, "site-b": ALL}
    mark = site.mark()
    run = site.command(*hosts_command(site, tmp_path, hosts, "--limit", "site-a"))
    assert run.returncode == 0, run.stdout + run.stderr
    assert patched(site, mark) == ["shop-p0"]


def test_a_golden_that_fails_stops_it_before_any_pool_is_touched_and_a_repair_lets_it_go_on(
    site: Site, tmp_path: Path
) -> None:
    site.misbehave({"action": "evict", "match": golden("v1.13.92"), "times": 1})
    mark = site.mark()
    stopped = upgrade(site, tmp_path, {**ALL, "upgrade_version": "v1.13.92"})
    assert stopped.code != 0
    assert "importer pod" in stopped.output
    assert "Stopped: 0 pools were moved by this run" in stopped.output
    assert patched(site, mark) == []
    source = site.lab["image_source"]
    pair = {"schematicID": SCHEMATIC, "version": "v1.13.92"}
    repaired = site.module("golden_image", **pair, imageFactoryURL=source, recreate="stuck")
    assert repaired["golden"]["state"] == "ready"
    done = upgrade(site, tmp_path, {**ALL, "upgrade_version": "v1.13.92"})
    assert done.code == 0, done.output
    assert versions(site) == dict.fromkeys(NAMES, "v1.13.92")


def test_a_pool_in_trouble_stops_it_and_the_old_version_rolls_back(site: Site, tmp_path: Path) -> None:
    site.post(
        site.lab["control"] + "/misbehave",
        {"controller": "releases", "rule": {"action": "fail", "match": "shop-p1$", "message": "no space"}},
    )
    mark = site.mark()
    stopped = upgrade(site, tmp_path, ALL)
    assert stopped.code != 0
    assert sorted(patched(site, mark)) == NAMES[:3]
    assert "Pool tenant-acme/shop-p1: failed; " in stopped.output
    assert "Pool tenant-globex/web-p1: not moved yet" in stopped.output
    assert "Stopped: 3 pools were moved by this run" in stopped.output
    site.post(site.lab["control"] + "/misbehave", {"controller": "releases", "rule": None})
    mark = site.mark()
    back = upgrade(site, tmp_path, {**ALL, "upgrade_version": OLD})
    assert back.code == 0, back.output
    assert sorted(patched(site, mark)) == NAMES[:3]
    assert versions(site) == dict.fromkeys(NAMES, OLD)


def begin(site: Site, folder: Path, data: dict[str, Any]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        upgrade_command(site, folder, data),
        cwd=ROOT,
        env=site.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def released(item: dict[str, Any], pool: str) -> bool:
    """Whether this is the release of the pool, with the new version."""
    return item["metadata"]["name"] == f"kubernetes-nodes-{pool}" and NEW in str(item["spec"]["values"]["osImage"])


def test_pools_on_their_way_belong_to_the_selection_of_the_next_run(site: Site, tmp_path: Path) -> None:
    """A run is killed that has selected pools by their old release; the pool that it has moved shows the new one."""
    data = {
        "upgrade_select": {"tenants": ["tenant-acme"], "where": f"source.version == '{OLD}'"},
        "upgrade_batch_size": 1,
    }
    boot_seconds(site, 25)
    with recorded(site) as recorder:
        process = begin(site, tmp_path, data)
        assert site.wait_for("HelmRelease", lambda item: released(item, "shop-p0"))
        kill(process)
        process = begin(site, tmp_path, data)
        assert site.wait_for("HelmRelease", lambda item: released(item, "shop-p1"), 120)
        boot_seconds(site, 0.05)
        output = process.communicate(timeout=120)[0]
    assert process.returncode == 0, output
    assert "waiting for tenant-acme/shop-p0 from an earlier change" in output
    assert recorder.waves() == [{"tenant-acme/shop-p0"}, {"tenant-acme/shop-p1"}]


def test_pools_over_http_are_left_alone_unless_asked_for(site: Site, tmp_path: Path) -> None:
    factory = {"factory": {"imageFactoryURL": site.lab["image_source"]}}
    streamed = {"namespace": "tenant-acme", "cluster": "shop", "pool": "http", "spec": {"osImage": factory}}
    pools_job(site.lab["kubeconfig"], pools=[streamed])
    data = {"upgrade_select": {"names": ["shop-http"]}}
    mark = site.mark()
    left = upgrade(site, tmp_path, data)
    assert left.code == 0, left.output
    assert "Pool tenant-acme/shop-http: left alone; it boots over HTTP" in left.output
    assert site.since(mark).writes().count() == 0
    moved = upgrade(site, tmp_path, data, "-e", "upgrade_http_pools=true")
    assert moved.code == 0, moved.output
    found = site.get("KubernetesNodes", "shop-http", "tenant-acme")
    assert found is not None
    assert found["spec"]["osImage"] == {"factory": {**factory["factory"], "version": NEW}}
    pools_job(site.lab["kubeconfig"], pools=[streamed], state="absent")


def test_tags_do_a_part_of_it(site: Site, tmp_path: Path) -> None:
    mark = site.mark()
    for tag in ("probe", "report", "retire"):
        done = upgrade(site, tmp_path, ALL, "--tags", tag)
        assert done.code == 0, done.output
    assert site.since(mark).writes().count() == 0
    brought = upgrade(site, tmp_path, {**ALL, "upgrade_version": "v1.13.8"}, "--tags", "catalog")
    assert brought.code == 0, brought.output
    assert patched(site, mark) == []
    assert site.get("DataVolume", golden("v1.13.8"), "cozy-public") is not None
    moved = upgrade(site, tmp_path, {**ALL, "upgrade_version": "v1.13.8", "upgrade_canary": 0}, "--tags", "pools")
    assert moved.code == 0, moved.output
    assert versions(site) == dict.fromkeys(NAMES, "v1.13.8")


def test_the_role_has_an_entry_point_of_its_own(site: Site) -> None:
    bring(site, NEW)
    role = {"name": f"{PRODUCT}.tenant_pools", "tasks_from": "upgrade"}
    values = {"tenant_pools_version": NEW, "tenant_pools_select": {"names": ["shop-p0"]}, "tenant_pools_canary": 1}
    run = site.play({"ansible.builtin.include_role": role, "vars": values})
    assert run.code == 0, run.output
    assert versions(site) == {**dict.fromkeys(NAMES, OLD), "shop-p0": NEW}


def test_what_is_free_is_retired_on_request_and_nothing_else(site: Site, tmp_path: Path) -> None:
    """An idle MachineSet holds the old golden, the site's own data lists it: both have to be let go of."""
    made = site.module("image_catalog", catalog=catalog(site, "v1.13.9"))  # free as well, but nobody has left it
    assert not made.get("failed"), made
    idle = {"upgrade_retire_accept": ["golden-in-idle-template"]}
    free = {**ALL, "upgrade_retire": "delete_free", "catalog_values": {"images": images(NEW)}}
    held = upgrade(site, tmp_path, free)
    assert held.code == 0, held.output
    assert "idle template: " in held.output
    assert site.get("DataVolume", golden(OLD), "cozy-public") is not None
    listed = upgrade(site, tmp_path, {**free, **idle, "catalog_values": catalog(site, OLD)})
    assert "free, can be retired; first take it out of catalog_values" in listed.output
    assert site.get("DataVolume", golden(OLD), "cozy-public") is not None
    gone = upgrade(site, tmp_path, {**free, **idle})
    assert gone.code == 0, gone.output
    assert "Golden Talos v1.13.6 (schematic ce4c980550dd): retired" in gone.output
    assert site.get("DataVolume", golden(OLD), "cozy-public") is None
    package = site.get("Package", "cozystack.cozystack-platform")
    assert package is not None
    kept = package["spec"]["components"]["platform"]["values"]["kubernetesWorkerImage"]["images"]
    assert {entry["version"] for entry in kept} >= {NEW, "v1.13.9"}
    assert OLD not in {entry["version"] for entry in kept}
    assert site.get("DataVolume", golden("v1.13.9"), "cozy-public") is not None
    again = upgrade(site, tmp_path, {**free, **idle})
    assert "changed=0" in again.output
