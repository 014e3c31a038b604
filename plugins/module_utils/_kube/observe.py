# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Waiting without polling: several kinds are listed once and then watched, and every change asks "are we there?"."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .client import Client
from .errors import KubeError
from .resources import Resource

Objects = dict[tuple[str, str], dict[str, Any]]  # (namespace, name) -> object
# A watch that gives no sign for this long is opened anew: load balancers drop idle streams silently.
_WATCH_SECONDS = 240.0
_AGAIN_SECONDS = 1.0
_IDLE_SECONDS = 5.0


@dataclass(frozen=True)
class Target:
    """What to observe: one kind, one namespace or all."""

    resource: Resource
    namespace: str | None = None
    selector: str | None = None


def _key(obj: Mapping[str, Any]) -> tuple[str, str]:
    metadata = obj.get("metadata") or {}
    return str(metadata.get("namespace") or ""), str(metadata.get("name") or "")


class _Feed(threading.Thread):
    """Lists and watches one target for ever, putting changes on a queue, until told to stop."""

    def __init__(self, client: Client, target: Target, changes: queue.SimpleQueue[Any], stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.client, self.target, self.changes, self.halt = client, target, changes, stop

    def run(self) -> None:
        while not self.halt.is_set():
            started = time.monotonic()
            try:
                self._once()
            except KubeError as error:
                self.changes.put((self.target, "ERROR", error))
            except Exception as error:  # noqa: BLE001 (a feed that died silently would look like a wait without news)
                self.changes.put((self.target, "ERROR", KubeError("watch", self.target.resource.kind, repr(error))))
            if time.monotonic() - started < _AGAIN_SECONDS:
                self.halt.wait(_AGAIN_SECONDS)

    def _once(self) -> None:
        target = self.target
        answer = self.client.listing(target.resource, target.namespace, target.selector)
        self.changes.put((target, "LIST", {_key(item): item for item in answer["items"]}))
        version = str((answer.get("metadata") or {}).get("resourceVersion") or "0")
        if self.halt.is_set():
            return
        for event, obj in self.client.watch(
            target.resource, target.namespace, version, _WATCH_SECONDS, target.selector
        ):
            if self.halt.is_set():
                return
            if event != "BOOKMARK":
                self.changes.put((target, event, obj))


def observe(
    client: Client,
    targets: Sequence[Target],
    judge: Callable[[Mapping[Target, Objects]], bool],
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
) -> bool:
    """True when ``judge`` says so, False when the time is over.

    It is asked once all targets are listed, after every change, and every few seconds while nothing changes, since some
    states count as trouble only after a while. What it raises ends the wait. Rights are not waited for: a 401, 403 or
    404 of a target is raised.
    """
    changes: queue.SimpleQueue[Any] = queue.SimpleQueue()
    stop = threading.Event()
    state: dict[Target, Objects] = {}
    deadline = clock() + seconds
    for target in targets:
        _Feed(client, target, changes, stop).start()
    try:
        while True:
            left = deadline - clock()
            if left <= 0:
                return False
            try:
                found = [changes.get(timeout=min(left, _IDLE_SECONDS))]
                while not changes.empty():
                    found.append(changes.get_nowait())
            except queue.Empty:
                found = []
            for target, event, payload in found:
                _take(state, target, event, payload)
            if len(state) == len(targets) and judge(state):
                return True
    finally:
        stop.set()


def _take(state: dict[Target, Objects], target: Target, event: str, payload: Any) -> None:
    if event == "ERROR":
        if payload.status in (401, 403, 404):
            raise payload
    elif event == "LIST":
        state[target] = payload
    elif event == "DELETED":
        state[target].pop(_key(payload), None)
    else:
        state[target][_key(payload)] = payload
