# SPDX-License-Identifier: Apache-2.0
"""Operator, releases and workers: from the platform Package to running workers, and what does not happen by itself."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from lab import instance, processes, seed
from lab.api import Api, Cache, Object
from lab.controllers.objects import conditions, merged, three_way
from lab.controllers.releases import force_request
from lab.controllers.workers.rollout import Group, absolute, autoscaled, step
from lab.instance import Options
from lab.scenarios import parts, states
from lab.scenarios.waiting import condition, healthy, object_until, phase, settled, until
from tests.lab.helpers import Bench, live, play, raw

lab_test = pytest.mark.lab
FORCE, REQUESTED = "reconcile.fluxcd.io/forceAt", "reconcile.fluxcd.io/requestedAt"
CATALOG = ("cozy-system", "kubernetes-worker-image")
BUILTIN: dict[str, Any] = {"osImage": {"builtin": {}}, "instanceType": "u1.medium", "minReplicas": 1, "maxReplicas": 3}


# --- pure parts


@pytest.mark.parametrize(
    ("desired", "surge", "unavailable", "new", "olds", "wanted"),
    [
        (3, 1, 1, Group(0, 0), [], (3, [])),
        (2, 3, 1, Group(0, 0), [Group(2, 2)], (2, [1])),
        (2, 3, 1, Group(2, 0), [Group(2, 2)], (2, [1])),
        (2, 3, 1, Group(2, 1), [Group(1, 1)], (2, [0])),
        (2, 3, 1, Group(2, 2), [Group(1, 1)], (2, [0])),
        (3, 1, 0, Group(0, 0), [Group(3, 3)], (1, [3])),
        (3, 1, 0, Group(1, 0), [Group(3, 3)], (1, [3])),
        (3, 1, 0, Group(1, 1), [Group(3, 3)], (1, [2])),
        (2, 1, 1, Group(0, 0), [Group(2, 0)], (1, [1])),
        (3, 1, 1, Group(1, 0), [Group(3, 1)], (1, [2])),
        (0, 3, 1, Group(0, 0), [Group(0, 0)], (0, [0])),
        (0, 3, 1, Group(2, 2), [], (0, [])),
    ],
    ids=[
        "first", "surge", "one-may-miss", "half-way", "last", "surge-of-one", "wait-for-it", "and-go-on",
        "broken-old-ones-go-first", "not-more-than-are-missing", "empty", "scaled-to-zero",
    ],
)  # fmt: skip
def test_step(
    desired: int, surge: int, unavailable: int, new: Group, olds: list[Group], wanted: tuple[int, list[int]]
) -> None:
    assert step(desired, surge, unavailable, new, olds) == wanted


@pytest.mark.parametrize(
    ("value", "up", "wanted"), [(3, True, 3), ("50%", True, 2), ("50%", False, 1), ("0%", True, 0)]
)
def test_absolute(value: Any, up: bool, wanted: int) -> None:
    assert absolute(value, 3, up) == wanted


@pytest.mark.parametrize(("replicas", "wanted"), [(None, 1), (0, 1), (2, 2), (9, 3)])
def test_autoscaled(replicas: int | None, wanted: int) -> None:
    group = "cluster.x-k8s.io/cluster-api-autoscaler-node-group"
    spec = {} if replicas is None else {"replicas": replicas}
    marks = {f"{group}-min-size": "1", f"{group}-max-size": "3"}
    assert autoscaled({"metadata": {"annotations": marks}, "spec": spec}) == wanted


@pytest.mark.parametrize(
    ("force", "requested", "handled", "wanted"),
    [
        ("a", "a", None, "a"),
        ("a", "a", "a", None),
        ("b", "b", "a", "b"),
        ("a", None, None, None),
        (None, "a", None, None),
        ("a", "b", None, None),
    ],
)
def test_force_request(force: str | None, requested: str | None, handled: str | None, wanted: str | None) -> None:
    marks = {key: value for key, value in ((FORCE, force), (REQUESTED, requested)) if value}
    status = {"lastHandledForceAt": handled} if handled else {}
    assert force_request({"metadata": {"annotations": marks}, "status": status}) == wanted


def test_three_way_removes_only_what_was_ours() -> None:
    old, new = {"a": {"x": 1, "y": 2}, "b": [1]}, {"a": {"x": 3}}
    live_one = {"a": {"x": 1, "y": 2, "theirs": 5}, "b": [1], "replicas": 7}
    assert merged(live_one, three_way(old, new)) == {"a": {"x": 3, "theirs": 5}, "replicas": 7}


def test_conditions_keep_their_time_while_the_status_stays() -> None:
    since = "2026-01-01T00:00:00Z"
    known = {"type": "Ready", "status": "True", "reason": "A", "message": "", "lastTransitionTime": since}
    obj = {"metadata": {}, "status": {"conditions": [known]}}
    assert conditions(obj, ("Ready", "True", "B", "b"))[0]["lastTransitionTime"] == since
    assert conditions(obj, ("Ready", "False", "B", "b"))[0]["lastTransitionTime"] != since


def versioned(name: str, uid: str, version: int) -> Object:
    return {"metadata": {"name": name, "uid": uid, "resourceVersion": str(version)}}


class ListingApi:
    """An API server that lists what it was given, and whose watches end at once."""

    typed = staticmethod(Api.typed)

    def __init__(self) -> None:
        self.items: list[Object] = []
        self.version = 0

    async def request(self, *_: Any, **__: Any) -> Object:
        return {"items": self.items, "metadata": {"resourceVersion": str(self.version)}}

    async def watch(self, *_: Any) -> Any:
        for event in ():
            yield event


def cache_with(*objects: Object) -> tuple[Cache, list[tuple[str, str]]]:
    """A cache that knows the objects, and what its listener heard since."""
    cache, heard = Cache(ListingApi(), "Pod"), []  # type: ignore[arg-type]
    for one in objects:
        cache.put(one)
    cache.listeners.append(lambda event, key, _: heard.append((event, key[1])))
    return cache, heard


def test_cache_takes_only_news() -> None:
    cache, heard = cache_with(versioned("a", "1", 5))
    assert [cache.put(versioned("a", "1", version)) for version in (4, 5, 6)] == [False, False, True]
    assert heard == [("MODIFIED", "a")]


def test_cache_forgets_what_was_deleted_here_whatever_comes_late() -> None:
    cache, heard = cache_with(versioned("a", "1", 5))
    cache.drop(versioned("a", "1", 5))
    assert not cache.put(versioned("a", "1", 7))
    assert cache.put(versioned("a", "2", 8))
    cache.drop(versioned("a", "1", 9), watched=True)
    assert cache.get("", "a") == versioned("a", "2", 8)
    assert heard == [("DELETED", "a"), ("MODIFIED", "a")]


@pytest.mark.parametrize(("written", "left"), [(9, []), (11, ["a"])], ids=["gone", "written-meanwhile"])
def test_cache_lists_again(written: int, left: list[str]) -> None:
    """What is newer than the list was written while it was on its way."""
    cache, _ = cache_with(versioned("a", "1", written))
    cache.api.version = 10  # type: ignore[attr-defined]
    asyncio.run(cache._list_and_watch())
    assert [name for _, name in cache.objects] == left


def test_cache_listener_in_trouble(capsys: pytest.CaptureFixture[str]) -> None:
    cache, heard = cache_with()
    cache.listeners.insert(0, lambda *_: 1 / 0)
    cache.put(versioned("a", "1", 1))
    assert heard == [("MODIFIED", "a")]
    assert "ZeroDivisionError" in capsys.readouterr().err


# --- on a lab


@pytest.fixture(autouse=True)
def no_scripts(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a failed test scripted must not reach the next one."""
    yield
    if "lab" in request.fixturenames:
        lab = parts.Lab.at(request.getfixturevalue("lab").home)

        async def calm() -> None:
            for name in ("operator", "releases", "workers", "cdi"):
                await lab.misbehave(name, None)
                await lab.misbehave(name, {"action": "resume"})
            await lab.misbehave("timings", {"release_wait": 6.0, "release_retry": 0.5})

        asyncio.run(calm())


async def ready(bench: Bench, tenant: str, cluster: str) -> str:
    """A tenant with a cluster, and the default golden image."""
    await parts.base(bench.api, bench.lab)
    await enable(bench, parts.catalog(bench.lab))
    await parts.golden_ready(bench.api)
    namespace = await parts.tenant(bench.api, tenant)
    await parts.cluster(bench.api, namespace, cluster)
    return namespace


async def enable(bench: Bench, catalog: dict[str, Any]) -> None:
    await parts.platform(bench.api, bench.lab, "isp-full", parts.platform_values(catalog))


async def release(bench: Bench, key: tuple[str, str], check: Any, what: str = "") -> Object:
    found: Object = await object_until(
        bench.api, "HelmRelease", *key, lambda one: one if one and check(one) else None, what
    )
    return found


async def annotate(bench: Bench, key: tuple[str, str], **marks: str) -> None:
    keys = {"force": FORCE, "requested": REQUESTED}
    values = {keys[name]: value for name, value in marks.items()}
    await bench.api.patch("HelmRelease", key[1], {"metadata": {"annotations": values}}, key[0])


async def forced(bench: Bench, key: tuple[str, str], value: str) -> Object:
    await annotate(bench, key, force=value, requested=value)
    return await release(bench, key, lambda one: one["status"].get("lastHandledForceAt") == value, "handled")


@lab_test
@live
async def test_package_becomes_a_golden_image(bench: Bench) -> None:
    """Package, child Package, release, DataVolume: byte for byte what the image source made, with a single GET."""
    schematic = "chain"
    await parts.base(bench.api, bench.lab)
    await enable(bench, parts.catalog(bench.lab, {"schematicID": schematic, "version": "v1.13.7"}))
    name = parts.golden(schematic, "v1.13.7")
    await parts.golden_ready(bench.api, name)
    package = await bench.api.get("Package", seed.CATALOG)
    assert package is not None
    assert package["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
    found = condition(package, "Ready")
    assert (found["reason"], found["message"]) == (
        "ReconciliationSucceeded",
        "reconciliation succeeded, generated 1 helmrelease(s)",
    )
    assert package["status"]["dependencies"]["cozystack.kubevirt-cdi"] == {"ready": True}
    catalog = await release(bench, CATALOG, healthy)
    assert catalog["metadata"]["labels"]["cozystack.io/package"] == seed.CATALOG
    assert catalog["metadata"]["ownerReferences"][0]["uid"] == package["metadata"]["uid"]
    assert catalog["spec"]["valuesFrom"] == [{"kind": "Secret", "name": "cozystack-values"}]
    platform = await release(bench, ("cozy-system", "cozystack-platform"), healthy)
    assert "valuesFrom" not in platform["spec"]
    assert bench.volume("cozy-public", name).read_bytes() == raw(schematic, "v1.13.7")
    assert await bench.gets(schematic, "v1.13.7") == 1


@lab_test
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"name": "cozystack.nobody-has-it"}, "PackageSourceNotFound"),
        ({"variant": "nobody-has-it"}, "VariantNotFound"),
        ({"dependsOn": ["cozystack.nobody-has-it"]}, "DependenciesNotReady"),
    ],
    ids=["no-source", "no-variant", "dependency"],
)
@live
async def test_package_not_generated(bench: Bench, change: dict[str, Any], reason: str) -> None:
    name = change.get("name", f"cozystack.t-{reason.lower()}")
    component = {"name": "one", "path": "x", "install": {"namespace": "cozy-system", "releaseName": name[10:]}}
    if "name" not in change:
        source = seed.package_source(name, {"default": (change.get("dependsOn", []), [component])})
        await bench.api.ensure(source)
    package = {"apiVersion": "cozystack.io/v1alpha1", "kind": "Package", "metadata": {"name": name}}
    await bench.api.create(package | {"spec": {"variant": change.get("variant", "")}})
    await object_until(
        bench.api, "Package", "", name, lambda one: condition(one, "Ready").get("reason") == reason, reason
    )
    await bench.api.delete("Package", name)


@lab_test
@live
async def test_package_delete_uninstalls_and_goldens_stay(bench: Bench) -> None:
    await parts.base(bench.api, bench.lab)
    await enable(bench, parts.catalog(bench.lab))
    await parts.golden_ready(bench.api)
    await parts.platform(bench.api, bench.lab, "isp-full", parts.platform_values())
    # Taken off the list, and still there.
    assert await bench.api.get("Package", seed.CATALOG)
    await bench.api.delete("Package", seed.CATALOG)
    await bench.absent("HelmRelease", *CATALOG)
    golden = await bench.api.get("DataVolume", parts.golden(), "cozy-public")
    assert phase(golden) == "Succeeded"


@lab_test
@live
async def test_suspend_is_preserved_and_respected(bench: Bench) -> None:
    await parts.base(bench.api, bench.lab)
    await enable(bench, parts.catalog(bench.lab))
    await release(bench, CATALOG, healthy)
    await bench.api.patch("HelmRelease", CATALOG[1], {"spec": {"suspend": True}}, CATALOG[0])
    await enable(bench, parts.catalog(bench.lab, {"schematicID": "asleep", "version": "v1.13.6"}))
    changed = await release(bench, CATALOG, lambda one: one["spec"]["values"]["images"][0]["schematicID"] == "asleep")
    assert changed["spec"]["suspend"] is True
    await annotate(bench, CATALOG, force="asleep", requested="asleep")
    await bench.api.patch("HelmRelease", CATALOG[1], {"spec": {"suspend": None}}, CATALOG[0])
    await parts.golden_ready(bench.api, parts.golden("asleep"))
    # Only after it woke up: one render covers edit and force.
    woken = await release(bench, CATALOG, healthy)
    assert woken["status"]["lastHandledForceAt"] == "asleep"


@lab_test
@live
async def test_forced_render_needs_both_annotations(bench: Bench) -> None:
    """A deleted golden comes back by nothing else: not by itself, and not by one of the annotations."""
    await parts.base(bench.api, bench.lab)
    await enable(bench, parts.catalog(bench.lab, {"schematicID": "forced", "version": "v1.13.6"}))
    name = parts.golden("forced")
    await parts.golden_ready(bench.api, name)
    await release(bench, CATALOG, healthy)
    await bench.api.delete("DataVolume", name, "cozy-public")
    await bench.absent("DataVolume", "cozy-public", name)
    await annotate(bench, CATALOG, requested="one")
    await release(bench, CATALOG, lambda one: one["status"].get("lastHandledReconcileAt") == "one", "looked at")
    await annotate(bench, CATALOG, force="other")
    await annotate(bench, CATALOG, requested="two")
    await release(bench, CATALOG, lambda one: one["status"].get("lastHandledReconcileAt") == "two", "looked at")
    assert await bench.api.get("DataVolume", name, "cozy-public") is None
    await forced(bench, CATALOG, "three")
    await parts.golden_ready(bench.api, name)
    assert await bench.gets("forced") == 2


@lab_test
@live
async def test_catalog_release_waits_for_its_goldens(bench: Bench) -> None:
    await bench.lab.misbehave("timings", {"release_wait": 0.5})
    await bench.lab.misbehave("cdi", {"action": "hang", "match": "slowone", "times": 1})
    await parts.base(bench.api, bench.lab)
    await enable(bench, parts.catalog(bench.lab, {"schematicID": "slowone", "version": "v1.13.6"}))
    waiting = await release(bench, CATALOG, lambda one: condition(one, "Ready").get("status") == "Unknown")
    found = condition(waiting, "Ready")
    assert found["reason"] == "Progressing"
    assert found["message"].endswith("action with timeout of 10m0s")
    failed = await release(bench, CATALOG, lambda one: condition(one, "Ready").get("status") == "False")
    found = condition(failed, "Ready")
    assert found["reason"] in ("InstallFailed", "UpgradeFailed")
    assert (
        f"timeout waiting for: [DataVolume/cozy-public/{parts.golden('slowone')} status: 'InProgress']"
        in found["message"]
    )
    await bench.lab.misbehave("cdi", None)
    await parts.golden_ready(bench.api, parts.golden("slowone"))
    await release(bench, CATALOG, healthy, "healthy after a retry")


@lab_test
@live
async def test_golden_is_immutable(bench: Bench) -> None:
    await parts.base(bench.api, bench.lab)
    entry = {"schematicID": "immutable", "version": "v1.13.6"}
    await enable(bench, parts.catalog(bench.lab, entry))
    await parts.golden_ready(bench.api, parts.golden("immutable"))
    await enable(bench, parts.catalog(bench.lab, entry, storage="7Gi"))
    failed = await release(
        bench, CATALOG, lambda one: settled(one) and condition(one, "Ready")["status"] == "False", "refused"
    )
    assert condition(failed, "Ready")["reason"] == "UpgradeFailed"
    assert condition(failed, "Ready")["message"].startswith("Helm upgrade failed: execution error: ")
    await enable(bench, parts.catalog(bench.lab, entry))
    await release(bench, CATALOG, healthy, "healthy again")


@lab_test
@live
async def test_pool_runs_from_clones(bench: Bench) -> None:
    """Two pools with three workers, and no GET beyond the golden's; names, marks and bytes of the disks."""
    namespace = await ready(bench, "clones", "c")
    imports = await bench.gets(parts.SCHEMATIC)
    await parts.pool(bench.api, namespace, "c", "md0", BUILTIN | {"minReplicas": 2})
    await parts.pool(bench.api, namespace, "c", "md0-gpu", BUILTIN)
    await parts.workers(bench.api, namespace, "kubernetes-c-md0", 2)
    await parts.workers(bench.api, namespace, "kubernetes-c-md0-gpu", 1)
    disks = await bench.api.list("DataVolume", namespace)
    assert len(disks) == 3
    selector = "cluster.x-k8s.io/deployment-name=kubernetes-c-md0"
    machines = await bench.api.list("KubevirtMachine", namespace, selector)
    names = {f"{one['metadata']['name']}-disk-system" for one in machines}
    marked = "kubernetes-worker-image.cozystack.io/pool"
    mine = [one for one in disks if one["metadata"]["annotations"][marked] == "kubernetes-c-md0"]
    assert {one["metadata"]["name"] for one in mine} == names
    for one in disks:
        marks = one["metadata"]["annotations"]
        assert marks["kubernetes-worker-image.cozystack.io/golden"] == parts.golden()
        assert marks["cdi.kubevirt.io/allowClaimAdoption"] == "true"
        assert marks["cdi.kubevirt.io/cloneType"] == "csi-clone"
        assert bench.volume(namespace, one["metadata"]["name"]).read_bytes() == raw(parts.SCHEMATIC)
        vm = await bench.api.get("VirtualMachine", one["metadata"]["ownerReferences"][0]["name"], namespace)
        assert vm is not None
        assert one["metadata"]["labels"]["kubevirt.io/created-by"] == vm["metadata"]["uid"]
        assert vm["spec"]["dataVolumeTemplates"][0]["metadata"]["name"] == one["metadata"]["name"]
    provisioned = condition(machines[0], "VMProvisioned")
    assert provisioned["status"] == "True"
    assert await bench.gets(parts.SCHEMATIC) == imports
    monitor = await bench.api.get("WorkloadMonitor", "kubernetes-c-md0", namespace)
    assert monitor is not None
    assert monitor["status"]["operational"] is True
    app = await bench.api.get("KubernetesNodes", "c-md0", namespace)
    assert condition(app, "WorkloadsReady")["status"] == "True"


@lab_test
@live
async def test_refused_pool_is_stored_and_tried_again(bench: Bench) -> None:
    """Nothing is applied, later edits neither; lifting the cause is enough, since a failed release is retried."""
    namespace = await ready(bench, "refused", "c")
    spec = {"cluster": "c", **BUILTIN, "osImage": {"builtin": {"schematicID": "notthere"}}}
    await parts.app(bench.api, "KubernetesNodes", namespace, "c-md0", spec)
    key = (namespace, "kubernetes-nodes-c-md0")
    failed = await release(bench, key, lambda one: condition(one, "Ready").get("status") == "False")
    found = condition(failed, "Ready")
    assert found["reason"] == "InstallFailed"
    assert found["message"].startswith("Helm install failed: execution error: ")
    assert parts.golden("notthere") in found["message"]
    assert await bench.api.list("MachineDeployment", namespace) == []
    images = [{"schematicID": one, "version": "v1.13.6"} for one in (parts.SCHEMATIC, "notthere")]
    await enable(bench, parts.catalog(bench.lab, *images))
    await release(bench, key, healthy, "healthy without an edit")
    await parts.workers(bench.api, namespace, "kubernetes-c-md0", 1)


@lab_test
@live
async def test_healthy_release_does_not_notice_a_lost_golden(bench: Bench) -> None:
    """Scaled to zero, never cloned: true for weeks, and surfacing only at the next edit."""
    namespace = await ready(bench, "unnoticed", "c")
    await parts.pool(bench.api, namespace, "c", "md0", BUILTIN | {"minReplicas": 0})
    await enable(bench, parts.catalog(bench.lab, images=[]))
    await parts.rendered(bench.api, *CATALOG, parts.catalog(bench.lab, images=[]))
    await parts.gone(bench.api, "DataVolume", parts.golden(), "cozy-public")
    await bench.absent("PersistentVolumeClaim", "cozy-public", parts.golden())
    key = (namespace, "kubernetes-nodes-c-md0")
    await annotate(bench, key, requested="now")
    await release(bench, key, lambda one: one["status"].get("lastHandledReconcileAt") == "now" and healthy(one))
    await bench.api.patch("KubernetesNodes", "c-md0", {"spec": {"maxReplicas": 5}}, namespace)
    failed = await release(bench, key, lambda one: condition(one, "Ready").get("status") == "False")
    assert condition(failed, "Ready")["reason"] == "UpgradeFailed"


@lab_test
@live
async def test_replicas_belong_to_the_autoscaler(bench: Bench) -> None:
    namespace = await ready(bench, "scaled", "c")
    await parts.pool(bench.api, namespace, "c", "md0", BUILTIN)
    await parts.workers(bench.api, namespace, "kubernetes-c-md0", 1)
    await bench.api.patch("MachineDeployment", "kubernetes-c-md0", {"spec": {"replicas": 3}}, namespace)
    await parts.workers(bench.api, namespace, "kubernetes-c-md0", 3)
    await bench.api.patch("KubernetesNodes", "c-md0", {"spec": {"maxUnhealthy": "40%"}}, namespace)
    await release(
        bench,
        (namespace, "kubernetes-nodes-c-md0"),
        lambda one: healthy(one) and one["spec"]["values"].get("maxUnhealthy") == "40%",
    )
    await parts.workers(bench.api, namespace, "kubernetes-c-md0", 3)
    await bench.api.patch("KubernetesNodes", "c-md0", {"spec": {"maxReplicas": 2}}, namespace)
    await parts.workers(bench.api, namespace, "kubernetes-c-md0", 2)
    assert len(await bench.api.list("MachineSet", namespace)) == 1
    kinds = ["DataVolume", "PersistentVolumeClaim", "VirtualMachine"]
    await until(
        bench.api,
        "the third worker's objects gone",
        kinds,
        lambda seen: all(len(seen[kind].in_namespace(namespace)) == 2 for kind in kinds),
    )


@lab_test
@live
async def test_template_change_replaces_the_workers(bench: Bench) -> None:
    namespace = await ready(bench, "rolled", "c")
    await parts.pool(bench.api, namespace, "c", "md0", BUILTIN | {"minReplicas": 2})
    await parts.workers(bench.api, namespace, "kubernetes-c-md0", 2)
    before = {one["metadata"]["name"] for one in await bench.api.list("Machine", namespace)}
    await bench.api.patch("KubernetesNodes", "c-md0", {"spec": {"diskSize": "30Gi"}}, namespace)
    await release(
        bench,
        (namespace, "kubernetes-nodes-c-md0"),
        lambda one: healthy(one) and one["spec"]["values"]["diskSize"] == "30Gi",
    )
    await parts.workers(bench.api, namespace, "kubernetes-c-md0", 2)
    after = {one["metadata"]["name"] for one in await bench.api.list("Machine", namespace)}
    assert not before & after
    sets = await bench.api.list("MachineSet", namespace)
    assert sorted(one["spec"]["replicas"] for one in sets) == [0, 2]
    # An old template stays as long as a machine set names it, if the cluster owns it.
    templates = await bench.api.list("KubevirtMachineTemplate", namespace)
    assert len(templates) == 2
    assert {one["metadata"]["ownerReferences"][0]["kind"] for one in templates} == {"Cluster"}
    await until(
        bench.api, "old disks gone", ["DataVolume"], lambda seen: len(seen["DataVolume"].in_namespace(namespace)) == 2
    )
    disks = await bench.api.list("DataVolume", namespace)
    assert {one["spec"]["storage"]["resources"]["requests"]["storage"] for one in disks} == {"30Gi"}
    await bench.api.patch("KubernetesNodes", "c-md0", {"spec": {"maxReplicas": 4}}, namespace)
    await release(
        bench,
        (namespace, "kubernetes-nodes-c-md0"),
        lambda one: healthy(one) and one["spec"]["values"]["maxReplicas"] == 4,
    )
    assert len(await bench.api.list("KubevirtMachineTemplate", namespace)) == 2
    assert {one["metadata"]["name"] for one in await bench.api.list("Machine", namespace)} == after


@lab_test
@live
async def test_deleted_pool_takes_its_workers_along(bench: Bench) -> None:
    namespace = await ready(bench, "deleted", "c")
    await parts.pool(bench.api, namespace, "c", "md0", BUILTIN)
    await parts.workers(bench.api, namespace, "kubernetes-c-md0", 1)
    [disk] = await bench.api.list("DataVolume", namespace)
    await bench.api.delete("KubernetesNodes", "c-md0", namespace)
    kinds = [
        "HelmRelease", "MachineDeployment", "MachineSet", "Machine", "KubevirtMachine", "VirtualMachine",
        "VirtualMachineInstance", "DataVolume", "PersistentVolumeClaim", "KubevirtMachineTemplate", "WorkloadMonitor",
    ]  # fmt: skip

    def left(seen: Any) -> list[str]:
        rest = [kind for kind in kinds for one in seen[kind].in_namespace(namespace)]
        return [kind for kind in rest if kind != "HelmRelease"] + rest[1:]  # the cluster's own release stays

    await until(bench.api, "pool gone", kinds, lambda seen: not left(seen), describe=left)
    assert await bench.api.get("KamajiControlPlane", "kubernetes-c", namespace)
    assert not bench.volume(namespace, disk["metadata"]["name"]).exists()


@lab_test
@live
async def test_kept_deployment_survives_its_release(bench: Bench) -> None:
    namespace = await ready(bench, "kept", "c")
    await parts.pool(bench.api, namespace, "c", "md0", BUILTIN | {"minReplicas": 0})
    keep = {"metadata": {"annotations": {"helm.sh/resource-policy": "keep"}}}
    await bench.api.patch("MachineDeployment", "kubernetes-c-md0", keep, namespace)
    await bench.api.delete("KubernetesNodes", "c-md0", namespace)
    await bench.absent("WorkloadMonitor", namespace, "kubernetes-c-md0")
    await bench.absent("HelmRelease", namespace, "kubernetes-nodes-c-md0")
    assert await bench.api.get("MachineDeployment", "kubernetes-c-md0", namespace)


@lab_test
@live
async def test_factory_pool_imports_per_worker(bench: Bench) -> None:
    namespace = await ready(bench, "factory", "c")
    source = {"factory": {"imageFactoryURL": bench.lab.image_source, "schematicID": "perworker"}}
    spec = BUILTIN | {"osImage": source, "minReplicas": 2}
    await parts.pool(bench.api, namespace, "c", "md0", spec)
    await parts.workers(bench.api, namespace, "kubernetes-c-md0", 2)
    assert await bench.gets("perworker") == 2
    disks = await bench.api.list("DataVolume", namespace)
    assert all(one["metadata"]["annotations"]["cdi.kubevirt.io/storage.usePopulator"] == "false" for one in disks)
    assert [bench.volume(namespace, one["metadata"]["name"]).read_bytes() for one in disks] == [raw("perworker")] * 2


@lab_test
@live
async def test_disks_in_trouble_show_on_the_machine(bench: Bench) -> None:
    namespace = await ready(bench, "trouble", "c")
    source = {"factory": {"imageFactoryURL": "http://127.0.0.1:1", "schematicID": "x"}}
    await parts.pool(bench.api, namespace, "c", "md0", BUILTIN | {"osImage": source})

    def told(seen: Any) -> str:
        found = [condition(one, "VMProvisioned") for one in seen["KubevirtMachine"].in_namespace(namespace)]
        return next((one["message"] for one in found if "import is not running" in one.get("message", "")), "")

    message = await until(bench.api, "trouble told", ["KubevirtMachine"], told)
    assert "-disk-system import is not running: Unable to connect to http data source" in message
    await bench.api.delete("KubernetesNodes", "c-md0", namespace)


@lab_test
@live
async def test_clone_needs_a_permission(bench: Bench) -> None:
    namespace = await ready(bench, "denied", "c")
    binding = await bench.api.get("RoleBinding", "cdi-clone-dv", "cozy-public")
    assert binding is not None
    await bench.api.delete("RoleBinding", "cdi-clone-dv", "cozy-public")
    try:
        await parts.pool(bench.api, namespace, "c", "md0", BUILTIN)

        def told(seen: Any) -> str:
            found = [condition(one, "VMProvisioned") for one in seen["KubevirtMachine"].in_namespace(namespace)]
            return next((one["message"] for one in found if one.get("reason") == "VMCreateFailed"), "")

        message = await until(bench.api, "denial told", ["KubevirtMachine"], told)
        user = f"system:serviceaccount:{namespace}:default"
        assert message.endswith(f"User {user} has insufficient permissions in clone source namespace cozy-public")
    finally:
        meta = {"name": "cdi-clone-dv", "namespace": "cozy-public"}
        await bench.api.create(binding | {"metadata": meta})
    await parts.workers(bench.api, namespace, "kubernetes-c-md0", 1)


@lab_test
@live
async def test_deleted_tenant_takes_its_namespace_along(bench: Bench) -> None:
    namespace = await ready(bench, "leaving", "c")
    await parts.pool(bench.api, namespace, "c", "md0", BUILTIN)
    await bench.api.delete("Tenant", "leaving", parts.ROOT)
    await bench.absent("Namespace", "", namespace)
    assert await bench.api.list("HelmRelease", namespace) == []


@lab_test
@live
async def test_paused_controller_goes_on_when_resumed(bench: Bench) -> None:
    await parts.base(bench.api, bench.lab)
    await enable(bench, parts.catalog(bench.lab, {"schematicID": "paused", "version": "v1.13.6"}))
    name = parts.golden("paused")
    await parts.golden_ready(bench.api, name)
    await bench.lab.misbehave("releases", {"action": "pause"})
    await bench.api.delete("DataVolume", name, "cozy-public")
    await bench.absent("DataVolume", "cozy-public", name)
    await annotate(bench, CATALOG, force="paused", requested="paused")
    async with aiohttp.ClientSession() as session, session.get(f"{bench.lab.control}/state") as answer:
        state = await answer.json()
    assert state["controllers"]["releases"]["paused"] is True
    await bench.lab.misbehave("releases", {"action": "resume"})
    await parts.golden_ready(bench.api, name)


@lab_test
@pytest.mark.parametrize(
    "body",
    [
        {"controller": "nobody", "rule": {"action": "fail"}},
        {"controller": "cdi", "rule": {"action": "dance"}},
        {"controller": "cdi", "rule": {"action": "fail", "match": "("}},
        {"controller": "cdi", "rule": {"action": "fail", "unknown": 1}},
        {"controller": "timings", "rule": {"import_seconds": -1}},
        {"controller": "timings", "rule": {"lunch": 1}},
        {},
    ],
)
@live
async def test_control_refuses(bench: Bench, body: dict[str, Any]) -> None:
    with pytest.raises(aiohttp.ClientResponseError, match="400"):
        await bench.lab.post(f"{bench.lab.control}/misbehave", body)


@lab_test
@live
async def test_crash_of_a_reconcile_stays_with_its_key(bench: Bench) -> None:
    await bench.lab.misbehave(
        "releases", {"action": "crash", "match": "crashing", "times": 2, "message": "scripted crash"}
    )
    namespace = await ready(bench, "crashed", "c")
    await parts.pool(bench.api, namespace, "c", "crashing", BUILTIN | {"minReplicas": 0})
    log = (bench.home / "logs" / "controllers.log").read_text()
    assert log.count("RuntimeError: scripted crash") == 2
    assert "Traceback" in log


async def _before_the_kill(bench: Bench) -> None:
    await states.demo(bench.api, bench.lab)
    await bench.lab.misbehave("cdi", {"action": "slow", "bytes_per_second": 200_000})
    await enable(bench, parts.catalog(bench.lab))
    golden = await bench.disk("cozy-public", parts.golden(), lambda one: phase(one) == "ImportInProgress")
    assert phase(golden) == "ImportInProgress"


async def _after_the_kill(bench: Bench) -> None:
    await parts.golden_ready(bench.api)
    await release(bench, CATALOG, healthy)
    await parts.pool(bench.api, "tenant-acme", "shop", "md0", BUILTIN)
    await parts.workers(bench.api, "tenant-acme", "kubernetes-shop-md0", 1)
    assert bench.volume("cozy-public", parts.golden()).read_bytes() == raw(parts.SCHEMATIC)
    left = await bench.api.list("PersistentVolumeClaim", "cozy-public")
    assert [one["metadata"]["name"] for one in left] == [parts.golden()]


@lab_test
def test_killed_controllers_continue(home: Path) -> None:
    """In the middle of an import; the image source comes back on its port, which is in the objects' URLs."""
    instance.up(home, Options(), lambda _: None)
    asyncio.run(play(home, _before_the_kill))
    known = json.loads((home / "controllers.json").read_text())
    os.kill(known["pid"], signal.SIGKILL)
    (home / "controllers.json").unlink()
    command = [sys.executable, "-m", "lab.controllers", "--home", str(home)]
    process = processes.spawn(home, "controllers", command, cwd=Path(__file__).parents[2])
    asyncio.run(_controllers_ready(home))
    assert json.loads((home / "controllers.json").read_text())["image_source"] == known["image_source"]
    assert process.pid != known["pid"]
    asyncio.run(play(home, _after_the_kill))


async def _controllers_ready(home: Path) -> None:
    async with asyncio.timeout(60):
        while not (home / "controllers.json").exists():
            await asyncio.sleep(0.05)  # a file cannot be watched
