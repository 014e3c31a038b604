# SPDX-License-Identifier: Apache-2.0
"""golden_image_info: states, users, leftovers, and what an account with few rights sees."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from lab.api import Api, ApiError
from lab.scenarios import retire
from tests.integration.site import Site, golden

SCENARIO = "retire"
pytestmark = pytest.mark.lab


def by_name(result: dict[str, Any]) -> dict[str, Any]:
    return {found["name"]: found for found in result["goldens"]}


def test_users_of_each_kind(site: Site) -> None:
    result = site.module("golden_image_info", finished_clones=True)
    found = by_name(result)
    hows = {role: sorted({user["how"] for user in found[retire.golden(role)]["users"]}) for role in retire.ROLES}
    assert hows == {
        "pool": ["cloned", "declared", "template"],
        "zero-replicas": ["declared", "template"],
        "cloning": ["cloning"],
        "free": [],
        "orphan": [],
    }
    assert {role: found[retire.golden(role)]["blocked"] for role in retire.ROLES} == {
        "pool": True,
        "zero-replicas": True,
        "cloning": True,
        "free": False,
        "orphan": False,
    }
    assert [role for role in retire.ROLES if found[retire.golden(role)]["orphan"]] == ["orphan"]
    used = found[retire.golden("pool")]
    assert (used["size_bytes"], used["user_counts"]["cloned"]) == (6 * 2**30, 1)
    assert 0 <= used["import_seconds"] < 60
    assert used["managed_by"] == "kubernetes-worker-image"
    # The hanging clone works on a temporary claim: no leftover yet.
    assert {one["what"] for one in result["leftovers"]} == {"temporary claim of a clone", "cdi-populator-prep"}
    assert {(one["owner"], one["owner_state"]) for one in result["leftovers"]} == {
        ("tenant-acme/retire-clone", "working")
    }


def test_names_and_states_select(site: Site) -> None:
    one, gone = retire.golden("free"), golden("v9.9.9")
    found = site.module("golden_image_info", names=[gone, one])["goldens"]
    assert [(item["name"], item["state"]) for item in found] == [(gone, "absent"), (one, "ready")]
    assert site.module("golden_image_info", states=["failing"])["goldens"] == []


def account(site: Site, *rules: dict[str, Any], everywhere: bool = True) -> dict[str, str]:
    """Environment of a service account that may only do this."""
    kind, binding = ("ClusterRole", "ClusterRoleBinding") if everywhere else ("Role", "RoleBinding")
    meta: dict[str, Any] = {"name": "auditor"} | ({} if everywhere else {"namespace": "cozy-public"})
    api_group = "rbac.authorization.k8s.io"
    subject = {"kind": "ServiceAccount", "name": "auditor", "namespace": "cozy-public"}
    role = {"apiVersion": f"{api_group}/v1", "kind": kind, "metadata": meta, "rules": list(rules)}
    bound = {
        "apiVersion": f"{api_group}/v1",
        "kind": binding,
        "metadata": meta,
        "roleRef": {"apiGroup": api_group, "kind": kind, "name": "auditor"},
        "subjects": [subject],
    }
    plural, scope = ("clusterroles", "") if everywhere else ("roles", "namespaces/cozy-public/")

    async def make(api: Api) -> str:
        core = "/api/v1/namespaces/cozy-public/serviceaccounts"
        for path, body in (
            (core, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "auditor"}}),
            (f"/apis/{api_group}/v1/{scope}{plural}", role),
            (f"/apis/{api_group}/v1/{scope}{plural.replace('roles', 'rolebindings')}", bound),
        ):
            with contextlib.suppress(ApiError):  # made by an earlier test
                await api.request("POST", path, body)
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
        answer = await api.request("POST", f"{core}/auditor/token", asked)
        return str(answer["status"]["token"])

    token = site.api(make)
    return {
        "K8S_AUTH_KUBECONFIG": "",
        "K8S_AUTH_HOST": site.lab["apiserver"],
        "K8S_AUTH_API_KEY": token,
        "K8S_AUTH_VERIFY_SSL": "false",
    }


def test_what_may_not_be_read_is_null_and_never_none(site: Site) -> None:
    rule = {"apiGroups": ["cdi.kubevirt.io"], "resources": ["datavolumes"], "verbs": ["list"]}
    env = account(site, rule, everywhere=False)
    result = site.module("golden_image_info", names=[retire.golden("free")], env=env)
    (found,) = result["goldens"]
    assert found["state"] == "ready"
    assert (found["blocked"], found["orphan"]) == (None, None)
    assert set(found["user_counts"].values()) == {None}
    assert result["leftovers"] is None
    assert "datavolumes.cdi.kubevirt.io" in result["unread"]


def test_without_any_right_the_state_is_forbidden(site: Site) -> None:
    env = account(site)
    token = {**env, "K8S_AUTH_IMPERSONATE_USER": ""}
    site.api(
        lambda api: api.request(
            "DELETE", "/apis/rbac.authorization.k8s.io/v1/namespaces/cozy-public/rolebindings/auditor"
        )
    )
    (found,) = site.module("golden_image_info", names=[retire.golden("free")], env=token)["goldens"]
    assert found["state"] == "forbidden"
    assert "grant list on datavolumes" in found["remedy"]


def test_leftovers_are_told_with_their_owners(site: Site) -> None:
    site.scenario("leftovers")
    found = site.module("golden_image_info")["leftovers"]
    assert {one["what"] for one in found} == {
        "temporary claim of a clone",
        "prime claim",
        "scratch space",
        "cdi-populator-prep",
    }
    assert {one["owner_state"] for one in found} <= {"gone", "unknown"}
    assert all(one["age"] is not None for one in found)
