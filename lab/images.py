# SPDX-License-Identifier: Apache-2.0
"""An image source on loopback: what a Talos image factory, or a plain mirror of one, serves to the importer.

Any schematic and version has an image, made from its path on first request: the same bytes in every lab. Requests are
counted, and what the source is and does wrong can be scripted:

    GET  /_lab/counts   {"<path>": {"get": n, "head": n, "post": n, "bytes": n}}
    POST /_lab/reset    forgets counts, faults and mode
    POST /_lab/unknown  {"schematics": ["<id>"]}: 404 for these until they are posted to /schematics, or /_lab/known
    POST /_lab/mode     {"kind": "factory|mirror", "strict": true, ...}: see image_script.Mode; {} is as at the start
    POST /_lab/faults   {"path": "<regex>", "kind": "status|html|truncate|slow|drop|oversize|headers", "count": n, ...}: see
                        image_script.Fault; a list of such replaces all, [] repairs

The same is served over TLS, with a certificate of an authority that nobody trusts, when there is a folder of certificates.
"""

from __future__ import annotations

import base64
import json
import re
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from lab.image_answers import image_headers, not_found_page, scripted, send
from lab.image_catalog import EXTENSIONS, FILE, VERSIONS, Catalog
from lab.image_content import packed_image, raw_image
from lab.image_schematics import canonical_schematic
from lab.image_script import Fault, Mode

__all__ = ["FILE", "VERSIONS", "ImageSource", "canonical_schematic", "packed_image", "raw_image"]

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_COUNT = web.RequestKey("count", dict[str, int])
_FAULT = web.RequestKey("fault", Fault)
CERTIFICATE, AUTHORITY = "image-source", "image-source-ca"
_IMAGE = re.compile(r"(?:^|/)image/([^/]+)/([^/]+)/([^/]+)$")
_STORED = re.compile(r"^/storage/([^/]+)/([^/]+)$")


@dataclass
class ImageSource:
    """The server. ``folder`` keeps images and schematics; ``memory``, a file, the ports and the unknown schematics for
    as long as the objects live whose URLs name those ports. ``certs``: folder with the certificate for TLS, or None."""

    folder: Path
    memory: Path
    certs: Path | None = None
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    mode: Mode = field(default_factory=Mode)
    url: str = ""
    tls_url: str | None = None

    def __post_init__(self) -> None:
        self.catalog = Catalog(self.folder)

    @property
    def authority(self) -> str | None:
        """Path of the PEM file with the authority of the TLS certificate."""
        return str(self.certs / f"{AUTHORITY}.crt") if self.certs else None

    async def start(self) -> str:
        self.folder.mkdir(parents=True, exist_ok=True)
        known = self._load()
        self.catalog.unknown = set(known.get("unknown", []))
        app = web.Application(middlewares=[self._guarded])
        app.router.add_get("/_lab/counts", self._on_counts)
        app.router.add_post("/_lab/{action}", self._on_lab)
        app.router.add_post("/{path:.*}", self._on_post)
        app.router.add_get("/schematics/{id}", self._on_get_schematic)
        app.router.add_get("/versions", self._on_versions)
        app.router.add_get("/version/{version}/extensions/official", self._on_extensions)
        app.router.add_get("/{path:.*}", self._on_file, allow_head=False)
        app.router.add_head("/{path:.*}", self._on_file)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await self._runner.setup()
        self.port = await self._listen(int(known.get("port", 0)), None)
        self.url, self.tls_port = f"http://127.0.0.1:{self.port}", 0
        if self.certs:
            tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            tls.load_cert_chain(self.certs / f"{CERTIFICATE}.crt", self.certs / f"{CERTIFICATE}.key")
            self.tls_port = await self._listen(int(known.get("tls_port", 0)), tls)
            self.tls_url = f"https://127.0.0.1:{self.tls_port}"
        self._save()
        return self.url

    async def _listen(self, port: int, tls: ssl.SSLContext | None) -> int:
        """The port is part of every URL that was written into an object: take the same one again if it is free."""
        for wanted in (port, 0):
            site = web.TCPSite(self._runner, "127.0.0.1", wanted, ssl_context=tls)
            try:
                await site.start()
            except OSError:
                await site.stop()
                continue
            return int(self._runner.addresses[-1][1])
        raise OSError("no free port for the image source")

    async def stop(self) -> None:
        await self._runner.cleanup()

    def _load(self) -> dict[str, Any]:
        try:
            return dict(json.loads(self.memory.read_text()))
        except (OSError, ValueError):
            return {}

    def _save(self) -> None:
        unknown = sorted(self.catalog.unknown)
        content = json.dumps({"port": self.port, "tls_port": self.tls_port, "unknown": unknown})
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
                self.catalog.unknown |= set(given["schematics"])
                self._save()
            elif action == "known":
                self.catalog.unknown -= set(given["schematics"])
                self._save()
            elif action == "mode":
                self.mode = Mode.parse(given)
            elif action == "reset":
                self.counts, self.faults, self.mode = {}, [], Mode()
            else:
                return web.json_response({"error": f"no such action: {action}"}, status=404)
        except (ValueError, TypeError, KeyError, re.error) as error:
            return web.json_response({"error": str(error)}, status=400)
        return web.json_response({"ok": True})

    @web.middleware
    async def _guarded(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Counts, asks for the secret, and lets faults answer, before any route of the source."""
        if request.path.startswith("/_lab/"):
            return await handler(request)
        count = self.counts.setdefault(request.path, {"get": 0, "head": 0, "bytes": 0})
        count[request.method.lower()] = count.get(request.method.lower(), 0) + 1
        # An object storage goes by the signature in its URL.
        if self.mode.secret and not _STORED.search(request.path) and not self._knows(request):
            headers = {"WWW-Authenticate": 'Basic realm="image factory"'}
            return web.Response(status=401, text="unauthorized\n", headers=headers)
        fault = next((one for one in self.faults if one.takes(request.method, request.path)), None)
        request[_COUNT] = count
        if fault:
            request[_FAULT] = fault
        answer = await scripted(request, fault, count) if fault else None
        return answer or await handler(request)

    def _knows(self, request: web.Request) -> bool:
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        if scheme == "Basic":
            given = base64.b64decode(given, validate=False).decode(errors="replace").partition(":")[2]
        return scheme in ("Basic", "Bearer") and given == self.mode.secret

    async def _on_post(self, request: web.Request) -> web.Response:
        if self.mode.kind == "mirror":
            return web.Response(status=405, text="405 Not Allowed\n")
        if request.path != "/schematics":
            return web.Response(status=404, text="404 page not found\n")
        try:
            identity, canonical = self.catalog.register(await request.text())
        except ValueError as error:
            return web.Response(text=f"{error}\n", status=400)
        self._save()
        return web.json_response({"id": identity, "schematic": canonical}, status=201)

    async def _on_get_schematic(self, request: web.Request) -> web.Response:
        if self.mode.kind == "mirror":
            return not_found_page()
        if not self.mode.schematic_route:
            return web.Response(status=404, text="404 page not found\n")
        identity = request.match_info["id"]
        text = self.catalog.schematic(identity)
        if text is None:
            return web.Response(text=f'schematic ID "{identity}" not found\n', status=404)
        return web.Response(body=text.encode(), content_type="application/yaml")

    async def _on_versions(self, _: web.Request) -> web.Response:
        return not_found_page() if self.mode.kind == "mirror" else web.json_response(VERSIONS)

    async def _on_extensions(self, request: web.Request) -> web.Response:
        if self.mode.kind == "mirror" or request.match_info["version"] not in VERSIONS:
            return not_found_page() if self.mode.kind == "mirror" else web.Response(status=404, text="not found\n")
        rows = [{"name": name, "ref": f"ghcr.io/{name}:1.0.0", "digest": "", "author": "", "description": ""}
                for name in EXTENSIONS]  # fmt: skip
        return web.json_response(rows)

    async def _on_file(self, request: web.Request) -> web.StreamResponse:
        static = self.mode.kind == "mirror"
        stored = _STORED.search(request.path)
        match = _IMAGE.search(request.path)
        if stored or not match:
            if not stored or "signature" not in request.query:
                return not_found_page() if static else web.Response(status=404, text="404 page not found\n")
            schematic, version, file = stored[1], stored[2], FILE
        else:
            schematic, version, file = match[1], match[2], match[3]
        refusal = self.catalog.refusal(schematic, version, file, self.mode.strict)
        if refusal:
            return not_found_page() if static else web.Response(status=refusal[0], text=refusal[1])
        content = await self.catalog.image(schematic, version, self.mode.build_seconds)
        if self.mode.redirect and not stored and request.method == "GET":
            location = f"/storage/{schematic}/{version}?signature=presigned"
            return web.Response(status=302, headers={"Location": location})
        headers = image_headers(static or bool(stored), file, content)
        return await send(request, content, headers, request.get(_FAULT), request[_COUNT])
