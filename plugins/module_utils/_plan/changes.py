# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One tracker of differences: ``changed``, the diff and the merge patch all come from the same list of changes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Path = tuple[str, ...]
Same = Callable[[Path, Any, Any], bool]


class _Absent:
    """Marks a field that is not there; null is something else in a merge patch."""

    def __repr__(self) -> str:
        return "absent"


ABSENT = _Absent()


def path_text(path: Sequence[str]) -> str:
    """spec.talos.registryMirrors."ghcr.io" — keys with dots or blanks are quoted."""
    return ".".join(key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key) for key in path)


@dataclass(frozen=True)
class Change:
    """One declared field that differs. ``after`` is ABSENT when the field has to go."""

    path: Path
    before: Any
    after: Any

    def as_dict(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"field": path_text(self.path)}
        if self.before is not ABSENT:
            shown["before"] = self.before
        if self.after is not ABSENT:
            shown["after"] = self.after
        return shown


def equal(path: Path, declared: Any, live: Any) -> bool:
    """Plain equality that tells True from 1."""
    return type(declared) is type(live) and bool(declared == live)


def compare(
    declared: Mapping[str, Any], live: Mapping[str, Any], same: Same = equal, at: Path = ()
) -> tuple[Change, ...]:
    """Changes that make the live object show what is declared, in declared order.

    Only declared fields count. Maps are compared key by key, lists as a whole (they are replaced whole by a merge
    patch). A declared null asks for the field to be absent.
    """
    changes: list[Change] = []
    for key, wanted in declared.items():
        path, present = (*at, key), live.get(key, ABSENT)
        if wanted is None:
            if present is not ABSENT and present is not None:
                changes.append(Change(path, present, ABSENT))
        elif isinstance(wanted, Mapping) and isinstance(present, Mapping):
            changes += compare(wanted, present, same, path)
        elif present is ABSENT or present is None or not same(path, wanted, present):
            changes.append(Change(path, ABSENT if present is None else present, without_nulls(wanted)))
    return tuple(changes)


def without_nulls(value: Any) -> Any:
    """A map that is written anew: nulls in it would be stored as they are where nothing is to be removed."""
    if isinstance(value, Mapping):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    return value


def merge_patch(changes: Sequence[Change]) -> dict[str, Any]:
    """The JSON merge patch of these changes; {} when there are none."""
    patch: dict[str, Any] = {}
    for change in changes:
        target = patch
        for key in change.path[:-1]:
            target = target.setdefault(key, {})
        target[change.path[-1]] = None if change.after is ABSENT else change.after
    return patch


def sides(changes: Sequence[Change]) -> tuple[dict[str, Any], dict[str, Any]]:
    """(before, after) as nested maps holding the changed fields only: the two sides of a diff."""
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    for change in changes:
        for tree, value in ((before, change.before), (after, change.after)):
            if value is ABSENT:
                continue
            target = tree
            for key in change.path[:-1]:
                target = target.setdefault(key, {})
            target[change.path[-1]] = value
    return before, after
