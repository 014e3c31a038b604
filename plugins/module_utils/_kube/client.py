# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The few verbs this collection uses, over a Transport: list, get, create, merge patch, delete, watch."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .errors import KubeError, error_of_answer
from .resources import Resource
from .transport import Answer, NoAnswer, StreamRefused, Transport

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
# The body was not processed: trying again cannot do anything twice.
_TRY_AGAIN = frozenset({429, 503})
_TRY_AGAIN_READ = _TRY_AGAIN | {500, 502, 504}


def subject_of(resource: Resource, namespace: str | None = None, name: str | None = None) -> str:
    """ "KubernetesNodes tenant-a/shop-md0", as every message names things."""
    where = "/".join(part for part in (namespace, name) if part)
    return f"{resource.kind} {where}".strip()


def _objects(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [item for item in answer["items"] if isinstance(item, dict)]


class Client:
    """Reads are tried again a bounded number of times, writes only when the server certainly did not act on them."""

    def __init__(
        self,
        transport: Transport,
        attempts: int = 4,
        sleep: Callable[[float], None] = time.sleep,
        note: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._transport, self._attempts, self._sleep, self.note = transport, attempts, sleep, note

    def once(self) -> Client:
        """The same connection for somebody who tries again and tells of it himself."""
        return Client(self._transport, attempts=1, sleep=self._sleep)

    def _delay(self, attempt: int, answer: Answer | None) -> float:
        """Seconds: what Retry-After says (at most 30), else 0.2, 0.4, 0.8 ... with jitter."""
        told = answer.headers.get("Retry-After", "") if answer else ""
        base = min(float(told), 30.0) if told.isdigit() else 0.2 * 2**attempt
        return base * random.uniform(0.8, 1.2)

    def _exchange(
        self,
        verb: str,
        subject: str,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: Any,
        content_type: str,
        accept: str = JSON,
    ) -> bytes:
        data = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        reading = method == "GET"
        again = _TRY_AGAIN_READ if reading else _TRY_AGAIN
        for attempt in range(self._attempts):
            last = attempt == self._attempts - 1
            answer: Answer | None = None
            try:
                answer = self._transport.request(method, path, query, data, content_type, accept)
            except NoAnswer as error:
                if last or (error.sent and not reading):
                    raise KubeError(verb, subject, str(error)) from error
                trouble = str(error)
            else:
                if answer.status < 300:
                    return answer.body
                failure = error_of_answer(verb, subject, answer.status, answer.body)
                if last or answer.status not in again:
                    raise failure
                trouble = failure.cause
            self.note(f"{verb} {subject}: {trouble}; trying again ({attempt + 2} of {self._attempts})")
            self._sleep(self._delay(attempt, answer))
        raise AssertionError("unreachable")  # the loop returns or raises

    def _json(self, verb: str, subject: str, raw: bytes) -> dict[str, Any]:
        try:
            decoded = json.loads(raw)
        except ValueError as error:
            raise KubeError(verb, subject, "the answer is not JSON; is this address a Kubernetes API?") from error
        if not isinstance(decoded, dict):
            raise KubeError(verb, subject, "the answer is not a JSON object; is this address a Kubernetes API?")
        return decoded

    def listing(
        self, resource: Resource, namespace: str | None = None, selector: str | None = None, **query: str
    ) -> dict[str, Any]:
        """The whole list object (items, metadata.resourceVersion), or one page of it when ``query`` holds a limit.

        Errors: KubeError, 404 when the API is not there.
        """
        asked = {**({"labelSelector": selector} if selector else {}), **query}
        return self._listed(resource, namespace, asked, JSON)

    def _listed(
        self, resource: Resource, namespace: str | None, query: Mapping[str, str], accept: str
    ) -> dict[str, Any]:
        subject = subject_of(resource, namespace)
        raw = self._exchange("list", subject, "GET", resource.path(namespace), query, None, "", accept)
        answer = self._json("list", subject, raw)
        if answer.get("items") is None and str(answer.get("kind")).endswith("List"):
            answer["items"] = []  # how Go prints a list without elements
        if not isinstance(answer.get("items"), list):
            raise KubeError("list", subject, "the answer has no items; is this address a Kubernetes API?")
        return answer

    def items(
        self,
        resource: Resource,
        namespace: str | None = None,
        selector: str | None = None,
        *,
        limit: int | None = None,
    ) -> list[dict[str, Any]]:
        """All items. With ``limit`` they are fetched in pages of that size; when a page has expired (410), all at once."""
        if not limit:
            return _objects(self.listing(resource, namespace, selector))
        try:
            return [item for page in self.pages(resource, namespace, selector, limit) for item in page]
        except KubeError as error:
            if error.status != 410:
                raise
        return _objects(self.listing(resource, namespace, selector))

    def pages(
        self, resource: Resource, namespace: str | None, selector: str | None, limit: int
    ) -> Iterator[list[dict[str, Any]]]:
        """One page after the other, all of one moment, so that no more than one is in memory. Errors: KubeError 410."""
        token = ""
        while True:
            query = {"limit": str(limit), **({"continue": token} if token else {})}
            answer = self.listing(resource, namespace, selector, **query)
            yield _objects(answer)
            metadata = answer.get("metadata")
            token = str((metadata if isinstance(metadata, Mapping) else {}).get("continue") or "")
            if not token:
                return

    def metadata_items(
        self, resource: Resource, namespace: str | None = None, selector: str | None = None
    ) -> list[dict[str, Any]]:
        """Items with nothing but their metadata: cheap, and nothing of a Secret."""
        query = {"labelSelector": selector} if selector else {}
        return _objects(self._listed(resource, namespace, query, METADATA_ONLY))

    def get(self, resource: Resource, name: str, namespace: str | None = None) -> dict[str, Any] | None:
        """The object, or None when it does not exist."""
        subject = subject_of(resource, namespace, name)
        try:
            raw = self._exchange("read", subject, "GET", resource.path(namespace, name), {}, None, "")
        except KubeError as error:
            if error.not_found:
                return None
            raise
        return self._json("read", subject, raw)

    def get_path(self, path: str) -> dict[str, Any]:
        """A document that is not an object, such as an OpenAPI description."""
        return self._json("read", path, self._exchange("read", path, "GET", path, {}, None, ""))

    def create(self, resource: Resource, body: Mapping[str, Any], namespace: str | None = None) -> dict[str, Any]:
        subject = subject_of(resource, namespace, body["metadata"]["name"])
        raw = self._exchange("create", subject, "POST", resource.path(namespace), {}, body, JSON)
        return self._json("create", subject, raw)

    def merge_patch(
        self, resource: Resource, name: str, patch: Mapping[str, Any], namespace: str | None = None
    ) -> dict[str, Any]:
        subject = subject_of(resource, namespace, name)
        raw = self._exchange("patch", subject, "PATCH", resource.path(namespace, name), {}, patch, MERGE_PATCH)
        return self._json("patch", subject, raw)

    def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        uid: str = "",
        resource_version: str = "",
    ) -> bool:
        """False when it was gone already. With ``uid`` or ``resource_version`` only that very object, else KubeError 409."""
        subject = subject_of(resource, namespace, name)
        wanted = {"uid": uid, "resourceVersion": resource_version}
        held = {key: value for key, value in wanted.items() if value}
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": held} if held else None
        try:
            self._exchange("delete", subject, "DELETE", resource.path(namespace, name), {}, body, JSON if body else "")
        except KubeError as error:
            if error.not_found:
                return False
            raise
        return True

    def watch(
        self,
        resource: Resource,
        namespace: str | None,
        resource_version: str,
        seconds: float,
        selector: str | None = None,
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Events (ADDED, MODIFIED, DELETED, BOOKMARK) for at most this long. KubeError 410 when the version is too old."""
        subject = subject_of(resource, namespace)
        query = {
            "watch": "1",
            "resourceVersion": resource_version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(max(1, int(seconds))),
        }
        if selector:
            query["labelSelector"] = selector
        try:
            for line in self._transport.stream(resource.path(namespace), query, seconds + 10):
                if not line.strip():
                    continue
                event = self._json("watch", subject, line)
                obj = event.get("object") or {}
                if event.get("type") == "ERROR":
                    raise KubeError(
                        "watch", subject, str(obj.get("message") or "error event"), int(obj.get("code") or 500)
                    )
                yield str(event.get("type")), obj
        except StreamRefused as refused:
            raise error_of_answer("watch", subject, refused.answer.status, refused.answer.body) from refused
        except NoAnswer as error:
            raise KubeError("watch", subject, str(error)) from error
