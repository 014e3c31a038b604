# SPDX-License-Identifier: Apache-2.0
"""The importer's own work: fetch over HTTP, tell the format by its first bytes, unpack, check the size."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import hashlib
import lzma
import ssl
import zlib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import aiohttp

USER_AGENT = "cdi-golang-importer"
FATAL = "ChecksumError"  # the reason of a failure after which CDI does not try again
KILLED = "OOMKilled"
TOO_SMALL = "DataVolume too small to contain image"
_XZ, _GZ, _ZST, _QCOW2 = b"\xfd7zXZ\x00", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"QFI\xfb"
_CHUNK, _SECTOR = 64 * 1024, 512


class ImportFailure(Exception):
    """Why an attempt failed: the message that the importer leaves behind, and the reason of condition Running."""

    def __init__(self, message: str, reason: str = "Error") -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class Access:
    """What a source asks for: PEM texts of authorities beside those of the system, and header lines."""

    authorities: str = ""
    headers: tuple[str, ...] = ()

    def sent(self) -> dict[str, str]:
        pairs = (line.partition(":") for line in self.headers)
        return {name.strip(): value.strip() for name, _, value in pairs}


@dataclass(frozen=True)
class Download:
    """``checksum`` is ``algorithm:hex`` or blank; ``told`` is awaited with the fraction of the compressed bytes that
    arrived, or None when that is unknown."""

    url: str
    target: Path
    idle_seconds: float
    access: Access = Access()
    checksum: str = ""
    told: Callable[[float | None], Awaitable[None]] | None = None

    async def run(self) -> None:
        """Fetch into ``target``. Errors: ImportFailure."""
        tls = ssl.create_default_context()
        if self.access.authorities:
            try:
                tls.load_verify_locations(cadata=self.access.authorities)
            except ssl.SSLError as error:
                raise ImportFailure("Unable to connect to http data source: no certificate in certConfigMap") from error
        # Waiting for the headers is not limited: a factory that has to build takes long.
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=self.idle_seconds, sock_read=None)
        headers = {"User-Agent": USER_AGENT} | self.access.sent()
        try:
            async with aiohttp.ClientSession(headers=headers, timeout=timeout) as session:
                with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                    await session.head(self.url, ssl=tls, allow_redirects=True)
                # Bytes are taken as they are: an xz file with a Content-Encoding would be unpacked twice.
                async with session.get(self.url, ssl=tls, headers={"Accept-Encoding": "identity"}) as answer:
                    await self._store(answer)
        except aiohttp.InvalidURL as error:
            raise ImportFailure(f"Unable to connect to http data source: parse {self.url!r}: invalid URL") from error
        except aiohttp.ClientConnectorError as error:
            raise ImportFailure(f'Unable to connect to http data source: Get "{self.url}": {_cause(error)}') from error
        except aiohttp.ConnectionTimeoutError as error:
            text = f'Get "{self.url}": dial tcp: i/o timeout'
            raise ImportFailure(f"Unable to connect to http data source: {text}") from error
        except (aiohttp.ClientError, TimeoutError) as error:
            raise ImportFailure("Unable to process data: unexpected EOF") from error

    async def _store(self, answer: aiohttp.ClientResponse) -> None:
        if answer.status != 200:
            text = f"expected status code 200, got {answer.status}. Status: {answer.status} {answer.reason}"
            raise ImportFailure(f"Unable to connect to http data source: {text}")
        total, have = answer.content_length, 0
        algorithm, _, wanted = self.checksum.lower().partition(":")
        digest = hashlib.new(algorithm) if wanted else None
        self.target.parent.mkdir(parents=True, exist_ok=True)
        with self.target.open("wb") as file:
            while chunk := await self._next(answer):
                file.write(chunk)
                have += len(chunk)
                if digest:
                    digest.update(chunk)
                if self.told:
                    await self.told(have / total if total else None)
        if digest and digest.hexdigest() != wanted:
            raise ImportFailure(f"checksum mismatch: expected {wanted}, got {digest.hexdigest()}", FATAL)

    async def _next(self, answer: aiohttp.ClientResponse) -> bytes:
        """Errors: ImportFailure once nothing has come for too long."""
        try:
            async with asyncio.timeout(self.idle_seconds):
                return await answer.content.read(_CHUNK)
        except TimeoutError as error:
            raise ImportFailure("Unable to process data: context canceled") from error


def _cause(error: aiohttp.ClientConnectorError) -> str:
    """As Go words it."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return "tls: failed to verify certificate: x509: certificate signed by unknown authority"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return f"dial tcp: lookup {error.host}: no such host"
    reason = (error.os_error.strerror or str(error.os_error)).lower() if error.os_error else str(error)
    if "connect call failed" in reason or error.os_error.errno == 111:
        reason = "connect: connection refused"
    return f"dial tcp {error.host}:{error.port}: {reason}"


def _pieces(source: BinaryIO) -> Iterator[bytes]:
    while piece := source.read(_CHUNK):
        yield piece


def packed(first: bytes) -> bool:
    """True if the first bytes of a file are those of an archive, whose content has another size."""
    return first.startswith((_XZ, _GZ, _ZST, _QCOW2))


def _unpacked(source: BinaryIO) -> Iterator[bytes]:
    """Errors: ImportFailure, lzma.LZMAError, OSError, EOFError, zlib.error."""
    magic = source.read(6)
    source.seek(0)
    if magic == _XZ:
        with lzma.open(source) as packed:
            yield from _pieces(packed)
    elif magic[:2] == _GZ:
        with gzip.open(source) as packed:
            yield from _pieces(packed)
    elif magic[:4] in (_ZST, _QCOW2):
        raise ImportFailure("Unable to process data: the lab cannot read this format")
    else:
        yield from _pieces(source)


def unpack(source: Path, target: Path, room: int) -> int:
    """Write the raw image in ``source`` to ``target``, sparse; returns its size in bytes. Errors: ImportFailure.

    ``room`` is what the disk requested. Blocks; run it in a thread.
    """
    have = 0
    with source.open("rb") as packed, target.open("wb") as raw:
        try:
            for piece in _unpacked(packed):
                have += len(piece)
                if have > room:
                    raise ImportFailure(TOO_SMALL)
                if piece.count(0) == len(piece):
                    raw.seek(len(piece), 1)
                else:
                    raw.write(piece)
        except EOFError as error:
            raise ImportFailure("Unable to process data: unexpected EOF") from error
        except (lzma.LZMAError, OSError, zlib.error) as error:
            raise ImportFailure(f"Unable to process data: {str(error)[:1].lower()}{str(error)[1:]}") from error
        raw.truncate(have)
    # An error page with status 200 gets this far: nothing but the conversion looks at what it is.
    if have == 0 or have % _SECTOR:
        raise ImportFailure("Unable to process data: Unable to convert source data to target format")
    return have
