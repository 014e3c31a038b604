# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lay data out as the charts' ``toYaml`` does, for the few plain shapes a machine template holds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .._storage.printed import printed

# Text of these characters prints bare unless it would read as something else.
_PLAIN = re.compile(r"[A-Za-z0-9.+-](?:[A-Za-z0-9._/+-]|:(?=[^ ]))*")
_NUMBER = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0[xob][0-9a-fA-F_]+|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "~"})


class Unprintable(ValueError):
    """Data whose layout this emitter does not know."""


def yaml_lines(data: Any) -> Iterator[str]:
    """The lines of a mapping: keys sorted, list items at the indentation of their key. Raises Unprintable."""
    if not isinstance(data, Mapping):
        raise Unprintable("a mapping is expected")
    for key in sorted(data, key=str):
        yield from _entry(_scalar(str(key)), data[key])


def _entry(key: str, value: Any) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        yield f"{key}:"
        yield from (f"  {line}" for line in yaml_lines(value))
    elif isinstance(value, (list, tuple)) and value:
        yield f"{key}:"
        for item in value:
            lines = list(yaml_lines(item)) if isinstance(item, Mapping) else [_scalar(item)]
            yield f"- {lines[0]}"
            yield from (f"  {line}" for line in lines[1:])
    else:
        yield f"{key}: {_scalar(value)}"


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "{}"
    if isinstance(value, (list, tuple)):
        return "[]"
    return printed(value)


def _text(value: str) -> str:
    if _NUMBER.fullmatch(value) or value.lower() in _WORDS or value == "":
        return f'"{value}"'
    if not _PLAIN.fullmatch(value) or value.startswith(("-", "---", "...")) or re.match(r"[0-9]{4}-[0-9]{1,2}-", value):
        raise Unprintable(f"the quoting of {value!r} is not known")
    return value
