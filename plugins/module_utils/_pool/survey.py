# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that come as text because a survey has no other type: "3", "true", '["a"]', and "" for "not set"."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from .schema import POOL_SCHEMA

_UNSET = object()


def typed_spec(spec: Mapping[str, Any], schema: Mapping[str, Any] = POOL_SCHEMA) -> dict[str, Any]:
    """The spec with text turned into the type its field has, where that is beyond doubt.

    "" leaves out a number, a switch, a list or a map. Text fields stay as they are: an empty storageClass asks for the default class.
    What cannot be turned stays too, for the schema rule to name it.
    """
    typed: dict[str, Any] = {}
    for key, value in spec.items():
        field = schema.get(key)
        found = _typed(value, field) if isinstance(field, Mapping) else value
        if found is not _UNSET:
            typed[key] = found
    return typed


def _typed(value: Any, field: Mapping[str, Any]) -> Any:
    kind = field.get("type")
    properties = field.get("properties")
    if isinstance(value, str) and kind in ("integer", "boolean", "array", "object"):
        text = value.strip()
        value = _UNSET if not text else _parsed(text, kind, value)
    if isinstance(value, Mapping) and isinstance(properties, Mapping):
        return typed_spec(value, properties)
    return value


def _parsed(text: str, kind: str, value: str) -> Any:
    if kind == "integer":
        return int(text) if re.fullmatch(r"-?[0-9]+", text) else value
    if kind == "boolean":
        return {"true": True, "yes": True, "false": False, "no": False}.get(text.lower(), value)
    try:
        found = json.loads(text)
    except ValueError:
        return value
    return found if isinstance(found, list if kind == "array" else dict) else value
