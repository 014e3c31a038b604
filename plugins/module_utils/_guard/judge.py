# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judge a catalog or pools by every rule at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._pool.pool import POOL_DEFAULTS, Pool, published_defaults
from .._storage.reading import mapping
from .alike import Alike, shape_of
from .case import PoolCase
from .catalog import CatalogCase
from .findings import Finding, Verdict
from .import_case import ImportCase
from .importing import IMPORT_RULES, STORAGE_RULES, OneGolden
from .retire import RETIRE_RULES, RetireCase
from .rule import Found, NotRead, Rule
from .state import ClusterState
from .table import CATALOG_RULES, POOL_RULES

_READS = {
    "data_volumes": "DataVolumes (cdi.kubevirt.io)",
    "claims": "PersistentVolumeClaims",
    "storage_classes": "StorageClasses (storage.k8s.io)",
    "machine_deployments": "MachineDeployments (cluster.x-k8s.io)",
    "control_planes": "KamajiControlPlanes (controlplane.cluster.x-k8s.io)",
    "storage_profiles": "StorageProfiles (cdi.kubevirt.io)",
    "cdis": "CDI objects (cdi.kubevirt.io)",
    "snapshot_classes": "VolumeSnapshotClasses (snapshot.storage.k8s.io)",
    "csi_drivers": "CSIDrivers (storage.k8s.io)",
    "instance_types": "VirtualMachineClusterInstancetypes (instancetype.kubevirt.io)",
}


def judge_catalog(values: Mapping[str, Any], state: ClusterState, rules: Sequence[Rule] = CATALOG_RULES) -> Verdict:
    """Judge a catalog's values block (``imageFactoryURL``, ``storageClass``, ``storage``, ``images``) against the cluster."""
    return _verdict([(CatalogCase(values, state), rules)])


def judge_import(case: ImportCase, rules: Sequence[Rule] = IMPORT_RULES) -> Verdict:
    """Judge a golden that is to be imported or adopted."""
    cases: list[tuple[Any, Sequence[Rule]]] = [(case, rules)]
    if case.making and case.cluster is not None:
        # The size of a file is known exactly; that of a release only by its table.
        shared = STORAGE_RULES if case.raw_size is None else STORAGE_RULES[1:]
        cases.append((OneGolden({}, case.cluster, case.wanted), shared))
    return _verdict(cases)


def judge_retirement(case: RetireCase, rules: Sequence[Rule] = RETIRE_RULES) -> Verdict:
    """Judge whether a golden may go."""
    return _verdict([(case, rules)])


def judge_pools(pools: Sequence[Pool], state: ClusterState, rules: Sequence[Rule] = POOL_RULES) -> Verdict:
    """Judge pools against the cluster: all refusals of all pools, in the order of the pools and of the rule table.

    Pools that carry the built-in defaults are judged with those that the cluster publishes, when its schema is known.
    """
    alike, answers = Alike(rules), _Answers()
    for pool in with_published(pools, state):
        case = PoolCase(pool, state)
        shape = shape_of(case)
        alike.learn(shape, answers.ask(case, alike.rules_for(shape)))
    return answers.verdict()


def with_published(pools: Iterable[Pool], state: ClusterState) -> tuple[Pool, ...]:
    """The pools with the defaults that the cluster publishes, where they carry the built-in ones."""
    if state.pool_schema is None:
        return tuple(pools)
    defaults = published_defaults(mapping(state.pool_schema, "properties") or state.pool_schema)
    return tuple(pool.with_defaults(defaults) if pool.defaults is POOL_DEFAULTS else pool for pool in pools)


def _verdict(cases: Iterable[tuple[Any, Sequence[Rule]]]) -> Verdict:
    answers = _Answers()
    for case, rules in cases:
        answers.ask(case, rules)
    return answers.verdict()


class _Answers:
    """What rules have said so far."""

    def __init__(self) -> None:
        self._refusals: list[Finding] = []
        self._advice: list[Finding] = []
        self._not_judged: list[Finding] = []

    def ask(self, case: Any, rules: Sequence[Rule]) -> list[Rule]:
        """Ask these rules; those that had something to say."""
        spoke = []
        for item in rules:
            said = False
            try:
                for hit in item.check(case):
                    refuses = item.refuses if hit.refuses is None else hit.refuses
                    (self._refusals if refuses else self._advice).append(finding(item, case.subject, hit))
                    said = True
            except NotRead as missing:
                self._not_judged.append(_not_judged(case.subject, item, missing.needs))
                said = True
            if said:
                spoke.append(item)
        return spoke

    def verdict(self) -> Verdict:
        return Verdict(tuple(self._refusals), tuple(self._advice), tuple(self._not_judged))


def finding(item: Rule, subject: str, hit: Found) -> Finding:
    """The finding that a hit of a rule becomes."""
    where = f"{subject} {hit.field}" if hit.field else subject
    return Finding(item.id, where, hit.message, hit.remedy or item.remedy, hit.evidence)


def _not_judged(subject: str, item: Rule, needs: str) -> Finding:
    what = _READS.get(needs, needs)
    return Finding(
        item.id,
        subject,
        f"rule {item.id} was not judged: {what} were not read",
        f"Allow reading {what}, or pass them in.",
        {"needs": needs},
    )
