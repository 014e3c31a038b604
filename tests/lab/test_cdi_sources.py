# SPDX-License-Identifier: Apache-2.0
"""What a source may ask of the importer: an authority, credentials, headers, a checksum; and one that stands still."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from lab.api import ApiError, Object
from lab.controllers.cdi.fetch import FATAL, Access, Download, ImportFailure
from lab.images import packed_image
from lab.scenarios import cdi_version
from lab.scenarios.waiting import condition, object_until, phase, until
from tests.lab.helpers import Bench, imported, live, raw

CONTENT = packed_image("asked", "v1.13.6")
WRONG = f"sha256:{'0' * 64}"


@contextlib.asynccontextmanager
async def server(headers: dict[str, str], stall: bool = False) -> AsyncIterator[str]:
    """Serves CONTENT to who sends these headers, 401 to anybody else; it may stop in the middle and say no more."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if any(request.headers.get(name) != value for name, value in headers.items()):
            return web.Response(status=401)
        if not stall:
            return web.Response(body=CONTENT)
        response = web.StreamResponse(headers={"Content-Length": str(len(CONTENT))})
        await response.prepare(request)
        if request.method == "GET":
            await response.write(CONTENT[:1000])
            await asyncio.Event().wait()
        return response

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/image.raw.xz"
    finally:
        await runner.cleanup()


def fetched(tmp_path: Path, headers: dict[str, str], stall: bool = False, **given: Any) -> bytes:
    async def run() -> bytes:
        async with server(headers, stall) as url:
            await Download(url, tmp_path / "image", 0.2, **given).run()
        return (tmp_path / "image").read_bytes()

    return asyncio.run(run())


@pytest.mark.parametrize("algorithm", ["md5", "sha1", "sha256", "SHA512"])
def test_checksum_of_the_bytes_as_downloaded(tmp_path: Path, algorithm: str) -> None:
    checksum = f"{algorithm}:{hashlib.new(algorithm.lower(), CONTENT).hexdigest().upper()}"
    assert fetched(tmp_path, {}, checksum=checksum) == CONTENT


def test_wrong_checksum(tmp_path: Path) -> None:
    with pytest.raises(ImportFailure, match="checksum mismatch: expected 0000") as caught:
        fetched(tmp_path, {}, checksum=WRONG)
    assert caught.value.reason == FATAL


def test_headers_are_sent(tmp_path: Path) -> None:
    access = Access(headers=("X-One: 1", "X-Two:  a: b "))
    assert fetched(tmp_path, {"X-One": "1", "X-Two": "a: b"}, access=access) == CONTENT
    with pytest.raises(ImportFailure, match=r"got 401\. Status: 401 Unauthorized"):
        fetched(tmp_path, {"X-One": "2"}, access=access)


def test_standing_still_is_cancelled(tmp_path: Path) -> None:
    with pytest.raises(ImportFailure, match="Unable to process data: context canceled"):
        fetched(tmp_path, {}, stall=True)


def test_an_authority_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ImportFailure, match="no certificate in certConfigMap"):
        fetched(tmp_path, {}, access=Access("not PEM"))


# --- on a lab

lab_test = pytest.mark.lab


def asking(bench: Bench, namespace: str, url: str, **http: Any) -> Object:
    given = imported(bench, namespace, "golden", "asked", url=url)
    given["spec"]["source"]["http"] |= http
    return given


def secret(namespace: str, name: str, **values: str) -> Object:
    data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}, "data": data}


def error(disk: Object) -> str:
    found = condition(disk, "Running")
    return found.get("message", "") if found.get("reason") == "Error" else ""


@lab_test
@live
async def test_credentials_of_a_secret(bench: Bench) -> None:
    namespace = await bench.namespace("source-secret")
    pair = base64.b64encode(b"importer:s3cret").decode()
    async with server({"Authorization": f"Basic {pair}"}) as url:
        await bench.api.create(asking(bench, namespace, url, secretRef="mirror"))
        waiting = await bench.disk(
            namespace, "golden", lambda one: condition(one, "Running").get("reason") == "CreateContainerConfigError"
        )
        assert condition(waiting, "Running")["message"] == 'secret "mirror" not found'
        assert phase(waiting) == "ImportScheduled"
        await bench.api.create(secret(namespace, "mirror", accessKeyId="importer", secretKey="wrong"))
        refused = await bench.disk(namespace, "golden", error)
        assert "expected status code 200, got 401. Status: 401 Unauthorized" in error(refused)
        right = secret(namespace, "mirror", accessKeyId="importer", secretKey="s3cret")
        await bench.api.patch("Secret", "mirror", {"data": right["data"]}, namespace)
        await bench.succeeded(namespace, "golden")
    claim = await bench.api.get("PersistentVolumeClaim", "golden", namespace)
    assert claim is not None
    assert claim["metadata"]["annotations"]["cdi.kubevirt.io/storage.import.secretName"] == "mirror"
    assert bench.volume(namespace, "golden").read_bytes() == raw("asked")


@lab_test
@live
async def test_headers_given_and_of_a_secret(bench: Bench) -> None:
    namespace = await bench.namespace("source-headers")
    await bench.api.create(secret(namespace, "more", line="X-Two: 2"))
    async with server({"X-One": "1", "X-Two": "2"}) as url:
        given = asking(bench, namespace, url, extraHeaders=["X-One: 1"], secretExtraHeaders=["more"])
        await bench.api.create(given)
        await bench.succeeded(namespace, "golden")


@lab_test
@live
async def test_authority_of_a_config_map(bench: Bench) -> None:
    """Unknown, then waiting for the ConfigMap, then trusted."""
    namespace = await bench.namespace("source-tls")
    about = await asyncio.to_thread((bench.home / "controllers.json").read_text)
    address, authority = (_of(about, key) for key in ("image_source_tls", "image_source_ca"))
    url = bench.url("asked").replace(bench.lab.image_source, address)
    await bench.api.create(asking(bench, namespace, url))
    untrusted = await bench.disk(namespace, "golden", error)
    wanted = f'Get "{url}": tls: failed to verify certificate: x509: certificate signed by unknown authority'
    assert error(untrusted) == f"Unable to connect to http data source: {wanted}"
    await bench.api.delete("DataVolume", "golden", namespace)
    await bench.absent("PersistentVolumeClaim", namespace, "golden")
    await bench.api.create(asking(bench, namespace, url, certConfigMap="authority"))
    await object_until(bench.api, "PersistentVolumeClaim", namespace, "golden", lambda claim: claim, "there")
    await _mount_failed(bench, namespace)
    pem = {"ca.pem": await asyncio.to_thread(Path(authority).read_text)}
    meta = {"name": "authority", "namespace": namespace}
    await bench.api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": pem})
    await bench.succeeded(namespace, "golden")


def _of(text: str, key: str) -> str:
    return str(json.loads(text)[key])


async def _mount_failed(bench: Bench, namespace: str) -> None:
    text = 'MountVolume.SetUp failed for volume "cdi-cert-vol" : configmap "authority" not found'

    def look(seen: Any) -> bool:
        return any(one["message"] == text for one in seen["Event"].in_namespace(namespace))

    await until(bench.api, "FailedMount", ["Event"], look)


@lab_test
@live
async def test_checksum_is_pruned_by_cdi_164(bench: Bench) -> None:
    namespace = await bench.namespace("source-pruned")
    await bench.api.create(asking(bench, namespace, bench.url("asked"), checksum=WRONG))
    done = await bench.succeeded(namespace, "golden")
    assert "checksum" not in done["spec"]["source"]["http"]


@lab_test
@live
async def test_checksum_of_cdi_165(bench: Bench) -> None:
    namespace, url = await bench.namespace("source-checksum"), bench.url("asked")
    await cdi_version.use(bench.api, cdi_version.NEW)
    try:
        cdi = await bench.api.get("CDI", "cdi")
        assert cdi is not None
        assert cdi["status"]["observedVersion"] == cdi["status"]["operatorVersion"] == "v1.65.0"
        with pytest.raises(ApiError, match="checksum"):
            await bench.api.create(asking(bench, namespace, url, checksum="sha256:12"))
        await bench.api.create(asking(bench, namespace, url, checksum=WRONG))
        failed = await bench.disk(namespace, "golden", lambda one: phase(one) == "Failed")
        running = condition(failed, "Running")
        assert (running["status"], running["reason"]) == ("False", "ChecksumError")
        assert "checksum mismatch" in running["message"]
        claim = await bench.api.get("PersistentVolumeClaim", "golden", namespace)
        assert claim is not None
        assert claim["metadata"]["annotations"]["cdi.kubevirt.io/storage.import.fatalError"] == "true"
        assert await bench.api.list("Pod", namespace) == []
        gets = await bench.gets("asked")
        await bench.api.delete("DataVolume", "golden", namespace)
        await bench.absent("PersistentVolumeClaim", namespace, "golden")
        right = hashlib.sha256(CONTENT).hexdigest()
        await bench.api.create(asking(bench, namespace, url, checksum=f"sha256:{right}"))
        await bench.succeeded(namespace, "golden")
        assert await bench.gets("asked") == gets + 1
    finally:
        await cdi_version.use(bench.api, cdi_version.OLD)


@lab_test
@live
async def test_a_transfer_that_stands_still(bench: Bench) -> None:
    namespace = await bench.namespace("source-idle")
    await bench.lab.misbehave("timings", {"import_idle": 0.3})
    try:
        async with server({}, stall=True) as url:
            await bench.api.create(asking(bench, namespace, url))
            failed = await bench.disk(namespace, "golden", error)
            assert error(failed) == "Unable to process data: context canceled"
            await bench.api.delete("DataVolume", "golden", namespace)
            await bench.absent("DataVolume", namespace, "golden")
    finally:
        await bench.lab.misbehave("timings", {"import_idle": 6.0})
