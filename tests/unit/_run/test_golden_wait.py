# SPDX-License-Identifier: Apache-2.0
"""Waits of up to an hour, in milliseconds: what ends them, what they say, and how long they last when nobody says."""

from __future__ import annotations

import itertools
import time
from typing import Any

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.findings import Verdict
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.client import Client
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.errors import KubeError
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.snapshot import Snapshot
from ansible_collections.cozystack.worker_image.plugins.module_utils._plan.plan import Plan
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.catalog_site import Prepared, state_of
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.catalog_wait import RELEASES, CatalogWait
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.entry import Session
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.failures import WaitFailure
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.golden_wait import (
    CLAIMS,
    EVENTS,
    PODS,
    VOLUMES,
    default_seconds,
    wait_for_goldens,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.patience import Patience
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.progress import Reporter
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.releases import (
    CatalogRelease,
    go_seconds,
    stages,
)

from tests.unit._kube.script import Script
from tests.unit._kube.scripted import Scripted, answer

SCHEMATIC = "a" * 64
GOLDEN = f"talos-worker-{SCHEMATIC}-v1.13.6"
EMPTY = answer(200, {"metadata": {"resourceVersion": "1"}, "items": []})


def volume(phase: str, restarts: int = 0, message: str = "", size: str = "6Gi") -> dict[str, Any]:
    conditions = [{"type": "Running", "status": "False", "reason": "Error", "message": message}] if message else []
    return {
        "metadata": {"name": GOLDEN, "namespace": "cozy-public"},
        "spec": {"storage": {"resources": {"requests": {"storage": size}}}},
        "status": {"phase": phase, "restartCount": restarts, "conditions": conditions},
    }


def first(*found: dict[str, Any]) -> list[Any]:
    return [(0, VOLUMES, "LIST", list(found)), *[(0, target, "LIST", []) for target in (CLAIMS, PODS, EVENTS)]]


def session(script: Script, lines: list[str], patience: Patience | None = None, answers: Any = EMPTY) -> Session:
    client = Client(Scripted(answers), sleep=lambda _: None)
    reporter = Reporter(lines.append, script.now)
    params = {"max_restarts": 3, "wait_timeout": None}
    return Session(params, client, False, print, reporter, patience or Patience(), lambda: script)


def test_an_import_of_forty_minutes_is_never_silent_and_ends_well() -> None:
    script = Script(*first(volume("ImportInProgress")), (2400, VOLUMES, "MODIFIED", volume("Succeeded")))
    lines: list[str] = []
    started = time.monotonic()
    found = wait_for_goldens(session(script, lines), [GOLDEN], seconds=3600)
    assert found[0].state.ready
    assert script.now() == 2400
    moments = [0.0, *[float(line.split(" s")[0]) for line in lines]]
    assert max(after - before for before, after in itertools.pairwise(moments)) <= 65
    assert "1 of 1 goldens ready" in lines[-1]
    assert time.monotonic() - started < 5


def test_trouble_ends_the_wait_with_cause_and_remedy() -> None:
    bad = volume("ImportInProgress", 3, "Unable to connect to http data source: expected status code 200, got 404")
    script = Script(*first(volume("ImportInProgress")), (90, VOLUMES, "MODIFIED", bad))
    with pytest.raises(WaitFailure, match=r"failing.*404[\s\S]*That means: .*What to do: ") as failed:
        wait_for_goldens(session(script, []), [GOLDEN])
    assert script.now() == 90
    assert failed.value.result["goldens"][0]["trouble"] == "image-not-found"


def test_a_blank_phase_gets_a_minute() -> None:
    script = Script(*first(volume("")))
    with pytest.raises(WaitFailure, match="not_progressing"):
        wait_for_goldens(session(script, []), [GOLDEN])
    assert 60 < script.now() <= 70


def test_a_time_out_names_state_time_in_it_and_evidence() -> None:
    script = Script(*first(volume("ImportScheduled")), (100, VOLUMES, "MODIFIED", volume("ImportInProgress", 1)))
    with pytest.raises(WaitFailure, match=r"Timed out after 600 s .*retrying for 500 s .*seen: phase ImportInProgress"):
        wait_for_goldens(session(script, []), [GOLDEN], seconds=600)


def test_the_last_slice_knows_of_the_ones_before() -> None:
    script = Script(*first(volume("ImportInProgress")))
    patience = Patience(slice=40, waited=1180, whole=1200, since={GOLDEN: ("importing", 700)})
    with pytest.raises(WaitFailure, match=r"Timed out after 1200 s .*importing for 720 s"):
        wait_for_goldens(session(script, [], patience), [GOLDEN], seconds=patience.share(1200))
    assert patience.more is False


def test_an_api_server_that_is_away_for_ten_minutes_is_a_line_a_minute() -> None:
    away = [(5 + second, VOLUMES, "ERROR", KubeError("list", "DataVolume", "cannot connect")) for second in range(600)]
    script = Script(*first(volume("ImportInProgress")), *away, (700, VOLUMES, "LIST", [volume("Succeeded")]))
    lines: list[str] = []
    wait_for_goldens(session(script, lines), [GOLDEN])
    assert 10 <= sum("cannot connect" in line for line in lines) <= 12
    assert sum("answers again" in line for line in lines) == 1


@pytest.mark.parametrize(
    ("sizes", "release", "seconds"),
    [(["6Gi"], 0, 1320), (["1Gi", "20Gi"], 0, 3000), ([], 0, 1320), (["6Gi"], 3600, 3660), (["what"], 0, 1320)],
)
def test_the_default_time_follows_from_size_and_release(sizes: list[str], release: float, seconds: float) -> None:
    assert default_seconds(sizes, release) == seconds


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("10m0s", 600),
        ("1h30m", 5400),
        ("1.5h", 5400),
        ("300ms", 0.3),
        (".5m", 30),
        ("", None),
        ("10", None),
        ("5m x", None),
    ],
)
def test_durations_are_read_as_go_writes_them(written: str, seconds: float | None) -> None:
    assert go_seconds(written) == (pytest.approx(seconds) if seconds is not None else None)


CATALOG = {"images": [{"schematicID": SCHEMATIC, "version": "v1.13.6"}]}
WRONG = {"images": []}


def release(what: str, values: Any = CATALOG, ready: str = "True", **more: Any) -> dict[str, Any]:
    annotations, status = more.pop("annotations", {}), more.pop("status", {})
    name = {"platform": "cozystack-platform", "catalog": "kubernetes-worker-image"}[what]
    carried = {"kubernetesWorkerImage": values} if what == "platform" else values
    condition = {"type": "Ready", "status": ready, "reason": "R", "message": f"{what} said so"}
    return {
        "metadata": {"name": name, "namespace": "cozy-system", "generation": 1, "annotations": annotations},
        "spec": {"values": carried, **more},
        "status": {"observedGeneration": 1, "conditions": [condition], **status},
    }


def staged(*found: dict[str, Any]) -> list[tuple[str, bool]]:
    releases = {}
    for obj in found:
        one = CatalogRelease.from_api(obj)
        assert one is not None
        releases[one.release.namespace, one.release.name] = one
    return [(stage.state.state, stage.settled) for stage in stages(releases, CATALOG)]


FORCED = {"reconcile.fluxcd.io/forceAt": "1", "reconcile.fluxcd.io/requestedAt": "1"}


def test_a_release_is_settled_when_it_is_ready_with_these_values_and_not_forced() -> None:
    platform = release("platform")
    assert staged(platform, release("catalog")) == [("ready", True), ("ready", True)]
    assert staged(platform, release("catalog", WRONG))[1] == ("progressing", False)
    assert staged(platform, release("catalog", WRONG, "False"))[1] == ("failed", False)
    assert staged(platform)[1] == ("progressing", False)
    assert staged(platform, release("catalog", annotations=FORCED))[1] == ("progressing", False)
    assert staged(platform, release("catalog", annotations=FORCED, status={"lastHandledForceAt": "1"}))[1][1] is True
    assert CatalogRelease.from_api({"metadata": {"name": "other", "namespace": "cozy-system"}}) is None


def waited(script: Script, written: bool, snapshot_releases: list[dict[str, Any]], **about: Any) -> CatalogWait:
    at = session(script, about.get("lines", []), answers=about.get("answers", EMPTY))
    snapshot = Snapshot(at.client)
    snapshot.lists[RELEASES.resource] = [CatalogRelease.from_api(obj) for obj in snapshot_releases]
    if written:
        at = Session(at.params, at.client, False, print, at.reporter, Patience(waited=0.001), at.news)
    return CatalogWait(at, Prepared(Plan(), Verdict(), snapshot, None, (GOLDEN,), CATALOG, state_of(snapshot)))


def test_the_release_has_its_say_before_the_wait_gives_up() -> None:
    slow = [release("platform"), release("catalog", ready="Unknown", install={"timeout": "40m0s"})]
    script = Script(*first(), (0, RELEASES, "LIST", slow))
    with pytest.raises(
        WaitFailure, match=r"Timed out after 2460 s .*absent.*catalog release progressing: catalog said so"
    ):
        waited(script, True, slow).run()


def test_a_failed_release_ends_it_when_goldens_are_missing() -> None:
    failed = [release("platform"), release("catalog", ready="False")]
    script = Script(*first(), (0, RELEASES, "LIST", failed))
    with pytest.raises(WaitFailure, match=r"catalog release failed: catalog said so \(R\)"):
        waited(script, True, failed).run()
    assert script.now() == 0


def test_a_golden_that_nothing_brings_ends_it_at_once_with_the_option() -> None:
    settled = [release("platform"), release("catalog")]
    script = Script(*first(), (0, RELEASES, "LIST", settled))
    lists = Scripted(answer(404, {"message": "no"}))
    at = waited(script, False, settled)
    at.session.client._transport = lists
    with pytest.raises(WaitFailure, match="force_render=true"):
        at.run()
    assert script.now() == 0
