# SPDX-License-Identifier: Apache-2.0
"""CDI's imitation: what imports and clones do, and above all what they say when they do not get on."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import lzma
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from lab.api import Object
from lab.controllers.cdi.claims import ClaimInvalid, plan, scratch_class
from lab.controllers.cdi.fetch import ImportFailure, unpack
from lab.controllers.cdi.strategy import NO_EXPANSION, NO_POPULATOR, NO_SNAPSHOT_CLASS, OTHER_DRIVER, OTHER_MODE, choose
from lab.controllers.objects import size
from lab.controllers.storage import rounded
from lab.images import ImageSource, canonical_schematic
from lab.scenarios.waiting import condition, object_until, phase, until
from tests.lab.helpers import Bench, cloned, imported, live, raw, storage

DRIVER = "linstor.csi.linbit.com"
GA, BETA = "storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"
VIRT = "storageclass.kubevirt.io/is-default-virt-class"


# --- pure parts


class FakeCache:
    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], Object] = {}

    def get(self, namespace: str, name: str) -> Object | None:
        return self.objects.get((namespace, name))


class FakeRuntime:
    """Caches over given objects, which is all that the pure parts read."""

    def __init__(self, *objects: Object) -> None:
        self.caches: dict[str, FakeCache] = {}
        for obj in objects:
            key = obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
            self.cache(obj["kind"]).objects[key] = obj

    def cache(self, kind: str) -> FakeCache:
        return self.caches.setdefault(kind, FakeCache())


def storage_class(name: str, *marks: str, day: int = 1, driver: str = DRIVER, expand: bool = True) -> Object:
    meta = {
        "name": name,
        "creationTimestamp": f"2026-01-{day:02}T00:00:00Z",
        "annotations": dict.fromkeys(marks, "true"),
    }
    return {"kind": "StorageClass", "metadata": meta, "provisioner": driver, "allowVolumeExpansion": expand}


def profile(name: str, *sets: tuple[str, str], strategy: str = "copy", **annotations: str) -> Object:
    found = [{"accessModes": [access], "volumeMode": mode} for access, mode in sets or [("ReadWriteMany", "Block")]]
    meta = {"name": name, "annotations": {key.replace("__", "/"): value for key, value in annotations.items()}}
    return {
        "kind": "StorageProfile",
        "metadata": meta,
        "status": {"claimPropertySets": found, "cloneStrategy": strategy},
    }


def disk(given: Object) -> Object:
    return {"kind": "DataVolume", "metadata": {"name": "d", "namespace": "n"}, "spec": {"storage": given}}


@pytest.mark.parametrize(
    ("classes", "wanted"),
    [
        ([("a", [GA], 1)], "a"),
        ([("a", [GA], 1), ("b", [GA], 2)], "b"),
        ([("b", [GA], 2), ("a", [GA], 2)], "a"),
        ([("a", [VIRT], 1), ("b", [GA], 2)], "a"),
        ([("a", [GA], 1), ("b", [BETA], 2)], "a"),
        ([("a", [BETA], 1)], None),
        ([("a", [], 1)], None),
    ],
    ids=["one", "newest", "tie-by-name", "virt-default-wins", "beta-does-not-count", "only-beta", "none"],
)
def test_plan_default_class(classes: list[tuple[str, list[str], int]], wanted: str | None) -> None:
    objects = [storage_class(name, *marks, day=day) for name, marks, day in classes]
    runtime: Any = FakeRuntime(*objects, *(profile(name) for name, _, _ in classes))
    if wanted is None:
        with pytest.raises(ClaimInvalid, match="no storageClass to choose profile"):
            plan(disk(storage(storage_class=None)), runtime)
    else:
        assert plan(disk(storage(storage_class=None)), runtime).class_name == wanted


def test_plan_missing_class() -> None:
    runtime: Any = FakeRuntime(storage_class("a", GA), profile("a"))
    with pytest.raises(ClaimInvalid, match="cannot get access mode from StorageProfile lost"):
        plan(disk(storage(storage_class="lost")), runtime)


def test_plan_profile_without_sets() -> None:
    runtime: Any = FakeRuntime(storage_class("a"))
    with pytest.raises(ClaimInvalid, match="no accessMode specified in StorageProfile a"):
        plan(disk(storage(storage_class="a")), runtime)


@pytest.mark.parametrize(
    ("mode", "given", "wanted"),
    [
        ("Block", "6Gi", "6Gi"),
        ("Filesystem", "6Gi", str(6 * 1024**3 * 106 // 100 + 1)),
        ("Filesystem", "1", str(1024**2 * 106 // 100 + 1)),
    ],
    ids=["block-as-written", "filesystem-six-percent", "filesystem-rounded-to-mib"],
)
def test_plan_overhead(mode: str, given: str, wanted: str) -> None:
    runtime: Any = FakeRuntime(storage_class("a"), profile("a", ("ReadWriteOnce", mode)))
    assert plan(disk(storage(given, "a")), runtime).request == wanted


def test_plan_minimum_of_profile() -> None:
    minimum = {"cdi.kubevirt.io__minimumSupportedPvcSize": "1Gi"}
    runtime: Any = FakeRuntime(storage_class("a"), profile("a", **minimum))
    assert plan(disk(storage("64Mi", "a")), runtime).request == "1Gi"
    assert plan(disk(storage("2Gi", "a")), runtime).request == "2Gi"


def test_scratch_class_is_the_default_not_the_disks() -> None:
    runtime: Any = FakeRuntime(storage_class("a"), storage_class("b", GA), profile("a"))
    claim = plan(disk(storage(storage_class="a")), runtime)
    assert scratch_class(runtime, claim) == "b"


def source_claim(mode: str = "Block", class_name: str = "a", capacity: str = "6Gi") -> Object:
    return {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "g", "namespace": "p"},
        "spec": {
            "storageClassName": class_name,
            "volumeMode": mode,
            "resources": {"requests": {"storage": "6Gi"}},
        },
        "status": {"phase": "Bound", "capacity": {"storage": capacity}},
    }


def cdi(override: str | None) -> Object:
    spec = {"cloneStrategyOverride": override} if override else {}
    return {"kind": "CDI", "metadata": {"name": "cdi"}, "spec": spec}


SNAPSHOTS = {"kind": "VolumeSnapshotClass", "metadata": {"name": "s"}, "driver": DRIVER}


@pytest.mark.parametrize(
    ("objects", "source", "populator", "wanted"),
    [
        ([cdi("csi-clone")], source_claim(), True, ("csi-clone", None)),
        ([cdi("csi-clone")], source_claim(class_name="c"), True, ("csi-clone", None)),
        ([cdi("csi-clone")], source_claim(), False, ("copy", NO_POPULATOR)),
        ([cdi("copy")], source_claim(), True, ("copy", None)),
        ([cdi(None)], source_claim(), True, ("copy", None)),
        ([cdi("snapshot")], source_claim(), True, ("copy", NO_SNAPSHOT_CLASS)),
        ([cdi("snapshot"), SNAPSHOTS], source_claim(), True, ("snapshot", None)),
        ([cdi("csi-clone")], source_claim(class_name="b"), True, ("copy", OTHER_DRIVER)),
        ([cdi("csi-clone")], source_claim("Filesystem"), True, ("copy", OTHER_MODE)),
        ([cdi("csi-clone")], source_claim(class_name="c", capacity="1Gi"), True, ("csi-clone", None)),
    ],
    ids=[
        "csi", "other-class-same-driver", "no-populator", "override-copy", "profile-decides", "no-snapshot-class",
        "snapshot", "other-driver", "other-mode", "grows",
    ],
)  # fmt: skip
def test_choose(objects: list[Object], source: Object, populator: bool, wanted: tuple[str, str | None]) -> None:
    classes = [storage_class("a"), storage_class("b", driver="other.example.net"), storage_class("c")]
    runtime: Any = FakeRuntime(*classes, profile("a"), *objects)
    claim = plan(disk(storage("6Gi", "a")), runtime)
    assert choose(source, claim, populator, runtime) == wanted


def test_choose_without_expansion() -> None:
    runtime: Any = FakeRuntime(storage_class("a", expand=False), profile("a"), cdi("csi-clone"))
    claim = plan(disk(storage("20Gi", "a")), runtime)
    assert choose(source_claim(), claim, True, runtime) == ("copy", NO_EXPANSION)


SECTORS = b"boot" + bytes(1020)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (lzma.compress(SECTORS), None),
        (gzip.compress(SECTORS), None),
        (SECTORS, None),
        (lzma.compress(SECTORS)[:-20], "Unable to process data: unexpected EOF"),
        (b"\xfd7zXZ\x00" + bytes(100), "Unable to process data: "),
        (b"<html>an error page</html>", "Unable to convert source data to target format"),
        (b"", "Unable to convert source data to target format"),
        (lzma.compress(SECTORS * 2), "DataVolume too small to contain image"),
    ],
    ids=["xz", "gz", "raw", "xz-cut", "xz-broken", "page", "nothing", "too-large"],
)
def test_unpack(tmp_path: Path, content: bytes, message: str | None) -> None:
    packed, target = tmp_path / "packed", tmp_path / "raw"
    packed.write_bytes(content)
    if message is None:
        assert unpack(packed, target, len(SECTORS)) == len(SECTORS)
        assert target.read_bytes() == SECTORS
    else:
        with pytest.raises(ImportFailure, match=message):
            unpack(packed, target, len(SECTORS))


@pytest.mark.parametrize(
    ("text", "wanted"), [("6Gi", 6 << 30), ("6G", 6 * 10**9), ("1e3", 1000), ("0.5Ki", 512), ("1.1", 2), ("100m", 1)]
)
def test_size(text: str, wanted: int) -> None:
    assert size(text) == wanted


@pytest.mark.parametrize("text", ["", "10K", "10 Gi", "1e1.5", "+", "abc"])
def test_size_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="no quantity"):
        size(text)


def test_rounded() -> None:
    assert [rounded(10, 4), rounded(8, 4), rounded(7, 1)] == [12, 8, 7]


# --- the image source


@pytest.mark.parametrize(
    ("text", "identity"),
    [
        ("", "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"),
        (
            "customization: {systemExtensions: {officialExtensions: [siderolabs/qemu-guest-agent]}}",
            "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515",
        ),
        (
            '{"customization": {"extraKernelArgs": ["noapic", "nolapic"]}}',
            "9cba8e32753f91a16c1837ab8abf356af021706ef284aef07380780177d9a06c",
        ),
        (
            "customization: {meta: [{value: foo, key: 10}]}",
            "d308a2a5ee2277bed5fbaa104fcbc8d59122abfa737df987a95b4ca763459a7f",
        ),
        (
            "overlay: {name: rpi_generic, image: siderolabs/sbc-raspberrypi}",
            "ee21ef4a5ef808a9b7484cc0dda0f25075021691c8c09a276591eedb638ea1f9",
        ),
    ],
    ids=["empty", "extension", "json", "meta", "overlay"],
)
def test_schematic_id(text: str, identity: str) -> None:
    assert hashlib.sha256(canonical_schematic(text).encode()).hexdigest() == identity


@pytest.mark.parametrize("text", ["customisation: {}", "[]", "{", "customization: {meta: [{size: 1}]}"])
def test_schematic_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a schematic|expected|parsing"):
        canonical_schematic(text)


async def _ask(url: str, method: str = "GET", **options: Any) -> tuple[int, dict[str, str], bytes]:
    async with aiohttp.ClientSession() as session, session.request(method, url, **options) as answer:
        return answer.status, dict(answer.headers), await answer.read()


def with_source(tmp_path: Path, test: Callable[[ImageSource], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        source = ImageSource(tmp_path / "images", tmp_path / "memory.json")
        await source.start()
        try:
            await test(source)
        finally:
            await source.stop()

    asyncio.run(run())


def test_source_serves_and_counts(tmp_path: Path) -> None:
    async def body(source: ImageSource) -> None:
        path = "/talos/image/abc/v1.13.6/openstack-amd64.raw.xz"
        status, headers, content = await _ask(source.url + path)
        assert (status, headers["Content-Type"], int(headers["Content-Length"])) == (
            200,
            "application/x-xz",
            len(content),
        )
        assert not {"ETag", "Accept-Ranges", "Last-Modified"} & set(headers)
        assert lzma.decompress(content) == raw("abc")
        assert (await _ask(source.url + path, "HEAD"))[0] == 200
        assert json.loads((await _ask(f"{source.url}/_lab/counts"))[2]) == {
            path: {"get": 1, "head": 1, "bytes": len(content)}
        }

    with_source(tmp_path, body)


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("/image/abc/v1.13.6/metal-amd64.raw.xz", 404),
        ("/image/abc/v1.13/openstack-amd64.raw.xz", 500),
        ("/elsewhere", 404),
        ("/image/abc/1.13.6/openstack-amd64.raw.xz", 200),
    ],
)
def test_source_answers_as_a_factory(tmp_path: Path, path: str, wanted: int) -> None:
    async def body(source: ImageSource) -> None:
        assert (await _ask(source.url + path))[0] == wanted

    with_source(tmp_path, body)


def test_source_knows_a_schematic_once_posted(tmp_path: Path) -> None:
    async def body(source: ImageSource) -> None:
        identity = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"
        url = f"{source.url}/image/{identity}/v1.13.6/openstack-amd64.raw.xz"
        await _ask(f"{source.url}/_lab/unknown", "POST", json={"schematics": [identity]})
        assert (await _ask(url, "HEAD"))[0] == 404
        status, _, content = await _ask(f"{source.url}/schematics", "POST", data="customization: {}")
        assert (status, json.loads(content)["id"]) == (201, identity)
        assert (await _ask(url, "HEAD"))[0] == 200
        assert (await _ask(f"{source.url}/schematics", "POST", data="unknown: 1"))[0] == 400
        assert (await _ask(f"{source.url}/schematics/{identity}"))[2] == b"customization: {}\n"

    with_source(tmp_path, body)


def test_source_keeps_its_port(tmp_path: Path) -> None:
    ports = []

    async def body(source: ImageSource) -> None:
        ports.append(source.url)

    with_source(tmp_path, body)
    with_source(tmp_path, body)
    assert ports[0] == ports[1]


@pytest.mark.parametrize("fault", [{"kind": "dance"}, {"kind": "html", "path": "("}, {"kind": "html", "unknown": 1}])
def test_source_refuses_unknown_faults(tmp_path: Path, fault: dict[str, Any]) -> None:
    async def body(source: ImageSource) -> None:
        assert (await _ask(f"{source.url}/_lab/faults", "POST", json=fault))[0] == 400

    with_source(tmp_path, body)


# --- on a lab

lab_test = pytest.mark.lab


def verdict(obj: Object, kind: str) -> tuple[str, str, str]:
    found = condition(obj, kind)
    return found.get("status", ""), found.get("reason", ""), found.get("message", "")


@lab_test
@live
async def test_import_fills_the_claim(bench: Bench) -> None:
    namespace = await bench.namespace("cdi-import")
    before = await bench.gets("importone")
    await bench.api.create(imported(bench, namespace, "golden", "importone"))
    done = await bench.succeeded(namespace, "golden")
    assert done["status"]["progress"] == "100.0%"
    assert verdict(done, "Bound") == ("True", "Bound", "PVC golden Bound")
    assert verdict(done, "Ready") == ("True", "", "")
    assert verdict(done, "Running") == ("False", "Completed", "Import Complete")
    assert "restartCount" not in done["status"]
    assert bench.volume(namespace, "golden").read_bytes() == raw("importone")
    assert await bench.gets("importone") == before + 1
    claims = await bench.api.list("PersistentVolumeClaim", namespace)
    assert [one["metadata"]["name"] for one in claims] == ["golden"]
    assert claims[0]["status"]["phase"] == "Bound"
    assert await bench.api.list("Pod", namespace) == []


@lab_test
@live
async def test_import_walks_the_phases(bench: Bench) -> None:
    """Pending, then scheduled and in progress twice: the first pod finds out that it needs scratch space."""
    namespace, seen = await bench.namespace("cdi-phases"), []

    def note(found: Object | None) -> bool:
        known = phase(found)
        if known and (not seen or seen[-1] != known):
            seen.append(known)
        return known == "Succeeded"

    await bench.api.create(imported(bench, namespace, "golden", "phases"))
    await object_until(bench.api, "DataVolume", namespace, "golden", note, "Succeeded")
    wanted = ["Pending", "ImportScheduled", "ImportInProgress", "ImportScheduled", "ImportInProgress", "Succeeded"]
    # A watch that starts late misses the beginning, never the order.
    assert seen == wanted[-len(seen) :]


@lab_test
@live
async def test_import_missing_image_then_repaired(bench: Bench) -> None:
    namespace = await bench.namespace("cdi-missing")
    await bench.source("unknown", {"schematics": ["missingone"]})
    await bench.api.create(imported(bench, namespace, "golden", "missingone"))
    failing = await bench.disk(
        namespace,
        "golden",
        lambda one: one["status"].get("restartCount", 0) >= 2 and condition(one, "Running").get("reason") == "Error",
    )
    text = "Unable to connect to http data source: expected status code 200, got 404. Status: 404 Not Found"
    assert phase(failing) == "ImportInProgress"
    assert verdict(failing, "Running") == ("False", "Error", text)
    assert verdict(failing, "Bound") == ("False", "Pending", "PVC golden Pending")
    assert verdict(failing, "Ready")[0] == "False"
    pods = await bench.api.list("Pod", namespace, "app=containerized-data-importer,cdi.kubevirt.io=importer")
    claim = await bench.api.get("PersistentVolumeClaim", "golden", namespace)
    assert claim is not None
    assert [pod["metadata"]["name"] for pod in pods] == [f"importer-prime-{claim['metadata']['uid']}"]
    assert pods[0]["status"]["containerStatuses"][0]["restartCount"] >= 2
    names = {one["metadata"]["name"] for one in await bench.api.list("PersistentVolumeClaim", namespace)}
    prime = f"prime-{claim['metadata']['uid']}"
    assert names == {"golden", prime, f"{prime}-scratch"}
    await bench.source("known", {"schematics": ["missingone"]})
    done = await bench.succeeded(namespace, "golden")
    assert done["status"]["restartCount"] >= 2
    assert bench.volume(namespace, "golden").read_bytes() == raw("missingone")


@lab_test
@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("html", "Unable to process data: Unable to convert source data to target format"),
        ("truncate", "Unable to process data: unexpected EOF"),
        ("drop", "Unable to process data: unexpected EOF"),
        ("status", "expected status code 200, got 503. Status: 503 Service Unavailable"),
    ],
)
@live
async def test_import_fault_then_healed(bench: Bench, kind: str, message: str) -> None:
    namespace = await bench.namespace(f"cdi-fault-{kind}")
    await bench.source("faults", {"path": f"/fault{kind}/", "kind": kind, "count": 1})
    await bench.api.create(imported(bench, namespace, "golden", f"fault{kind}"))
    failed = await bench.disk(namespace, "golden", lambda one: condition(one, "Running").get("reason") == "Error")
    assert message in condition(failed, "Running")["message"]
    assert phase(failed) == "ImportInProgress"
    done = await bench.succeeded(namespace, "golden")
    assert done["status"]["restartCount"] == 1
    assert bench.volume(namespace, "golden").read_bytes() == raw(f"fault{kind}")


@lab_test
@live
async def test_import_refused_connection(bench: Bench) -> None:
    namespace = await bench.namespace("cdi-refused")
    await bench.api.create(imported(bench, namespace, "golden", "x", url="http://127.0.0.1:1/image.raw.xz"))
    failed = await bench.disk(namespace, "golden", lambda one: condition(one, "Running").get("reason") == "Error")
    assert "connection refused" in condition(failed, "Running")["message"]
    await bench.api.delete("DataVolume", "golden", namespace)


@lab_test
@live
async def test_import_too_small_never_heals(bench: Bench) -> None:
    namespace = await bench.namespace("cdi-small")
    await bench.api.create(imported(bench, namespace, "golden", "small", storage=storage("1Mi")))
    failed = await bench.disk(namespace, "golden", lambda one: one["status"].get("restartCount", 0) >= 1)
    failed = await bench.disk(namespace, "golden", lambda one: condition(one, "Running").get("reason") == "Error")
    assert condition(failed, "Running")["message"] == "DataVolume too small to contain image"
    await bench.api.delete("DataVolume", "golden", namespace)


@lab_test
@live
async def test_import_legacy_is_bound_meanwhile(bench: Bench) -> None:
    """Without a populator the importer writes into the claim itself, which is therefore bound from the start."""
    namespace = await bench.namespace("cdi-legacy")
    await bench.lab.misbehave("cdi", {"action": "fail", "match": "^cdi-legacy/", "times": 1, "message": "once"})
    annotations = {"cdi.kubevirt.io/storage.usePopulator": "false"}
    await bench.api.create(imported(bench, namespace, "golden", "legacy", annotations=annotations))
    failed = await bench.disk(namespace, "golden", lambda one: condition(one, "Running").get("message") == "once")
    assert verdict(failed, "Bound") == ("True", "Bound", "PVC golden Bound")
    assert await bench.api.get("Pod", "importer-golden", namespace)
    await bench.succeeded(namespace, "golden")


@lab_test
@live
async def test_import_waits_for_a_consumer(bench: Bench) -> None:
    namespace = await bench.namespace("cdi-consumer")
    await bench.api.create(imported(bench, namespace, "golden", "consumer", storage=storage(storage_class="local")))
    await bench.disk(namespace, "golden", lambda one: phase(one) == "PendingPopulation")
    annotations = {"volume.kubernetes.io/selected-node": "node-1"}
    await bench.api.patch("PersistentVolumeClaim", "golden", {"metadata": {"annotations": annotations}}, namespace)
    await bench.succeeded(namespace, "golden")


@lab_test
@live
async def test_import_immediate_on_a_waiting_class(bench: Bench) -> None:
    namespace = await bench.namespace("cdi-immediate")
    annotations = {"cdi.kubevirt.io/storage.bind.immediate.requested": "false"}  # presence counts
    given = imported(bench, namespace, "golden", "now", storage=storage(storage_class="local"), annotations=annotations)
    await bench.api.create(given)
    await bench.succeeded(namespace, "golden")


@lab_test
@live
async def test_missing_class_is_blank_until_it_appears(bench: Bench) -> None:
    namespace = await bench.namespace("cdi-classless")
    await bench.api.delete("StorageClass", "cdi-late")
    await bench.api.create(imported(bench, namespace, "golden", "late", storage=storage(storage_class="cdi-late")))
    blank = await bench.disk(namespace, "golden", lambda one: condition(one, "Bound"))
    assert phase(blank) == ""
    assert verdict(blank, "Bound")[1] == "ErrClaimNotValid"
    late = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "cdi-late"}}
    await bench.api.create(late | {"provisioner": DRIVER, "allowVolumeExpansion": True})
    await bench.succeeded(namespace, "golden")
    await bench.api.delete("StorageClass", "cdi-late")


@lab_test
@live
async def test_deleted_importer_pod_restarts_the_import(bench: Bench) -> None:
    namespace = await bench.namespace("cdi-pod")
    await bench.lab.misbehave("timings", {"import_retry": 600, "import_retry_max": 600})
    try:
        await bench.source("faults", {"path": "/deletedpod/", "kind": "status", "status": 500, "count": 1})
        await bench.api.create(imported(bench, namespace, "golden", "deletedpod"))
        await bench.disk(namespace, "golden", lambda one: condition(one, "Running").get("reason") == "Error")
        [pod] = await bench.api.list("Pod", namespace)
        await bench.api.delete("Pod", pod["metadata"]["name"], namespace)
        await bench.succeeded(namespace, "golden")
    finally:
        await bench.lab.misbehave("timings", {"import_retry": 0.2, "import_retry_max": 3.0})


@lab_test
@live
async def test_lost_claim_fails_the_disk(bench: Bench) -> None:
    namespace = await bench.namespace("cdi-lost")
    await bench.api.create(imported(bench, namespace, "golden", "lost"))
    await bench.succeeded(namespace, "golden")
    await bench.api.patch("PersistentVolumeClaim", "golden", {"status": {"phase": "Lost"}}, namespace, "status")
    lost = await bench.disk(namespace, "golden", lambda one: phase(one) == "Failed")
    assert verdict(lost, "Bound") == ("False", "ClaimLost", "Claim Lost")


@lab_test
@live
async def test_deletion_cascades(bench: Bench) -> None:
    namespace = await bench.namespace("cdi-cascade")
    await bench.source("faults", {"path": "/cascade/", "kind": "status", "status": 500})
    await bench.api.create(imported(bench, namespace, "golden", "cascade"))
    await bench.disk(namespace, "golden", lambda one: condition(one, "Running").get("reason") == "Error")
    await bench.api.delete("DataVolume", "golden", namespace)
    kinds = ["PersistentVolumeClaim", "Pod", "PersistentVolume"]
    await until(
        bench.api,
        "claims and pods gone",
        kinds,
        lambda seen: not any(seen[kind].in_namespace(namespace) for kind in kinds[:2]),
    )
    await bench.source("faults", [])
    await bench.api.create(imported(bench, namespace, "golden", "cascade"))
    await bench.succeeded(namespace, "golden")
    file = bench.volume(namespace, "golden")
    assert file.exists()
    claim = await bench.api.get("PersistentVolumeClaim", "golden", namespace)
    await bench.api.delete("DataVolume", "golden", namespace)
    await bench.absent("PersistentVolumeClaim", namespace, "golden")
    await bench.absent("PersistentVolume", "", claim["spec"]["volumeName"] if claim else "")
    assert not file.exists()


@lab_test
@live
async def test_capacity_is_rounded_up_by_the_driver(bench: Bench) -> None:
    namespace = await bench.namespace("cdi-rounded")
    await bench.lab.misbehave("timings", {"capacity_multiple": 1 << 30})
    try:
        await bench.api.create(imported(bench, namespace, "golden", "rounded"))
        await bench.succeeded(namespace, "golden")
        claim = await bench.api.get("PersistentVolumeClaim", "golden", namespace)
        assert claim is not None
        assert size(claim["status"]["capacity"]["storage"]) == 1 << 30
    finally:
        await bench.lab.misbehave("timings", {"capacity_multiple": 1})


async def golden(bench: Bench, schematic: str, storage_class: str = "replicated") -> tuple[str, str]:
    """An imported source in a namespace of its own."""
    namespace = await bench.namespace(f"cdi-src-{schematic}")
    annotations = {"cdi.kubevirt.io/storage.bind.immediate.requested": "true"}
    given = storage(storage_class=storage_class)
    await bench.api.create(imported(bench, namespace, "golden", schematic, storage=given, annotations=annotations))
    await bench.succeeded(namespace, "golden")
    return namespace, "golden"


@lab_test
@live
async def test_clone_by_the_driver(bench: Bench) -> None:
    source = await golden(bench, "cloned")
    namespace = await bench.namespace("cdi-clone")
    await bench.api.create(cloned(namespace, "disk", source, storage=storage("128Mi")))
    done = await bench.succeeded(namespace, "disk")
    assert verdict(done, "Running") == ("False", "Completed", "Clone Complete")
    assert done["metadata"]["annotations"]["cdi.kubevirt.io/cloneType"] == "csi-clone"
    claim = await bench.api.get("PersistentVolumeClaim", "disk", namespace)
    assert claim is not None
    marks = claim["metadata"]["annotations"]
    assert marks["cdi.kubevirt.io/cloneType"] == "csi-clone"
    assert marks["cdi.kubevirt.io/clonePhase"] == "Succeeded"
    assert marks["k8s.io/CloneOf"] == "true"
    assert bench.volume(namespace, "disk").read_bytes() == raw("cloned")
    assert await bench.gets("cloned") == 1
    assert await bench.api.list("Pod", namespace) == []
    left = await bench.api.list("PersistentVolumeClaim", source[0])
    assert [(one["metadata"]["name"], one["metadata"].get("finalizers")) for one in left] == [("golden", None)]


@lab_test
@pytest.mark.parametrize("way", ["annotation", "override"])
@live
async def test_clone_by_the_host(bench: Bench, way: str) -> None:
    source = await golden(bench, f"hostcopy{way}")
    namespace = await bench.namespace(f"cdi-copy-{way}")
    annotations = {"cdi.kubevirt.io/storage.usePopulator": "false"} if way == "annotation" else {}
    if way == "override":
        await bench.api.patch("CDI", "cdi", {"spec": {"cloneStrategyOverride": "copy"}})
    try:
        seen = []
        await bench.api.create(cloned(namespace, "disk", source, annotations=annotations))
        done = await bench.disk(namespace, "disk", lambda one: seen.append(phase(one)) or phase(one) == "Succeeded")
    finally:
        await bench.api.patch("CDI", "cdi", {"spec": {"cloneStrategyOverride": "csi-clone"}})
    assert "CloneInProgress" in seen
    assert done["metadata"]["annotations"]["cdi.kubevirt.io/cloneType"] == "copy"
    assert bench.volume(namespace, "disk").read_bytes() == raw(f"hostcopy{way}")


@lab_test
@live
async def test_clone_across_classes_hangs_for_ever(bench: Bench) -> None:
    source = await golden(bench, "crossclass")
    namespace = await bench.namespace("cdi-hang")
    annotations = {"cdi.kubevirt.io/storage.bind.immediate.requested": "true"}
    given = cloned(namespace, "disk", source, storage=storage(storage_class="local"), annotations=annotations)
    await bench.api.create(given)
    hanging = await bench.disk(namespace, "disk", lambda one: phase(one) == "CSICloneInProgress")
    assert verdict(hanging, "Running") == ("True", "Populator is running", "")
    claim = await bench.api.get("PersistentVolumeClaim", "disk", namespace)
    assert claim is not None
    uid = claim["metadata"]["uid"]
    await object_until(bench.api, "Pod", source[0], f"prep-{uid}", lambda pod: pod, "left behind")
    temporary = await bench.api.get("PersistentVolumeClaim", f"tmp-pvc-{uid}", source[0])
    assert temporary is not None
    assert temporary["status"]["phase"] == "Pending"
    held = await bench.api.get("PersistentVolumeClaim", "golden", source[0])
    assert held is not None
    assert held["metadata"]["finalizers"] == ["provisioner.storage.kubernetes.io/cloning-protection"]
    await bench.api.delete("DataVolume", "disk", namespace)
    await bench.absent("DataVolume", namespace, "disk")
    await bench.absent("PersistentVolumeClaim", source[0], f"tmp-pvc-{uid}")
    await bench.absent("Pod", source[0], f"prep-{uid}")
    await object_until(
        bench.api, "PersistentVolumeClaim", *source, lambda one: one and not one["metadata"].get("finalizers"), "free"
    )


@lab_test
@live
async def test_clone_smaller_than_its_source(bench: Bench) -> None:
    source = await golden(bench, "toosmall")
    namespace = await bench.namespace("cdi-undersized")
    await bench.api.create(cloned(namespace, "disk", source, storage=storage("32Mi")))
    refused = await bench.disk(namespace, "disk", lambda one: condition(one, "Bound"))
    text = "target resources requests storage size is smaller than the source"
    assert verdict(refused, "Bound") == ("False", "CloneValidationFailed", text)
    assert phase(refused) == ""


@lab_test
@live
async def test_clone_waits_for_its_source(bench: Bench) -> None:
    namespace, where = await bench.namespace("cdi-early"), await bench.namespace("cdi-src-early")
    await bench.api.create(cloned(namespace, "disk", (where, "golden")))
    early = await bench.disk(namespace, "disk", lambda one: condition(one, "Bound"))
    assert verdict(early, "Bound") == ("False", "CloneWithoutSource", "The source pvc golden doesn't exist")
    assert phase(early) == ""
    await bench.source("faults", {"path": "/early/", "kind": "status", "status": 500, "count": 1})
    await bench.api.create(imported(bench, where, "golden", "early"))
    waiting = await bench.disk(namespace, "disk", lambda one: phase(one) == "CloneScheduled")
    assert verdict(waiting, "Running") == ("False", "Pending", "Clone Pending")
    await bench.succeeded(namespace, "disk")
    assert bench.volume(namespace, "disk").read_bytes() == raw("early")


@lab_test
@live
async def test_clone_waits_while_a_pod_holds_the_source(bench: Bench) -> None:
    source = await golden(bench, "held")
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": source[1]}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "holder", "namespace": source[0]}}
    spec = {"containers": [{"name": "c", "image": "example.net/c"}], "volumes": [volume]}
    await bench.api.create(pod | {"spec": spec})
    namespace = await bench.namespace("cdi-held")
    await bench.api.create(cloned(namespace, "disk", source))
    await bench.disk(namespace, "disk", lambda one: phase(one) == "CloneScheduled")
    await bench.api.delete("Pod", "holder", source[0])
    await bench.succeeded(namespace, "disk")


@lab_test
@live
async def test_upload_waits_for_bytes(bench: Bench) -> None:
    namespace = await bench.namespace("cdi-upload")
    given = imported(bench, namespace, "disk", "x")
    given["spec"]["source"] = {"upload": {}}
    await bench.api.create(given)
    await bench.disk(namespace, "disk", lambda one: phase(one) == "UploadReady")


@lab_test
@live
async def test_quota_refuses_the_claim(bench: Bench) -> None:
    namespace = await bench.namespace("cdi-quota")
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": namespace}}
    await bench.api.ensure(quota | {"spec": {"hard": {"requests.storage": "32Mi"}}})
    await object_until(
        bench.api, "ResourceQuota", namespace, "q", lambda one: one and one["status"].get("used"), "used"
    )
    await bench.api.create(imported(bench, namespace, "disk", "quota"))
    refused = await bench.disk(namespace, "disk", lambda one: condition(one, "Bound"))
    status, reason, message = verdict(refused, "Bound")
    assert (status, reason) == ("False", "ErrExceededQuota")
    assert "exceeded quota: q" in message
    await bench.api.patch("ResourceQuota", "q", {"spec": {"hard": {"requests.storage": "1Gi"}}}, namespace)
    await bench.succeeded(namespace, "disk")


@lab_test
@live
async def test_existing_claim_is_adopted_or_in_the_way(bench: Bench) -> None:
    namespace = await bench.namespace("cdi-adopt")
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"namespace": namespace}}
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "64Mi"}},
        "storageClassName": "replicated",
    }
    for name in ("mine", "foreign"):
        await bench.api.create(claim | {"metadata": {"name": name, "namespace": namespace}, "spec": spec})
    annotations = {"cdi.kubevirt.io/allowClaimAdoption": "true"}
    await bench.api.create(imported(bench, namespace, "mine", "adopt", annotations=annotations))
    await bench.succeeded(namespace, "mine")
    await bench.api.create(imported(bench, namespace, "foreign", "adopt"))
    blocked = await bench.disk(namespace, "foreign", lambda one: condition(one, "Bound"))
    assert verdict(blocked, "Bound")[2] == "Destination PVC cdi-adopt/foreign already exists"
    assert await bench.gets("adopt") == 0
