# SPDX-License-Identifier: Apache-2.0
"""Patches of an app: JSON merge patch (RFC 7386) and JSON patch (RFC 6902).

A strategic merge patch and an apply both act as merge patches here: the recorded API merges maps for either, and has
neither merge keys nor field owners to do more.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import yaml

from lab.apps_api.statuses import Refused, bad_request

APPLY = "application/apply-patch+yaml"
MERGE_TYPES = ("application/merge-patch+json", "application/strategic-merge-patch+json", APPLY)
JSON_TYPE = "application/json-patch+json"


def merge(target: Any, patch: Any) -> Any:
    """The merged value; neither input is changed. Lists are replaced, null removes a key."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


def _steps(pointer: str) -> list[str]:
    if not pointer.startswith("/"):
        raise ValueError(f"pointer {pointer!r} does not start with a slash")
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/")]


def _index(container: list[Any], step: str, *, adding: bool = False) -> int:
    if adding and step == "-":
        return len(container)
    index = int(step)
    if not 0 <= index < len(container) + adding:
        raise IndexError(f"index {step} is out of range")
    return index


def _child(container: Any, step: str) -> Any:
    return container[_index(container, step)] if isinstance(container, list) else container[step]


def _parent(document: Any, pointer: str) -> tuple[Any, str]:
    *way, last = _steps(pointer)
    for step in way:
        document = _child(document, step)
    return document, last


def _get(document: Any, pointer: str) -> Any:
    container, last = _parent(document, pointer)
    return _child(container, last)


def _add(document: Any, pointer: str, value: Any) -> None:
    container, last = _parent(document, pointer)
    if isinstance(container, list):
        container.insert(_index(container, last, adding=True), value)
    else:
        container[last] = value


def _remove(document: Any, pointer: str) -> Any:
    container, last = _parent(document, pointer)
    return container.pop(_index(container, last) if isinstance(container, list) else last)


def _replace(document: Any, operation: Any) -> None:
    _remove(document, operation["path"])
    _add(document, operation["path"], operation["value"])


def _test(document: Any, operation: Any) -> None:
    if _get(document, operation["path"]) != operation["value"]:
        raise ValueError(f"testing value {operation['path']} failed")


_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda document, op: _add(document, op["path"], op["value"]),
    "remove": lambda document, op: _remove(document, op["path"]),
    "replace": _replace,
    "move": lambda document, op: _add(document, op["path"], _remove(document, op["from"])),
    "copy": lambda document, op: _add(document, op["path"], copy.deepcopy(_get(document, op["from"]))),
    "test": _test,
}


def apply_operations(document: Any, operations: Any) -> Any:
    """The patched copy. Errors: Refused 422 for an operation that does not fit the document."""
    patched = copy.deepcopy(document)
    for operation in operations:
        try:
            _OPERATIONS[operation["op"]](patched, operation)
        except (KeyError, IndexError, ValueError, TypeError, AttributeError) as error:
            message = f"the server rejected our request due to an error in our request: {error}"
            raise Refused(422, message, "Invalid") from error
    return patched


def parse(content_type: str, raw: bytes) -> Any:
    """The decoded body. Errors: Refused 400."""
    try:
        return yaml.safe_load(raw) if content_type.endswith("yaml") else json.loads(raw)
    except (ValueError, yaml.YAMLError) as error:
        raise bad_request(f"the body of the request cannot be decoded: {error}") from error


def patched(content_type: str, raw: bytes, document: Any) -> Any:
    """The document after the patch of a request. Errors: Refused 400, 415, 422."""
    if content_type == JSON_TYPE:
        return apply_operations(document, parse(content_type, raw))
    if content_type not in MERGE_TYPES:
        accepted = ", ".join((JSON_TYPE, *MERGE_TYPES))
        message = f"the body of the request was in an unknown format - accepted media types include: {accepted}"
        raise Refused(415, message, "UnsupportedMediaType")
    return merge(document, parse(content_type, raw))
