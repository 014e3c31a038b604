# SPDX-License-Identifier: Apache-2.0
"""The upload proxy with the upload server behind it: bytes over HTTPS into a disk.

POST or PUT /v1beta1/upload        answers when the disk is filled
POST or PUT /v1beta1/upload-async  answers when all bytes are in; the DataVolume tells the rest

Rules of the control endpoint ("cdi", matched by the disk): ``upload-status`` answers with 'status', ``upload-drop``
breaks the connection after 'bytes', ``upload-mute`` takes everything and breaks it instead of answering, ``slow``.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import BinaryIO

import aiohttp
from aiohttp import web

from lab.api import Key
from lab.controllers.cdi.fetch import TOO_SMALL, ImportFailure, packed, unpack
from lab.controllers.cdi.transfer import unpacking
from lab.controllers.cdi.walk import POD_PHASE
from lab.controllers.objects import annotations
from lab.controllers.runtime import Runtime
from lab.upload.slots import Slot
from lab.upload.tokens import Tokens

_PIECE = 256 * 1024


class _Broken(Exception):
    """The transfer ended too early."""


class Proxy:
    """Bytes go straight to the disk; at most one piece of 256 KiB is in memory per upload."""

    def __init__(self, runtime: Runtime, tokens: Tokens) -> None:
        self._runtime, self._tokens = runtime, tokens
        self._processing: set[asyncio.Task[str | None]] = set()

    def application(self) -> web.Application:
        app = web.Application(client_max_size=0)
        for method in ("POST", "PUT"):
            app.router.add_route(method, "/v1beta1/{way:upload(?:-async)?}", self._on_upload)
        return app

    async def stop(self) -> None:
        for task in self._processing:
            task.cancel()
        await asyncio.gather(*self._processing, return_exceptions=True)

    async def _on_upload(self, request: web.Request) -> web.StreamResponse:
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        if kind != "Bearer" or not token:
            return web.Response(status=400)
        claim = self._tokens.claim(token.strip())
        if claim is None:
            return web.Response(status=401)
        if rule := self._runtime.rules.take("cdi", "upload-status", claim):
            return web.Response(status=rule.status, text=rule.message)
        slot = self._runtime.uploads.get(claim)
        if slot is None or slot.busy:
            return web.Response(status=503, text=self._not_ready(claim, slot))
        slot.busy = True
        return await self._take(request, claim, slot)

    def _not_ready(self, claim: Key, slot: Slot | None) -> str:
        found = self._runtime.cache("PersistentVolumeClaim").get(*claim)
        if found is None:
            return f"rejecting Upload Request for PVC {claim[1]} that doesn't exist"
        if annotations(found).get(POD_PHASE) == "Succeeded":
            return f"rejecting Upload Request for PVC {claim[1]} that already finished uploading"
        return "upload server is busy" if slot else "timed out waiting for the condition"

    async def _take(self, request: web.Request, claim: Key, slot: Slot) -> web.StreamResponse:
        upload = slot.path.with_suffix(".upload")
        try:
            await self._store(request, claim, slot, upload)
        except _Broken:
            upload.unlink(missing_ok=True)
            slot.end("Saving stream failed: unexpected EOF")
            self._abort(request)
            return web.Response(status=500)
        except ImportFailure as failure:
            upload.unlink(missing_ok=True)
            slot.end(str(failure))
            return web.Response(status=400, text=f"Saving stream failed: {failure}")
        task = asyncio.create_task(self._process(slot, upload))
        self._processing.add(task)
        task.add_done_callback(self._processing.discard)
        trouble = None if request.match_info["way"].endswith("async") else await task
        if self._runtime.rules.take("cdi", "upload-mute", claim):
            self._abort(request)
            return web.Response(status=500)
        return web.Response(status=400, text=f"Saving stream failed: {trouble}") if trouble else web.Response()

    @staticmethod
    def _abort(request: web.Request) -> None:
        if request.transport is not None:
            request.transport.abort()

    async def _store(self, request: web.Request, claim: Key, slot: Slot, upload: Path) -> None:
        """All bytes of the request into a file, runs of zeros as holes. Errors: _Broken, ImportFailure."""
        rules, have, first = self._runtime.rules, 0, b""
        dropped, slow = rules.take("cdi", "upload-drop", claim), rules.take("cdi", "slow", claim)
        upload.parent.mkdir(parents=True, exist_ok=True)
        with upload.open("wb") as file:
            while piece := await self._piece(request):
                have += len(piece)
                first = first or piece[:6]
                if dropped and have > dropped.bytes:
                    raise _Broken
                if have > slot.room and not packed(first):
                    raise ImportFailure(TOO_SMALL)
                if slot.outcome.done():  # the disk went meanwhile
                    raise _Broken
                _write(file, piece)
                if slow:
                    await asyncio.sleep(len(piece) / max(slow.bytes_per_second, 1))
            file.truncate(have)

    @staticmethod
    async def _piece(request: web.Request) -> bytes:
        try:
            return await request.content.read(_PIECE)
        except (OSError, aiohttp.ClientError, asyncio.IncompleteReadError) as error:
            raise _Broken from error

    async def _process(self, slot: Slot, upload: Path) -> str | None:
        """What CDI does with the bytes; why it failed, or None."""
        part, trouble = slot.path.with_suffix(".part"), None
        try:
            async with unpacking:
                await asyncio.to_thread(unpack, upload, part, slot.room)
            if not slot.outcome.done():
                os.replace(part, slot.path)
        except ImportFailure as failure:
            trouble = str(failure)
        finally:
            upload.unlink(missing_ok=True)
            part.unlink(missing_ok=True)
        slot.end(trouble)
        return trouble


def _write(file: BinaryIO, piece: bytes) -> None:
    if piece.count(0) == len(piece):
        file.seek(len(piece), os.SEEK_CUR)
    else:
        file.write(piece)
