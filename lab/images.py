# SPDX-License-Identifier: Apache-2.0
"""An image source on loopback: what a Talos image factory, or a plain mirror of one, serves to the importer.

Any schematic and version has an image, made from its path on first request: the same bytes in every lab. Requests are
counted, and faults can be scripted:

    GET  /_lab/counts   {"<path>": {"get": n, "head": n, "bytes": n}}
    POST /_lab/reset    forgets counts and faults
    POST /_lab/unknown  {"schematics": ["<id>"]}: 404 for these until they are posted to /schematics, or /_lab/known
    POST /_lab/faults   {"path": "<regex>", "kind": "status|html|truncate|slow|drop", "count": n, "status": 503,
                         "bytes_per_second": n, "methods": ["GET"]}; a list of such replaces all, [] repairs
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import lzma
import random
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web

FILE = "openstack-amd64.raw.xz"
VERSIONS = ["v1.11.6", "v1.12.10", "v1.12.11", "v1.13.5", "v1.13.6", "v1.13.7", "v1.13.8", "v1.13.9"]
_BLOCK, _CHUNK = 64 * 1024, 64 * 1024
_IMAGE = re.compile(r"(?:^|/)image/([^/]+)/([^/]+)/([^/]+)$")
_VERSION = re.compile(r"v?[0-9]+\.[0-9]+\.[0-9]+(-[0-9a-z.]+)?")
_PAGE = (
    b"<!doctype html><html><head><title>Not here</title></head><body><h1>It works, but not here</h1></body></html>\n"
)


def raw_image(schematic: str, version: str) -> bytes:
    """The raw disk of a schematic and version: 2 to 4 MiB, a third of its blocks random, the rest zero."""
    dice = random.Random(f"{schematic}/{version}")
    zero = bytes(_BLOCK)
    return b"".join(dice.randbytes(_BLOCK) if dice.random() < 0.3 else zero for _ in range(dice.randint(32, 64)))


def packed_image(schematic: str, version: str) -> bytes:
    """The same as the factory's .raw.xz; a fast preset, since nobody looks at the ratio."""
    return lzma.compress(raw_image(schematic, version), check=lzma.CHECK_CRC64, preset=0)


def _scalar(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return "{}" if isinstance(value, dict) else "[]"
    return yaml.safe_dump(value, width=10**6).removesuffix("\n").removesuffix("\n...")


def _lines(value: Any) -> list[str]:
    """Go's YAML writer: four blanks deeper per level, list items below their key, their fields two blanks in."""
    lines: list[str] = []
    pairs = value.items() if isinstance(value, dict) else ((None, item) for item in value)
    for key, inner in pairs:
        nested = _lines(inner) if isinstance(inner, (dict, list)) and inner else None
        if key is None:
            block = nested or [_scalar(inner)]
            lines += [f"- {block[0]}", *(f"  {line}" for line in block[1:])]
        elif nested is None:
            lines.append(f"{key}: {_scalar(inner)}")
        else:
            lines += [f"{key}:", *(f"    {line}" for line in nested)]
    return lines


# The factory's field order, which is what its IDs are computed over. A dictionary is a nested structure, a list one
# structure per element, None a plain value.
_ORDER: dict[str, Any] = {
    "owner": None,
    "overlay": {"image": None, "name": None, "options": None},
    "customization": {
        "embeddedMachineConfiguration": None,
        "extraKernelArgs": None,
        "meta": [{"key": None, "value": None}],
        "systemExtensions": {"officialExtensions": None},
        "bootloader": None,
        "secureboot": {"enrollKeys": None, "includeWellKnownCertificates": None},
        "diskImage": {"sectorSize": None},
    },
}


def _ordered(value: Any, order: Any) -> Any:
    """Errors: ValueError for a field that the factory does not know."""
    if order is None or value is None:
        return value
    if isinstance(order, list):
        return [_ordered(item, order[0]) for item in value]
    if not isinstance(value, dict) or set(value) - set(order):
        raise ValueError(f"not a schematic: {value!r}")
    pairs = {key: _ordered(value[key], inner) for key, inner in order.items() if key in value}
    return {key: inner for key, inner in pairs.items() if inner not in (None, "", [], {}, False, 0)}


def canonical_schematic(text: str) -> str:
    """The canonical YAML of a schematic given as YAML or JSON; its SHA-256 is the ID. Errors: ValueError."""
    try:
        given = yaml.safe_load(text)
        known = _ordered({} if given is None else given, _ORDER)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    known.setdefault("customization", {})
    ordered = {key: known[key] for key in _ORDER if key in known}
    return "\n".join(_lines(ordered)) + "\n"


@dataclass
class Fault:
    """How to answer requests that match; ``count`` is how many are left, None for ever."""

    path: re.Pattern[str]
    kind: str
    count: int | None = None
    status: int = 503
    bytes_per_second: int = 1_000_000
    methods: tuple[str, ...] = ("GET",)

    @classmethod
    def parse(cls, given: dict[str, Any]) -> Fault:
        """Errors: ValueError, TypeError (unknown key)."""
        fault = cls(
            **given | {"path": re.compile(given.get("path", "")), "methods": tuple(given.get("methods", ["GET"]))}
        )
        if fault.kind not in ("status", "html", "truncate", "slow", "drop"):
            raise ValueError(f"unknown kind of fault: {fault.kind}")
        return fault


@dataclass
class ImageSource:
    """The server. ``folder`` keeps images and schematics; ``memory``, a file, the port and the unknown schematics for
    as long as the objects live whose URLs name that port."""

    folder: Path
    memory: Path
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    unknown: set[str] = field(default_factory=set)
    url: str = ""

    async def start(self) -> str:
        self.folder.mkdir(parents=True, exist_ok=True)
        known = self._load()
        self.unknown = set(known.get("unknown", []))
        app = web.Application()
        app.router.add_get("/_lab/counts", self._on_counts)
        app.router.add_post("/_lab/{action}", self._on_lab)
        app.router.add_post("/schematics", self._on_schematic)
        app.router.add_get("/schematics/{id}", self._on_get_schematic)
        app.router.add_get("/versions", self._on_versions)
        app.router.add_get("/{path:.*}", self._on_file, allow_head=False)
        app.router.add_head("/{path:.*}", self._on_file)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await self._runner.setup()
        self.port = await self._listen(int(known.get("port", 0)))
        self.url = f"http://127.0.0.1:{self.port}"
        self._save()
        return self.url

    async def _listen(self, port: int) -> int:
        """The port is part of every URL that was written into an object: take the same one again if it is free."""
        for wanted in (port, 0):
            site = web.TCPSite(self._runner, "127.0.0.1", wanted)
            try:
                await site.start()
            except OSError:
                await site.stop()
                continue
            return int(self._runner.addresses[0][1])
        raise OSError("no free port for the image source")

    async def stop(self) -> None:
        await self._runner.cleanup()

    def _load(self) -> dict[str, Any]:
        try:
            return dict(json.loads(self.memory.read_text()))
        except (OSError, ValueError):
            return {}

    def _save(self) -> None:
        content = json.dumps({"port": self.port, "unknown": sorted(self.unknown)})
        temporary = self.memory.with_suffix(".new")
        temporary.write_text(content)
        temporary.replace(self.memory)

    async def _on_counts(self, _: web.Request) -> web.Response:
        return web.json_response(self.counts)

    async def _on_lab(self, request: web.Request) -> web.Response:
        action = request.match_info["action"]
        try:
            given = await request.json() if request.can_read_body else {}
            if action == "faults":
                faults = [Fault.parse(one) for one in (given if isinstance(given, list) else [given])]
                self.faults = faults if isinstance(given, list) else [*self.faults, *faults]
            elif action == "unknown":
                self.unknown |= set(given["schematics"])
                self._save()
            elif action == "known":
                self.unknown -= set(given["schematics"])
                self._save()
            elif action == "reset":
                self.counts, self.faults = {}, []
            else:
                return web.json_response({"error": f"no such action: {action}"}, status=404)
        except (ValueError, TypeError, KeyError, re.error) as error:
            return web.json_response({"error": str(error)}, status=400)
        return web.json_response({"ok": True})

    async def _on_schematic(self, request: web.Request) -> web.Response:
        try:
            canonical = canonical_schematic(await request.text())
        except ValueError as error:
            return web.Response(text=str(error), status=400)
        identity = hashlib.sha256(canonical.encode()).hexdigest()
        (self.folder / f"schematic-{identity}.yaml").write_text(canonical)
        self.unknown.discard(identity)
        self._save()
        return web.json_response({"id": identity, "schematic": canonical}, status=201)

    async def _on_get_schematic(self, request: web.Request) -> web.Response:
        path = self.folder / f"schematic-{request.match_info['id']}.yaml"
        if not path.is_file():
            return web.Response(text="schematic not found", status=404)
        return web.Response(body=path.read_bytes(), content_type="application/yaml")

    async def _on_versions(self, _: web.Request) -> web.Response:
        return web.json_response(VERSIONS)

    def _fault(self, method: str, path: str) -> Fault | None:
        for fault in self.faults:
            if method in fault.methods and fault.count != 0 and fault.path.search(path):
                fault.count = None if fault.count is None else fault.count - 1
                return fault
        return None

    async def _on_file(self, request: web.Request) -> web.StreamResponse:
        count = self.counts.setdefault(request.path, {"get": 0, "head": 0, "bytes": 0})
        count[request.method.lower()] += 1
        fault = self._fault(request.method, request.path)
        if fault and fault.kind == "status":
            return web.Response(status=fault.status, text="scripted fault")
        if fault and fault.kind == "html":
            return await self._send(request, _PAGE, "text/html", None, count)
        match = _IMAGE.search(request.path)
        if not match or match[3] != FILE or match[1] in self.unknown:
            return web.Response(status=404, text="not found")
        if not _VERSION.fullmatch(match[2]):
            return web.Response(status=500, text="internal server error")  # a malformed version is no 400 there
        content = await self._image(match[1], match[2])
        if fault and fault.kind == "truncate":
            content = content[: len(content) // 2]
        return await self._send(request, content, "application/x-xz", fault, count)

    async def _image(self, schematic: str, version: str) -> bytes:
        path = self.folder / f"{hashlib.sha256(f'{schematic}/{version}'.encode()).hexdigest()}.xz"
        if not path.is_file():
            content = await asyncio.to_thread(packed_image, schematic, version)
            temporary = path.with_suffix(".new")
            temporary.write_bytes(content)
            temporary.replace(path)
        return path.read_bytes()

    async def _send(
        self, request: web.Request, content: bytes, kind: str, fault: Fault | None, count: dict[str, int]
    ) -> web.StreamResponse:
        """Content-Length and Content-Type, and neither ETag nor ranges: a factory's direct answer has none."""
        answer = web.StreamResponse(headers={"Content-Type": kind, "Content-Length": str(len(content))})
        await answer.prepare(request)
        if request.method == "HEAD":
            return answer
        end = len(content) // 2 if fault and fault.kind == "drop" else len(content)
        chunk = min(_CHUNK, max(1, fault.bytes_per_second // 20)) if fault and fault.kind == "slow" else _CHUNK
        for start in range(0, end, chunk):
            part = content[start : min(start + chunk, end)]
            await answer.write(part)
            count["bytes"] += len(part)
            if fault and fault.kind == "slow":
                await asyncio.sleep(len(part) / fault.bytes_per_second)
        if fault and fault.kind == "drop" and request.transport:
            request.transport.abort()
        return answer
