# SPDX-License-Identifier: Apache-2.0
"""Bytes on the wire: what a factory, an object storage or a static web server puts around an image, and scripted faults."""

from __future__ import annotations

import asyncio
import hashlib
import re

from aiohttp import web

from lab.image_content import packed_zeros
from lab.image_script import Fault

_CHUNK = 64 * 1024
_RANGE = re.compile(r"bytes=([0-9]+)-([0-9]*)")
_PAGE = (
    b"<!doctype html><html><head><title>Not here</title></head><body><h1>It works, but not here</h1></body></html>\n"
)
_NOT_FOUND = "<html>\r\n<head><title>404 Not Found</title></head>\r\n<body><h1>404 Not Found</h1></body>\r\n</html>\r\n"


def not_found_page() -> web.Response:
    """What a static web server says."""
    return web.Response(status=404, text=_NOT_FOUND, content_type="text/html")


async def scripted(request: web.Request, fault: Fault, count: dict[str, int]) -> web.StreamResponse | None:
    """The answer of a fault that needs no image; None for the faults that spoil one."""
    if fault.kind == "status":
        return web.Response(status=fault.status, text=fault.text)
    if fault.kind == "html":
        return await send(request, _PAGE, {"Content-Type": "text/html"}, fault, count)
    return None


def image_headers(static: bool, file: str, content: bytes) -> dict[str, str]:
    """A factory's direct answer has neither ETag nor ranges; a static server has, and knows nothing of xz."""
    if static:
        tag = hashlib.sha256(content).hexdigest()[:16]
        return {"Content-Type": "application/octet-stream", "ETag": f'"{tag}"', "Accept-Ranges": "bytes"}
    return {"Content-Type": "application/x-xz", "Content-Disposition": f'attachment; filename="{file}"'}


async def send(
    request: web.Request, content: bytes, headers: dict[str, str], fault: Fault | None, count: dict[str, int]
) -> web.StreamResponse:
    """Send content, spoilt by the fault. Ranges are honoured where the headers offer them."""
    kind, status = fault.kind if fault else "", 200
    if kind == "truncate":
        content = content[: len(content) // 2]
    elif fault and kind == "oversize":
        content = await asyncio.to_thread(packed_zeros, fault.size)
    span = _RANGE.fullmatch(request.headers.get("Range", "")) if "Accept-Ranges" in headers else None
    if span and int(span[1]) < len(content):
        first, last = int(span[1]), min(int(span[2] or len(content) - 1), len(content) - 1)
        headers, status = headers | {"Content-Range": f"bytes {first}-{last}/{len(content)}"}, 206
        content = content[first : last + 1]
    headers = headers | {"Content-Length": str(len(content))} | (fault.headers if fault and kind == "headers" else {})
    answer = web.StreamResponse(status=status, headers=headers)
    await answer.prepare(request)
    if request.method == "HEAD":
        return answer
    await _write(answer, content[: len(content) // 2] if kind == "drop" else content, fault, count)
    if request.transport and (kind == "drop" or int(headers["Content-Length"]) > len(content)):
        request.transport.abort()
    return answer


async def _write(answer: web.StreamResponse, content: bytes, fault: Fault | None, count: dict[str, int]) -> None:
    slow = fault if fault and fault.kind == "slow" else None
    chunk = min(_CHUNK, max(1, slow.bytes_per_second // 20)) if slow else _CHUNK
    for start in range(0, len(content), chunk):
        part = content[start : start + chunk]
        await answer.write(part)
        count["bytes"] += len(part)
        if slow:
            await asyncio.sleep(len(part) / slow.bytes_per_second)
