# SPDX-License-Identifier: Apache-2.0
"""Wrong input gets one message that names field and value, and never a traceback."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from tests.integration.site import PRODUCT, SCHEMATIC, Site

SCENARIO = "demo"
pytestmark = pytest.mark.lab
ENTRY = {"schematicID": SCHEMATIC, "version": "v1.13.6"}
POOL = {"namespace": "tenant-acme", "cluster": "shop", "pool": "a"}


def catalog(**change: Any) -> dict[str, Any]:
    return {"image_catalog": {"catalog": {"images": [ENTRY], **change}}}


def pools(**change: Any) -> dict[str, Any]:
    return {"node_pools": {"pools": [{**POOL, **change}]}}


CASES: list[tuple[dict[str, Any], list[str]]] = [
    (catalog(imageFactoryUrl="http://m"), ["catalog: unknown key 'imageFactoryUrl'", "'imageFactoryURL'", "http://m"]),
    (catalog(imageFactoryURL="mirror.example"), ["imageFactoryURL", "mirror.example", "factory-url-format"]),
    (catalog(imageFactoryURL="https://m\nx"), ["factory-url-format"]),
    ({"image_catalog": {}}, ["state is present", "catalog"]),
    ({"image_catalog": {"catalog": {"images": [ENTRY]}, "entries": "most"}}, ["entries", "most"]),
    ({"image_catalog": {"state": "absent", "catalog": {"storage": "6Gi"}}}, ["catalog: not used with state=absent"]),
    (
        {"image_catalog": {"catalog": {"images": [ENTRY]}, "refuse_on": ["golden-planed"]}},
        ["golden-planed", "golden-planned"],
    ),
    ({"node_pools": {}}, ["pools"]),
    ({"node_pools": {"pools": []}}, ["pools: the list is empty"]),
    (pools(spec={"diskSize": "20 Gi"}), ["diskSize", "20 Gi"]),
    (pools(spec={"minReplicas": "two"}), ["minReplicas", "two"]),
    (pools(spec={"version": 1.35}), ["version", "1.35"]),
    (pools(pool="UPPER"), ["UPPER"]),
    (pools(namespace="tenant-nowhere"), ["tenant-nowhere"]),
    ({"node_pools": {"pools": [POOL], "wait": "forever"}}, ["wait", "forever"]),
    ({"golden_image_info": {"name": "x"}}, ["name"]),
]


def test_every_wrong_input_is_one_message_that_names_field_and_value(site: Site) -> None:
    mark = site.mark()
    run = site.play(*({f"{PRODUCT}.{name}": options for name, options in task.items()} for task, _ in CASES))
    assert len(run.results) == len(CASES), run.output
    for (task, words), result in zip(CASES, run.results, strict=True):
        message = result.get("msg", "")
        assert result.get("failed"), (task, result)
        assert "Traceback" not in str(result), task
        assert "defect of the collection" not in message, (task, message)
        assert [word for word in words if word not in message] == [], (task, message)
    assert "Traceback" not in run.output
    assert not site.since(mark).writes()


def closed_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def test_connections_that_fail_are_one_message(site: Site, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("clusters: [")
    port = closed_port()
    ca = Path(site.lab["kubeconfig"]).parent / "certs" / "ca.crt"
    cases: list[tuple[dict[str, Any], list[str]]] = [
        ({"kubeconfig": "/no/such/file"}, ["kubeconfig: '/no/such/file' does not exist"]),
        ({"kubeconfig": str(broken)}, [f"kubeconfig: '{broken}' cannot be used"]),
        ({"context": "nowhere"}, ["nowhere"]),
        (
            {"host": f"https://127.0.0.1:{port}", "api_key": "t0ken"},
            [f"cannot connect to https://127.0.0.1:{port}", "Connection refused"],
        ),
        ({"host": site.lab["apiserver"], "api_key": "t0ken"}, ["TLS with", "ca_cert"]),
        (
            {"host": site.lab["apiserver"], "api_key": "t0ken", "ca_cert": str(ca)},
            ["401", "credentials were not accepted"],
        ),
        ({"host": "127.0.0.1"}, ["host: '127.0.0.1' is not a URL"]),
        ({"host": site.lab["image_source"], "api_key": "t0ken"}, ["Failed to list"]),
    ]
    env = {"K8S_AUTH_KUBECONFIG": "", "KUBECONFIG": site.lab["kubeconfig"]}
    run = site.play(*({f"{PRODUCT}.golden_image_info": options} for options, _ in cases), env=env)
    for (options, words), result in zip(cases, run.results, strict=True):
        message = result.get("msg", "")
        assert result.get("failed"), (options, result)
        assert [word for word in words if word not in message] == [], (options, message)
        assert "Traceback" not in str(result), options
        assert "t0ken" not in str(result), options


def test_a_secret_is_not_shown_at_any_verbosity(site: Site) -> None:
    env = {"K8S_AUTH_HOST": site.lab["apiserver"], "K8S_AUTH_API_KEY": "hunter2hunter2", "K8S_AUTH_VERIFY_SSL": "False"}
    run = site.play({f"{PRODUCT}.golden_image_info": {}}, env={**env, "K8S_AUTH_KUBECONFIG": ""}, flags=("-vvvv",))
    assert run.result["failed"]
    assert "is not verified" in run.output
    assert "hunter2hunter2" not in run.output


def test_missing_rights_name_verb_and_resource(site: Site) -> None:
    """Real RBAC: impersonated as somebody without any right."""
    result = site.module("node_pools", pools=[POOL], impersonate_user="nobody")
    assert result["failed"]
    for word in ("403", "list", "kubernetesnodeses", "apps.cozystack.io", "nobody"):
        assert word in result["msg"], result["msg"]
