# SPDX-License-Identifier: Apache-2.0
"""Verdicts, how they settle, and how they read."""

from __future__ import annotations

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard import package
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.findings import Finding, Verdict, settle
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.judge import judge_pools
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.report import (
    describe_pool,
    report_catalog,
    report_pools,
    resolved_class,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.state import ClusterState
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.table import (
    ALL_RULES,
    CATALOG_RULES,
    POOL_RULES,
    known_ids,
    rule_of,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._plan.catalog import PlatformPackage
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.pool import Pool

from .build import CLONE, GOLDEN, NAMESPACE, SIZED, claim, disk, golden, storage_class

GONE = Finding("golden-absent", "t/a osImage.builtin", "it is gone", "bring it back", {"golden": "g"})
COPY = Finding("clone-strategy-copy", "t/a", "it copies", "stop it", {})


def test_finding_as_dict_has_exactly_five_keys():
    assert GONE.as_dict() == {
        "id": "golden-absent",
        "subject": "t/a osImage.builtin",
        "message": "it is gone",
        "remedy": "bring it back",
        "evidence": {"golden": "g"},
    }


def test_text_is_a_few_lines():
    assert GONE.text() == "t/a osImage.builtin: it is gone [golden-absent]\n    What to do: bring it back"
    assert Verdict((GONE, COPY)).refusal_text().count("\n") == 3
    assert Verdict().refusal_text() == ""


def test_settle_moves_both_ways_and_says_so():
    verdict = Verdict((GONE,), (COPY,))
    assert settle(verdict) == verdict
    raised = settle(verdict, refuse_on=["clone-strategy-copy"])
    assert (raised.refusals, raised.advice) == ((GONE, COPY), ())
    passed = settle(verdict, accept=["golden-absent"])
    assert (passed.refusals, passed.advice, passed.accepted) == ((), (COPY,), (GONE,))
    assert not passed.refused
    both = settle(verdict, ["clone-strategy-copy"], ["clone-strategy-copy"])
    assert (both.refusals, both.accepted) == ((GONE,), (COPY,))


@pytest.mark.parametrize("option", ["refuse_on", "accept"])
def test_settle_refuses_unknown_ids_with_the_nearest(option):
    with pytest.raises(
        ValueError, match=rf"{option}: there is no rule with the id 'golden-absnt'; did you mean golden-absent\?"
    ):
        settle(Verdict(), **{option: ["golden-absnt"]})
    with pytest.raises(ValueError, match=r"'zzz'$"):
        settle(Verdict(), **{option: ["zzz"]})


def test_verdicts_add_up():
    total = Verdict((GONE,)).plus(Verdict((), (COPY,), (GONE,), (COPY,)))
    assert total.as_dict() == {
        "refusals": [GONE.as_dict()],
        "advice": [COPY.as_dict()],
        "not_judged": [GONE.as_dict()],
        "accepted": [COPY.as_dict()],
    }


def test_every_rule_explains_itself():
    for item in ALL_RULES:
        assert item.cause.endswith("."), item.id
        assert item.remedy.rstrip().endswith("."), item.id
        assert item.example, item.id
        assert rule_of(item.id).id == item.id
    for rules in (POOL_RULES, CATALOG_RULES):
        assert len({item.id for item in rules}) == len(rules)
    with pytest.raises(KeyError):
        rule_of("nothing")


def test_the_table_knows_the_ids_of_the_platform_package():
    platforms = (
        None,
        PlatformPackage(
            "p",
            "1",
            "isp-hosted",
            {"bundles": {"iaas": {"enabled": False}, "disabledPackages": ["cozystack.kubernetes-worker-image"]}},
        ),
    )
    ids = {finding.id for platform in platforms for finding in package.judge_package(platform, False).refusals}
    assert len(ids) == 5
    assert ids <= set(known_ids())


def test_all_refusals_of_all_pools_in_order():
    pools = [
        Pool("t", "shop", "a", {**CLONE, "cluster": "shop", "diskSize": "20 Gi"}),
        Pool("t", "shop", "b", {**CLONE, "cluster": "shop"}),
    ]
    verdict = judge_pools(pools, ClusterState.from_objects([]))
    assert [(finding.id, finding.subject) for finding in verdict.refusals] == [
        ("golden-absent", "t/shop-a osImage.builtin"),
        ("values-schema", "t/shop-a diskSize"),
        ("golden-absent", "t/shop-b osImage.builtin"),
    ]


@pytest.mark.parametrize(
    ("known", "spec", "missing"),
    [
        ({}, SIZED, {"pool-owned-elsewhere", "cluster-changed", "version-ahead-of-parent"}),
        (
            {},
            {"cluster": "c"},
            {
                "pool-owned-elsewhere",
                "cluster-changed",
                "version-ahead-of-parent",
                "instance-type-missing",
                "reservation-exceeds-node",
                "reservation-without-size",
            },
        ),
    ],
)
def test_what_was_not_read_is_not_judged(known, spec, missing):
    verdict = judge_pools([Pool("t", "c", "p", {**spec, "cluster": "c"})], ClusterState(**known))
    assert {finding.id for finding in verdict.not_judged} == missing
    assert verdict.refusals == ()
    assert all("was not judged" in finding.message for finding in verdict.not_judged)


def test_a_pool_that_clones_needs_the_golden_read():
    pool = Pool("t", "c", "p", {**CLONE, "cluster": "c"})
    unread = {finding.id for finding in judge_pools([pool], ClusterState()).not_judged}
    assert {
        "golden-absent",
        "golden-failed",
        "golden-import-failing",
        "storage-class-mismatch",
        "disk-smaller-than-golden",
    } <= unread


def test_a_claim_is_enough_where_volumes_may_not_be_read():
    state = ClusterState.from_lists(claims=[claim(storage_class="local", size="30Gi")])
    verdict = judge_pools([Pool("t", "c", "p", {**CLONE, "cluster": "c"})], state)
    assert [finding.id for finding in verdict.refusals] == ["storage-class-mismatch", "disk-smaller-than-golden"]
    assert "golden-absent" not in {finding.id for finding in verdict.not_judged}
    assert {"golden-failed", "golden-import-failing"} <= {finding.id for finding in verdict.not_judged}


def test_an_absent_claim_is_no_proof_where_volumes_may_not_be_read():
    state = ClusterState.from_lists(claims=[], data_volumes=None)
    verdict = judge_pools([Pool("t", "c", "p", {**CLONE, "cluster": "c"})], state)
    assert verdict.refusals == ()
    assert "golden-absent" in {finding.id for finding in verdict.not_judged}


def test_classes_are_needed_only_when_a_default_is_asked():
    declared = Pool("t", "c", "p", {**CLONE, "cluster": "c"})
    asking = declared.with_spec({**declared.spec, "storageClass": ""})
    state = ClusterState.from_lists(data_volumes=[golden()], claims=[])
    assert "storage-class-mismatch" not in {finding.id for finding in judge_pools([declared], state).not_judged}
    assert "storage-class-mismatch" in {finding.id for finding in judge_pools([asking], state).not_judged}
    assert resolved_class(asking, state) is None
    assert (
        describe_pool(asking, state)["machine_template_unknown"]
        == "the pool's storage class cannot be resolved from what was read"
    )
    assert describe_pool(asking, state)["worker_disk"] is None


def test_report_pools_describes_each():
    state = ClusterState.from_objects(
        [golden(), storage_class("replicated", "storageclass.kubernetes.io/is-default-class")]
    )
    report = report_pools(
        [Pool("tenant-test", "myk8s", "md0", {**CLONE, "roles": ["ingress-nginx"], "storageClass": ""})], state
    )
    (found,) = report["pools"]
    assert (report["refusals"], found["machine_template"], found["storage_class"]) == (
        [],
        "kubernetes-myk8s-md0-2e82d0",
        "replicated",
    )
    assert found["source"]["golden"] == GOLDEN
    assert found["storage_class_from"].startswith("the cluster's default class")


def test_report_catalog_writes_the_live_spelling_and_renders_only_what_passes():
    live = golden(name="talos-worker-aaa-v1.13.6")
    pair = {"schematicID": "aaa", "version": "v1.13.6"}
    report = report_catalog({"images": [{**pair, "storage": "6144Mi"}]}, ClusterState.from_objects([live]))
    assert report["values"]["images"] == [{**pair, "storage": "6Gi"}]
    assert report["golden_images"][0]["spec"]["storage"]["resources"]["requests"]["storage"] == "6Gi"
    refused = report_catalog({"images": [{**pair, "storage": "7Gi"}]}, ClusterState.from_objects([live]))
    assert (refused["refusals"][0]["id"], refused["golden_images"]) == ("golden-immutable", [])


def test_state_ignores_other_kinds_and_keeps_silence_apart_from_absence():
    state = ClusterState.from_objects([{"kind": "Pod"}, {}, golden()])
    assert (
        len(state.data_volumes),
        state.parents,
        state.helm_releases,
        state.storage_profiles,
        state.cdi,
    ) == (1, None, None, None, None)
    assert ClusterState.from_objects([{"kind": "CDI", "spec": {}}]).cdi.override == ""
    lists = ClusterState.from_lists(data_volumes=None, claims=[], pool_schema={"a": {}})
    assert (lists.data_volumes, lists.claims, lists.storage_classes, lists.pool_schema) == (None, (), None, {"a": {}})


def ids(findings):
    return {finding.id for finding in findings}


def test_claims_are_needed_only_for_a_cloned_pool_without_a_class():
    pool = Pool(NAMESPACE, "myk8s", "md0", {**CLONE, "storageClass": ""})
    fresh = judge_pools([pool], ClusterState.from_lists(data_volumes=[golden()], storage_classes=[]))
    assert "storage-class-mismatch" not in ids(fresh.not_judged)
    cloned = judge_pools([pool], ClusterState.from_lists(data_volumes=[golden(), disk()], storage_classes=[]))
    assert "storage-class-mismatch" in ids(cloned.not_judged)


def test_a_lost_golden_of_a_cloned_pool_is_seen_without_claims():
    state = ClusterState.from_lists(data_volumes=[golden("Failed"), disk()])
    verdict = judge_pools([Pool(NAMESPACE, "myk8s", "md0", CLONE)], state)
    assert "golden-unusable-for-new-workers" in ids(verdict.advice)


def test_a_claim_behind_a_cloned_pool_keeps_its_golden_usable():
    state = ClusterState.from_lists(data_volumes=[disk()], claims=[claim()])
    assert "golden-unusable-for-new-workers" not in ids(
        judge_pools([Pool(NAMESPACE, "myk8s", "md0", CLONE)], state).advice
    )


@pytest.mark.parametrize(
    ("phase", "hint"), [("Bound", set()), ("Pending", {"golden-not-ready"}), ("Lost", {"golden-will-not-finish"})]
)
def test_a_claim_alone_tells_the_state_where_volumes_may_not_be_read(phase, hint):
    state = ClusterState.from_lists(claims=[claim(phase=phase)])
    verdict = judge_pools([Pool(NAMESPACE, "myk8s", "md0", CLONE)], state)
    wanted = {"golden-not-ready", "golden-will-not-finish"}
    assert ids(verdict.advice) & wanted == hint
    assert ids(verdict.not_judged) & wanted == set()


def test_an_importing_golden_is_seen_without_claims():
    state = ClusterState.from_lists(data_volumes=[golden("ImportInProgress")])
    assert "golden-not-ready" in ids(judge_pools([Pool(NAMESPACE, "myk8s", "md0", CLONE)], state).advice)


def test_without_volumes_and_claim_the_state_is_not_judged():
    state = ClusterState.from_lists(claims=[])
    assert "golden-not-ready" in ids(judge_pools([Pool(NAMESPACE, "myk8s", "md0", CLONE)], state).not_judged)


def test_the_default_class_is_not_judged_when_classes_were_not_read():
    verdict = judge_pools([Pool(NAMESPACE, "myk8s", "md0", {**SIZED, "storageClass": ""})], ClusterState())
    assert "default-class-ambiguous" in ids(verdict.not_judged)
