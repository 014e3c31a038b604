# SPDX-License-Identifier: Apache-2.0
"""The controller of DataVolumes: starts a walk for each disk that is not whole, and ends it when the disk goes."""

from __future__ import annotations

from typing import ClassVar

from lab.api import Key, Object
from lab.controllers.cdi.clones import FINALIZER, Clone, clean
from lab.controllers.cdi.imports import Blank, HttpImport, Upload
from lab.controllers.cdi.states import NOT_RUNNING, bound_of, status_of
from lab.controllers.cdi.walk import Walk
from lab.controllers.objects import deleting, status
from lab.controllers.runtime import Controller

_WALKS: dict[str, type[Walk]] = {"http": HttpImport, "pvc": Clone, "upload": Upload, "blank": Blank}


class Cdi(Controller):
    """Keys are DataVolumes."""

    name = "cdi"
    # A walk may wait for days; what is heavy in it has limits of its own.
    limit: ClassVar[int] = 1_000_000

    def setup(self) -> None:
        self.runtime.cache("DataVolume").listeners.append(self._disk_changed)
        self.runtime.cache("PersistentVolumeClaim").listeners.append(self._claim_changed)

    def _disk_changed(self, event: str, key: Key, disk: Object) -> None:
        if key in self._running:
            if event == "DELETED" or deleting(disk) or self._walked.get(key) not in (None, disk["metadata"]["uid"]):
                self.cancel(key)
                self.enqueue(key)
        elif event != "DELETED":
            self.enqueue(key)

    def _claim_changed(self, event: str, key: Key, claim: Object) -> None:
        if event == "DELETED" or status(claim).get("phase") == "Lost":
            self.cancel(key)
            self.enqueue(key)

    @property
    def _walked(self) -> dict[Key, str]:
        """Which disk, by uid, the running walk of a key is about."""
        return self.__dict__.setdefault("_uids", {})

    async def reconcile(self, key: Key) -> float | None:
        disk = self.runtime.cache("DataVolume").get(*key)
        if disk is None:
            return None
        self._walked[key] = disk["metadata"]["uid"]
        try:
            await self._look(key, disk)
        finally:
            self._walked.pop(key, None)
        return None

    async def _look(self, key: Key, disk: Object) -> None:
        claim = self.runtime.cache("PersistentVolumeClaim").get(*key)
        if deleting(disk):
            if "pvc" in disk["spec"].get("source", {}):
                await clean(self.runtime, self.write, disk)
            await self.write.finalizer(disk, FINALIZER, False)
        elif claim is not None and status(claim).get("phase") == "Lost":
            values = status_of(disk, bound_of(claim, key[1]), NOT_RUNNING, phase="Failed")
            await self.write.status("DataVolume", key, values)
        elif status(disk).get("phase") in ("Succeeded", "Failed"):
            # Not filled again, even if the claim went.
            await self.write.status("DataVolume", key, status_of(disk, bound_of(claim, key[1])))
        else:
            walk = next((one for name, one in _WALKS.items() if name in disk["spec"].get("source", {})), None)
            if walk is not None:
                await walk(self.runtime, self.write, disk).run()
