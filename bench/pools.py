# SPDX-License-Identifier: Apache-2.0
"""What work on many pools costs, beside kubectl and kubernetes.core doing the same in the same run.

python bench/pools.py [--runs N] [--pools 1000|10000|all]

Writes .lab/bench.json and prints a Markdown table (bench/figures.py puts it into README.md). Exit code 1 when a promise is not
kept; the promises are about 1,000 and 10,000 pools, fewer are a quick look at whether everything works.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import signal
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from importlib.metadata import version

from bench import figures
from bench.contenders import (
    LOOP,
    BenchError,
    Contender,
    CoreList,
    CoreLoop,
    Cost,
    Kubectl,
    Product,
    Report,
    kubernetes_core_version,
    module_cost,
    probe,
)
from bench.measured import MeasuredSite, measured_site, options
from lab import binaries, instance

SIZES = (1000, 10000)
_MANY = 1000  # above, one run tells enough, and the others are asked for nothing but the first work
_POOLS_PATH = "/apis/apps.cozystack.io/v1alpha1/kubernetesnodeses"


class Bench:
    """All works on one site. Pools change from work to work, so that each run has something to do."""

    def __init__(self, site: MeasuredSite, folder: Path, runs: int) -> None:
        self.site, self.folder = site, folder
        self.runs = runs if site.pools <= _MANY else 1
        self._most = 3

    def measured(self) -> dict[str, Any]:
        """What .lab/bench.json says about a site."""
        small, site = self.site.pools <= _MANY, self.site
        kubectl, product = Kubectl(site, self.folder), Product(site, self.folder)
        works: dict[str, dict[str, Any]] = {"nothing": {}, "one": {}, "hundred": {}, "report": {}}
        module, raw = self._nothing(works, {"kubectl": kubectl, "product": product})
        # kubectl first: a pool that somebody else has changed would get its annotation anew.
        self._changes(works, "kubectl", kubectl, self.runs if small else 0)
        self._changes(works, "product", product, self.runs)
        works["report"]["product"] = self._median(Report(site, self.folder), self.runs, 0)
        core = CoreList(site, self.folder)
        works["nothing"]["k8s_list"] = self._median(core, 1, 0)
        self._changes(works, "k8s_list", core, 1 if small else 0)
        loop = self._median(CoreLoop(site, self.folder), 1, 0)
        works["nothing"]["k8s_loop"] = scaled(loop, min(LOOP, site.pools), site.pools)
        return {
            "pools": site.pools,
            "tenants": site.tenants,
            "runs": self.runs,
            "fill_seconds": round(site.fill_seconds, 1),
            "raw_list_seconds": round(statistics.median(raw["seconds"]), 4),
            "raw_list_bytes": raw["bytes"],
            "works": works,
            "module": module,
        }

    def _nothing(
        self, works: dict[str, dict[str, Any]], contenders: dict[str, Contender]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Turn by turn, so that whatever else the machine does at the time disturbs all of them alike."""
        costs: dict[str, list[Cost]] = {name: [] for name in contenders}
        module: dict[str, list[dict[str, Any]]] = {"nothing": [], "report": []}
        raw: dict[str, Any] = {"seconds": []}
        for _ in range(self.runs):
            for name, contender in contenders.items():
                costs[name].append(contender.run(0))
            declared = [options(one) for one in self.site.manifests]
            module["nothing"].append(self._module("node_pools", {"pools": declared, "wait": "none"}))
            raw |= (again := probe("raw", self.site.kubeconfig, _POOLS_PATH, "5")) | {
                "seconds": raw["seconds"] + again["seconds"]
            }
            module["report"].append(self._module("node_pools_info", {}))
        for name in contenders:
            works["nothing"][name] = median(costs[name])
            self._say(name, 0, works["nothing"][name])
        return {work: medians(found) for work, found in module.items()}, raw

    def _changes(self, works: dict[str, dict[str, Any]], name: str, contender: Contender, runs: int) -> None:
        for work, count in (("one", 1), ("hundred", min(100, self.site.pools))):
            if runs:
                works[work][name] = self._median(contender, runs, count)

    def _median(self, contender: Contender, runs: int, changes: int) -> dict[str, Any]:
        costs: list[Cost] = []
        for _ in range(runs):
            self._most += 1
            self.site.change(changes, self._most)
            costs.append(contender.run(changes))
        found = median(costs)
        self._say(type(contender).__name__, changes, found)
        return found

    @staticmethod
    def _say(name: str, changes: int, found: dict[str, Any]) -> None:
        print(f"bench: {name}, {changes} changed: {found['seconds']} s", file=sys.stderr, flush=True)

    def _module(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return module_cost(self.site, self.folder, name, arguments)


def medians(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Key by key."""
    return {key: round(statistics.median(one[key] for one in found), 3) for key in found[0]}


def median(costs: Sequence[Cost]) -> dict[str, Any]:
    """Field by field; ``runs`` says of how many."""
    return medians([dataclasses.asdict(one) for one in costs]) | {"runs": len(costs)}


def scaled(one: dict[str, Any], measured: int, pools: int) -> dict[str, Any]:
    """The cost of a loop over all pools from one over some; memory does not grow."""
    factor, counts = pools / measured, ("requests", "writes", "pages")
    grown = {name: round(one[name] * factor, 3) for name in ("seconds", "cpu_seconds")}
    return one | grown | {name: round(one[name] * factor) for name in counts} | {"scaled_from": measured}


def machine() -> dict[str, Any]:
    kubectl = ".".join(str(number) for number in binaries.kubectl_version(binaries.kubectl(print)))
    return {
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "ansible_core": version("ansible-core"),
        "kubectl": kubectl,
        "kubernetes_core": kubernetes_core_version(),
    }


@contextmanager
def _bench(pools: int, runs: int) -> Iterator[Bench]:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        home, scratch = Path(folder) / "lab", Path(folder) / "scratch"
        scratch.mkdir()
        with measured_site(home, pools) as site:
            print(
                f"bench: {site.pools} pools in {site.tenants} tenants made in {site.fill_seconds:.1f} s",
                file=sys.stderr,
            )
            yield Bench(site, scratch, runs)


def measure(sizes: Sequence[int], runs: int, command: str) -> dict[str, Any]:
    """The content of .lab/bench.json. Errors: BenchError, and those of the lab."""
    found: dict[str, Any] = {"command": command, "machine": machine(), "sites": {}}
    for pools in sizes:
        with _bench(pools, runs) as bench:
            found["sites"][str(pools)] = bench.measured()
    sites = {int(pools): site for pools, site in found["sites"].items()}
    found["ratios"] = {str(pools): figures.ratios(site) for pools, site in sites.items()}
    found["targets"] = [target.as_dict() for target in figures.targets(sites)]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=int, default=3, help="runs of each work, up to 1,000 pools (default: 3)")
    parser.add_argument(
        "--pools", default="all", help="how many pools: a number, or all for 1,000 and 10,000 (default)"
    )
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the lab goes with us
    sizes = SIZES if arguments.pools == "all" else (int(arguments.pools),)
    command = f"python bench/pools.py --pools {arguments.pools} --runs {arguments.runs}"
    try:
        found = measure(sizes, arguments.runs, command)
    except BenchError as error:
        sys.exit(f"bench: {error}")
    figures.LAST.parent.mkdir(exist_ok=True)
    (figures.LAST.parent / instance.MARKER).touch()  # still a lab's home, as `make lab` wants it
    figures.LAST.write_text(json.dumps(found, indent=2) + "\n")
    print(figures.table(found))
    missed = [target["text"] for target in found["targets"] if not target["met"]]
    if missed:
        sys.exit(f"bench: missed: {'; '.join(missed)}")


if __name__ == "__main__":
    main()
