# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tolerant reading of foreign JSON: a wrong type or a null on the way counts as absent, never as an exception."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

# dict first: a look at an abstract class costs ten times as much, and thousands of objects are read.
MAPPINGS = (dict, Mapping)


def dig(source: Any, *path: str) -> Any:
    """The value at ``path``, or None when a step is missing or is not a mapping. Keys may hold dots and slashes."""
    for step in path:
        if source is None or not isinstance(source, MAPPINGS):
            return None
        source = source.get(step)
    return source


def text(source: Any, *path: str) -> str:
    """The text at ``path``; anything that is not text reads as the empty text."""
    for step in path:
        if source is None or not isinstance(source, MAPPINGS):
            return ""
        source = source.get(step)
    return source if isinstance(source, str) else ""


def text_in(found: Mapping[str, Any], key: str) -> str:
    """The text under one key of what is known to be a mapping; the quick form of ``text`` for objects read by the thousand."""
    value = found.get(key)
    return value if isinstance(value, str) else ""


def number(source: Any, *path: str) -> int:
    """The whole number at ``path``; anything else (a truth value included) reads as 0."""
    value = dig(source, *path)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def mapping(source: Any, *path: str) -> Mapping[str, Any]:
    """The mapping at ``path``, else an empty one."""
    for step in path:
        if source is None or not isinstance(source, MAPPINGS):
            return {}
        source = source.get(step)
    return source if source is not None and isinstance(source, MAPPINGS) else {}


def texts(source: Any, *path: str) -> Mapping[str, str]:
    """The text entries of the mapping at ``path`` (labels, annotations)."""
    found = mapping(source, *path)
    return {key: value for key, value in found.items() if isinstance(value, str)} if found else found


def items(source: Any, *path: str) -> Iterator[Mapping[str, Any]]:
    """The mappings of the list at ``path``."""
    value = dig(source, *path)
    if isinstance(value, (list, tuple)):
        yield from (item for item in value if isinstance(item, MAPPINGS))


def is_set(value: Any) -> bool:
    """Helm's notion of a value that counts: null, "", 0, false and empty collections do not (platform rule 5.3, R)."""
    return value is not None and value != "" and value != 0 and value is not False and value != {} and value != []
