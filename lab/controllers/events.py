# SPDX-License-Identifier: Apache-2.0
"""Kubernetes Events (core v1), as controllers, the kubelet and a provisioner write them: one that repeats is counted."""

from __future__ import annotations

import contextlib
from typing import Any

from lab.api import ApiError, Object, key_of
from lab.controllers.objects import digest, now
from lab.controllers.runtime import Writer
from lab.kinds import KINDS

_NAME_LIMIT = 253


def _event(about: Object, reason: str, message: str, warning: bool, component: str) -> Object:
    """The name follows from what is said about which object, so that a controller that was killed goes on counting."""
    namespace, name = key_of(about)
    uid, moment = about["metadata"]["uid"], now()
    mark = digest([uid, reason, message, component], 16)
    involved = {
        "apiVersion": about["apiVersion"],
        "kind": about["kind"],
        "name": name,
        "namespace": namespace,
        "uid": uid,
        "resourceVersion": about["metadata"]["resourceVersion"],
    }
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name[: _NAME_LIMIT - len(mark) - 1]}.{mark}", "namespace": namespace or "default"},
        "involvedObject": {key: value for key, value in involved.items() if value},
        "type": "Warning" if warning else "Normal",
        "reason": reason,
        "message": message,
        "source": {"component": component},
        "reportingComponent": component,
        "count": 1,
        "firstTimestamp": moment,
        "lastTimestamp": moment,
    }


async def tell(write: Writer, about: Object, reason: str, message: str, *, component: str, warning: bool) -> None:
    """Write an event about an object, or count one more of it. A namespace that is on its way out takes none."""
    event = _event(about, reason, message, warning, component)
    with contextlib.suppress(_Refused):
        try:
            await _once(write, "POST", KINDS["Event"].path(event["metadata"]["namespace"]), event)
        except _Known:
            await _again(write, event)


class _Known(Exception):
    """There is such an event."""


class _Refused(Exception):
    """No event can be written here any more."""


async def _again(write: Writer, event: Object) -> None:
    path = KINDS["Event"].path(*key_of(event))
    known = await _once(write, "GET", path)
    patch = {"count": known.get("count", 1) + 1, "lastTimestamp": event["lastTimestamp"]}
    await _once(write, "PATCH", path, patch, "application/merge-patch+json")


async def _once(write: Writer, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
    try:
        return await write.api.request(method, path, body, kind)
    except ApiError as error:
        if error.status == 409:
            raise _Known from error
        if error.status in (403, 404):
            raise _Refused from error
        raise
