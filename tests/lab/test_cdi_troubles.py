# SPDX-License-Identifier: Apache-2.0
"""What an import in trouble looks like: phases, conditions, pods, claims and Events of each scripted trouble."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lab.api import Object
from lab.controllers.misbehave import Rules
from lab.kinds import KINDS
from lab.scenarios.waiting import condition, object_until, phase, until
from tests.lab.helpers import Bench, cloned, imported, live, raw, storage

pytestmark = pytest.mark.lab
POD_PHASE = "cdi.kubevirt.io/storage.pod.phase"


def running(disk: Object) -> tuple[str, str, str]:
    found = condition(disk, "Running")
    return found.get("status", ""), found.get("reason", ""), found.get("message", "")


async def event(bench: Bench, namespace: str, reason: str, count: int = 1) -> Object:
    """The Event with this reason, as soon as it was counted so often."""

    def look(seen: Any) -> Object | None:
        found = [one for one in seen["Event"].in_namespace(namespace) if one["reason"] == reason]
        return found[0] if found and found[0]["count"] >= count else None

    found: Object = await until(bench.api, f"event {reason}", ["Event"], look)
    return found


async def script(bench: Bench, namespace: str, action: str, **more: Any) -> None:
    await bench.lab.misbehave("cdi", {"action": action, "match": f"^{namespace}/"} | more)


async def start(bench: Bench, namespace: str, action: str, **more: Any) -> str:
    """A golden in a namespace of its own, with a scripted trouble."""
    await bench.namespace(namespace)
    await script(bench, namespace, action, **more)
    await bench.api.create(imported(bench, namespace, "golden", namespace))
    return namespace


async def prime(bench: Bench, namespace: str) -> str:
    claim = await bench.api.get("PersistentVolumeClaim", "golden", namespace)
    assert claim is not None
    return f"prime-{claim['metadata']['uid']}"


def test_a_rule_is_looked_at_without_being_spent() -> None:
    from lab.controllers.misbehave import Rule

    rules = Rules()
    rules.add("cdi", Rule.parse({"action": "evict", "times": 1}))
    assert rules.applies("cdi", "evict", ("n", "d")) is rules.applies("cdi", "evict", ("n", "d"))
    assert rules.take("cdi", "evict", ("n", "d")) is not None
    assert rules.take("cdi", "evict", ("n", "d")) is None
    assert Rule.parse({"action": "unschedulable"}).message.startswith("0/3 nodes are available")
    assert Rule.parse({"action": "fail"}).message == "scripted failure"


@live
async def test_events_of_an_import(bench: Bench) -> None:
    namespace = await bench.namespace("events-import")
    await bench.api.create(imported(bench, namespace, "golden", "eventsimport"))
    done = await bench.succeeded(namespace, "golden")
    await event(bench, namespace, "ImportSucceeded")
    found = {one["reason"]: one for one in await bench.api.list("Event", namespace)}
    texts = {reason: (one["type"], one["message"], one["count"]) for reason, one in found.items()}
    assert texts == {
        "ImportScheduled": ("Normal", "Import into golden scheduled", 2),
        "ImportInProgress": ("Normal", "Import into golden in progress", 2),
        "ImportSucceeded": ("Normal", "Successfully imported into PVC golden", 1),
    }
    one = found["ImportScheduled"]
    about = one["involvedObject"]
    assert (about["kind"], about["name"], about["uid"]) == ("DataVolume", "golden", done["metadata"]["uid"])
    assert one["source"]["component"] == "datavolume-import-controller"
    assert one["firstTimestamp"] <= one["lastTimestamp"]
    sources = await bench.api.list("VolumeImportSource", namespace)
    assert sources == []


@live
async def test_a_failing_import_is_counted_in_one_event(bench: Bench) -> None:
    namespace = await bench.namespace("events-retry")
    fault = {"path": "/eventsretry/", "kind": "status", "status": 500, "count": 3}
    await bench.source("faults", fault)
    await bench.api.create(imported(bench, namespace, "golden", "eventsretry"))
    again = await event(bench, namespace, "BackOff", 2)
    assert again["type"] == "Warning"
    assert again["source"]["component"] == "kubelet"
    assert again["message"].startswith("Back-off restarting failed container importer in pod importer-prime-")
    source = await bench.api.list("VolumeImportSource", namespace)
    assert [one["spec"]["source"]["http"]["url"] for one in source] == [bench.url("eventsretry")]
    done = await bench.succeeded(namespace, "golden")
    assert done["status"]["restartCount"] == 3
    assert await bench.api.list("VolumeImportSource", namespace) == []


@live
async def test_helpers_of_an_import(bench: Bench) -> None:
    """Prime and scratch claim, as they are while the transfer runs."""
    namespace = await start(bench, "troubles-hang", "hang")
    await bench.disk(namespace, "golden", lambda one: phase(one) == "ImportInProgress")
    name = await prime(bench, namespace)
    await object_until(bench.api, "PersistentVolumeClaim", namespace, f"{name}-scratch", lambda one: one, "there")
    claims = {one["metadata"]["name"]: one for one in await bench.api.list("PersistentVolumeClaim", namespace)}
    assert claims.keys() == {"golden", name, f"{name}-scratch"}
    marks = claims[name]["metadata"]["annotations"]
    assert marks["cdi.kubevirt.io/storage.import.importPodName"] == f"importer-{name}"
    assert marks["cdi.kubevirt.io/storage.import.endpoint"] == bench.url("troubles-hang")
    assert marks["cdi.kubevirt.io/storage.import.requiresScratch"] == "true"
    assert claims["golden"]["metadata"]["annotations"]["cdi.kubevirt.io/storage.populator.pvcPrime"] == name
    owners = [claims[one]["metadata"]["ownerReferences"][0]["name"] for one in (name, f"{name}-scratch")]
    assert owners == ["golden", name]
    assert claims[f"{name}-scratch"]["metadata"]["labels"]["velero.io/exclude-from-backup"] == "true"
    reference = claims["golden"]["spec"]["dataSourceRef"]
    assert await bench.api.get("VolumeImportSource", reference["name"], namespace)
    await bench.lab.misbehave("cdi", None)
    await bench.succeeded(namespace, "golden")


@live
async def test_evicted_pod_is_left_alone_until_it_is_deleted(bench: Bench) -> None:
    namespace = await start(bench, "troubles-evict", "evict", times=1)
    await event(bench, namespace, "ImportFailed")
    disk = await bench.disk(namespace, "golden", lambda one: phase(one) == "ImportScheduled")
    assert condition(disk, "Running")["status"] == "False"
    claim = await bench.api.get("PersistentVolumeClaim", "golden", namespace)
    assert claim is not None
    assert claim["metadata"]["annotations"][POD_PHASE] == "Failed"
    [pod] = await bench.api.list("Pod", namespace)
    assert (pod["status"]["phase"], pod["status"]["reason"]) == ("Failed", "Evicted")
    # The trouble is spent, and a restarted CDI looks again: it still does nothing.
    await bench.lab.misbehave("cdi", None)
    await event(bench, namespace, "ImportFailed", 2)
    [still] = await bench.api.list("Pod", namespace)
    assert still["metadata"]["uid"] == pod["metadata"]["uid"]
    assert phase(await bench.disk(namespace, "golden", lambda one: True)) == "ImportScheduled"
    await bench.api.delete("Pod", pod["metadata"]["name"], namespace)
    await bench.succeeded(namespace, "golden")
    assert bench.volume(namespace, "golden").read_bytes() == raw(namespace)


@pytest.mark.parametrize(
    ("action", "verdict", "reason"),
    [
        ("unschedulable", ("Unschedulable", "Importer pod cannot be scheduled"), "FailedScheduling"),
        ("no-image", ("ImagePullFailed", "failed to pull image: Back-off pulling image"), "Failed"),
        ("refuse-pod", ("ErrExceededQuota", "Error starting pod 'importer-prime-"), "ErrExceededQuota"),
    ],
)
@live
async def test_pod_that_does_not_start(bench: Bench, action: str, verdict: tuple[str, str], reason: str) -> None:
    namespace = await start(bench, f"troubles-{action}", action)
    disk = await bench.disk(namespace, "golden", lambda one: running(one)[1] == verdict[0])
    assert phase(disk) == "ImportScheduled"
    assert running(disk)[0] == "False"
    assert running(disk)[2].startswith(verdict[1])
    assert (await event(bench, namespace, reason))["type"] == "Warning"
    pods = await bench.api.list("Pod", namespace)
    assert len(pods) == (0 if action == "refuse-pod" else 1)
    if action == "unschedulable":
        assert pods[0]["status"]["conditions"][0]["reason"] == "Unschedulable"
    await bench.lab.misbehave("cdi", None)
    await bench.succeeded(namespace, "golden")


@live
async def test_out_of_memory_again_and_again(bench: Bench) -> None:
    namespace = await start(bench, "troubles-oom", "oom")
    uids = set()

    def looping(disk: Object) -> bool:
        return bool(disk["status"].get("restartCount", 0) >= 3 and running(disk)[1] == "OOMKilled")

    for _ in range(2):
        disk = await bench.disk(namespace, "golden", lambda one: running(one)[1] == "OOMKilled")
        uids |= {pod["metadata"]["uid"] for pod in await bench.api.list("Pod", namespace)}
        disk = await bench.disk(namespace, "golden", looping)
    assert phase(disk) == "ImportInProgress"
    assert running(disk) == ("False", "OOMKilled", "")
    [pod] = await bench.api.list("Pod", namespace)
    assert pod["status"]["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 137
    await bench.lab.misbehave("cdi", None)
    done = await bench.succeeded(namespace, "golden")
    assert done["status"]["restartCount"] >= 3


@live
async def test_scratch_space_that_is_never_bound(bench: Bench) -> None:
    namespace = await start(bench, "troubles-scratch", "no-scratch")
    name = f"{await _named(bench, namespace)}-scratch"

    def pending(claim: Object | None) -> bool:
        return phase(claim) == "Pending"

    await object_until(bench.api, "PersistentVolumeClaim", namespace, name, pending, "Pending")
    disk = await bench.disk(namespace, "golden", lambda one: phase(one) == "ImportScheduled")
    assert running(disk)[1] in ("ContainerCreating", "Scratch space required")
    await bench.lab.misbehave("cdi", None)
    await bench.succeeded(namespace, "golden")


async def _named(bench: Bench, namespace: str) -> str:
    def uid(claim: Object | None) -> str:
        return claim["metadata"]["uid"] if claim else ""

    claim = "PersistentVolumeClaim"
    return f"prime-{await object_until(bench.api, claim, namespace, 'golden', uid, 'there')}"


@live
async def test_volume_that_the_driver_does_not_provide(bench: Bench) -> None:
    namespace = await start(bench, "troubles-volume", "no-volume", message="rpc error: not enough nodes")
    failed = await event(bench, namespace, "ProvisioningFailed", 2)
    name = await prime(bench, namespace)
    text = 'failed to provision volume with StorageClass "replicated": rpc error: not enough nodes'
    assert failed["message"] == text
    assert failed["involvedObject"]["name"] == name
    disk = await bench.disk(namespace, "golden", lambda one: "[prime-" in condition(one, "Bound").get("message", ""))
    found = condition(disk, "Bound")
    assert (found["status"], found["reason"]) == ("False", "Pending")
    assert found["message"] == f"target PVC golden Pending and [{name}] : {text}"
    await bench.lab.misbehave("cdi", None)
    done = await bench.succeeded(namespace, "golden")
    assert condition(done, "Bound")["message"] == "PVC golden Bound"


@live
async def test_events_of_claims_that_cannot_be_made(bench: Bench) -> None:
    namespace = await bench.namespace("events-claims")
    await bench.api.create(imported(bench, namespace, "golden", "x", storage=storage(storage_class="nowhere")))
    invalid = await event(bench, namespace, "ErrClaimNotValid")
    assert invalid["type"] == "Warning"
    assert "StorageProfile nowhere" in invalid["message"]
    await bench.api.create(cloned(namespace, "disk", (namespace, "nobody")))
    assert (await event(bench, namespace, "CloneWithoutSource"))["message"] == "The source pvc nobody doesn't exist"


@live
async def test_event_of_a_lost_claim(bench: Bench) -> None:
    namespace = await bench.namespace("events-lost")
    await bench.api.create(imported(bench, namespace, "golden", "eventslost"))
    await bench.succeeded(namespace, "golden")
    await bench.api.patch("PersistentVolumeClaim", "golden", {"status": {"phase": "Lost"}}, namespace, "status")
    assert (await event(bench, namespace, "ErrClaimLost"))["message"] == "PVC golden lost"


@live
async def test_events_of_clones(bench: Bench) -> None:
    where, namespace = await bench.namespace("events-source"), await bench.namespace("events-clone")
    await bench.source("faults", {"path": "/eventssource/", "kind": "status", "status": 500, "count": 1})
    await bench.api.create(imported(bench, where, "golden", "eventssource"))
    await object_until(bench.api, "PersistentVolumeClaim", where, "golden", lambda claim: claim, "there")
    await bench.api.create(cloned(namespace, "early", (where, "golden")))
    await event(bench, namespace, "ImportPVCNotReady")
    await bench.succeeded(namespace, "early")
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "golden"}}
    spec = {"containers": [{"name": "c", "image": "example.net/c"}], "volumes": [volume]}
    meta = {"name": "holder", "namespace": where}
    await bench.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
    annotations = {"cdi.kubevirt.io/storage.usePopulator": "false"}
    await bench.api.create(cloned(namespace, "late", (where, "golden"), annotations=annotations))
    used = await event(bench, namespace, "CloneSourceInUse")
    assert used["message"] == f"pod {where}/holder using PersistentVolumeClaim golden"
    await bench.api.delete("Pod", "holder", where)
    await bench.succeeded(namespace, "late")
    fallback = await event(bench, namespace, "NoPopulator")
    assert fallback["involvedObject"]["kind"] == "PersistentVolumeClaim"
    assert fallback["message"] == "In tree storage class does not support snapshot/clone"
    succeeded = await event(bench, namespace, "CloneSucceeded")
    assert succeeded["message"].startswith(f"Successfully cloned from {where}/golden into {namespace}/")
    assert await bench.api.list("VolumeCloneSource", where) == []


@live
async def test_interrupted_clone_by_snapshot(bench: Bench) -> None:
    """Source object, snapshot and finalizer are there while it hangs, and gone with the disk."""
    where, namespace = await bench.namespace("snapshot-source"), await bench.namespace("snapshot-clone")
    await bench.api.create(imported(bench, where, "golden", "snapshotsource"))
    await bench.succeeded(where, "golden")
    snapshots = {"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotClass", "deletionPolicy": "Delete"}
    driver = {"metadata": {"name": "linstor"}, "driver": "linstor.csi.linbit.com"}
    await bench.api.ensure(snapshots | driver)
    await bench.api.patch("CDI", "cdi", {"spec": {"cloneStrategyOverride": "snapshot"}})
    try:
        await script(bench, namespace, "hang")
        await bench.api.create(cloned(namespace, "disk", (where, "golden")))
        disk = await bench.disk(namespace, "disk", lambda one: phase(one) == "SnapshotForSmartCloneInProgress")
        claim = await bench.api.get("PersistentVolumeClaim", "disk", namespace)
        assert claim is not None
        [snapshot] = await bench.api.list("VolumeSnapshot", where)
        assert snapshot["metadata"]["name"] == f"tmp-snapshot-{claim['metadata']['uid']}"
        [source] = await bench.api.list("VolumeCloneSource", where)
        assert source["metadata"]["name"] == f"volume-clone-source-{disk['metadata']['uid']}"
        golden = await bench.api.get("PersistentVolumeClaim", "golden", where)
        assert golden is not None
        assert golden["metadata"]["finalizers"] == ["snapshot.storage.kubernetes.io/pvc-as-source-protection"]
        await bench.lab.misbehave("cdi", None)
        await bench.succeeded(namespace, "disk")
    finally:
        await bench.api.patch("CDI", "cdi", {"spec": {"cloneStrategyOverride": "csi-clone"}})
        await bench.api.delete("VolumeSnapshotClass", "linstor")
    assert await bench.api.list("VolumeSnapshot", where) == []
    assert await bench.api.list("VolumeCloneSource", where) == []
    assert bench.volume(namespace, "disk").read_bytes() == raw("snapshotsource")


@live
async def test_events_are_gone_with_their_namespace(bench: Bench) -> None:
    namespace = await bench.namespace("events-gone")
    await bench.api.create(imported(bench, namespace, "golden", "eventsgone"))
    await event(bench, namespace, "ImportSucceeded")
    await bench.api.delete("Namespace", namespace)
    await bench.absent("Namespace", "", namespace)
    async with asyncio.timeout(30):
        answer = await bench.api.request("GET", KINDS["Event"].path(namespace))
        assert answer["items"] == []
