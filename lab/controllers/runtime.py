# SPDX-License-Identifier: Apache-2.0
"""What every controller stands on: caches, writes that the caches learn at once, and a queue of keys."""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar

import aiohttp

from lab.api import Api, ApiError, Cache, Key, Object, key_of
from lab.controllers.misbehave import Rules
from lab.controllers.objects import merged
from lab.controllers.timings import Timings
from lab.kinds import KINDS
from lab.upload.slots import Slot

_BACKOFF, _BACKOFF_MAX, _CONFLICTS = 0.1, 5.0, 5
# Served without a status subresource, as on a platform.
_PLAIN_STATUS = frozenset({"StorageProfile", "CDIConfig", "VirtualMachineInstance"})


def log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Runtime:
    """Shared by all controllers of the process."""

    def __init__(self, home: Path, reader: Api, timings: Timings | None = None) -> None:
        self.home, self.reader = home, reader
        self.volumes = home / "volumes"
        self.timings, self.rules = timings or Timings(), Rules()
        self.caches: dict[str, Cache] = {}
        # Upload pods that are ready, by the claim of their disk.
        self.uploads: dict[Key, Slot] = {}

    def cache(self, kind: str, field_selector: str | None = None) -> Cache:
        if kind not in self.caches:
            self.caches[kind] = Cache(self.reader, kind, field_selector)
        return self.caches[kind]

    async def until(self, kind: str, key: Key, check: Callable[[Object | None], Any]) -> Any:
        """Wait until ``check`` of the object (None when absent) gives something true, and return that."""
        cache, wake = self.cache(kind), asyncio.Event()

        def listen(_: str, changed: Key, __: Object) -> None:
            if changed == key:
                wake.set()

        cache.listeners.append(listen)
        try:
            while not (value := check(cache.get(*key))):
                await wake.wait()
                wake.clear()
            return value
        finally:
            cache.listeners.remove(listen)


class Writer:
    """Writes in the name of one controller (its user agent tells them from the product's in the audit log)."""

    def __init__(self, runtime: Runtime, api: Api) -> None:
        self.runtime, self.api = runtime, api

    def _learn(self, obj: Object) -> Object:
        if obj["kind"] in self.runtime.caches:
            self.runtime.caches[obj["kind"]].put(obj)
        return obj

    async def create(self, obj: Object) -> Object:
        """Errors: ApiError."""
        return self._learn(await self.api.create(obj))

    async def create_once(self, obj: Object) -> Object:
        """Create, or return what is there."""
        try:
            return await self.create(obj)
        except ApiError as error:
            if error.status != 409:
                raise
        namespace, name = key_of(obj)
        return self._learn(await self.api.request("GET", KINDS[obj["kind"]].path(namespace, name)))

    async def patch(self, kind: str, key: Key, patch: Object, subresource: str | None = None) -> Object | None:
        """Merge patch; nothing is sent when the cached object would not change. None when the object is gone."""
        cache = self.runtime.caches.get(kind)
        known = cache.get(*key) if cache else None
        if known is not None and merged(known, patch) == known:
            return known
        try:
            return self._learn(await self.api.patch(kind, key[1], patch, key[0] or None, subresource))
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    async def status(self, kind: str, key: Key, values: dict[str, Any]) -> Object | None:
        """Into the status, whether or not the kind keeps it in a subresource of its own."""
        subresource = None if kind in _PLAIN_STATUS else "status"
        return await self.patch(kind, key, {"status": values}, subresource)

    async def annotate(self, kind: str, key: Key, values: dict[str, str | None]) -> Object | None:
        return await self.patch(kind, key, {"metadata": {"annotations": values}})

    async def delete(self, obj: Object) -> None:
        """Delete exactly this object (by uid), at once; already gone, or another of its name, is fine."""
        namespace, name = key_of(obj)
        kind, uid = obj["kind"], obj["metadata"]["uid"]
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}, "gracePeriodSeconds": 0}
        try:
            answer = await self.api.request("DELETE", KINDS[kind].path(namespace, name), body)
        except ApiError as error:
            if error.status not in (404, 409):
                raise
            return
        cache = self.runtime.caches.get(kind)
        if not cache:
            return
        if answer.get("metadata", {}).get("deletionTimestamp") and answer["metadata"].get("finalizers"):
            cache.put(Api.typed(kind, answer))
        elif kind != "Namespace":  # these end only when they are finalized
            cache.drop(obj)

    async def finalizer(self, obj: Object, name: str, present: bool) -> None:
        """Put a finalizer on or take it off. The list is replaced whole, so it is guarded by the object's version."""
        for _ in range(_CONFLICTS):
            known = obj["metadata"].get("finalizers", [])
            if (name in known) == present:
                return
            wanted = [*known, name] if present else [one for one in known if one != name]
            meta = {"finalizers": wanted or None, "resourceVersion": obj["metadata"]["resourceVersion"]}
            key = key_of(obj)
            try:
                updated = await self.patch(obj["kind"], key, {"metadata": meta})
            except ApiError as error:
                fresh = await self.api.get(obj["kind"], key[1], key[0] or None)
                if error.status != 409 or fresh is None or fresh["metadata"]["uid"] != obj["metadata"]["uid"]:
                    raise
                obj = fresh
                continue
            cache = self.runtime.caches.get(obj["kind"])
            if cache and updated and updated["metadata"].get("deletionTimestamp") and not wanted:
                cache.drop(updated)
            return


class Controller:
    """One controller: a set of keys to look at, one reconcile at a time per key."""

    name: ClassVar[str]
    kind: ClassVar[str] = ""  # what its keys are
    limit: ClassVar[int] = 8

    def __init__(self, runtime: Runtime, api: Api) -> None:
        self.runtime, self.write = runtime, Writer(runtime, api)
        self.timings = runtime.timings
        self._slots = asyncio.Semaphore(self.limit)
        self._running: dict[Key, asyncio.Task[None]] = {}
        self._dirty: set[Key] = set()
        self._failures: dict[Key, int] = {}
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        self.open = asyncio.Event()
        self.open.set()

    def watch(self, kind: str, keys: Callable[[str, Object], Iterable[Key]] | None = None) -> None:
        """Look at ``keys(event, object)`` whenever an object of the kind changes; without, at the object itself."""

        def listen(event: str, key: Key, obj: Object) -> None:
            for one in keys(event, obj) if keys else (key,):
                self.enqueue(one)

        self.runtime.cache(kind).listeners.append(listen)

    def setup(self) -> None:
        """Register watches."""
        raise NotImplementedError

    async def reconcile(self, key: Key) -> float | None:
        """Bring one thing nearer to what it should be; seconds until the next look, or None."""
        raise NotImplementedError

    def enqueue(self, key: Key, after: float = 0.0) -> None:
        """Look at a key now, or after some seconds; of several later looks the earliest counts."""
        loop = asyncio.get_running_loop()
        if after > 0:
            timer = self._timers.get(key)
            if timer is None or timer.when() > loop.time() + after:
                self._timers[key] = loop.call_later(after, self._due, key)
                if timer:
                    timer.cancel()
        elif key in self._running:
            self._dirty.add(key)
        else:
            self._running[key] = loop.create_task(self._work(key), name=f"{self.name} {key}")

    def _due(self, key: Key) -> None:
        self._timers.pop(key, None)
        self.enqueue(key)

    def cancel(self, key: Key) -> None:
        """End a running reconcile; if it was told to, it starts again."""
        if key in self._running:
            self._running[key].cancel()

    def kick(self) -> None:
        """Look at everything again, from the beginning: a script was withdrawn."""
        for key in list(self._running):
            self._dirty.add(key)
            self._running[key].cancel()
        for key in list(self.runtime.cache(self.kind).objects) if self.kind else ():
            self.enqueue(key)

    async def _work(self, key: Key) -> None:
        again: float | None = None
        try:
            async with self._slots:
                await self.open.wait()
                self._dirty.discard(key)
                again = await self._guarded(key)
        finally:
            del self._running[key]
            if key in self._dirty:
                self._dirty.discard(key)
                self.enqueue(key)
        if again is not None:
            self.enqueue(key, max(again, 0.001))

    async def _guarded(self, key: Key) -> float | None:
        """A failure stays with its key: it is told and tried again, ever more slowly."""
        try:
            await self._scripted(key)
            again = await self.reconcile(key)
        except Exception as error:  # noqa: BLE001 - the process serves every other key too
            failures = self._failures[key] = self._failures.get(key, 0) + 1
            if isinstance(error, ApiError | aiohttp.ClientError):
                log(f"{self.name} {key[0]}/{key[1]}: {type(error).__name__} {error}")
            else:
                log(f"{self.name} {key[0]}/{key[1]}:\n{traceback.format_exc()}")
            return min(_BACKOFF * 2 ** (failures - 1), _BACKOFF_MAX)
        self._failures.pop(key, None)
        return again

    async def _scripted(self, key: Key) -> None:
        if rule := self.runtime.rules.take(self.name, "delay", key):
            await asyncio.sleep(rule.seconds)
        if rule := self.runtime.rules.take(self.name, "crash", key):
            raise RuntimeError(rule.message)

    def state(self) -> dict[str, Any]:
        return {"running": len(self._running), "failing": len(self._failures), "paused": not self.open.is_set()}

    async def stop(self) -> None:
        tasks = list(self._running.values())
        self._dirty.clear()
        for timer in self._timers.values():
            timer.cancel()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
