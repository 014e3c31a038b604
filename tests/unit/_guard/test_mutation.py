# SPDX-License-Identifier: Apache-2.0
"""The mutation run on the rules that matter most, and proof that it can find a survivor.

All rules are tried by ``python -m tests.unit._guard.mutants``, which takes minutes.
"""

from __future__ import annotations

import pytest

from . import mutants

SAMPLE = frozenset(
    {
        "golden_absent",
        "golden_failed",
        "failed_attempt",
        "storage_class_mismatch",
        "disk_smaller_than_golden",
        "cloned_disks",
    }
)


def test_no_mutant_of_the_golden_rules_survives():
    tried, alive = mutants.survivors(SAMPLE)
    assert alive == []
    assert tried >= 20


def test_the_tables_are_sound_before_anything_is_changed():
    assert mutants.noticed() == ""


def test_a_mutant_is_in_place_only_while_it_is_installed():
    name = "_guard.golden.golden_absent:without `case.golden_exists`"
    (mutant,) = [
        item for item in mutants.mutants_of("_guard.golden", frozenset({"golden_absent"})) if item.name == name
    ]
    with mutants.installed(mutant):
        assert mutants.noticed() != ""
    assert mutants.noticed() == ""


def test_a_mutant_that_nothing_notices_is_reported(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(mutants, "noticed", lambda: "")
    monkeypatch.setattr(mutants, "noticed_by_tests", lambda: False)
    tried, alive = mutants.survivors(frozenset({"golden_failed"}))
    assert tried == len(alive) > 0


def test_main_prints_the_counts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(mutants, "survivors", lambda wanted: (7, ["a"]))
    assert mutants.main([]) == 1
    assert capsys.readouterr().out == "a\n7 mutants, 1 survived\n"
