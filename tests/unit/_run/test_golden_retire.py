# SPDX-License-Identifier: Apache-2.0
"""What happens between the judgement and the deletion: a second look, and a deletion bound to the object that was judged."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._image.wanted import WantedGolden, render_wanted
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.client import Client
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.errors import KubeError
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.transport import Answer
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.entry import Session
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.failures import Failure, Refusal
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.golden_retire import retire
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.progress import Reporter

WANTED = WantedGolden("aa", "v1.13.6")
NAME = WANTED.name
GOLDEN = {**render_wanted(WANTED), "status": {"phase": "Succeeded"}}
GOLDEN["metadata"] = {**GOLDEN["metadata"], "uid": "7"}
POOL = {
    "metadata": {"name": "shop-md0", "namespace": "tenant-a"},
    "spec": {"cluster": "shop", "osImage": {"builtin": {}}, "talos": {"schematicID": "aa", "version": "v1.13.6"}},
}
OPTIONS: dict[str, Any] = {
    "refuse_on": [],
    "accept": [],
    "when_free": False,
    "force_render": False,
    "expected_plan": None,
}


class Site:
    """Lists by plural; ``later`` replaces one of them after its first reading."""

    def __init__(self, later: Mapping[str, Any] | None = None, refuse: Mapping[str, int] | None = None) -> None:
        self.lists: dict[str, list[Any]] = {"datavolumes": [GOLDEN]}
        self.later, self.refuse = dict(later or {}), dict(refuse or {})
        self.deleted: list[Any] = []
        self.mutated = 0

    def request(
        self, method: str, path: str, query: Mapping[str, str], body: bytes | None, content_type: str, accept: str = ""
    ) -> Answer:
        plural, name = path.rstrip("/").split("/")[-1], ""
        if plural.startswith("talos-worker-"):
            plural, name = path.split("/")[-2], plural
        if method == "DELETE":
            self.deleted.append((plural, name, json.loads(body or b"{}").get("preconditions")))
            self.lists[plural] = []
            return Answer(200, {}, b"{}")
        if method != "GET":
            self.mutated += 1
            return Answer(200, {}, b"{}")
        if plural in self.refuse:
            return Answer(self.refuse[plural], {}, b'{"message": "no"}')
        items = list(self.lists.get(plural, []))
        if name:
            found = next((one for one in items if one["metadata"]["name"] == name), None)
            return Answer(200, {}, json.dumps(found).encode()) if found else Answer(404, {}, b"{}")
        if plural in self.later:
            self.lists[plural] = self.later.pop(plural)
        return Answer(200, {}, json.dumps({"kind": "List", "metadata": {}, "items": items}).encode())

    def stream(self, path: str, query: Mapping[str, str], seconds: float) -> Iterator[bytes]:
        yield from ()


def run(site: Site, check: bool = False, **options: Any) -> dict[str, Any]:
    session = Session(
        {**OPTIONS, **options}, Client(site, attempts=1), check, lambda text: None, Reporter(lambda line: None)
    )
    return retire(session, WANTED)


def test_a_free_golden_is_deleted_by_its_uid() -> None:
    site = Site()
    assert run(site)["golden"]["state"] == "absent"
    assert site.deleted == [("datavolumes", NAME, {"uid": "7"})]


def test_check_mode_deletes_nothing() -> None:
    site = Site()
    found = run(site, check=True)
    assert (found["changed"], found["golden"]["state"]) == (True, "planned")
    assert site.deleted == []


def test_a_pool_that_came_between_the_look_and_the_deletion_is_noticed() -> None:
    site = Site(later={"kubernetesnodeses": [POOL]})
    with pytest.raises(Refusal, match="pools declare it: tenant-a/shop-md0"):
        run(site)
    assert site.deleted == []


def test_with_when_free_such_a_pool_stops_the_deletion_too() -> None:
    site = Site(later={"kubernetesnodeses": [POOL]})
    with pytest.raises(Refusal, match="pools declare it"):
        run(site, when_free=True)
    assert site.deleted == []


@pytest.mark.parametrize(
    "plural",
    [
        "kubernetesnodeses",
        "persistentvolumeclaims",
        "pods",
        "machinesets",
        "machinedeployments",
        "kubevirtmachinetemplates",
    ],
)
def test_what_may_not_be_read_keeps_the_golden(plural: str) -> None:
    site = Site(refuse={plural: 403})
    if plural == "persistentvolumeclaims":
        with pytest.raises(Failure):
            run(site)
    else:
        with pytest.raises(Refusal, match="nobody can tell whether it is used"):
            run(site)
        with pytest.raises(Refusal):
            run(site, when_free=True)
    assert site.deleted == []


@pytest.mark.parametrize("plural", ["machinesets", "machinedeployments", "kubevirtmachinetemplates"])
def test_an_api_that_is_not_there_has_no_users(plural: str) -> None:
    site = Site(refuse={plural: 404})
    run(site)
    assert len(site.deleted) == 1


def test_an_unreadable_golden_is_never_absent() -> None:
    site = Site(refuse={"datavolumes": 403})
    with pytest.raises((Failure, KubeError), match="may not be read"):
        run(site)


def test_the_catalog_is_forced_only_when_it_lists_the_golden() -> None:
    values = {
        "bundles": {"enabledPackages": ["cozystack.kubernetes-worker-image"]},
        "kubernetesWorkerImage": {"images": [{"schematicID": "aa", "version": "v1.13.6"}]},
    }
    platform = {
        "metadata": {"name": "cozystack.cozystack-platform"},
        "spec": {"components": {"platform": {"values": values}}},
    }
    listed = Site()
    listed.lists["packages"] = [platform]
    assert [step["kind"] for step in run(listed, force_render=True)["plan"]["steps"]] == ["DataVolume", "HelmRelease"]
    assert listed.mutated == 1
    alone = Site()
    alone.lists["packages"] = []
    assert [step["kind"] for step in run(alone, force_render=True)["plan"]["steps"]] == ["DataVolume"]
    assert alone.mutated == 0
