# SPDX-License-Identifier: Apache-2.0
"""What holds for every cluster state, over the recorded ones with generated surroundings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.findings import Verdict
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.judge import judge_pools
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.state import ClusterState
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.pool import Pool
from hypothesis import given, settings
from hypothesis import strategies as st

from .build import CLONE, GOLDEN, NAMESPACE, deployment, disk, golden, storage_class
from .checks import recorded_pools

CASES = recorded_pools()


def pool_of(case: Mapping[str, Any]) -> Pool:
    given_pool = case["pool"]
    return Pool.named(given_pool["namespace"], given_pool["name"], given_pool.get("spec") or {})


def judged(pools: list[Pool], objects: list[Any]) -> Verdict:
    return judge_pools(pools, ClusterState.from_objects(objects))


def about(verdict: Verdict, pool: Pool) -> list[Any]:
    """Everything that is said of one pool."""
    found = (*verdict.refusals, *verdict.advice, *verdict.not_judged)
    return [finding for finding in found if finding.subject.split(" ")[0] == pool.subject]


names = st.text("abcdefgh-0123456789", min_size=1, max_size=8).map(lambda text: f"x{text.strip('-')}")
strangers = st.lists(
    st.one_of(
        # Worker disks of other pools, here and elsewhere, of the same golden and of others.
        st.builds(
            lambda name, namespace, source: disk(
                pool=f"kubernetes-other-{name}", source=source, name=f"{name}-disk-system", namespace=namespace
            ),
            names,
            st.sampled_from([NAMESPACE, "tenant-other"]),
            st.sampled_from([GOLDEN, "talos-worker-abc-v1.13.0"]),
        ),
        # Goldens of other pairs, in any state.
        st.builds(
            lambda name, phase: golden(name=f"talos-worker-{name}-v1.12.0", phase=phase),
            names,
            st.sampled_from(["Succeeded", "Failed", "ImportInProgress", ""]),
        ),
        # Classes that are nobody's default.
        st.builds(lambda name: storage_class(f"unrelated-{name}"), names),
        # Deployments of other pools.
        st.builds(lambda name: deployment(name=f"kubernetes-other-{name}"), names),
    ),
    max_size=6,
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(CASES), strangers)
def test_unrelated_disks_goldens_classes_and_deployments_change_nothing(
    case: Mapping[str, Any], others: list[Any]
) -> None:
    pool, objects = pool_of(case), list(case["objects"])
    assert about(judged([pool], [*objects, *others]), pool) == about(judged([pool], objects), pool)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(CASES), st.sampled_from(CASES), st.booleans())
def test_another_pool_in_the_list_changes_nothing(
    case: Mapping[str, Any], other: Mapping[str, Any], first: bool
) -> None:
    pool = pool_of(case)
    elsewhere = pool_of(other)
    stranger = Pool("tenant-other", elsewhere.cluster, elsewhere.pool, elsewhere.spec, f"{elsewhere.name}")
    pools = [stranger, pool] if first else [pool, stranger]
    assert about(judged(pools, list(case["objects"])), pool) == about(judged([pool], list(case["objects"])), pool)


@given(names, names)
def test_a_pool_never_answers_for_one_whose_name_it_begins(pool: str, suffix: str) -> None:
    """Pool md0 has not cloned because md0-gpu has, nor the other way round."""
    longer = f"{pool}-{suffix}"
    for mine, theirs in ((pool, longer), (longer, pool)):
        wanted = Pool(NAMESPACE, "myk8s", mine, CLONE)
        sibling = disk(pool=f"kubernetes-myk8s-{theirs}")
        own = disk(pool=f"kubernetes-myk8s-{mine}")
        assert "golden-absent" in {finding.id for finding in judged([wanted], [sibling]).refusals}
        assert "golden-absent" not in {finding.id for finding in judged([wanted], [own]).refusals}


@settings(max_examples=300, deadline=None)
@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(-5, 99), st.floats(allow_nan=False), st.text(max_size=6)),
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
        max_leaves=6,
    ),
    st.sampled_from(
        ["cluster", "osImage", "talos", "resources", "diskSize", "roles", "gpus", "kubelet", "version", "minReplicas"]
    ),
)
def test_any_value_anywhere_is_judged_without_a_crash(value: Any, key: str) -> None:
    judged([Pool(NAMESPACE, "myk8s", "md0", {**CLONE, key: value})], [golden()])


def test_the_table_of_talos_windows_can_be_overridden() -> None:
    pool = Pool(NAMESPACE, "myk8s", "md0", {**CLONE, "osImage": {"factory": {"version": "v1.20.0"}}})
    for windows, expected in ((None, False), ({"v1.20": (40, 45)}, True), ({"v1.20": (30, 45)}, False)):
        verdict = judge_pools([pool], ClusterState(talos_windows=windows))
        assert ("talos-window-unlisted" in {finding.id for finding in verdict.advice}) is expected
