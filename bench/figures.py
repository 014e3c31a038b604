# SPDX-License-Identifier: Apache-2.0
"""What the figures of bench/pools.py mean: ratios, targets, the Markdown table. Nothing is measured here.

python bench/figures.py --write   put the figures of the last run (.lab/bench.json) beside this file, and their table into README.md
python bench/figures.py --check   whether README.md shows the table of those figures
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LAST, KEPT, README = ROOT / ".lab" / "bench.json", ROOT / "bench" / "figures.json", ROOT / "README.md"
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"

WORKS = {
    "nothing": "nothing to do",
    "one": "one pool changed",
    "hundred": "{many} pools changed",
    "report": "guard report only",
}
CONTENDERS = {
    "product": "this collection",
    "kubectl": "`kubectl apply`",
    "k8s_list": "`kubernetes.core.k8s`, list",
    "k8s_loop": "`kubernetes.core.k8s`, loop",
}
Site = Mapping[str, Any]


@dataclass(frozen=True)
class Target:
    """What must hold. ``value`` is measured, the unit is in ``text``."""

    text: str
    limit: float
    value: float

    @property
    def met(self) -> bool:
        return self.value <= self.limit

    def as_dict(self) -> dict[str, Any]:
        return {"text": self.text, "limit": self.limit, "value": self.value, "met": self.met}


def ratios(site: Site) -> dict[str, dict[str, float]]:
    """For each work, the product's whole process over each other contender's; ``job_over_raw_list`` under ``module``."""
    found: dict[str, dict[str, float]] = {}
    for work, measured in site["works"].items():
        mine = measured["product"]["seconds"]
        others = {name: _quotient(mine, one["seconds"]) for name, one in measured.items() if name != "product"}
        if others:
            found[work] = others
    raw = site["raw_list_seconds"]
    found["module"] = {
        f"{work}_job_over_raw_list": _quotient(one["job_seconds"], raw) for work, one in site["module"].items()
    }
    return found


def _quotient(value: float, by: float) -> float:
    """Three significant digits, so that 1/200 can be told from 1/300."""
    return float(f"{value / by:.3g}") if by else 0.0


def targets(sites: Mapping[int, Site]) -> list[Target]:
    """Every promise that these sites can prove; those about 1,000 pools need a site of that size."""
    found = list(_of_thousand(sites[1000])) if 1000 in sites else []
    for pools, site in sorted(sites.items()):
        if pools >= 1000:
            product = site["works"]["nothing"]["product"]
            asked = product["requests"] - product["pages"]
            found.append(Target(f"requests for {pools:,} pools, further pages aside, nothing to do", 12, asked))
    if 10000 in sites:
        peak = max(one["peak_mib"] for one in sites[10000]["module"].values())
        found.append(Target("MiB of memory of the module for 10,000 pools, at the most", 600, round(peak)))
    if 1000 in sites and 10000 in sites:
        large, small = (sites[pools]["works"]["nothing"]["product"]["seconds"] for pools in (10000, 1000))
        found.append(Target("10,000 pools over 1,000, nothing to do", 12, _quotient(large, small)))
    return found


def _of_thousand(site: Site) -> Iterator[Target]:
    found, work = ratios(site), site["works"]
    for name, limit in (("kubectl", 0.35), ("k8s_list", 0.2), ("k8s_loop", 1 / 200)):
        text = f"whole `ansible-playbook` over {CONTENDERS[name]}, nothing to do"
        yield Target(text, limit, found["nothing"][name])
    yield Target("the module's job over one raw list, nothing to do", 6, found["module"]["nothing_job_over_raw_list"])
    changed = work["hundred"]["product"]
    yield Target("writes for 100 changed pools", 100, changed["writes"])
    yield Target("other requests for 100 changed pools", 20, changed["requests"] - changed["writes"])


def table(figures: Mapping[str, Any]) -> str:
    """Markdown: one table for each size of site, what the module itself needs, the promises, and how it was made."""
    sites = {int(pools): site for pools, site in figures["sites"].items()}
    parts = [_site_table(pools, site) for pools, site in sorted(sites.items())]
    promises = targets(sites)
    if promises:
        lines = ["| promise | at most | measured |", "|---|---|---|"]
        lines += [
            f"| {one.text} | {one.limit:.3g} | {one.value:.3g}{'' if one.met else ' (missed)'} |" for one in promises
        ]
        parts.append("\n".join(lines))
    machine = figures["machine"]
    parts.append(
        f"Made by `{figures['command']}` on {machine['cores']} cores (load {machine['load']:g} before), Python "
        f"{machine['python']}, ansible-core {machine['ansible_core']}, kubectl {machine['kubectl']}, kubernetes.core "
        f"{machine['kubernetes_core']}. Seconds are of the whole process, medians of the runs; requests are those that the API "
        "server has logged; in brackets, this collection's time divided by theirs. The loop is measured with 40 pools and "
        "scaled. The lab's app API is written in Python and slower than the platform's: that favours whoever asks it seldom."
    )
    return "\n\n".join(parts)


def _site_table(pools: int, site: Site) -> str:
    others = [name for name in CONTENDERS if any(name in one for one in site["works"].values())]
    heads = [CONTENDERS[name] + (" (scaled)" if name == "k8s_loop" else "") for name in others]
    lines = [
        f"| {pools:,} pools in {site['tenants']:,} tenants | {' | '.join(heads)} |",
        "|---" * (len(heads) + 1) + "|",
    ]
    found = ratios(site)
    for work, text in WORKS.items():
        measured = site["works"].get(work)
        if measured:
            cells = [_cell(measured.get(name), found.get(work, {}).get(name)) for name in others]
            lines.append(f"| {text.format(many=min(pools, 100))} | {' | '.join(cells)} |")
    own = [
        f"{WORKS[work]}: {one['job_seconds']:.2f} s for its job, {one['seconds']:.2f} s as a process, {one['peak_mib']:.0f} MiB"
        for work, one in site["module"].items()
    ]
    lines += ["", f"The module itself: {'; '.join(own)}. One raw list of the pools: {site['raw_list_seconds']:.3f} s."]
    return "\n".join(lines)


def _cell(one: Mapping[str, Any] | None, ratio: float | None) -> str:
    if one is None:
        return ""
    beside = f" ({ratio:.2g})" if ratio is not None else ""
    return f"{one['seconds']:.1f} s{beside}, {one['requests']:,} requests"


def placed(text: str, block: str) -> str:
    """The text with the block between the markers. Errors: ValueError when they are not there, once each and in order."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in rest or END in after:
        raise ValueError(f"there have to be one {BEGIN} and one {END} after it")
    return f"{before}{BEGIN}\n\n{block}\n\n{END}{after}"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", action="store_true", help="take the figures of the last run over")
    what.add_argument("--check", action="store_true", help="compare README.md with the figures")
    if parser.parse_args(argv).write:
        KEPT.write_text(json.dumps(json.loads(LAST.read_text()), indent=2) + "\n")
        README.write_text(placed(README.read_text(), table(json.loads(KEPT.read_text()))))
        return 0
    text = README.read_text()
    if placed(text, table(json.loads(KEPT.read_text()))) == text:
        return 0
    print(
        "README.md does not show the table of bench/figures.json; write it: python bench/figures.py --write",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
