# SPDX-License-Identifier: Apache-2.0
"""The recorded verdicts as a table, and proof that the comparison can fail."""

from __future__ import annotations

import copy
import json

import pytest

from . import cases
from .__main__ import main

POOLS, CATALOGS = cases.load(cases.POOLS), cases.load(cases.CATALOGS)


@pytest.mark.parametrize("case", POOLS, ids=lambda case: case["id"])
def test_pool_agrees_with_chart(case):
    assert cases.check_pool(case) == []


@pytest.mark.parametrize("case", CATALOGS, ids=lambda case: case["id"])
def test_catalog_agrees_with_chart(case):
    assert cases.check_catalog(case) == []


def _pool(case_id, **expect):
    case = copy.deepcopy(next(case for case in POOLS if case["id"] == case_id))
    case["expect"] = expect
    return case


def test_comparison_notices_a_missing_refusal():
    assert cases.check_pool(_pool("source/builtin-empty", refused_by="golden-absent")) == [
        "the chart refuses by golden-absent, we by nothing"
    ]


def test_comparison_notices_a_false_refusal():
    problems = cases.check_pool(_pool("golden/absent", machine_template="kubernetes-myk8s-md0-2e82d0"))
    assert problems == ["refused by golden-absent, but the chart renders"]


def test_comparison_notices_another_template_and_disk():
    problems = cases.check_pool(_pool("source/builtin-empty", machine_template="kubernetes-myk8s-md0-000000", disk={}))
    assert [problem.split()[0] for problem in problems] == ["machine_template", "disk"]


def test_comparison_notices_another_drift():
    case = copy.deepcopy(next(case for case in CATALOGS if case["id"] == "catalog/live-storage-raised"))
    case["expect"]["fields"] = ["storageClass"]
    assert cases.check_catalog(case) == ["drifted fields are ['storage'], the chart's are ['storageClass']"]


def test_main_counts_and_fails(tmp_path, capsys):
    right, wrong = POOLS[0], _pool("golden/absent", disk=None)
    file = tmp_path / "pools.json"
    file.write_text(json.dumps([right, wrong]))
    none = tmp_path / "none.json"
    none.write_text("[]")
    assert main(["--pools", str(file), "--catalogs", str(none)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "golden/absent: refused by golden-absent, but the chart renders"
    assert lines[-1] == "1 passed, 1 failed"
    assert main(["--pools", str(none), "--catalogs", str(none)]) == 0
    assert capsys.readouterr().out == "0 passed, 0 failed\n"
