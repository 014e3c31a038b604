# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube import connection
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.connection import (
    Settings,
    make_api_client,
    resolve,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.errors import ConnectionOptionError

AWX = {"K8S_AUTH_HOST": "https://awx", "K8S_AUTH_API_KEY": "s3cret", "K8S_AUTH_VERIFY_SSL": "False"}


def where(settings: Settings) -> Any:
    return settings.kubeconfig or settings.options.get("host") or ("pod" if settings.in_cluster else None)


@pytest.fixture(autouse=True)
def no_default_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(connection, "_SERVICE_ACCOUNT_TOKEN", str(tmp_path / "token"))


@pytest.mark.parametrize(
    ("params", "environ", "expected"),
    [
        ({"kubeconfig": "/a"}, {}, "/a"),
        ({"kubeconfig": "/a"}, AWX, "/a"),
        ({"context": "c"}, {**AWX, "KUBECONFIG": "/k"}, "/k"),
        ({"host": "https://task"}, {"K8S_AUTH_KUBECONFIG": "/e"}, "https://task"),
        ({"host": "https://task"}, AWX, "https://task"),
        ({}, AWX, "https://awx"),
        ({}, {**AWX, "K8S_AUTH_KUBECONFIG": "/e"}, "https://awx"),
        ({}, {"K8S_AUTH_KUBECONFIG": "/e", "KUBECONFIG": "/k"}, "/e"),
        ({}, {"KUBECONFIG": "/k"}, "/k"),
        ({}, {"KUBECONFIG": "/k1:/k2"}, "/k1:/k2"),
        ({"kubeconfig": {"clusters": []}}, AWX, {"clusters": []}),
        ({"kubeconfig": ""}, {"KUBECONFIG": "/k"}, "/k"),
    ],
)
def test_resolve_follows_the_order_of_sources(params: Any, environ: Any, expected: Any) -> None:
    assert where(resolve(params, environ)) == expected


def test_the_service_account_of_the_pod_comes_last(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    assert resolve({}, {}).in_cluster
    assert not resolve({}, {"KUBECONFIG": "/k"}).in_cluster
    assert not resolve({}, AWX).in_cluster
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").write_text("{}")
    assert where(resolve({}, {})) == str(tmp_path / ".kube" / "config")


def test_a_task_kubeconfig_is_not_mixed_with_the_identity_of_the_environment() -> None:
    options = resolve({"kubeconfig": "/a"}, {**AWX, "K8S_AUTH_PROXY": "http://p"}).options
    assert options == {"proxy": "http://p"}


def test_host_from_the_task_takes_the_token_of_the_environment() -> None:
    settings = resolve({"host": "https://task"}, AWX)
    assert settings.options["api_key"] == "s3cret"
    assert settings.secrets == {"s3cret"}


@pytest.mark.parametrize(
    ("text", "expected"), [("False", False), ("false", False), ("0", False), ("no", False), ("True", True), ("1", True)]
)
def test_verification_is_read_from_text(text: str, expected: bool) -> None:
    assert resolve({}, {**AWX, "K8S_AUTH_VERIFY_SSL": text}).options["validate_certs"] is expected


def test_verification_that_is_no_boolean_is_named() -> None:
    with pytest.raises(ConnectionOptionError, match=r"K8S_AUTH_VERIFY_SSL \(option validate_certs\) is 'maybe'"):
        resolve({}, {**AWX, "K8S_AUTH_VERIFY_SSL": "maybe"})


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"kubeconfig": "/does/not/exist"}, "kubeconfig: '/does/not/exist' does not exist"),
        ({"host": "https://h", "api_key": "k", "ca_cert": "/no/ca"}, "ca_cert: the file '/no/ca' does not exist"),
        ({"host": "h:6443", "api_key": "k"}, "host: 'h:6443' is not a URL"),
        ({"kubeconfig": {"clusters": []}}, r"kubeconfig: \(given as a dictionary\) cannot be used"),
    ],
)
def test_an_unusable_connection_names_option_and_value(params: Any, message: str) -> None:
    with pytest.raises(ConnectionOptionError, match=message):
        make_api_client(resolve(params, {}))


@pytest.mark.parametrize(
    "content", ["", "{", "just text", "clusters: 7", "current-context: x\ncontexts: []\nclusters: []\nusers: []"]
)
def test_a_broken_kubeconfig_is_one_message(tmp_path: Path, content: str) -> None:
    path = tmp_path / "config"
    path.write_text(content)
    with pytest.raises(ConnectionOptionError, match=f"kubeconfig: '{path}' cannot be used: "):
        make_api_client(resolve({"kubeconfig": str(path)}, {}))


def test_a_context_that_does_not_exist_is_named(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("{clusters: [], contexts: [], users: [], current-context: a, kind: Config, apiVersion: v1}")
    with pytest.raises(ConnectionOptionError, match="nowhere"):
        make_api_client(resolve({"kubeconfig": str(path), "context": "nowhere"}, {}))
