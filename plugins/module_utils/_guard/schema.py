# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules from the published schema: types and shapes of values, unknown keys, a platform without the feature."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from .._storage.reading import is_set
from .case import PoolCase
from .rule import Found, rule, shown

# An internal value that a wrapping application sets; no published schema has it.
_INTERNAL = frozenset({"clusterReleaseName"})
# Old names, which closeness of spelling would not find.
_RENAMED = {"image": "osImage", "nodeGroups": "osImage", "storage": "diskSize"}


@rule(
    "values-schema",
    cause="A value has the wrong type or is none of the values that the platform's schema allows. The API stores it all the same, and "
    "the release fails.",
    example='version: "v1.30", or minReplicas: "3"',
    remedy="Give a value of the type and shape that the schema states.",
)
def values_schema(case: PoolCase) -> Iterator[Found]:
    # What is not declared is the platform's own default; only below a declared key can one be missing.
    declared = {key: case.values[key] for key in case.pool.spec if key in case.values}
    for breach in case.state.pool_fields.breaches(declared):
        yield Found(
            breach.path,
            f"{breach.path} {'' if breach.value is None else f'is {shown(breach.value)} and '}{breach.problem}",
            evidence={breach.path: breach.value},
        )
    if "version" not in case.values:
        yield Found("version", "version is missing", evidence={"version": None})


@rule(
    "unknown-field",
    chart=False,
    cause="The platform accepts keys that it does not know and ignores them, so a misspelt field has no effect. The schema that the "
    "cluster publishes decides; without it the fields known here do, and then it is advice.",
    example="osImage: {builtIn: {}}",
    remedy="Correct the key, or remove it.",
)
def unknown_field(case: PoolCase) -> Iterator[Found]:
    published = case.state.pool_schema
    for breach in case.state.pool_fields.unknown_keys(case.pool.spec):
        if breach.path in _INTERNAL or breach.path == "osImage":
            continue
        near = nearest(breach.path, breach.near)
        hint = f"; did you mean {near}?" if near else ""
        by = (
            "the schema that this platform publishes"
            if published is not None
            else "the fields known to this collection"
        )
        yield Found(
            breach.path,
            f"{breach.path} is not a field of a pool by {by}, so it has no effect{hint}",
            f"Write {near} instead." if near else "",
            {"field": breach.path, "nearest": near},
            refuses=published is not None,
        )


@rule(
    "feature-missing",
    chart=False,
    cause="This platform's KubernetesNodes has no osImage field: the release is older than the feature and ignores it.",
    example="osImage: {builtin: {}} on a platform before worker images",
    remedy="Upgrade the platform, or leave osImage out; workers then boot over HTTP from talos.*.",
)
def feature_missing(case: PoolCase) -> Iterator[Found]:
    if "osImage" not in case.state.pool_fields.properties and is_set(case.pool.spec.get("osImage")):
        yield Found(
            "osImage",
            "this platform does not know osImage and would ignore it",
            evidence={"osImage": case.pool.spec["osImage"]},
        )


def nearest(path: str, known: tuple[str, ...]) -> str:
    """The nearest valid field to an unknown one, with its path; blank when nothing is near."""
    parent, _, key = path.rpartition(".")
    match = _RENAMED.get(key) if _RENAMED.get(key) in known else None
    if match is None:
        folded = {item.lower(): item for item in known}
        close = get_close_matches(key.lower(), folded, n=1, cutoff=0.6)
        match = folded[close[0]] if close else None
    prefix = f"{parent}." if parent else ""
    return f"{prefix}{match}" if match else ""
