# SPDX-License-Identifier: Apache-2.0
"""How a plan of pools is executed: order, brakes, conflicts, other writers. The platform is a dictionary, time stands still."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.findings import Finding, Verdict
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.state import ClusterState
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.errors import KubeError
from ansible_collections.cozystack.worker_image.plugins.module_utils._plan.batches import Key, Limits
from ansible_collections.cozystack.worker_image.plugins.module_utils._plan.pools import (
    LivePool,
    merge,
    pool_after,
    pool_step,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.objects import (
    HelmRelease,
    MachineDeployment,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.pool import Pool
from ansible_collections.cozystack.worker_image.plugins.module_utils._run import pool_rollout
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.entry import Session
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.failures import (
    Failure,
    Refusal,
    WaitFailure,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.node_pools import POOLS_SPEC
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.pool_plan import Prepared, key_of
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.pool_rollout import Rollout
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.pool_wait import Waited
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.pool_write import in_parallel
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.progress import Reporter
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.site_state import SiteState

NAMES = ["a", "b", "c", "d", "e"]
NO_LIMITS = Limits()


def wanted(name: str, size: int = 2) -> Pool:
    return Pool("t", "k", name, {"cluster": "k", "maxReplicas": size})


class Platform:
    """Pools in a dictionary; it is its own client. ``on_patch`` may raise, or change what is stored."""

    def __init__(self, size: int = 1) -> None:
        self.specs: dict[str, dict[str, Any]] = {f"k-{name}": {"cluster": "k", "maxReplicas": size} for name in NAMES}
        self.rolling: set[str] = set()
        self.sick: set[str] = set()
        self.log: list[str] = []
        self.looks = 0
        self.refuse = False
        self.on_patch: Callable[[str], None] = lambda name: None
        self.after_patch: Callable[[str], None] = lambda name: None

    def merge_patch(self, _: Any, name: str, patch: Mapping[str, Any], namespace: str) -> dict[str, Any]:
        self.on_patch(name)
        self.specs[name] = merge(self.specs[name], patch["spec"])
        self.log.append(name.removeprefix("k-"))
        self.rolling.add(name)
        answer = {"metadata": {"namespace": namespace, "name": name}, "spec": dict(self.specs[name])}
        self.after_patch(name)
        return answer

    def live(self) -> dict[Key, LivePool]:
        return {("t", name): LivePool("t", name, dict(spec)) for name, spec in self.specs.items()}

    def site(self) -> SiteState:
        deployments, releases = [], []
        for name in self.specs:
            updated = 0 if name in self.rolling else 1
            status = {"replicas": 1, "updatedReplicas": updated, "readyReplicas": 1}
            meta = {"namespace": "t", "name": f"kubernetes-{name}"}
            deployments.append(MachineDeployment.from_api({"metadata": meta, "status": status}))
            ready = {"conditions": [{"type": "Ready", "status": "True"}]}
            meta = {"namespace": "t", "name": f"kubernetes-nodes-{name}"}
            releases.append(HelmRelease.from_api({"metadata": meta, "status": ready}))
        cluster = ClusterState(machine_deployments=tuple(deployments), helm_releases=tuple(releases), data_volumes=())
        return SiteState(self.live(), cluster)

    def look(self, declared: Sequence[Pool]) -> Prepared:
        self.looks += 1
        if self.refuse:
            finding = Finding("golden-absent", "t/k-a", "gone", "bring it back")
            raise Refusal(Verdict((finding,)), pools=[])
        site = self.site()
        after = tuple(pool_after(pool, site.live.get(key_of(pool))) for pool in declared)
        steps = {key_of(pool): step for pool in declared if (step := pool_step(pool, site.live.get(key_of(pool))))}
        return Prepared({key_of(pool): pool for pool in declared}, after, steps, {}, {}, {}, Verdict(), site)


class Wait:
    """Ends at once: what rolls is done, but for the sick."""

    platform: Platform

    def __init__(self, session: Session, pools: Sequence[Pool], what: str, whole: Collection[Any]) -> None:
        self.pools = pools

    def run(self, seconds: float, tolerated: int, before: str) -> Waited:
        names = {pool.name for pool in self.pools}
        platform = self.platform
        platform.log.append(f"wait {' '.join(sorted(name.removeprefix('k-') for name in names))}")
        platform.rolling -= names - platform.sick
        found = {one.pool.name: one for one in platform.look(self.pools).progress}
        return Waited(list(found.values()), {f"t/{name}": "sick" for name in sorted(names & platform.sick)})


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch) -> Platform:
    found = Platform()
    Wait.platform = found
    monkeypatch.setattr(pool_rollout, "PoolWait", Wait)
    monkeypatch.setattr(pool_rollout, "read_pools", lambda client, names: found.live())
    return found


def rollout(platform: Platform, limits: Limits = NO_LIMITS, size: int = 2, **params: Any) -> Rollout:
    given = {name: option.get("default") for name, option in POOLS_SPEC.items()}
    given |= {"wait": "workers", "parallel": 1, **params}
    session = Session(given, platform, False, print, Reporter(lambda line: None))  # type: ignore[arg-type]
    declared = [wanted(name, size) for name in NAMES]

    def sleep(seconds: float) -> None:
        platform.log.append(f"pause {seconds:g}")

    return Rollout(session, platform.look(declared), lambda: platform.look(declared), limits, sleep)


def test_all_at_once(platform: Platform) -> None:
    result = rollout(platform).run()
    assert platform.log == [*NAMES, "wait a b c d e"]
    assert (result["changed"], result["written"], result["batches"]) == (True, [f"t/k-{name}" for name in NAMES], [])


def test_nothing_to_do_waits_for_nothing_and_reads_no_more(platform: Platform) -> None:
    still = Platform(2)
    result = rollout(still).run()
    assert (result["changed"], still.log, still.looks) == (False, [], 1)


def test_batches_wait_pause_and_canaries(platform: Platform) -> None:
    rollout(platform, Limits(2, canaries=(("t", "k-d"),)), pause=30.0).run()
    assert platform.log == ["d", "wait d", "pause 30", "a", "b", "wait a b", "pause 30", "c", "e", "wait c e"]


def test_pools_of_an_interrupted_run_are_waited_for_first(platform: Platform) -> None:
    platform.specs["k-b"]["maxReplicas"] = 2
    platform.rolling.add("k-b")
    rollout(platform, Limits(2)).run()
    assert platform.log == ["wait b", "a", "c", "wait a c", "d", "e", "wait d e"]


def test_going_back_begins_with_the_pools_that_are_disturbed(platform: Platform) -> None:
    platform.rolling |= {"k-d", "k-e"}
    rollout(platform, Limits(2, canaries=(("t", "k-a"),))).run()
    assert platform.log[:4] == ["d", "e", "wait d e", "a"]


def test_the_first_pool_in_trouble_stops_the_run(platform: Platform) -> None:
    platform.sick.add("k-b")
    with pytest.raises(WaitFailure, match="3 pools were not touched") as failure:
        rollout(platform, Limits(2)).run()
    assert failure.value.result["unhealthy"] == {"t/k-b": "sick"}
    assert failure.value.result["written"] == ["t/k-a", "t/k-b"]


def test_pools_in_trouble_that_are_allowed_for(platform: Platform) -> None:
    platform.sick.add("k-b")
    with pytest.raises(Failure, match="1 pools are in trouble") as failure:
        rollout(platform, Limits(2), max_failures=1).run()
    assert len(failure.value.result["written"]) == 5
    platform.sick.add("k-d")
    with pytest.raises(WaitFailure):
        rollout(platform, Limits(2), size=3, max_failures=1).run()


def test_a_canary_in_trouble_stops_whatever_is_allowed_for(platform: Platform) -> None:
    platform.sick.add("k-c")
    with pytest.raises(WaitFailure):
        rollout(platform, Limits(canaries=(("t", "k-c"),)), max_failures=5).run()
    assert platform.log == ["c", "wait c"]


def conflicting(times: int, name: str = "k-b") -> Callable[[str], None]:
    left = [times]

    def on_patch(patched: str) -> None:
        if patched == name and left[0]:
            left[0] -= 1
            raise KubeError("patch", "KubernetesNodes t/k-b", "409 the object has been modified", 409, "Conflict")

    return on_patch


def test_a_conflict_is_judged_again_and_then_written(platform: Platform) -> None:
    platform.on_patch = conflicting(2)
    rollout(platform).run()
    assert platform.log[:-1] == ["a", "c", "d", "e", "b"]
    assert platform.looks >= 3


def test_a_conflict_that_stays_ends_after_some_attempts(platform: Platform) -> None:
    platform.on_patch = conflicting(99)
    with pytest.raises(Failure, match=r"tried 4 times \(written so far: t/k-a"):
        rollout(platform).run()


def test_what_a_conflict_reveals_may_be_refused(platform: Platform) -> None:
    def on_patch(name: str) -> None:
        platform.refuse = name == "k-b"
        conflicting(1)(name)

    platform.on_patch = on_patch
    run = rollout(platform)
    with pytest.raises(Failure, match="no further pool was written"):
        run.run()
    assert "b" not in platform.log


def test_a_failed_write_stops_the_others_and_names_what_was_written(platform: Platform) -> None:
    def on_patch(name: str) -> None:
        if name == "k-c":
            raise KubeError("patch", "KubernetesNodes t/k-c", "403 quota", 403, "Forbidden")

    platform.on_patch = on_patch
    with pytest.raises(Failure, match=r"403 quota \(written so far: t/k-a, t/k-b; run again to go on\)") as failure:
        rollout(platform).run()
    assert platform.log == ["a", "b"]
    assert (failure.value.result["changed"], failure.value.result["status"]) == (True, 403)


def test_a_field_that_somebody_else_undid_is_written_once_more(platform: Platform) -> None:
    left = [1]

    def undo(name: str) -> None:
        if name == "k-b" and left[0]:
            left[0] -= 1
            platform.specs[name]["maxReplicas"] = 1

    def late(name: str) -> None:
        if name == "k-c":
            undo("k-b")

    platform.after_patch = late
    rollout(platform).run()
    assert platform.log == [*NAMES, "wait a b c d e", "b", "wait a b c d e"]
    assert platform.specs["k-b"]["maxReplicas"] == 2


def test_somebody_who_keeps_undoing_is_named_as_the_trouble(platform: Platform) -> None:
    platform.after_patch = lambda name: platform.specs["k-a"].update(maxReplicas=1)
    with pytest.raises(Failure, match="Somebody else keeps changing t/k-a"):
        rollout(platform).run()


def test_a_dropped_field_fails(platform: Platform) -> None:
    platform.specs["k-a"].pop("maxReplicas")
    run = rollout(platform)
    platform.merge_patch = lambda *_: {"metadata": {}, "spec": {"cluster": "k"}}  # type: ignore[method-assign]
    with pytest.raises(Failure, match=r"t/k-a: the platform dropped spec.maxReplicas"):
        run.run()


def test_an_approved_plan_ends_when_a_pool_is_edited_meanwhile(platform: Platform) -> None:
    run = rollout(platform, Limits(2), expected_plan="sha256:" + "0" * 64)

    def edit(name: str) -> None:
        if name == "k-b":
            platform.specs["k-e"]["diskSize"] = "99Gi"

    platform.after_patch = edit
    with pytest.raises(Failure, match="no longer the approved one") as failure:
        run.run()
    assert "k-e" in failure.value.result["moved"][0]
    assert platform.log == ["a", "b", "wait a b"]


def test_parallel_calls_keep_their_order_and_their_bound() -> None:
    running, most, lock = [0], [0], threading.Lock()

    def act(item: int) -> int:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.001 * (10 - item))
        with lock:
            running[0] -= 1
        return item

    assert in_parallel(range(10), act, 3) == list(range(10))
    assert 1 < most[0] <= 3


def test_after_a_failure_no_call_begins() -> None:
    def act(item: int) -> int:
        if item == 2:
            raise KubeError("patch", "x", "403", 403)
        return item

    answers = in_parallel(range(100), act, 1)
    assert answers[:2] == [0, 1]
    assert isinstance(answers[2], KubeError)
    assert set(answers[3:]) == {None}
    assert len([one for one in in_parallel(range(100), act, 4) if one is not None]) < 100
