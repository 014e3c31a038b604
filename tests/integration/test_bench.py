# SPDX-License-Identifier: Apache-2.0
"""The benchmark on a site so small that its figures mean nothing: every contender does what it is told, and no more."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bench import contenders, figures, pools
from bench.measured import measured_site
from lab.api import Api, Object

POOLS = 20


@pytest.mark.lab
def test_a_patch_without_news_changes_nothing_from_the_first_time(tmp_path: Path) -> None:
    """Else kubernetes.core, which patches every pool, would write a thousand of them when it has nothing to do."""

    async def patched(declared: Object) -> tuple[str, str]:
        async with Api(site.kubeconfig, "lab-test") as api:
            meta = declared["metadata"]
            before = await api.get("KubernetesNodes", meta["name"], meta["namespace"])
            after = await api.patch("KubernetesNodes", meta["name"], declared, meta["namespace"])
            return (before or {})["metadata"]["resourceVersion"], after["metadata"]["resourceVersion"]

    with measured_site(tmp_path / "lab", 2) as site:
        for declared in site.manifests:
            before, after = asyncio.run(patched(declared))
            assert before == after


@pytest.mark.lab
def test_every_contender_does_the_work_that_it_is_measured_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contenders, "LOOP", 2)
    monkeypatch.setattr(pools, "LOOP", 2)
    found = pools.measure([POOLS], 1, "test")
    works = found["sites"][str(POOLS)]["works"]
    assert {name: one["writes"] for name, one in works["hundred"].items()} == dict.fromkeys(works["one"], POOLS)
    assert {work: one["product"]["writes"] for work, one in works.items()} == {
        "nothing": 0, "one": 1, "hundred": POOLS, "report": 0,
    }  # fmt: skip
    assert works["nothing"]["k8s_loop"]["scaled_from"] == 2
    assert all(
        one["seconds"] > 0 and one["peak_mib"] > 10 and one["requests"]
        for work in works.values()
        for one in work.values()
    )
    assert "20 pools in 1 tenants" in figures.table(found)


def test_probe_sees_the_largest_process_of_a_tree() -> None:
    """A child that takes 200 MiB; the parent that measures stays small."""
    hungry = "import sys; held = bytearray(200 << 20); print(len(held)); sys.exit(3)"
    shell = f"{pools.sys.executable} -c '{hungry}'; exit 7"
    found = contenders.probe("run", "sh", "-c", shell)
    assert (found["code"], found["output"]) == (7, f"{200 << 20}\n")
    assert 200 < found["peak_mib"] < 300
    assert contenders.probe("run", "true")["peak_mib"] < 40
