# SPDX-License-Identifier: Apache-2.0
"""Many pools at once: batches, canaries, brakes, approval, two runs at a time, runs that are killed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.inprocess import info_job, kill, pools_job, pools_process
from tests.integration.site import SCHEMATIC, Site, golden

SCENARIO = "demo"
pytestmark = pytest.mark.lab

OLD, NEW = "v1.13.6", "v1.13.7"
NAMES = [f"p{number}" for number in range(6)]
NODES = "kubernetesnodeses.apps.cozystack.io"


def declared(version: str, names: list[str] = NAMES, **more: Any) -> list[dict[str, Any]]:
    return [
        {
            "namespace": "tenant-acme",
            "cluster": "shop",
            "pool": name,
            "spec": {"minReplicas": 1, "maxReplicas": 2, "osImage": {"builtin": {"version": version}}, **more},
        }
        for name in names
    ]


def go(site: Site, pools: list[dict[str, Any]], check: bool = False, **params: Any) -> dict[str, Any]:
    return pools_job(site.lab["kubeconfig"], check, pools=pools, **{"wait": "workers", "wait_timeout": 60, **params})


@pytest.fixture(scope="module", autouse=True)
def images(site: Site) -> None:
    catalog = {
        "imageFactoryURL": site.lab["image_source"],
        "storage": "6Gi",
        "images": [{"schematicID": SCHEMATIC, "version": version} for version in (OLD, NEW)],
    }
    assert site.module("image_catalog", catalog=catalog)["changed"] is True


@pytest.fixture
def pools(site: Site) -> Iterator[list[dict[str, Any]]]:
    """Six pools with a worker each, on the old release."""
    found = go(site, declared(OLD))
    assert not found.get("failed"), found["msg"]
    yield declared(NEW)
    break_releases(site, None)
    assert site.wait_for("HelmRelease", lambda item: item["metadata"]["name"].endswith("-p2") and healthy(item))


def healthy(release: dict[str, Any]) -> bool:
    conditions = release.get("status", {}).get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def break_releases(site: Site, match: str | None) -> None:
    """Releases of these pools fail from now on; None withdraws it."""
    rule = {"action": "fail", "match": match, "message": "no space"} if match else None
    site.post(site.lab["control"] + "/misbehave", {"controller": "releases", "rule": rule})


def written(site: Site, mark: Any) -> list[str]:
    return [item.name for item in site.since(mark).writes() if item.resource == NODES]


def versions(site: Site) -> dict[str, str]:
    live = {item["metadata"]["name"]: item["spec"] for item in site.list("KubernetesNodes", "tenant-acme")}
    return {name: live[f"shop-{name}"]["osImage"]["builtin"]["version"] for name in NAMES}


class Watcher(threading.Thread):
    """Looks all the time how many pools have their workers replaced, and remembers the most."""

    def __init__(self, site: Site) -> None:
        super().__init__(daemon=True)
        self.site, self.most, self.halt = site, 0, threading.Event()

    def run(self) -> None:
        while not self.halt.is_set():
            rolling = 0
            for item in self.site.list("MachineDeployment", "tenant-acme"):
                status = item.get("status", {})
                stale = status.get("observedGeneration", 0) < item["metadata"]["generation"]
                rolling += stale or status.get("updatedReplicas") != status.get("replicas")
            self.most = max(self.most, rolling)

    def __enter__(self) -> Watcher:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.halt.set()
        self.join(30)


def test_batches_with_a_canary_and_a_frozen_pool(site: Site, pools: list[dict[str, Any]]) -> None:
    options = {
        "batch_size": 2,
        "canary": ["tenant-acme/shop-p3"],
        "frozen": ["tenant-acme/shop-p5", "tenant-else/x-y"],
        "pause": 0.1,
    }
    shown = go(site, pools, check=True, **options)
    mark = site.mark()
    with Watcher(site) as watcher:
        done = go(site, pools, **options)
    assert not done.get("failed"), done["msg"]
    assert done["plan"] == shown["plan"]
    assert [[name.rpartition("-")[2] for name in batch] for batch in done["batches"]] == [
        ["p3"],
        ["p0", "p1"],
        ["p2", "p4"],
    ]
    assert written(site, mark)[0] == "shop-p3"
    assert sorted(written(site, mark)) == [f"shop-{name}" for name in NAMES[:5]]
    assert watcher.most <= 2
    assert versions(site) == {**dict.fromkeys(NAMES, NEW), "p5": OLD}
    reports = {item["name"]: item for item in done["pools"]}
    assert reports["shop-p5"]["action"] == "frozen"
    moved = reports["shop-p0"]
    assert (moved["action"], moved["rolls_workers"]) == ("patch", True)
    assert moved["rollout"] == {"replicas": 1, "updated": 1, "ready": 1, "rolling": False, "complete": True}
    assert moved["concerned"] == {"workers": 1, "disks": 1, "bytes": 20 * 2**30}
    assert moved["roll"]["moves"] == {"template": True, "version": False, "config": False}
    step = done["plan"]["steps"][0]
    assert step["effect"] == f"replaces 1 worker; to roll back, run again with osImage.builtin.version {OLD}"
    again = go(site, pools, **options)
    assert (again["changed"], again["plan"]["steps"], again["batches"]) == (False, [], [])


def test_a_pool_in_trouble_stops_the_run_and_the_old_version_brings_it_back(
    site: Site, pools: list[dict[str, Any]]
) -> None:
    break_releases(site, "shop-p[01]$")
    stopped = go(site, pools, batch_size=2)
    assert stopped["failed"], stopped
    assert "no space" in stopped["msg"]
    assert "4 pools were not touched" in stopped["msg"]
    assert sorted(stopped["written"]) == ["tenant-acme/shop-p0", "tenant-acme/shop-p1"]
    assert versions(site) == {**dict.fromkeys(NAMES, OLD), "p0": NEW, "p1": NEW}
    break_releases(site, None)
    mark = site.mark()
    back = go(site, declared(OLD), batch_size=1)
    assert not back.get("failed"), back["msg"]
    assert sorted(written(site, mark)) == ["shop-p0", "shop-p1"]


def test_failures_that_are_allowed_for_do_not_stop_the_others(site: Site, pools: list[dict[str, Any]]) -> None:
    break_releases(site, "shop-p2$")
    found = go(site, pools, batch_size=3, max_failures=1)
    assert found["failed"], found
    assert list(found["unhealthy"]) == ["tenant-acme/shop-p2"]
    assert len(found["written"]) == 6
    canary = go(site, declared(OLD), canary=["tenant-acme/shop-p2"], max_failures=3)
    assert canary["failed"], canary
    assert versions(site) == {**dict.fromkeys(NAMES, NEW), "p2": OLD}


def test_a_disk_in_trouble_is_told_with_its_message(site: Site, pools: list[dict[str, Any]]) -> None:
    """A pool over HTTP: its disks carry no mark, and are found by its machines."""
    gone = {"factory": {"imageFactoryURL": site.lab["image_source"], "version": "v1.13.99"}}
    site.faults({"path": "v1.13.99", "kind": "status", "status": 404})
    broken = [{**pools[0], "spec": {"osImage": gone}}]
    started = time.monotonic()
    found = go(site, broken)
    site.faults()
    assert found["failed"]
    assert "404" in found["unhealthy"]["tenant-acme/shop-p0"]
    assert time.monotonic() - started < 30


def test_an_approved_plan_is_executed_and_an_edit_in_between_is_noticed(
    site: Site, pools: list[dict[str, Any]]
) -> None:
    plan = go(site, pools, check=True)["plan"]
    site.patch("KubernetesNodes", "shop-p1", {"spec": {"maxReplicas": 5}}, "tenant-acme")
    mark = site.mark()
    for approved in (plan, plan["hash"]):
        for check in (True, False):
            found = go(site, pools, check=check, expected_plan=approved)
            assert found["failed"]
            assert any("shop-p1" in line for line in found["moved"]), found["moved"]
    assert written(site, mark) == []
    site.patch("KubernetesNodes", "shop-p1", {"spec": {"maxReplicas": 2}}, "tenant-acme")
    done = go(site, pools, expected_plan=plan, batch_size=4)
    assert not done.get("failed"), done["msg"]
    assert done["plan"]["hash"] == plan["hash"]
    assert go(site, pools, expected_plan=plan["hash"])["changed"] is False


def test_two_runs_at_once_keep_each_others_fields(site: Site, pools: list[dict[str, Any]]) -> None:
    """One changes a size, the other the labels of the log; all of it is there at the end."""
    first = [{**pool, "spec": {"maxReplicas": 4}} for pool in pools]
    second = [{**pool, "spec": {"maxUnhealthy": "40%"}} for pool in pools]
    results: list[dict[str, Any]] = []
    threads = [
        threading.Thread(target=lambda given=given: results.append(go(site, given, wait="release", parallel=6)))
        for given in (first, second)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [item.get("msg") for item in results] == [None, None]
    for item in site.list("KubernetesNodes", "tenant-acme"):
        if item["metadata"]["name"].removeprefix("shop-") in NAMES:
            assert (item["spec"]["maxReplicas"], item["spec"]["maxUnhealthy"]) == (4, "40%"), item["metadata"]["name"]


def test_killed_in_a_batch_and_run_again(site: Site, pools: list[dict[str, Any]]) -> None:
    """Killed as soon as a batch has begun, several times; never do more pools roll than allowed."""
    options: dict[str, Any] = {"wait": "workers", "wait_timeout": 60, "batch_size": 2}
    with Watcher(site) as watcher:
        for count in (1, 3, 5):
            process = pools_process(site.lab["kubeconfig"], pools=pools, **options)
            deadline = time.monotonic() + 60
            while list(versions(site).values()).count(NEW) < count and time.monotonic() < deadline:
                time.sleep(0.01)
            kill(process)
        done = go(site, pools, **options)
    assert not done.get("failed"), done["msg"]
    assert versions(site) == dict.fromkeys(NAMES, NEW)
    assert watcher.most <= 2
    assert site.get("DataVolume", golden(OLD), "cozy-public") is not None


def test_selection_labels_and_followed_defaults(site: Site, pools: list[dict[str, Any]]) -> None:
    kubeconfig = site.lab["kubeconfig"]
    site.patch("KubernetesNodes", "shop-p4", {"metadata": {"labels": {"wave": "1"}}}, "tenant-acme")
    fresh = {"namespace": "tenant-globex", "cluster": "web", "pool": "new", "spec": {"osImage": {"builtin": {}}}}
    go(site, [fresh])
    chosen = info_job(kubeconfig, where="labels.wave == '1'")["pools"]
    assert [item["name"] for item in chosen] == ["shop-p4"]
    found = {item["name"]: item for item in info_job(kubeconfig)["pools"]}
    assert found["web-new"]["follows_defaults"]["talos.version"] == OLD
    assert "osImage" not in found["web-new"]["follows_defaults"]
    assert "talos.version" not in found["shop-p4"]["follows_defaults"]
    template = found["shop-p4"]["rollout"]["template"]
    assert (template["differs"], template["live"]) == (False, template["predicted"])
    bad = info_job(kubeconfig, where="labels.[")
    assert bad["failed"]
    assert "where" in bad["msg"]


def test_deletion_is_judged_and_waited_for_to_the_end(site: Site, pools: list[dict[str, Any]]) -> None:
    other = [{"namespace": "tenant-acme", "cluster": "shop-p0", "pool": "x", "spec": {}}]
    live = {
        "spec": {"cluster": "shop", "maxReplicas": 1},
        "metadata": {"namespace": "tenant-acme", "name": "shop-p0-x"},
    }
    site.api(lambda api: api.create({"apiVersion": "apps.cozystack.io/v1alpha1", "kind": "KubernetesNodes", **live}))
    refused = go(site, other, state="absent")
    assert [item["id"] for item in refused["refusals"]] == ["pool-of-another-cluster"]
    names = [*NAMES[:2], "p0-x"]
    shown = go(site, declared(OLD, names), check=True, state="absent")
    assert [step["risk"] for step in shown["plan"]["steps"]] == ["deletes"] * 3
    assert shown["pools"][0]["concerned"] == {"workers": 1, "disks": 1, "bytes": 20 * 2**30}
    done = go(site, declared(OLD, names), state="absent", frozen=["tenant-acme/shop-p1"])
    assert not done.get("failed"), done["msg"]
    assert [item["action"] for item in done["pools"]] == ["delete", "frozen", "delete"]
    left = {
        item["metadata"]["name"] for kind in ("MachineDeployment", "Machine") for item in site.list(kind, "tenant-acme")
    }
    assert not [name for name in left if name.startswith("kubernetes-shop-p0")]
    assert [name for name in left if name.startswith("kubernetes-shop-p1-")]
