# SPDX-License-Identifier: Apache-2.0
"""What the benchmark makes of its figures, without measuring anything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench import figures
from bench.contenders import Cost
from bench.measured import applied
from bench.pools import median, scaled


def cost(seconds: float, requests: int = 14, writes: int = 0) -> dict[str, Any]:
    return {"seconds": seconds, "requests": requests, "writes": writes, "pages": 2, "peak_mib": 100.0, "runs": 3}


def site(product: float = 2.0, job: float = 0.5, peak: float = 90.0, other_requests: int = 10) -> dict[str, Any]:
    nothing = {"product": cost(product), "kubectl": cost(8, 1003), "k8s_list": cost(16, 2000)}
    works = {
        "nothing": nothing | {"k8s_loop": cost(500, 2000) | {"scaled_from": 40}},
        "one": {"product": cost(2.5, 16, 1)},
        "hundred": {"product": cost(3, 100 + other_requests, 100), "kubectl": cost(12, 1103, 100)},
        "report": {"product": cost(2.2)},
    }
    module = {"nothing": {"job_seconds": job, "seconds": 1.0, "peak_mib": peak}}
    return {"pools": 1000, "tenants": 50, "works": works, "module": module, "raw_list_seconds": 0.1}


MACHINE = {
    "cores": 2,
    "load": 0.5,
    "python": "3.13.0",
    "ansible_core": "2.21.5",
    "kubectl": "1.34",
    "kubernetes_core": "6.6.0",
}


def report(**sites: dict[str, Any]) -> dict[str, Any]:
    return {"command": "python bench/pools.py", "machine": MACHINE, "sites": sites}


def test_ratios_are_the_products_time_over_the_others() -> None:
    found = figures.ratios(site())
    assert found["nothing"] == {"kubectl": 0.25, "k8s_list": 0.125, "k8s_loop": 0.004}
    assert found["hundred"] == {"kubectl": 0.25}
    assert found["module"] == {"nothing_job_over_raw_list": 5.0}
    assert "report" not in found, "nobody else reports"


@pytest.mark.parametrize(
    ("changed", "missed"),
    [
        ({}, set()),
        ({"product": 2.9}, {"kubectl apply", "loop"}),
        ({"product": 3.3}, {"kubectl apply", "list", "loop"}),
        ({"job": 0.61}, {"raw list"}),
        ({"other_requests": 21}, {"other requests"}),
    ],
)
def test_targets_of_a_thousand_pools(changed: dict[str, Any], missed: set[str]) -> None:
    found = {target.text for target in figures.targets({1000: site(**changed)}) if not target.met}
    assert len(found) == len(missed)
    assert all(any(word in text for text in found) for word in missed)


@pytest.mark.parametrize(("product", "peak", "missed"), [(24.0, 600.0, 0), (24.2, 600.0, 1), (24.0, 601.0, 1)])
def test_targets_of_ten_thousand_pools(product: float, peak: float, missed: int) -> None:
    sites = {1000: site(), 10000: site(product=product, peak=peak)}
    assert sum(not target.met for target in figures.targets(sites)) == missed


def test_a_small_site_promises_nothing() -> None:
    assert figures.targets({20: site()}) == []


def test_table() -> None:
    lines = figures.table(report(**{"1000": site(), "20": site()})).splitlines()
    assert lines[0].startswith("| 20 pools in 50 tenants | this collection | `kubectl apply` | ")
    assert (
        "| nothing to do | 2.0 s, 14 requests | 8.0 s (0.25), 1,003 requests | 16.0 s (0.12), 2,000 requests |"
        in "\n".join(lines)
    )
    assert "| 20 pools changed | " in "\n".join(lines)
    assert "| 100 pools changed | 3.0 s, 110 requests | 12.0 s (0.25), 1,103 requests |  |  |" in lines
    assert "| guard report only | 2.2 s, 14 requests |  |  |  |" in lines
    assert "(scaled)" in lines[0]
    widths = {line.count("|") for line in lines if line.startswith("|")}
    assert widths == {6, 4}, "every row has the cells of its head"
    assert not any("missed" in line for line in lines)
    assert "0.41 (missed)" in figures.table(report(**{"1000": site(product=3.28)}))


def test_placed_between_the_markers_again_and_again() -> None:
    text = f"before\n{figures.BEGIN}\nold\n{figures.END}\nafter\n"
    once = figures.placed(text, "new")
    assert once == f"before\n{figures.BEGIN}\n\nnew\n\n{figures.END}\nafter\n"
    assert figures.placed(once, "new") == once


@pytest.mark.parametrize(
    "text",
    ["", figures.BEGIN, figures.END + figures.BEGIN, figures.BEGIN * 2 + figures.END, figures.BEGIN + figures.END * 2],
)
def test_placed_refuses_a_text_without_the_two_markers(text: str) -> None:
    with pytest.raises(ValueError, match="there have to be one"):
        figures.placed(text, "new")


def test_write_and_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("LAST", "KEPT", "README"):
        monkeypatch.setattr(figures, name, tmp_path / name)
    figures.README.write_text(f"text {figures.BEGIN}{figures.END}\n")
    figures.LAST.write_text(json.dumps(report(**{"1000": site()})))
    assert figures.main(["--write"]) == 0
    assert "1,000 pools in 50 tenants" in figures.README.read_text()
    assert figures.main(["--check"]) == 0
    figures.README.write_text(figures.README.read_text().replace("8.0 s", "9.0 s"))
    assert figures.main(["--check"]) == 1
    assert "bench/figures.py --write" in capsys.readouterr().err


def test_median_field_by_field() -> None:
    found = median([Cost(3.0, 0.3, 50, 10, 0, 0), Cost(1.0, 0.2, 70, 12, 0, 2), Cost(2.0, 0.1, 60, 11, 0, 1)])
    assert found == {
        "seconds": 2.0,
        "cpu_seconds": 0.2,
        "peak_mib": 60,
        "requests": 11,
        "writes": 0,
        "pages": 1,
        "runs": 3,
    }


def test_a_loop_is_scaled_and_says_so() -> None:
    found = scaled(median([Cost(20.0, 18.0, 80, 80, 40, 0)]), 40, 1000)
    assert found == {
        "seconds": 500.0, "cpu_seconds": 450.0, "peak_mib": 80, "requests": 2000, "writes": 1000, "pages": 0, "runs": 1, "scaled_from": 40,
    }  # fmt: skip


def test_what_kubectl_remembers() -> None:
    declared = {"kind": "K", "apiVersion": "v", "metadata": {"namespace": "n", "name": "m"}, "spec": {"b": {}, "a": 1}}
    assert applied(declared) == (
        '{"apiVersion":"v","kind":"K","metadata":{"annotations":{},"name":"m","namespace":"n"},"spec":{"a":1,"b":{}}}\n'
    )
