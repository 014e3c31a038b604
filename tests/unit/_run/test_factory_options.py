# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.factory import (
    base_problem,
    budget_seconds,
    factory_base,
    factory_web,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.failures import OptionFailure

PARAMS: dict[str, Any] = {
    "imageFactoryURL": "https://f.example", "validate_certs": True, "ca_cert": None, "username": None, "password": None,
    "token": None, "timeout": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("base", "word"),
    [
        ("https://f.example", ""),
        ("http://127.0.0.1:8080/talos//", ""),
        ("ftp://f.example", "ftp://f.example"),
        ("f.example", "f.example"),
        ("https://f.example/ x", "not a plain"),
        ("https://f.example\n", "not a plain"),
        ("https://", "https://"),
        ("https://:80/", "names no host"),
        ("https://f.example:0", "names no host"),
        ("https://f.example:99999", "out of range"),
        ("https://f.example?x=1", "query"),
        ("https://f.example/#top", "query or a fragment"),
        ("https://user:s3cret@f.example", "credentials"),
        ("ftp://user:s3cret@f.example", "not an http"),
        ("https://user:s3cret@f.example:99999", "not an http"),
    ],
)
def test_base_problem(base: str, word: str) -> None:
    problem = base_problem(base)
    assert (word in problem) if word else problem == ""
    assert "s3cret" not in problem


def test_factory_base_drops_slashes_and_names_the_option() -> None:
    assert factory_base({**PARAMS, "imageFactoryURL": "https://f.example/talos//"}) == "https://f.example/talos"
    with pytest.raises(OptionFailure, match=r"^imageFactoryURL: 'f\.example'"):
        factory_base({**PARAMS, "imageFactoryURL": "f.example"})


def test_verification_that_is_off_is_told() -> None:
    told: list[str] = []
    factory_web(PARAMS, "https://f.example", told.append)
    assert told == []
    factory_web({**PARAMS, "validate_certs": False}, "https://f.example", told.append)
    assert "not verified" in told[0]


def test_a_missing_ca_file_is_named() -> None:
    with pytest.raises(OptionFailure, match=r"ca_cert: '/no/ca\.pem' does not exist"):
        factory_web({**PARAMS, "ca_cert": "/no/ca.pem"}, "https://f.example", print)


@pytest.mark.parametrize(("given", "expected"), [(None, 60), (5, 5)])
def test_budget_seconds(given: int | None, expected: int) -> None:
    assert budget_seconds({"timeout": given}, 60) == expected


@pytest.mark.parametrize("given", [0, -1])
def test_budget_seconds_refused(given: int) -> None:
    with pytest.raises(OptionFailure, match="timeout"):
        budget_seconds({"timeout": given}, 60)


def test_a_proxy_of_another_kind_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "socks5://user:s3cret@proxy.example:1080")
    with pytest.raises(OptionFailure, match=r"HTTPS_PROXY: .*socks5") as caught:
        factory_web(PARAMS, "https://f.example", print)
    assert "s3cret" not in str(caught.value)
