# SPDX-License-Identifier: Apache-2.0
"""Apps read from and written to HelmReleases, one verb per method."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp

from lab.api import Api, ApiError
from lab.apps_api import apps, patches, selectors, statuses, workloads
from lab.apps_api.apps import API_VERSION, GROUP, App
from lab.kinds import KINDS

Object = dict[str, Any]

_RELEASE = KINDS["HelmRelease"]
_CONFLICT_RETRIES = 5
_WATCH_OPTIONS = (
    "resourceVersion",
    "resourceVersionMatch",
    "allowWatchBookmarks",
    "sendInitialEvents",
    "timeoutSeconds",
)


def _message(error: ApiError) -> str:
    return error.body.get("message", "") if isinstance(error.body, dict) else str(error.body)


def _compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


class Store:
    """All methods raise Refused; errors of plain reads come through as ApiError, as the platform passes them on."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def _missing(self, app: App, name: str) -> statuses.Refused:
        return statuses.not_found(app.plural, GROUP, name)

    async def _release(self, app: App, namespace: str, name: str) -> Object | None:
        """A release of that name without the app's labels is not an app."""
        release = await self._api.get("HelmRelease", app.release_name(name), namespace)
        return release if release and app.owns(release) else None

    async def get(self, app: App, namespace: str, name: str) -> Object:
        release, found = await asyncio.gather(
            self._release(app, namespace, name), workloads.monitors(self._api, app, namespace, name)
        )
        if release is None:
            raise self._missing(app, name)
        return apps.to_object(app, release, workloads.condition(found, release))

    async def list(self, app: App, namespace: str | None, query: Mapping[str, str]) -> Object:
        """All of them: ``limit`` and ``continue`` are ignored."""
        releases, found = await asyncio.gather(
            self._api.request("GET", _RELEASE.path(namespace), query=selectors.for_releases(app, query)),
            workloads.monitors(self._api, app, namespace),
        )
        return {
            "apiVersion": API_VERSION,
            "kind": f"{app.kind}List",
            "metadata": {"resourceVersion": releases["metadata"]["resourceVersion"]},
            "items": [apps.to_object(app, item, workloads.condition(found, item)) for item in releases["items"]],
        }

    async def create(self, app: App, namespace: str, obj: Object) -> Object:
        """An existing name is a 500, since the platform does not tell the release's 409 from other trouble."""
        metadata = obj["metadata"]
        if metadata.setdefault("namespace", namespace) != namespace:
            raise statuses.bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        apps.check_name(app, namespace, metadata.get("name") or "")
        apps.check_values(obj.get("spec"))
        try:
            release = await self._api.create(apps.to_release(app, namespace, obj))
        except ApiError as error:
            if error.status == 404:  # the namespace; admission refuses it before the platform's own code runs
                raise
            raise statuses.internal(f"failed to create HelmRelease: {_message(error)}") from error
        return apps.to_object(app, release)

    async def replace(self, app: App, namespace: str, name: str, obj: Object) -> Object:
        live = await self._release(app, namespace, name)
        if live is None:
            raise self._missing(app, name)
        return await self._write(app, live, name, obj)

    async def patch(self, app: App, namespace: str, name: str, content_type: str, raw: bytes) -> Object:
        """The patch is applied to what a read shows, so the first one stores the defaults of the day."""
        live = await self._release(app, namespace, name)
        if live is None and content_type == patches.APPLY:
            body = patches.parse(content_type, raw)
            return await self.create(app, namespace, {**body, "metadata": {**body.get("metadata", {}), "name": name}})
        if live is None:
            raise self._missing(app, name)
        obj = patches.patched(content_type, raw, apps.to_object(app, live))
        return await self._write(app, live, name, obj)

    async def _write(self, app: App, live: Object, name: str, obj: Any) -> Object:
        """Last writer wins: the client's resourceVersion is not looked at, a conflict is retried on a fresh read."""
        if not isinstance(obj, dict) or not isinstance(obj.get("metadata"), dict):
            raise statuses.bad_request("the request does not make a complete object")
        if obj["metadata"].setdefault("name", name) != name:
            given = obj["metadata"]["name"]
            raise statuses.bad_request(f"the name of the object ({given}) does not match the name on the URL ({name})")
        apps.check_values(obj.get("spec"))
        namespace = live["metadata"]["namespace"]
        for attempt in range(_CONFLICT_RETRIES):
            try:
                release = await self._api.replace(apps.to_release(app, namespace, obj, live))
            except ApiError as error:
                if error.status != 409 or attempt == _CONFLICT_RETRIES - 1:
                    raise statuses.internal(f"failed to update HelmRelease: {_message(error)}") from error
                fresh = await self._release(app, namespace, name)
                if fresh is None:
                    raise self._missing(app, name) from error
                live = fresh
            else:
                break
        found = await workloads.monitors(self._api, app, namespace, name)
        return apps.to_object(app, release, workloads.condition(found, release))

    async def delete(self, app: App, namespace: str, name: str) -> Object:
        """Preconditions are ignored."""
        if await self._release(app, namespace, name) is None:
            raise self._missing(app, name)
        if not await self._api.delete("HelmRelease", app.release_name(name), namespace):
            raise self._missing(app, name)
        return statuses.success(app.plural, GROUP, name)

    async def watch(self, app: App, namespace: str | None, query: Mapping[str, str]) -> AsyncIterator[bytes]:
        """Lines of a watch stream, several at a time; first an empty piece, once the watch behind it stands."""
        options = {key: query[key] for key in _WATCH_OPTIONS if key in query}
        params = {**selectors.for_releases(app, query), **options, "watch": "1"}
        async for lines in _stream(self._api, _RELEASE.path(namespace), params):
            events = [json.loads(line) for line in lines]
            changed = any(event["type"] not in ("BOOKMARK", "ERROR") for event in events)
            found = await workloads.monitors(self._api, app, namespace) if changed else {}
            yield b"".join(_compact(_event(app, event, found)) + b"\n" for event in events)


def _event(app: App, event: Object, found: workloads.Monitors) -> Object:
    kind, release = event["type"], event["object"]
    if kind == "ERROR":
        return event
    if kind == "BOOKMARK":
        return {"type": kind, "object": {"apiVersion": API_VERSION, "kind": app.kind, "metadata": release["metadata"]}}
    return {"type": kind, "object": apps.to_object(app, release, workloads.condition(found, release))}


async def _stream(api: Api, path: str, params: Mapping[str, str]) -> AsyncIterator[list[bytes]]:
    """Groups of lines as they arrive, the first one empty. Errors: ApiError."""
    session = api._session  # Api.watch takes neither selectors nor a namespace
    if session is None:
        raise RuntimeError("use Api as an async context manager")
    timeout = aiohttp.ClientTimeout(total=None, sock_read=None)
    async with session.get(api.server + path, params=params, timeout=timeout) as answer:
        if answer.status >= 300:
            raise ApiError(answer.status, await answer.json(content_type=None))
        yield []
        rest = b""
        async for chunk in answer.content.iter_any():
            *lines, rest = (rest + chunk).split(b"\n")
            if lines:
                yield lines
