# SPDX-License-Identifier: Apache-2.0
"""What a run costs, as ratios measured in one go: machines differ, ratios less so.

    python bench/run.py [--runs N]

Compares a run of node_pools_info and of a no-op node_pools over few and over many pools with a task that does nothing.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.integration.site import PRODUCT, Site


def timed(site: Site, runs: int, task: dict[str, Any]) -> tuple[float, int]:
    """(median seconds of a whole ansible-playbook process, requests of one run)."""
    seconds, requests = [], 0
    for _ in range(runs):
        mark, started = site.mark(), time.monotonic()
        run = site.play(task)
        seconds.append(time.monotonic() - started)
        if run.result.get("failed"):
            sys.exit(f"bench: {run.result.get('msg')}")
        requests = site.since(mark).count()
    return statistics.median(seconds), requests


def pools_of(site: Site, most: int) -> list[dict[str, Any]]:
    """Declarations that agree with live pools, so that there is nothing to do."""
    found = site.list("KubernetesNodes")[:most]
    return [
        {
            "namespace": item["metadata"]["namespace"],
            "cluster": item["spec"]["cluster"],
            "pool": item["metadata"]["name"].removeprefix(f"{item['spec']['cluster']}-"),
            "spec": {"maxReplicas": item["spec"]["maxReplicas"], "diskSize": item["spec"]["diskSize"]},
        }
        for item in found
    ]


def measure(site: Site, runs: int) -> dict[str, Any]:
    site.scenario("thousand-pools")
    nothing, _ = timed(site, runs, {"ansible.builtin.command": {"cmd": "true"}})
    few, few_requests = timed(site, runs, {f"{PRODUCT}.node_pools": {"pools": pools_of(site, 4), "wait": "none"}})
    many_pools = pools_of(site, 1000)
    many, many_requests = timed(site, runs, {f"{PRODUCT}.node_pools": {"pools": many_pools, "wait": "none"}})
    info, info_requests = timed(site, runs, {f"{PRODUCT}.node_pools_info": {}})
    return {
        "runs": runs,
        "pools": len(many_pools),
        "node_pools_4_over_nothing": round(few / nothing, 2),
        "node_pools_all_over_nothing": round(many / nothing, 2),
        "node_pools_info_all_over_nothing": round(info / nothing, 2),
        "requests_4": few_requests,
        "requests_all": many_requests,
        "requests_info": info_requests,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lab = [sys.executable, "-m", "lab"]
        subprocess.run([*lab, "build"], cwd=ROOT, check=True)
        subprocess.run([*lab, "up", "--home", folder], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        try:
            figures = measure(Site(Path(folder)), arguments.runs)
        finally:
            subprocess.run([*lab, "down", "--home", folder], cwd=ROOT, check=False, stdout=subprocess.DEVNULL)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
