# SPDX-License-Identifier: Apache-2.0
"""The controller of DataVolumes: starts a walk for each disk that is not whole, and ends it when the disk goes."""

from __future__ import annotations

from typing import ClassVar

from lab.api import Api, Key, Object
from lab.controllers.cdi.clones import Clone
from lab.controllers.cdi.helpers import FINALIZER, clean
from lab.controllers.cdi.imports import Blank, HttpImport
from lab.controllers.cdi.states import NOT_RUNNING, bound_of, status_of
from lab.controllers.cdi.uploads import Upload
from lab.controllers.cdi.walk import Walk
from lab.controllers.events import tell
from lab.controllers.objects import deleting, status
from lab.controllers.runtime import Controller, Runtime

_WALKS: dict[str, type[Walk]] = {"http": HttpImport, "pvc": Clone, "upload": Upload, "blank": Blank}


class Cdi(Controller):
    """Keys are DataVolumes."""

    name = "cdi"
    kind = "DataVolume"
    # A walk may wait for days; what is heavy in it has limits of its own.
    limit: ClassVar[int] = 1_000_000

    def __init__(self, runtime: Runtime, api: Api) -> None:
        super().__init__(runtime, api)
        # Which disk, by uid, the running walk of a key is about.
        self._walks: dict[Key, str] = {}

    def setup(self) -> None:
        self.runtime.cache("DataVolume").listeners.append(self._disk_changed)
        self.runtime.cache("PersistentVolumeClaim").listeners.append(self._claim_changed)

    def _disk_changed(self, event: str, key: Key, disk: Object) -> None:
        walked = self._walks.get(key)
        if walked is None:
            self.enqueue(key)
        elif event == "DELETED" or deleting(disk) or walked != disk["metadata"]["uid"]:
            self._restart(key)

    def _claim_changed(self, event: str, key: Key, claim: Object) -> None:
        if event == "DELETED" or status(claim).get("phase") == "Lost":
            self._restart(key)

    def _restart(self, key: Key) -> None:
        if key in self._walks:
            self.cancel(key)
        self.enqueue(key)

    async def reconcile(self, key: Key) -> float | None:
        disk = self.runtime.cache("DataVolume").get(*key)
        if disk is not None:
            await self._look(key, disk)
        return None

    async def _look(self, key: Key, disk: Object) -> None:
        claim = self.runtime.cache("PersistentVolumeClaim").get(*key)
        if deleting(disk):
            if "pvc" in disk["spec"].get("source", {}):
                await clean(self.runtime, self.write, disk)
            await self.write.finalizer(disk, FINALIZER, False)
        elif claim is not None and status(claim).get("phase") == "Lost":
            values = status_of(disk, bound_of(claim, key[1]), NOT_RUNNING, phase="Failed")
            before = status(disk).get("phase")
            await self.write.status("DataVolume", key, values)
            if before != "Failed":
                text = f"PVC {key[1]} lost"
                await tell(self.write, disk, "ErrClaimLost", text, component=Walk.component, warning=True)
        elif status(disk).get("phase") in ("Succeeded", "Failed"):
            # Not filled again, even if the claim went.
            await self.write.status("DataVolume", key, status_of(disk, bound_of(claim, key[1])))
            await self.write.finalizer(disk, FINALIZER, False)
        else:
            walk = next((one for name, one in _WALKS.items() if name in disk["spec"].get("source", {})), None)
            if walk is not None:
                await self._walk(key, walk(self.runtime, self.write, disk))

    async def _walk(self, key: Key, walk: Walk) -> None:
        self._walks[key] = walk.uid
        try:
            await walk.run()
        finally:
            del self._walks[key]
