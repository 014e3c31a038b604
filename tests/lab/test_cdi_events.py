# SPDX-License-Identifier: Apache-2.0
"""What CDI says in Events about imports and clones, and what a clone leaves where while it runs."""

from __future__ import annotations

import pytest

from lab.kinds import KINDS
from lab.scenarios.waiting import object_until, phase
from tests.lab.helpers import Bench, cloned, imported, live, raw, storage
from tests.lab.test_cdi_troubles import event, script

pytestmark = pytest.mark.lab


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
    answer = await bench.api.request("GET", KINDS["Event"].path(namespace))
    assert answer["items"] == []
