# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options written in the platform's own words: shape and keys are checked here, with the nearest valid key at hand."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from .._image.catalog import CATALOG_KEYS, ENTRY_KEYS
from .._image.versions import TALOS_WINDOWS, windows_of
from .._pool.pool import Pool
from .._pool.survey import typed_spec
from .._storage.quantity import InvalidQuantity, parse_quantity
from .failures import OptionFailure

_POOL_ITEM_KEYS = ("namespace", "cluster", "pool", "spec")


def shown(value: Any) -> str:
    """A value for a message: JSON, shortened."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 120 else text[:117] + "..."


def check_keys(value: Mapping[str, Any], allowed: Iterable[str], field: str) -> None:
    """Refuse the first unknown key, naming the nearest valid one."""
    valid = list(allowed)
    for key in value:
        if key not in valid:
            lowered = {name.lower(): name for name in valid}
            near = get_close_matches(str(key).lower(), list(lowered), n=1, cutoff=0.6)
            hint = f"did you mean {lowered[near[0]]!r}?" if near else f"valid keys are {', '.join(valid)}"
            raise OptionFailure(field, f"unknown key {str(key)!r} (value {shown(value[key])}); {hint}")


def as_mapping(value: Any, field: str) -> Mapping[str, Any]:
    """Surveys hand over text: a JSON object in a string is taken as the object."""
    if isinstance(value, str) and value.strip().startswith("{"):
        value = _from_json(value, field)
    if not isinstance(value, Mapping):
        raise OptionFailure(field, f"a mapping is expected, not {shown(value)}")
    return value


def as_list(value: Any, field: str) -> Sequence[Any]:
    if isinstance(value, str) and value.strip().startswith("["):
        value = _from_json(value, field)
    if not isinstance(value, (list, tuple)):
        raise OptionFailure(field, f"a list is expected, not {shown(value)}")
    if not value:
        raise OptionFailure(field, "the list is empty; name at least one element")
    return value


def _from_json(text: str, field: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise OptionFailure(field, f"not valid JSON ({error}): {shown(text)}") from error


def _text(value: Any, field: str) -> str | None:
    """A text field; "" and null mean "not set". A number is refused: 1.13 would have lost its spelling already."""
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise OptionFailure(field, f"text is expected, not {shown(value)}; put it in quotes")
    return value


def _size(value: Any, field: str) -> str | int | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise OptionFailure(field, f"a size such as 6Gi is expected, not {shown(value)}")
    try:
        parse_quantity(value)
    except InvalidQuantity as error:
        raise OptionFailure(field, f"{shown(value)} is not a Kubernetes quantity (6Gi, 6144Mi, 6442450944)") from error
    return value


def _entry(value: Any, field: str) -> dict[str, Any]:
    entry = as_mapping(value, field)
    check_keys(entry, ENTRY_KEYS, field)
    return {
        key: _size(inner, f"{field}.{key}") if key == "storage" else _text(inner, f"{field}.{key}")
        for key, inner in entry.items()
    }


def catalog_option(value: Any, field: str = "catalog") -> dict[str, Any]:
    """The declared catalog: only the keys that were given, with checked types. Values are judged by the guards."""
    catalog = as_mapping(value if value is not None else {}, field)
    check_keys(catalog, CATALOG_KEYS, field)
    declared: dict[str, Any] = {}
    for key, inner in catalog.items():
        if key == "images":
            if inner is not None:
                images = as_list(inner, f"{field}.images")
                declared[key] = [_entry(entry, f"{field}.images[{index}]") for index, entry in enumerate(images)]
        elif key == "storage":
            declared[key] = _size(inner, f"{field}.{key}")
        else:
            declared[key] = _text(inner, f"{field}.{key}")
    return declared


def windows_option(value: Any, field: str = "talos_windows") -> dict[str, tuple[int, int]] | None:
    """Talos' table with the given rows laid over it; None when none are given."""
    if not value:
        return None
    try:
        return {**TALOS_WINDOWS, **windows_of(as_mapping(value, field))}
    except ValueError as error:
        raise OptionFailure(field, str(error)) from error


def _name(value: Any, field: str) -> str:
    if not isinstance(value, str) or not value:
        raise OptionFailure(field, f"a name is expected, not {shown(value)}")
    return value


def pool_options(value: Any, with_spec: bool, field: str = "pools") -> list[Pool]:
    """The declared pools. Names that stand twice are refused: the second one would silently win."""
    pools: list[Pool] = []
    seen: dict[tuple[str, str], int] = {}
    for index, item in enumerate(as_list(value, field)):
        at = f"{field}[{index}]"
        item = as_mapping(item, at)
        check_keys(item, _POOL_ITEM_KEYS, at)
        for key in ("namespace", "cluster", "pool"):
            if key not in item:
                raise OptionFailure(f"{at}.{key}", "required, and missing")
        cluster = _name(item["cluster"], f"{at}.cluster")
        spec = typed_spec(as_mapping(item.get("spec") or {}, f"{at}.spec"))
        if with_spec:
            stated = spec.setdefault("cluster", cluster)
            if stated != cluster:
                raise OptionFailure(f"{at}.spec.cluster", f"{shown(stated)} contradicts {at}.cluster {cluster!r}")
        pool = Pool(_name(item["namespace"], f"{at}.namespace"), cluster, _name(item["pool"], f"{at}.pool"), spec)
        place = (pool.namespace, pool.name)
        if place in seen:
            raise OptionFailure(at, f"{pool.namespace}/{pool.name} stands at {field}[{seen[place]}] already")
        seen[place] = index
        pools.append(pool)
    return pools
