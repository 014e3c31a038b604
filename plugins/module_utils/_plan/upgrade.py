# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What moves pools to another Talos release: their new osImage, and the catalog entries that they need."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._pool.source import AMBIGUOUS, BUILTIN, FACTORY

_OVERRIDES = ("schematicID", "imageFactoryURL")
_ENTRY_SETTINGS = ("storage", "storageClass", "imageFactoryURL")
Report = Mapping[str, Any]
Pair = tuple[str, str]  # schematicID and version


@dataclass(frozen=True)
class Target:
    """Where to. A blank ``schematic`` leaves each pool its own. ``http``: whether pools that boot over HTTP move, too."""

    version: str
    schematic: str = ""
    http: bool = False

    def pair(self, report: Report) -> Pair:
        return self.schematic or str(report["source"]["schematicID"]), self.version

    def reached(self, report: Report) -> bool:
        return _pair(report) == self.pair(report)


def upgrade_of(
    reports: Sequence[Report],
    target: Target,
    frozen: Collection[str] = (),
    images: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """From pools as node_pools_info returns them (KeyError for anything else) to

    - ``pools``: what to hand to node_pools, in the given order; one that is there already declares nothing;
    - ``moving``, ``there``, ``frozen``: their names as namespace/name (frozen ones that would move);
    - ``left``: pools that are left alone, each with namespace, name and reason;
    - ``images``: catalog entries of the pairs that pools need which clone a golden, frozen ones aside. ``images`` as given are the
      catalog's entries, from which an entry of the same schematic takes over what it says beside its pair;
    - ``before``: goldens that pools move away from, each with schematicID, version, golden and pools.
    """
    found: dict[str, list[Any]] = {name: [] for name in ("pools", "moving", "there", "frozen", "left")}
    needed: dict[Pair, list[Pair]] = {}
    before: dict[str, dict[str, Any]] = {}
    for report in reports:
        subject, source = f"{report['namespace']}/{report['name']}", report["source"]
        reason = _left_alone(report, target)
        if reason:
            found["left"].append({"namespace": report["namespace"], "name": report["name"], "reason": reason})
            continue
        reached, cold = target.reached(report), subject in frozen
        spec = {} if reached else {"osImage": _os_image(source, target)}
        found["pools"].append({key: report[key] for key in ("namespace", "cluster", "pool")} | {"spec": spec})
        found["there" if reached else "frozen" if cold else "moving"].append(subject)
        if source["mode"] != BUILTIN or cold:
            continue
        needed.setdefault(target.pair(report), []).append(_pair(report))
        if not reached:
            known = {"schematicID": source["schematicID"], "version": source["version"], "golden": source["golden"]}
            before.setdefault(source["golden"], {**known, "pools": []})["pools"].append(subject)
    entries = [_entry(pair, replaced, images) for pair, replaced in needed.items()]
    return {**found, "images": entries, "before": list(before.values())}


def _pair(report: Report) -> Pair:
    return str(report["source"]["schematicID"]), str(report["source"]["version"])


def _left_alone(report: Report, target: Target) -> str:
    mode = report["source"]["mode"]
    if mode == AMBIGUOUS:
        return "osImage states both forms, which the platform refuses; decide for one"
    if mode != BUILTIN and not target.http:
        return "it boots over HTTP, not from a golden image"
    if not report["pool"]:
        return "its name does not begin with the name of its cluster"
    return ""


def _os_image(source: Mapping[str, Any], target: Target) -> dict[str, Any]:
    """The form of the pool at the new version. osImage is declared as a whole, so what the pool states itself is stated again."""
    form = BUILTIN if source["mode"] == BUILTIN else FACTORY
    stated = {
        key: source[key] for key in _OVERRIDES if str(source["origins"].get(key, "")).startswith(f"osImage.{form}.")
    }
    if target.schematic:
        stated["schematicID"] = target.schematic
    return {form: {**stated, "version": target.version}}


def _entry(pair: Pair, replaced: Sequence[Pair], images: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The catalog's own entry of the pair; else settings of the entry that it replaces; else of the last one of the schematic."""
    known = {(str(image.get("schematicID")), str(image.get("version"))): image for image in images}
    if pair in known:
        return dict(known[pair])
    like = next((known[old] for old in replaced if old in known), None)
    if like is None:
        like = next((image for image in reversed(images) if image.get("schematicID") == pair[0]), {})
    return {"schematicID": pair[0], "version": pair[1]} | {key: like[key] for key in _ENTRY_SETTINGS if like.get(key)}
