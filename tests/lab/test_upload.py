# SPDX-License-Identifier: Apache-2.0
"""Upload: tokens through the aggregator, and the proxy that takes the bytes of a disk."""

from __future__ import annotations

import asyncio
import gzip
import json
import lzma
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from lab.api import Object
from lab.scenarios.waiting import condition, object_until, phase
from tests.lab.helpers import Bench, imported, live, raw, storage
from tests.lab.test_upload_tokens import REQUESTS, request_of

RAW = raw("uploaded")
XZ = lzma.compress(RAW, preset=0)


lab_test = pytest.mark.lab


async def token(bench: Bench, namespace: str, name: str) -> str:
    answer = await bench.api.request("POST", REQUESTS.format(namespace), request_of(name))
    return str(answer["status"]["token"])


@dataclass(frozen=True)
class Answer:
    """Status 0: the connection broke."""

    status: int
    text: str = ""


async def send(bench: Bench, bearer: str, body: Any, way: str = "upload", method: str = "POST") -> Answer:
    about = json.loads(await asyncio.to_thread((bench.home / "lab.json").read_text))
    tls = ssl.create_default_context(cafile=about["upload_proxy_ca"])
    headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
    try:
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.request(method, f"{about['upload_proxy']}/v1beta1/{way}", data=body, ssl=tls) as answer,
        ):
            return Answer(answer.status, await answer.text())
    except aiohttp.ClientError:
        return Answer(0)


async def target(bench: Bench, namespace: str, size: str = "64Mi") -> tuple[str, str]:
    """A disk that is ready to be uploaded into, in a namespace of its own, and a token for it."""
    await bench.namespace(namespace)
    given = imported(bench, namespace, "golden", "x", storage=storage(size))
    given["spec"]["source"] = {"upload": {}}
    await bench.api.create(given)
    await bench.disk(namespace, "golden", lambda one: phase(one) == "UploadReady")
    return namespace, await token(bench, namespace, "golden")


async def script(bench: Bench, namespace: str, action: str, **more: Any) -> None:
    await bench.lab.misbehave("cdi", {"action": action, "match": f"^{namespace}/", "times": 1} | more)


async def restarted(bench: Bench, namespace: str, count: int = 1) -> Object:
    """The disk, ready again after its pod started again."""

    def again(disk: Object) -> bool:
        return bool(phase(disk) == "UploadReady" and disk["status"].get("restartCount", 0) >= count)

    return await bench.disk(namespace, "golden", again, "ready again")


@lab_test
@pytest.mark.parametrize("way", ["upload", "upload-async"])
@pytest.mark.parametrize("form", ["xz", "gz", "raw"])
@live
async def test_upload_fills_the_claim(bench: Bench, way: str, form: str) -> None:
    namespace, bearer = await target(bench, f"{way}-{form}")
    [pod] = await bench.api.list("Pod", namespace)
    claim = await bench.api.get("PersistentVolumeClaim", "golden", namespace)
    assert claim is not None
    assert pod["metadata"]["name"] == f"cdi-upload-prime-{claim['metadata']['uid']}"
    assert len(await bench.api.list("VolumeUploadSource", namespace)) == 1
    body = {"xz": XZ, "gz": gzip.compress(RAW, 1), "raw": RAW}[form]
    assert (await send(bench, bearer, body, way, "PUT" if form == "gz" else "POST")).status == 200
    done = await bench.succeeded(namespace, "golden")
    assert condition(done, "Bound")["status"] == "True"
    assert condition(done, "Running")["message"] == "Upload Complete"
    assert bench.volume(namespace, "golden").read_bytes() == RAW
    assert await bench.api.list("Pod", namespace) == []
    assert await bench.api.list("VolumeUploadSource", namespace) == []
    assert [one["metadata"]["name"] for one in await bench.api.list("PersistentVolumeClaim", namespace)] == ["golden"]
    again = await send(bench, bearer, body, way)
    assert (again.status, "already finished uploading" in again.text) == (503, True)


@lab_test
@live
async def test_addresses_are_published(bench: Bench) -> None:
    about = json.loads((bench.home / "lab.json").read_text())
    config = await bench.api.get("CDIConfig", "config")
    assert config is not None
    assert config["status"]["uploadProxyURL"] == about["upload_proxy"]
    assert config["status"]["uploadProxyCA"] == Path(about["upload_proxy_ca"]).read_text()


@lab_test
@live
async def test_who_may_not_upload(bench: Bench) -> None:
    namespace, bearer = await target(bench, "upload-refused")
    assert (await send(bench, "", XZ)).status == 400
    assert (await send(bench, "bad.to.ken", XZ)).status == 401
    await bench.lab.misbehave("timings", {"upload_token": 0})
    try:
        assert (await send(bench, await token(bench, namespace, "golden"), XZ)).status == 401
    finally:
        await bench.lab.misbehave("timings", {"upload_token": 300})
    other = await send(bench, await token(bench, namespace, "nobody"), XZ)
    assert (other.status, "that doesn't exist" in other.text) == (503, True)
    assert (await send(bench, bearer, XZ)).status == 200


@lab_test
@live
async def test_not_ready_is_503(bench: Bench) -> None:
    namespace = await bench.namespace("upload-early")
    given = imported(bench, namespace, "golden", "x", storage=storage(storage_class="local"))
    given["spec"]["source"] = {"upload": {}}
    await bench.api.create(given)
    await bench.disk(namespace, "golden", lambda one: phase(one) == "PendingPopulation")
    assert (await send(bench, await token(bench, namespace, "golden"), XZ)).status == 503
    await bench.api.delete("DataVolume", "golden", namespace)


@lab_test
@pytest.mark.parametrize(
    ("body", "size", "text"),
    [
        (b"<html>no image</html>", "64Mi", "Unable to convert source data to target format"),
        (XZ[: len(XZ) // 2], "64Mi", "unexpected EOF"),
        (lzma.compress(bytes(2 << 20), preset=0), "1Mi", "DataVolume too small to contain image"),
        (bytes(2 << 20), "1Mi", "DataVolume too small to contain image"),
    ],
    ids=["page", "cut", "large-xz", "large-raw"],
)
@live
async def test_what_is_no_image_is_400(
    bench: Bench, request: pytest.FixtureRequest, body: bytes, size: str, text: str
) -> None:
    namespace, bearer = await target(bench, f"upload-{request.node.callspec.id}", size)
    answer = await send(bench, bearer, body)
    assert answer.status in (400, 0)  # the answer to the largest may be lost while bytes are still being sent
    assert text in answer.text or answer.status == 0
    disk = await restarted(bench, namespace)
    [pod] = await bench.api.list("Pod", namespace)
    assert text in pod["status"]["containerStatuses"][0].get("lastState", {}).get("terminated", {}).get("message", text)
    assert disk["status"]["restartCount"] == 1


@lab_test
@live
async def test_asynchronous_trouble_shows_on_the_disk(bench: Bench) -> None:
    namespace, bearer = await target(bench, "upload-late")
    await bench.lab.misbehave("timings", {"import_retry": 600})
    try:
        assert (await send(bench, bearer, b"<html>no image</html>", "upload-async")).status == 200
        failed = await bench.disk(namespace, "golden", lambda one: condition(one, "Running").get("reason") == "Error")
        assert phase(failed) == "UploadScheduled"
        assert "Unable to convert source data" in condition(failed, "Running")["message"]
        assert (await send(bench, bearer, XZ)).status == 503
    finally:
        await bench.lab.misbehave("timings", {"import_retry": 0.2})
        await bench.api.delete("DataVolume", "golden", namespace)


@lab_test
@live
async def test_broken_transfer_starts_anew(bench: Bench) -> None:
    namespace, bearer = await target(bench, "upload-broken")
    await script(bench, namespace, "upload-drop", bytes=100_000)
    assert (await send(bench, bearer, XZ)).status == 0
    await restarted(bench, namespace)

    async def half() -> AsyncIterator[bytes]:
        yield XZ[:1000]
        raise ConnectionResetError

    assert (await send(bench, bearer, half())).status == 0
    await restarted(bench, namespace, 2)
    await _hang_up(bench, bearer)
    await restarted(bench, namespace, 3)
    assert (await send(bench, bearer, XZ)).status == 200
    done = await bench.succeeded(namespace, "golden")
    assert done["status"]["restartCount"] == 3
    assert bench.volume(namespace, "golden").read_bytes() == RAW
    assert not list(bench.volume(namespace, "golden").parent.glob("*.upload"))


async def _hang_up(bench: Bench, bearer: str) -> None:
    """Announce all bytes, send half of them, and end the connection properly."""
    about = json.loads(await asyncio.to_thread((bench.home / "lab.json").read_text))
    tls = ssl.create_default_context(cafile=about["upload_proxy_ca"])
    port = int(about["upload_proxy"].rpartition(":")[2])
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls)
    head = f"POST /v1beta1/upload HTTP/1.1\r\nHost: proxy\r\nAuthorization: Bearer {bearer}\r\n"
    writer.write(f"{head}Content-Length: {len(XZ)}\r\n\r\n".encode() + XZ[: len(XZ) // 2])
    await writer.drain()
    writer.close()
    await writer.wait_closed()


@lab_test
@live
async def test_scripted_answers(bench: Bench) -> None:
    namespace, bearer = await target(bench, "upload-scripted")
    await script(bench, namespace, "upload-status", times=2)
    await script(bench, namespace, "upload-status", status=502)
    assert [(await send(bench, bearer, XZ)).status for _ in range(3)] == [503, 503, 502]
    await script(bench, namespace, "upload-mute")
    assert (await send(bench, bearer, XZ)).status == 0
    await bench.succeeded(namespace, "golden")


@lab_test
@live
async def test_one_upload_at_a_time(bench: Bench) -> None:
    namespace, bearer = await target(bench, "upload-slow")
    await script(bench, namespace, "slow", bytes_per_second=len(XZ) * 2)
    first = asyncio.create_task(send(bench, bearer, XZ))
    file = bench.volume(namespace, "golden").with_suffix(".upload")
    while not file.exists():
        await asyncio.sleep(0.01)
    assert (await send(bench, bearer, XZ)).status == 503
    assert (await first).status == 200
    await bench.succeeded(namespace, "golden")


@lab_test
@live
async def test_deleted_disk_ends_the_upload(bench: Bench) -> None:
    namespace, bearer = await target(bench, "upload-deleted")
    await script(bench, namespace, "slow", bytes_per_second=200_000)
    sending = asyncio.create_task(send(bench, bearer, RAW))
    file = bench.volume(namespace, "golden").with_suffix(".upload")
    while not file.exists():
        await asyncio.sleep(0.01)
    await bench.api.delete("DataVolume", "golden", namespace)
    assert (await sending).status == 0
    assert not file.exists()


@lab_test
@live
async def test_deleted_pod_is_replaced(bench: Bench) -> None:
    namespace, bearer = await target(bench, "upload-pod")
    [pod] = await bench.api.list("Pod", namespace)
    await bench.api.delete("Pod", pod["metadata"]["name"], namespace)

    def another(found: Object | None) -> bool:
        return bool(found and found["metadata"]["uid"] != pod["metadata"]["uid"] and phase(found) == "Running")

    await object_until(bench.api, "Pod", namespace, pod["metadata"]["name"], another, "another one runs")
    await bench.disk(namespace, "golden", lambda one: phase(one) == "UploadReady")
    while (answer := await send(bench, bearer, XZ)).status == 503:
        await asyncio.sleep(0.02)
    assert answer.status == 200
    await bench.succeeded(namespace, "golden")
