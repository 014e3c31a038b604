# SPDX-License-Identifier: Apache-2.0
"""Small pure helpers over Kubernetes objects as dictionaries."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from lab.api import Object

_QUANTITY = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?[0-9]+)?")
_FACTORS = {f"{letter}i": Fraction(1024) ** power for power, letter in enumerate("KMGTPE", 1)} | {
    letter: Fraction(10) ** power
    for letter, power in {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}.items()
}


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def amount(quantity: str | float) -> Fraction:
    """The exact value of a Kubernetes quantity. Errors: ValueError."""
    match = _QUANTITY.fullmatch(str(quantity))
    if not match:
        raise ValueError(f"no quantity: {quantity!r}")
    number, suffix = Fraction(match[1]), match[2] or ""
    if suffix in _FACTORS:
        return number * _FACTORS[suffix]
    return number * Fraction(10) ** int(suffix[1:]) if suffix else number


def size(quantity: str | float) -> int:
    """Bytes, rounded up as Kubernetes' ``Value()`` does. Errors: ValueError."""
    return math.ceil(amount(quantity))


def annotations(obj: Object) -> dict[str, str]:
    return obj["metadata"].get("annotations") or {}


def labels(obj: Object) -> dict[str, str]:
    return obj["metadata"].get("labels") or {}


def status(obj: Object) -> dict[str, Any]:
    return obj.get("status") or {}


def deleting(obj: Object) -> bool:
    return "deletionTimestamp" in obj["metadata"]


def condition(obj: Object, kind: str) -> dict[str, Any]:
    """The condition of that type, or an empty dictionary."""
    return next((one for one in status(obj).get("conditions") or [] if one["type"] == kind), {})


def conditions(obj: Object, *wanted: tuple[str, str, str, str], **extra: Any) -> list[dict[str, Any]]:
    """``wanted`` (type, status, reason, message) over what the object has; the time moves only with the status."""
    by_type = {one["type"]: one for one in status(obj).get("conditions") or []}
    for kind, value, reason, message in wanted:
        old = by_type.get(kind, {})
        since = old["lastTransitionTime"] if old.get("status") == value and "lastTransitionTime" in old else now()
        by_type[kind] = {
            "type": kind,
            "status": value,
            "reason": reason,
            "message": message,
            "lastTransitionTime": since,
            **extra,
        }
    return list(by_type.values())


def owner(obj: Object, controller: bool = True) -> dict[str, Any]:
    """An owner reference to the object."""
    meta = obj["metadata"]
    reference = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "name": meta["name"], "uid": meta["uid"]}
    return reference | ({"controller": True, "blockOwnerDeletion": True} if controller else {})


def owned_by(obj: Object, uid: str) -> bool:
    return any(one["uid"] == uid for one in obj["metadata"].get("ownerReferences", []))


def digest(value: Any, length: int = 64) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:length]


def merged(target: Any, patch: Any) -> Any:
    """JSON merge patch (RFC 7396) applied; neither argument is changed."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def three_way(old: Any, new: Any) -> Any:
    """A merge patch that brings in all of ``new`` and removes what ``old`` had and ``new`` has not."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return copy.deepcopy(new)
    patch = {key: three_way(old.get(key), value) for key, value in new.items()}
    return patch | {key: None for key in old if key not in new}


def newest_default(classes: Iterable[Object], *keys: str) -> Object | None:
    """The newest class that carries one of these annotations with the exact text "true"; a tie goes by name."""
    marked = [one for one in classes if any(annotations(one).get(key) == "true" for key in keys)]
    marked.sort(key=lambda one: one["metadata"]["name"])
    marked.sort(key=lambda one: one["metadata"]["creationTimestamp"], reverse=True)
    return marked[0] if marked else None
