# SPDX-License-Identifier: Apache-2.0
"""What a chart says and what it can see: refusals and lookups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

Object = dict[str, Any]


class Refused(Exception):
    """A template's ``fail``: it aborts the whole render. ``rule`` is the rule's stable id, ``text`` the message."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(text)
        self.rule, self.text = rule, text


class Lookups(Protocol):
    """What the chart's ``lookup`` reads. Kind names as in ``lab.kinds``; cluster-scoped kinds have namespace ``""``."""

    def get(self, kind: str, namespace: str, name: str) -> Object | None: ...

    def list(self, kind: str, namespace: str | None) -> list[Object]: ...


class ObjectLookups:
    """Lookups over a fixed list of objects, listed as an API server does: by namespace and name."""

    def __init__(self, objects: Iterable[Object] = ()) -> None:
        self._kinds: dict[str, dict[tuple[str, str], Object]] = {}
        for obj in objects:
            key = obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
            self._kinds.setdefault(obj["kind"], {})[key] = obj

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        return self._kinds.get(kind, {}).get((namespace or "", name))

    def list(self, kind: str, namespace: str | None) -> list[Object]:
        found = self._kinds.get(kind, {})
        return [found[key] for key in sorted(found) if namespace is None or key[0] == namespace]


def dig(obj: Object | None, *path: str) -> Any:
    """The value at a path, or None when any part of the path is missing or not a map."""
    value: Any = obj
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def annotation(obj: Object | None, name: str) -> str:
    """An annotation's value, ``""`` when absent."""
    return dig(obj, "metadata", "annotations", name) or ""
