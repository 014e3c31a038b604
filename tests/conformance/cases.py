# SPDX-License-Identifier: Apache-2.0
"""Ask the product what the real chart was asked, and say where the answers differ."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.report import report_catalog, report_pools
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.state import ClusterState
from ansible_collections.cozystack.worker_image.plugins.module_utils._image.catalog import Catalog
from ansible_collections.cozystack.worker_image.plugins.module_utils._image.render import render_goldens
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.pool import Pool

HERE = Path(__file__).resolve().parent
POOLS, CATALOGS = HERE / "pools.json", HERE / "catalogs.json"

Case = Mapping[str, Any]

# A recording may name the drifted address by the live object's word instead of the catalog's.
_ADDRESS = {
    "url": "imageFactoryURL",
    "source": "imageFactoryURL",
    "source URL": "imageFactoryURL",
    "sourceURL": "imageFactoryURL",
}


def load(path: Path) -> list[Case]:
    """The cases of one file."""
    cases = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(cases, list):
        raise TypeError(f"{path}: a list of cases is expected")
    return cases


def stamped(objects: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The objects with the creation times an API server gives: in the order they are listed, unless they state their own.

    Which of several default classes is taken depends on it.
    """
    found = []
    for index, obj in enumerate(objects):
        meta = {"creationTimestamp": f"2026-01-01T00:{index // 60:02d}:{index % 60:02d}Z", **obj.get("metadata", {})}
        found.append({**obj, "metadata": meta})
    return found


def check_pool(case: Case) -> list[str]:
    """Disagreements of one pool case; none when the product answers as the chart did."""
    pool, expect = case["pool"], case["expect"]
    values = case.get("cluster_values") or {}
    state = ClusterState.from_objects(stamped(case["objects"]), cluster_values={pool["namespace"]: values})
    report = report_pools([Pool.named(pool["namespace"], pool["name"], pool["spec"])], state)
    refused = [finding["id"] for finding in report["refusals"]]
    problems = _not_judged(report)
    if "refused_by" in expect:
        return problems + _refusal(expect["refused_by"], refused)
    problems += [f"refused by {', '.join(refused)}, but the chart renders"] if refused else []
    found = report["pools"][0]
    for key, ours in (("machine_template", found["machine_template"]), ("disk", found["worker_disk"])):
        if key in expect and ours != expect[key]:
            problems.append(f"{key} is {_short(ours)}, the chart's is {_short(expect[key])}")
    return problems


def check_catalog(case: Case) -> list[str]:
    """Disagreements of one catalog case.

    The one intended difference: where the chart refuses only because an equal size (or a base with other slashes) is spelled
    otherwise, the product keeps the live spelling. What it then writes must render exactly what is live.
    """
    expect = case["expect"]
    state = ClusterState.from_objects(stamped(case["objects"]))
    report = report_catalog(case["values"], state)
    refused = [finding["id"] for finding in report["refusals"]]
    problems = _not_judged(report)
    if expect.get("refused_by") == "golden-immutable" and not refused:
        return problems + _spelling_kept(report, case["objects"])
    if "refused_by" in expect:
        problems += _refusal(expect["refused_by"], refused)
        return problems + _drifted(expect, report)
    problems += [f"refused by {', '.join(refused)}, but the chart renders"] if refused else []
    rendered = render_goldens(Catalog.from_values(case["values"]))
    if "golden_images" in expect and rendered != expect["golden_images"]:
        problems.append(f"golden images are {_short(rendered)}, the chart's are {_short(expect['golden_images'])}")
    return problems


def _refusal(wanted: str, refused: list[str]) -> list[str]:
    return [] if wanted in refused else [f"the chart refuses by {wanted}, we by {', '.join(refused) or 'nothing'}"]


def _not_judged(report: Mapping[str, Any]) -> list[str]:
    return [f"rule {finding['id']} was not judged" for finding in report["not_judged"]]


def _drifted(expect: Case, report: Mapping[str, Any]) -> list[str]:
    if "fields" not in expect:
        return []
    ours = sorted({name for finding in report["refusals"] for name in finding["evidence"].get("fields", ())})
    wanted = sorted({_ADDRESS.get(name, name) for name in expect["fields"]})
    return [] if ours == wanted else [f"drifted fields are {ours}, the chart's are {wanted}"]


def _spelling_kept(report: Mapping[str, Any], objects: Iterable[Mapping[str, Any]]) -> list[str]:
    live = {
        (obj["metadata"].get("namespace"), obj["metadata"]["name"]): obj
        for obj in objects
        if obj["kind"] == "DataVolume"
    }
    problems = []
    for golden in report["golden_images"]:
        meta = golden["metadata"]
        standing = live.get((meta["namespace"], meta["name"]), {}).get("spec", {})
        problems += [
            f"{meta['name']}: what we write renders {golden['spec'][part]}, live is {standing[part]}"
            for part in ("source", "storage")
            if standing.get(part) and golden["spec"][part] != standing[part]
        ]
    return problems


def _short(value: Any) -> str:
    written = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return written if len(written) <= 400 else f"{written[:400]}..."
