# SPDX-License-Identifier: Apache-2.0
"""What an image source has: schematics that were registered, versions that are published, images once they are built."""

from __future__ import annotations

import asyncio
import hashlib
import re
from pathlib import Path

from lab.image_content import packed_image
from lab.image_schematics import canonical_schematic

FILE = "openstack-amd64.raw.xz"
VERSIONS = ["v1.11.6", "v1.12.10", "v1.12.11", "v1.13.5", "v1.13.6", "v1.13.7", "v1.13.8", "v1.13.9"]
EXTENSIONS = ("siderolabs/amd-ucode", "siderolabs/drbd", "siderolabs/intel-ucode", "siderolabs/qemu-guest-agent")
_NUMBER = "(?:0|[1-9][0-9]*)"
_PART = rf"(?:{_NUMBER}|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)"
_VERSION = re.compile(rf"v?{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-{_PART}(?:\.{_PART})*)?")
_FILE = re.compile(r"[a-z-]+-(?:amd64|arm64)(?:-secureboot)?\.(?:raw|raw\.xz|raw\.zst|raw\.gz|qcow2|iso)")
_ENTERPRISE = (".sha256", ".sha512", ".sigstore.json")


class Catalog:
    """``folder`` keeps images and schematics; ``unknown`` are schematics that were told to be forgotten."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.unknown: set[str] = set()
        self._building: dict[Path, asyncio.Task[None]] = {}

    def register(self, text: str) -> tuple[str, str]:
        """ID and canonical YAML of what was posted. Errors: ValueError."""
        canonical = canonical_schematic(text)
        identity = hashlib.sha256(canonical.encode()).hexdigest()
        self._schematic(identity).write_text(canonical)
        self.unknown.discard(identity)
        return identity, canonical

    def schematic(self, identity: str) -> str | None:
        """Canonical YAML of a registered schematic."""
        path = self._schematic(identity)
        return path.read_text() if identity not in self.unknown and path.is_file() else None

    def _schematic(self, identity: str) -> Path:
        return self.folder / f"schematic-{identity}.yaml"

    def refusal(self, schematic: str, version: str, file: str, strict: bool) -> tuple[int, str] | None:
        """Status and text where a factory has no image, in the order in which it looks; None where it has one."""
        if schematic in self.unknown or (strict and self.schematic(schematic) is None):
            return 404, f'schematic ID "{schematic}" not found\n'
        if not _VERSION.fullmatch(version):
            return 500, "internal server error\n"  # a malformed version is no 400 there
        if file.endswith(_ENTERPRISE):
            return 402, "enterprise feature is not enabled\n"
        if not _FILE.fullmatch(file):
            return 400, f"invalid profile: failed to parse {file!r}\n"
        if file != FILE or (strict and f"v{version.removeprefix('v')}" not in VERSIONS):
            return 404, f"version v{version.removeprefix('v')} is not available\n"
        return None

    async def image(self, schematic: str, version: str, seconds: float) -> bytes:
        """The packed image. The first request builds it, taking at least so long; the build outlives who asked."""
        path = self.folder / f"{hashlib.sha256(f'{schematic}/{version}'.encode()).hexdigest()}.xz"
        if not path.is_file() and path not in self._building:
            task = self._building[path] = asyncio.create_task(self._build(path, schematic, version, seconds))
            task.add_done_callback(lambda _: self._building.pop(path))
        if path in self._building:
            await asyncio.shield(self._building[path])
        return path.read_bytes()

    async def _build(self, path: Path, schematic: str, version: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        content = await asyncio.to_thread(packed_image, schematic, version)
        temporary = path.with_suffix(".new")
        temporary.write_bytes(content)
        temporary.replace(path)
