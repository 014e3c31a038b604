# SPDX-License-Identifier: Apache-2.0
"""An asynchronous client of the Kubernetes API, and caches fed by watches, for the lab's controllers."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import tempfile
import traceback
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from lab.kinds import KINDS

Object = dict[str, Any]
Key = tuple[str, str]  # namespace ("" for cluster-scoped), name


class ApiError(Exception):
    """An answer of the API server other than 2xx: ``status`` is the HTTP code, ``body`` the Status object."""

    def __init__(self, status: int, body: Any) -> None:
        self.status, self.body = status, body
        super().__init__(f"{status}: {body.get('message') if isinstance(body, dict) else body}")


def key_of(obj: Object) -> Key:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _ssl_context(cluster: Object, user: Object) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    if "client-certificate-data" in user:
        # load_cert_chain reads files only.
        with tempfile.NamedTemporaryFile() as pem:
            for part in ("client-certificate-data", "client-key-data"):
                pem.write(base64.b64decode(user[part]) + b"\n")
            pem.flush()
            context.load_cert_chain(pem.name)
    return context


class Api:
    """One API server, one identity. Use as an async context manager. Built from a kubeconfig of the lab's own shape."""

    def __init__(self, kubeconfig: Path | str, user_agent: str = "lab") -> None:
        config = yaml.safe_load(Path(kubeconfig).read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.server: str = cluster["server"].rstrip("/")
        self._ssl = _ssl_context(cluster, user)
        self._headers = {"User-Agent": user_agent, "Accept": "application/json"}
        if "token" in user:
            self._headers["Authorization"] = f"Bearer {user['token']}"
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Api:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=self._ssl, limit=64, keepalive_timeout=60), headers=self._headers
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session:
            await self._session.close()

    async def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        content_type: str = "application/json",
        query: dict[str, str] | None = None,
    ) -> Any:
        """The decoded JSON answer. Errors: ApiError, aiohttp.ClientError."""
        if self._session is None:
            raise RuntimeError("use Api as an async context manager")
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": content_type} if data is not None else {}
        url = self.server + path
        async with self._session.request(method, url, data=data, headers=headers, params=query) as answer:
            raw = await answer.read()
            try:
                decoded: Any = json.loads(raw) if raw else None
            except ValueError:
                decoded = raw.decode(errors="replace")
            if answer.status >= 300:
                raise ApiError(answer.status, decoded)
            return decoded

    async def get(self, kind: str, name: str, namespace: str | None = None) -> Object | None:
        """The object, or None when it is not there."""
        try:
            return await self.request("GET", KINDS[kind].path(namespace, name))
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    async def list(self, kind: str, namespace: str | None = None, selector: str | None = None) -> list[Object]:
        query = {"labelSelector": selector} if selector else None
        answer = await self.request("GET", KINDS[kind].path(namespace), query=query)
        return [self.typed(kind, item) for item in answer["items"]]

    @staticmethod
    def typed(kind: str, obj: Object) -> Object:
        """Items of built-in lists carry neither apiVersion nor kind; put them back."""
        return {"apiVersion": KINDS[kind].api_version, "kind": kind, **obj}

    async def create(self, obj: Object) -> Object:
        kind = KINDS[obj["kind"]]
        return await self.request("POST", kind.path(obj["metadata"].get("namespace")), obj)

    async def ensure(self, obj: Object) -> Object:
        """Create, or merge the given fields into what is there."""
        try:
            return await self.create(obj)
        except ApiError as error:
            if error.status != 409:
                raise
        namespace, name = key_of(obj)
        return await self.patch(obj["kind"], name, obj, namespace)

    async def replace(self, obj: Object, subresource: str | None = None) -> Object:
        namespace, name = key_of(obj)
        return await self.request("PUT", KINDS[obj["kind"]].path(namespace, name, subresource), obj)

    async def patch(
        self, kind: str, name: str, patch: Object, namespace: str | None = None, subresource: str | None = None
    ) -> Object:
        """JSON merge patch."""
        path = KINDS[kind].path(namespace, name, subresource)
        return await self.request("PATCH", path, patch, "application/merge-patch+json")

    async def delete(self, kind: str, name: str, namespace: str | None = None) -> bool:
        """True if something was deleted."""
        try:
            await self.request("DELETE", KINDS[kind].path(namespace, name))
        except ApiError as error:
            if error.status == 404:
                return False
            raise
        return True

    async def watch(
        self, kind: str, resource_version: str, selector: dict[str, str] | None = None
    ) -> AsyncIterator[tuple[str, Object]]:
        """Events (type, object) over all namespaces until the server closes the stream. ApiError(410) when too old."""
        if self._session is None:
            raise RuntimeError("use Api as an async context manager")
        query = {"watch": "1", "resourceVersion": resource_version, "allowWatchBookmarks": "true"} | (selector or {})
        timeout = aiohttp.ClientTimeout(total=None, sock_read=None)
        async with self._session.get(self.server + KINDS[kind].path(), params=query, timeout=timeout) as answer:
            if answer.status >= 300:
                raise ApiError(answer.status, await answer.text())
            buffer = b""
            async for chunk in answer.content.iter_any():
                buffer += chunk
                *lines, buffer = buffer.split(b"\n")
                for line in lines:
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        raise ApiError(event["object"].get("code", 500), event["object"])
                    yield event["type"], self.typed(kind, event["object"])


class Cache:
    """All objects of one kind, kept current by list and watch; listeners are called for every change.

    A controller hands what it wrote to ``put`` or ``drop`` at once, so that it never acts on a state older than its
    own last write; the watch event of that write is then no news.
    """

    def __init__(self, api: Api, kind: str, field_selector: str | None = None) -> None:
        self.api, self.kind = api, kind
        self.objects: dict[Key, Object] = {}
        self.synced = asyncio.Event()
        self.listeners: list[Callable[[str, Key, Object], None]] = []
        self._query = {"fieldSelector": field_selector} if field_selector else {}
        self._dropped: set[str] = set()

    def get(self, namespace: str, name: str) -> Object | None:
        return self.objects.get((namespace, name))

    def in_namespace(self, namespace: str) -> list[Object]:
        return [obj for (ns, _), obj in self.objects.items() if ns == namespace]

    def put(self, obj: Object, event: str = "MODIFIED") -> bool:
        """Take a version of an object in, unless it is no newer than the known one. True if it was news."""
        key, known = key_of(obj), self.objects.get(key_of(obj))
        if obj["metadata"]["uid"] in self._dropped or (known and _version(known) >= _version(obj)):
            return False
        self.objects[key] = obj
        self._notify(event, obj)
        return True

    def drop(self, obj: Object, watched: bool = False) -> None:
        """An object is gone. Older events about it may still come when it was ourselves who deleted it."""
        uid, known = obj["metadata"]["uid"], self.objects.get(key_of(obj))
        if watched:
            self._dropped.discard(uid)
        else:
            self._dropped.add(uid)
        if known and known["metadata"]["uid"] == uid:
            del self.objects[key_of(obj)]
            self._notify("DELETED", obj)

    def _notify(self, event: str, obj: Object) -> None:
        for listener in tuple(self.listeners):
            try:
                listener(event, key_of(obj), obj)
            except Exception:  # noqa: BLE001 - one listener must not make the others deaf
                traceback.print_exc()

    async def run(self) -> None:
        """Never returns; lists again whenever a watch ends."""
        while True:
            try:
                await self._list_and_watch()
            except (ApiError, aiohttp.ClientError, TimeoutError):
                await asyncio.sleep(0.2)
            except Exception:  # noqa: BLE001 - a cache that ends leaves its readers blind
                traceback.print_exc()
                await asyncio.sleep(0.2)

    async def _list_and_watch(self) -> None:
        before = dict(self.objects)
        answer = await self.api.request("GET", KINDS[self.kind].path(), query=self._query)
        fresh = {key_of(item): self.api.typed(self.kind, item) for item in answer["items"]}
        listed = int(answer["metadata"]["resourceVersion"])
        for obj in fresh.values():
            self.put(obj)
        # What was written while the list was on its way is newer than the list: it is not gone.
        for key in before.keys() - fresh.keys():
            known = self.objects.get(key)
            if known and _version(known) <= listed:
                self.drop(known, watched=True)
        self._dropped.clear()
        self.synced.set()
        async for event, obj in self.api.watch(self.kind, answer["metadata"]["resourceVersion"], self._query):
            if event == "DELETED":
                self.drop(obj, watched=True)
            elif event != "BOOKMARK":
                self.put(obj, event)


def _version(obj: Object) -> int:
    """Opaque in principle, but a growing revision number on every etcd-backed server, and comparable since 1.35."""
    return int(obj["metadata"]["resourceVersion"])
