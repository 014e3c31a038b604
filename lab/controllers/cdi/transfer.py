# SPDX-License-Identifier: Apache-2.0
"""What runs in an importer pod: what it mounts, one transfer, and the progress it tells."""

from __future__ import annotations

import asyncio
import base64
import os
import time
from typing import Any

from lab.api import Object
from lab.controllers.cdi import pods
from lab.controllers.cdi.fetch import KILLED, Access, Download, ImportFailure, unpack
from lab.controllers.cdi.population import Population

_LOOK_SECONDS = 0.1
_TOLD_SECONDS = 0.1
unpacking = asyncio.Semaphore(2)


class Transfer:
    """Of one disk; ``http`` is its ``spec.source.http``."""

    def __init__(self, walk: Population, http: dict[str, Any]) -> None:
        self.walk, self.runtime, self.http = walk, walk.runtime, http

    async def ingredients(self, pod: Object) -> None:
        """Until the ConfigMap and the Secrets that the pod needs exist: it cannot start without."""
        walk = self.walk
        if (name := self.http.get("certConfigMap")) and await self._object("ConfigMap", name) is None:
            text = f'MountVolume.SetUp failed for volume "cdi-cert-vol" : configmap "{name}" not found'
            await walk.kubelet(pod, "FailedMount", text)
            await self._appears("ConfigMap", name)
        for name in filter(None, (self.http.get("secretRef"), *self.http.get("secretExtraHeaders", []))):
            if await self._object("Secret", name) is None:
                text = f'secret "{name}" not found'
                await walk.pod_says(pod, "Pending", 0, pods.waiting("CreateContainerConfigError", text))
                await walk.report(running=("False", "CreateContainerConfigError", text))
                await walk.kubelet(pod, "Failed", f"Error: {text}")
                await self._appears("Secret", name)

    async def _object(self, kind: str, name: str) -> Object | None:
        """From the server: Secrets are not kept in a cache."""
        return await self.walk.write.api.get(kind, name, self.walk.key[0])

    async def _appears(self, kind: str, name: str) -> None:
        while await self._object(kind, name) is None:
            await asyncio.sleep(_LOOK_SECONDS)

    async def _access(self) -> Access:
        """Errors: ImportFailure for a Secret without the two keys."""
        authorities, headers = "", list(self.http.get("extraHeaders", []))
        if name := self.http.get("certConfigMap"):
            found = await self._object("ConfigMap", name) or {}
            authorities = "\n".join((found.get("data") or {}).values())
        for name in self.http.get("secretExtraHeaders", []):
            headers += (await self._secret(name)).values()
        if name := self.http.get("secretRef"):
            secret = await self._secret(name)
            missing = [key for key in ("accessKeyId", "secretKey") if key not in secret]
            if missing:
                raise ImportFailure(f"couldn't find key {missing[0]} in Secret {self.walk.key[0]}/{name}")
            pair = f"{secret['accessKeyId']}:{secret['secretKey']}"
            headers.append(f"Authorization: Basic {base64.b64encode(pair.encode()).decode()}")
        return Access(authorities, tuple(headers))

    async def _secret(self, name: str) -> dict[str, str]:
        found = await self._object("Secret", name) or {}
        return {key: base64.b64decode(value).decode() for key, value in (found.get("data") or {}).items()}

    async def run(self) -> None:
        """One attempt. Errors: ImportFailure."""
        rules, path = self.runtime.rules, self.walk.path
        if rules.take("cdi", "hang", self.walk.key):
            await asyncio.Event().wait()
        if rules.take("cdi", "oom", self.walk.key):
            raise ImportFailure("", KILLED)
        if rule := rules.take("cdi", "fail", self.walk.key):
            raise ImportFailure(rule.message, rule.reason or "Error")
        slow = rules.take("cdi", "slow", self.walk.key)
        packed, part = path.with_suffix(".download"), path.with_suffix(".part")
        idle, checksum = self.runtime.timings.import_idle, self.http.get("checksum", "")
        try:
            await Download(self.http["url"], packed, idle, await self._access(), checksum, self._teller(slow)).run()
            async with unpacking:
                await asyncio.to_thread(unpack, packed, part, self.walk.room)
            os.replace(part, path)
        finally:
            packed.unlink(missing_ok=True)
            part.unlink(missing_ok=True)

    def _teller(self, slow: Any) -> Any:
        """Reports progress now and then, and spreads the import over the time that it shall take."""
        begun, told, least = time.monotonic(), 0.0, self.runtime.timings.import_seconds

        async def tell(share: float | None) -> None:
            nonlocal told
            if slow:
                await asyncio.sleep(64 * 1024 / max(slow.bytes_per_second, 1))
            elif share is not None:
                await asyncio.sleep(max(0.0, begun + least * share - time.monotonic()))
            # 100 is withheld until the conversion has ended.
            if share is not None and share < 1 and time.monotonic() - told >= _TOLD_SECONDS:
                told = time.monotonic()
                await self.walk.report(progress=f"{share * 100:.2f}%")

        return tell
