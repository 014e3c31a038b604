# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One plan of a whole site: catalog, pools, retirements. Each part is what the writing module's own check mode says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .._plan.plan import Plan
from .._plan.render import as_markdown, as_text, headline, joined, totals
from .approved import EXPECTED_SPEC, check_approved
from .entry import POLICY_SPEC, Job, Session
from .failures import OptionFailure, Refusal
from .golden_image import GOLDEN_SPEC, golden_image
from .image_catalog import CATALOG_SPEC, image_catalog
from .node_pools import POOLS_SPEC, node_pools
from .options import as_list, as_mapping, check_keys

PLAN_SPEC: dict[str, Any] = {
    "catalog": {"type": "dict"},
    "entries": {"type": "str", "choices": ["merged", "exact"], "default": "merged"},
    "pools": {"type": "list", "elements": "raw"},
    "retirements": {"type": "list", "elements": "raw"},
    "talos_windows": {"type": "dict"},
    **POLICY_SPEC,
    **EXPECTED_SPEC,
}
_FINDINGS = ("refusals", "advice", "not_judged", "accepted")
_PAIR = ("schematicID", "version")


def site_plan_info(session: Session) -> dict[str, Any]:
    """Job of module site_plan_info. Only reads; refusals are part of the answer and fail nothing."""
    params = session.params
    parts: dict[str, list[dict[str, Any]]] = {"catalog": [], "pools": [], "retirements": []}
    if params["catalog"]:
        options = {"catalog": params["catalog"], "entries": params["entries"]}
        parts["catalog"].append(_part(session, image_catalog, CATALOG_SPEC, options))
    if params["pools"]:
        options = {"pools": params["pools"], "planned_catalog": params["catalog"], "wait": "none"}
        parts["pools"].append(_part(session, node_pools, POOLS_SPEC, options))
    for pair in _pairs(params["retirements"]):
        options = {**pair, "state": "absent", "when_free": True}
        parts["retirements"].append(_part(session, golden_image, GOLDEN_SPEC, options))
    plans = {name: joined([found["plan"] for found in results]) for name, results in parts.items()}
    for name, results in parts.items():
        if len(results) == 1:
            plans[name] = results[0]["plan"]
    every = [found for results in parts.values() for found in results]
    plan = joined(list(plans.values()))
    findings = {key: [one for found in every for one in found.get(key, ())] for key in _FINDINGS}
    result = {
        "changed": False,
        "plan": plan,
        "parts": plans,
        "executable": not findings["refusals"],
        "totals": totals(plan),
        "headline": headline(plan),
        "text": as_text(plan),
        "markdown": as_markdown(plan),
        "pending": [found["golden"] for found in parts["retirements"] if found.get("pending")],
        **findings,
    }
    check_approved(params, plan, **{**result, "changed": False})
    return result


def _part(session: Session, job: Job, spec: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """What the job would do. A refusal is an answer, too: it has no steps then."""
    defaults = {name: option.get("default") for name, option in spec.items()}
    shared = {name: session.params[name] for name in ("refuse_on", "accept", "talos_windows")}
    given = {**defaults, **{name: value for name, value in shared.items() if name in spec}, **options}
    try:
        return job(replace(session, params=given, check_mode=True))
    except Refusal as refusal:
        return {"plan": Plan().as_dict(), **refusal.result}


def _pairs(value: Any) -> list[dict[str, str]]:
    pairs = []
    for index, item in enumerate(as_list(value, "retirements") if value else ()):
        at = f"retirements[{index}]"
        pair = as_mapping(item, at)
        check_keys(pair, _PAIR, at)
        for key in _PAIR:
            if not isinstance(pair.get(key), str) or not pair[key]:
                raise OptionFailure(f"{at}.{key}", "required, and missing or not a text")
        pairs.append({key: pair[key] for key in _PAIR})
    return pairs
