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
from typing import Any, NamedTuple, Protocol

from .client import Client
from .errors import KubeError
from .resources import Resource

Objects = dict[tuple[str, str], Any]  # (namespace, name) -> object, as the target's parse made it
# A watch that gives no sign for this long is opened anew: load balancers drop idle streams silently.
_WATCH_SECONDS = 240.0
_AGAIN_SECONDS, _AGAIN_AT_MOST = 1.0, 5.0
_IDLE_SECONDS = 5.0
_REMIND_SECONDS = 60.0
_RIGHTS = (401, 403, 404)


@dataclass(frozen=True)
class Target:
    """What to observe: one kind, one namespace or all. ``parse`` makes the typed object once per change; None drops it.

    What is ``optional`` helps, and the wait goes on without it where the rights to list or to watch it are missing.
    """

    resource: Resource
    namespace: str | None = None
    selector: str | None = None
    parse: Callable[[dict[str, Any]], Any] | None = None
    optional: bool = False


class Change(NamedTuple):
    """``event`` is LIST (payload: all raw items), ADDED, MODIFIED, DELETED (one raw item) or ERROR (a KubeError)."""

    target: Target
    event: str
    payload: Any


class News(Protocol):
    """Where changes come from, and the time that passes meanwhile. One per wait."""

    def now(self) -> float:
        """Seconds on a clock that only goes forward."""

    def begin(self, client: Client, targets: Sequence[Target]) -> None: ...

    def take(self, seconds: float) -> list[Change]:
        """What has changed, as soon as anything has; empty after that many seconds without."""

    def end(self) -> None: ...


class LiveNews:
    """The API server's own: one thread lists and watches each target."""

    def __init__(self) -> None:
        self._changes: queue.SimpleQueue[Change] = queue.SimpleQueue()
        self._stop = threading.Event()

    def now(self) -> float:
        return time.monotonic()

    def begin(self, client: Client, targets: Sequence[Target]) -> None:
        for target in targets:
            _Feed(client.once(), target, self._changes, self._stop).start()

    def take(self, seconds: float) -> list[Change]:
        try:
            found = [self._changes.get(timeout=seconds)]
        except queue.Empty:
            return []
        while not self._changes.empty():
            found.append(self._changes.get_nowait())
        return found

    def end(self) -> None:
        self._stop.set()


class _Feed(threading.Thread):
    """Lists and watches one target for ever, putting changes on a queue, until told to stop."""

    def __init__(self, client: Client, target: Target, changes: queue.SimpleQueue[Change], stop: threading.Event):
        super().__init__(daemon=True)
        self.client, self.target, self.changes, self.halt = client, target, changes, stop

    def run(self) -> None:
        pause = _AGAIN_SECONDS
        while not self.halt.is_set():
            started = time.monotonic()
            try:
                self._once()
                pause = _AGAIN_SECONDS
            except KubeError as error:
                self._failed(error)
                if self.target.optional and error.status in _RIGHTS:
                    return
                pause = min(pause * 2, _AGAIN_AT_MOST) if error.verb == "list" else _AGAIN_SECONDS
            except Exception as error:  # noqa: BLE001 (a feed that died silently would look like a wait without news)
                self._failed(KubeError("list", self.target.resource.kind, repr(error)))
            if time.monotonic() - started < pause:
                self.halt.wait(pause)

    def _failed(self, error: KubeError) -> None:
        self.changes.put(Change(self.target, "ERROR", error))

    def _once(self) -> None:
        target = self.target
        answer = self.client.listing(target.resource, target.namespace, target.selector)
        self.changes.put(Change(target, "LIST", answer["items"]))
        version = str((answer.get("metadata") or {}).get("resourceVersion") or "0")
        if self.halt.is_set():
            return
        for event, obj in self.client.watch(
            target.resource, target.namespace, version, _WATCH_SECONDS, target.selector
        ):
            if self.halt.is_set():
                return
            if event != "BOOKMARK":
                self.changes.put(Change(target, event, obj))


def observe(
    client: Client,
    targets: Sequence[Target],
    judge: Callable[[Mapping[Target, Objects]], bool],
    seconds: float,
    news: News | None = None,
    note: Callable[[str], None] | None = None,
) -> bool:
    """True when ``judge`` says so, False when the time is over.

    It is asked once all targets are listed, after every change, and every few seconds while nothing changes, since some
    states count as trouble only after a while. What it raises ends the wait. Rights are not waited for: a 401, 403 or
    404 of a target is raised. An API server that is away otherwise is told to ``note`` (once, and once that it is back)
    and waited for; when it never answered at all, what it said last is raised at the end.
    """
    source: News = LiveNews() if news is None else news
    view = _View(targets, note or client.note)
    deadline = source.now() + seconds
    source.begin(client, targets)
    try:
        while True:
            left = deadline - source.now()
            if left <= 0:
                if not view.complete and view.last_error is not None:
                    raise view.last_error
                return False
            for change in source.take(min(left, _IDLE_SECONDS)):
                view.take(change)
            view.remind(source.now())
            if view.complete and judge(view.state):
                return True
    finally:
        source.end()


class _View:
    """The targets as they were last seen, and which of them cannot be read at the moment."""

    def __init__(self, targets: Sequence[Target], note: Callable[[str], None]) -> None:
        self.state: dict[Target, Objects] = {}
        self.last_error: KubeError | None = None
        self._targets, self._note = targets, note
        self._away: set[Target] = set()
        self._reminded: float | None = None

    @property
    def complete(self) -> bool:
        """Whether everything is known as it is now: nobody judges by what was true before the API server went away."""
        return len(self.state) == len(self._targets) and not self._away

    def remind(self, now: float) -> None:
        """While nothing can be judged, the judge cannot say anything either: a line now and then."""
        if not self._away or self._reminded is None:
            self._reminded = now
        elif now - self._reminded >= _REMIND_SECONDS:
            self._reminded = now
            self._note(f"{self.last_error}; still waiting for the API server to answer again")

    def take(self, change: Change) -> None:
        target, event, payload = change
        if event == "ERROR":
            self._failed(target, payload)
        elif event == "LIST":
            parsed = {_key(item): _parsed(target, item) for item in payload}
            self.state[target] = {key: item for key, item in parsed.items() if item is not None}
            if self._away:
                self._away.discard(target)
                if not self._away:
                    self._note("the API server answers again")
        else:
            item = None if event == "DELETED" else _parsed(target, payload)
            if item is None:
                self.state[target].pop(_key(payload), None)
            else:
                self.state[target][_key(payload)] = item

    def _failed(self, target: Target, error: KubeError) -> None:
        if error.status in _RIGHTS and target.optional:
            self.state[target] = {}
            self._note(f"{error}; going on without")
            return
        if error.status in _RIGHTS:
            raise error
        self.last_error = error
        # A watch that breaks or is too old is followed by a list; that one tells whether anything is wrong.
        if error.verb == "list":
            if not self._away:
                self._note(f"{error}; waiting for the API server to answer again")
            self._away.add(target)


def _parsed(target: Target, item: dict[str, Any]) -> Any:
    return item if target.parse is None else target.parse(item)


def _key(obj: Mapping[str, Any]) -> tuple[str, str]:
    metadata = obj.get("metadata") or {}
    return str(metadata.get("namespace") or ""), str(metadata.get("name") or "")
