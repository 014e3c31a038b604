# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One list call per kind, in parallel, each at most once a run; what may not be read is remembered, not guessed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from .client import Client
from .errors import KubeError
from .resources import Resource

_PARALLEL = 4
Items = list[Any]


@dataclass(frozen=True)
class Scope:
    """Where to list: one namespace, or all of them; ``fallback`` are asked one by one when all is forbidden.

    With ``parse`` the snapshot keeps what that makes of each item (None is dropped), with ``limit`` it reads in pages of that size: raw
    objects of no more than one page are then in memory.
    """

    resource: Resource
    namespace: str | None = None
    fallback: tuple[str, ...] = ()
    parse: Callable[[dict[str, Any]], Any] | None = None
    limit: int | None = None


@dataclass
class Snapshot:
    """Lists as read. ``unread`` tells why a kind is not there: no right, or no such API.

    ``partial`` are kinds of which only the fall-back namespaces could be read.
    """

    client: Client
    lists: dict[Resource, Items] = field(default_factory=dict)
    unread: dict[Resource, KubeError] = field(default_factory=dict)
    partial: set[Resource] = field(default_factory=set)

    def read(self, scopes: Iterable[Scope], required: Iterable[Resource] = ()) -> Snapshot:
        """Read the kinds that are not there yet. Errors: KubeError when a required kind cannot be read, or no answer."""
        missing = [scope for scope in scopes if scope.resource not in self.lists and scope.resource not in self.unread]
        with ThreadPoolExecutor(max_workers=_PARALLEL) as workers:
            futures = {scope.resource: workers.submit(self._items, scope) for scope in missing}
        for resource, future in futures.items():
            try:
                self.lists[resource] = future.result()
            except KubeError as error:
                if not (error.forbidden or error.not_found):
                    raise
                self.unread[resource] = error
        for resource in required:
            if resource in self.unread:
                raise self.unread[resource]
        return self

    def _items(self, scope: Scope) -> Items:
        try:
            return self._of(scope, scope.namespace)
        except KubeError as error:
            if not error.forbidden or not scope.fallback:
                raise
        self.partial.add(scope.resource)
        return [item for namespace in scope.fallback for item in self._of(scope, namespace)]

    def _of(self, scope: Scope, namespace: str | None) -> Items:
        if scope.limit is not None and scope.parse is not None:
            try:
                pages = self.client.pages(scope.resource, namespace, None, scope.limit)
                return [kept for page in pages for kept in _kept(scope, page)]
            except KubeError as error:
                # The moment that the pages belong to is over: all of it once more, in one piece.
                if error.status != 410:
                    raise
            return _kept(scope, self.client.items(scope.resource, namespace))
        return _kept(scope, self.client.items(scope.resource, namespace, limit=scope.limit))

    def items(self, resource: Resource) -> Items | None:
        """None when the kind was not read."""
        return self.lists.get(resource)

    def causes(self) -> dict[str, str]:
        """Why a kind was not read, by its qualified name."""
        return {resource.qualified: error.cause for resource, error in self.unread.items()}


def _kept(scope: Scope, items: Items) -> Items:
    if scope.parse is None:
        return items
    return [kept for kept in map(scope.parse, items) if kept is not None]
