# SPDX-License-Identifier: Apache-2.0
"""The lab's image source as a factory, as a mirror, and doing wrong; without a lab around it."""

from __future__ import annotations

import asyncio
import json
import lzma
import ssl
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from lab import certs
from lab.image_content import packed_zeros
from lab.images import VERSIONS, ImageSource

DEFAULT = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"
IMAGE = f"/image/{DEFAULT}/v1.13.6/openstack-amd64.raw.xz"
OTHER = "/image/abc/v1.13.6/openstack-amd64.raw.xz"


class Asker:
    def __init__(self, source: ImageSource, session: aiohttp.ClientSession) -> None:
        self.source, self.session = source, session

    async def __call__(self, method: str, path: str, **options: Any) -> tuple[int, Mapping[str, str], bytes]:
        async with self.session.request(
            method, self.source.url + path, allow_redirects=False, auto_decompress=False, **options
        ) as answer:
            return answer.status, answer.headers, await answer.read()

    async def lab(self, action: str, body: Any) -> None:
        assert (await self("POST", f"/_lab/{action}", json=body))[0] == 200


def with_source(tmp_path: Path, test: Callable[[Asker], Coroutine[Any, Any, None]], tls: Path | None = None) -> None:
    async def run() -> None:
        source = ImageSource(tmp_path / "images", tmp_path / "memory.json", tls)
        await source.start()
        try:
            async with aiohttp.ClientSession() as session:
                await test(Asker(source, session))
        finally:
            await source.stop()

    asyncio.run(run())


def test_strict_factory_serves_what_is_registered_and_published(tmp_path: Path) -> None:
    async def body(ask: Asker) -> None:
        await ask.lab("mode", {"strict": True})
        status, _, text = await ask("GET", IMAGE)
        assert (status, text) == (404, f'schematic ID "{DEFAULT}" not found\n'.encode())
        assert (await ask("GET", f"/schematics/{DEFAULT}"))[0] == 404
        assert (await ask("POST", "/schematics", data="{}"))[0] == 201
        status, headers, text = await ask("GET", f"/schematics/{DEFAULT}")
        assert (status, headers["Content-Type"], text) == (200, "application/yaml", b"customization: {}\n")
        status, headers, _ = await ask("HEAD", IMAGE)
        assert (status, headers["Content-Disposition"]) == (200, 'attachment; filename="openstack-amd64.raw.xz"')
        missing = await ask("GET", IMAGE.replace("v1.13.6", "v1.13.99"))
        assert (missing[0], missing[2]) == (404, b"version v1.13.99 is not available\n")
        assert json.loads((await ask("GET", "/versions"))[2]) == VERSIONS

    with_source(tmp_path, body)


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (("v1.13.6", "v1.13.06"), 500),
        (("v1.13.6", "v1.13.6-a..b"), 500),
        (("v1.13.6", "v1.14.0-beta.1"), 200),
        (("openstack-amd64.raw.xz", "openstack-amd64.raw.xz.sha256"), 402),
        (("openstack-amd64.raw.xz", "openstack.img"), 400),
    ],
)
def test_factory_tells_bad_paths_apart(tmp_path: Path, change: tuple[str, str], status: int) -> None:
    async def body(ask: Asker) -> None:
        assert (await ask("GET", IMAGE.replace(*change)))[0] == status

    with_source(tmp_path, body)


def test_factory_lists_official_extensions(tmp_path: Path) -> None:
    async def body(ask: Asker) -> None:
        rows = json.loads((await ask("GET", "/version/v1.13.6/extensions/official"))[2])
        assert "siderolabs/qemu-guest-agent" in [row["name"] for row in rows]
        assert (await ask("GET", "/version/v1.0.0/extensions/official"))[0] == 404

    with_source(tmp_path, body)


def test_factory_ignores_ranges_and_mirror_honours_them(tmp_path: Path) -> None:
    async def body(ask: Asker) -> None:
        ranged = {"Range": "bytes=0-5"}
        status, headers, whole = await ask("GET", OTHER, headers=ranged)
        assert (status, len(whole) > 6, "ETag" in headers) == (200, True, False)
        await ask.lab("mode", {"kind": "mirror"})
        status, headers, part = await ask("GET", OTHER, headers=ranged)
        assert (status, part, headers["Content-Range"]) == (206, b"\xfd7zXZ\x00", f"bytes 0-5/{len(whole)}")
        assert "ETag" in headers
        assert "Accept-Ranges" in headers
        assert (await ask("GET", OTHER))[2] == whole
        assert (await ask("POST", "/schematics", data="{}"))[0] == 405
        assert [(await ask("GET", path))[0] for path in (f"/schematics/{DEFAULT}", "/versions")] == [404, 404]
        await ask.lab("mode", {"kind": "mirror", "strict": True})
        status, headers, _ = await ask("GET", OTHER)
        assert (status, headers["Content-Type"].split(";")[0]) == (404, "text/html")

    with_source(tmp_path, body)


def test_only_get_redirects_to_the_storage(tmp_path: Path) -> None:
    async def body(ask: Asker) -> None:
        await ask.lab("mode", {"redirect": True})
        assert (await ask("HEAD", OTHER))[0] == 200
        status, headers, _ = await ask("GET", OTHER)
        assert status == 302
        status, stored, content = await ask("GET", headers["Location"])
        assert (status, "ETag" in stored, content[:6]) == (200, True, b"\xfd7zXZ\x00")
        assert (await ask("GET", headers["Location"].partition("?")[0]))[0] == 404

    with_source(tmp_path, body)


def test_first_request_builds_even_when_who_asked_leaves(tmp_path: Path) -> None:
    async def body(ask: Asker) -> None:
        await ask.lab("mode", {"build_seconds": 0.4})
        clock = asyncio.get_running_loop().time
        begun = clock()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(ask("HEAD", OTHER), 0.1)
        assert (await ask("HEAD", OTHER))[0] == 200
        assert 0.3 < clock() - begun < 0.8
        begun = clock()
        assert (await ask("HEAD", OTHER))[0] == 200
        assert clock() - begun < 0.3

    with_source(tmp_path, body)


@pytest.mark.parametrize("scheme", ["Bearer s3cret", "Basic dXNlcjpzM2NyZXQ="])
def test_secret_is_asked_for(tmp_path: Path, scheme: str) -> None:
    async def body(ask: Asker) -> None:
        await ask.lab("mode", {"secret": "s3cret"})
        assert (await ask("GET", OTHER))[0] == 401
        assert (await ask("GET", OTHER, headers={"Authorization": "Bearer other"}))[0] == 401
        assert (await ask("GET", OTHER, headers={"Authorization": scheme}))[0] == 200

    with_source(tmp_path, body)


def test_posts_are_counted(tmp_path: Path) -> None:
    async def body(ask: Asker) -> None:
        await ask("POST", "/schematics", data="{}")
        assert ask.source.counts == {"/schematics": {"get": 0, "head": 0, "bytes": 0, "post": 1}}
        await ask.lab("mode", {"kind": "mirror"})
        await ask.lab("reset", {})
        assert (ask.source.counts, ask.source.mode.kind) == ({}, "factory")

    with_source(tmp_path, body)


def test_wrong_lengths_and_a_disk_that_is_too_large(tmp_path: Path) -> None:
    async def body(ask: Asker) -> None:
        faults = [
            {"kind": "headers", "headers": {"Content-Length": "99999999"}, "path": "abc", "methods": ["HEAD", "GET"]}
        ]
        await ask.lab("faults", [*faults, {"kind": "oversize", "size": 200 * 1024**2 + 512}])
        assert (await ask("HEAD", OTHER))[1]["Content-Length"] == "99999999"
        with pytest.raises(aiohttp.ClientPayloadError):
            await ask("GET", OTHER)
        assert len(lzma.decompress((await ask("GET", IMAGE))[2])) == 200 * 1024**2 + 512

    with_source(tmp_path, body)


@pytest.mark.parametrize("size", [0, 512, 64 * 1024**2, 64 * 1024**2 + 1])
def test_packed_zeros_have_the_size(size: int) -> None:
    assert lzma.decompress(packed_zeros(size) or lzma.compress(b"")) == bytes(size)


def test_tls_needs_the_authority_and_shares_the_counts(tmp_path: Path) -> None:
    certs.write(tmp_path / "certs")
    ports = []

    async def body(ask: Asker) -> None:
        ports.append(ask.source.tls_url)
        url = f"{ask.source.tls_url}{OTHER}"
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await ask.session.get(url)
        async with ask.session.head(url, ssl=ssl.create_default_context(cafile=ask.source.authority)) as answer:
            assert answer.status == 200
        assert ask.source.counts[OTHER]["head"] == 1

    with_source(tmp_path, body, tmp_path / "certs")
    with_source(tmp_path, body, tmp_path / "certs")
    assert ports[0] == ports[1]


@pytest.mark.parametrize("mode", [{"kind": "bakery"}, {"strict": "yes"}, {"unknown": 1}])
def test_unknown_modes_are_refused(tmp_path: Path, mode: dict[str, Any]) -> None:
    async def body(ask: Asker) -> None:
        assert (await ask("POST", "/_lab/mode", json=mode))[0] == 400

    with_source(tmp_path, body)
