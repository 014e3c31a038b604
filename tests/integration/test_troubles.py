# SPDX-License-Identifier: Apache-2.0
"""Goldens in trouble: each kind is noticed early, called by its name, and told what to do; what can heal does.

Written down in .lab/troubles.json: trouble, state, seconds until noticed, message.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.instance import MARKER
from tests.integration.site import PRODUCT, ROOT, SCHEMATIC, Site, golden

SCENARIO = "demo"
pytestmark = pytest.mark.lab

# (version, what the source or CDI does wrong, options, state, trouble)
TROUBLES: list[tuple[str, str, dict[str, Any], dict[str, Any], str, str]] = [
    ("404", "v1.13.10", {"kind": "status", "status": 404}, {}, "failing", "image-not-found"),
    ("500", "v1.13.11", {"kind": "status", "status": 500}, {}, "failing", "server-error"),
    ("html with 200", "v1.13.12", {"kind": "html"}, {}, "failing", "not-an-image"),
    ("truncated", "v1.13.13", {"kind": "truncate"}, {}, "failing", "transfer-cut"),
    ("wrong certificate", "v1.13.14", {}, {"tls": True}, "failing", "tls-not-trusted"),
    (
        "too large",
        "v2.0.0",
        {"kind": "oversize", "size": 128 << 20},
        {"storage": "64Mi"},
        "will_not_finish",
        "image-too-large",
    ),
    ("pod evicted", "v1.13.15", {"action": "evict"}, {}, "stuck", "importer-pod-failed"),
    ("out of memory", "v1.13.16", {"action": "oom"}, {}, "stuck", "out-of-memory"),
    ("no node", "v1.13.17", {"action": "unschedulable"}, {"grace": True}, "not_progressing", "not-schedulable"),
    ("no importer image", "v1.13.18", {"action": "no-image"}, {"grace": True}, "not_progressing", "importer-image"),
]


@pytest.fixture(scope="module")
def table() -> Iterator[list[dict[str, Any]]]:
    rows: list[dict[str, Any]] = []
    yield rows
    (ROOT / ".lab").mkdir(exist_ok=True)
    (ROOT / ".lab" / MARKER).touch()
    (ROOT / ".lab" / "troubles.json").write_text(json.dumps(rows, indent=2) + "\n")


def wrong(site: Site, version: str, rule: dict[str, Any]) -> None:
    if "action" in rule:
        site.misbehave({"match": version.replace(".", r"\."), **rule})
    elif rule:
        site.faults({"path": version.replace(".", r"\.") + "/", **rule})


def options(site: Site, version: str, given: dict[str, Any]) -> dict[str, Any]:
    base = site.lab["image_source_tls" if given.get("tls") else "image_source"]
    more = {key: value for key, value in given.items() if key == "storage"}
    return {"schematicID": SCHEMATIC, "version": version, "imageFactoryURL": base, **more}


@pytest.mark.parametrize(
    ("what", "version", "rule", "given", "state", "trouble"), TROUBLES, ids=[row[0] for row in TROUBLES]
)
def test_trouble(
    site: Site,
    table: list[dict[str, Any]],
    what: str,
    version: str,
    rule: dict[str, Any],
    given: dict[str, Any],
    state: str,
    trouble: str,
) -> None:
    wrong(site, version, rule)
    started = time.monotonic()
    try:
        # A state that needs no attempt is only called trouble after a minute of grace: what is reported then is looked at without waiting.
        grace = bool(given.get("grace"))
        result = site.module("golden_image", **options(site, version, given), wait=not grace, wait_timeout=90)
        if grace:
            name = golden(version)
            assert site.wait_for(
                "DataVolume", lambda one: one["metadata"]["name"] == name and seen(one) != ("", ""), 30
            )
            (found,) = site.module("golden_image_info", names=[name])["goldens"]
        else:
            assert result["failed"] is True
            assert "timed_out" not in result
            (found,) = result["goldens"]
            assert found["cause"] in result["msg"]
            assert found["remedy"] in result["msg"]
        seconds = time.monotonic() - started
        assert (found["state"], found["trouble"]) == (state, trouble)
        assert found["restarts"] <= 4
        table.append(
            {
                "trouble": what,
                "state": state,
                "cause": trouble,
                "seconds": round(seconds, 1),
                "message": found["reason"],
            }
        )
    finally:
        site.faults()
        site.misbehave(None)


def seen(disk: dict[str, Any]) -> tuple[str, str]:
    """Reason and message of condition Running."""
    for condition in (disk.get("status") or {}).get("conditions") or []:
        if (
            condition["type"] == "Running"
            and condition["status"] == "False"
            and condition["reason"] not in ("Pending", "")
        ):
            return condition["reason"], condition["message"]
    return "", ""


def test_a_repaired_source_lets_a_retrying_import_finish(site: Site) -> None:
    site.faults({"path": "v1.13.20/", "kind": "status", "status": 503, "count": 2})
    run = site.play({f"{PRODUCT}.golden_image": options(site, "v1.13.20", {})})
    assert run.result["golden"]["state"] == "ready"
    assert run.result["golden"]["restarts"] == 2
    assert re.search(r"retrying.*got 503", run.output), run.output
    assert site.downloads("/v1.13.20/") == 3


def test_a_slow_source_is_no_trouble(site: Site) -> None:
    site.faults({"path": "v1.13.21/", "kind": "slow", "bytes_per_second": 400_000})
    run = site.play({f"{PRODUCT}.golden_image": options(site, "v1.13.21", {})})
    site.faults()
    assert run.result["golden"]["state"] == "ready"
    assert "importing" in run.output


def test_a_time_out_says_what_was_last_seen(site: Site) -> None:
    site.faults({"path": "v1.13.22/", "kind": "slow", "bytes_per_second": 20_000})
    result = site.module("golden_image", **options(site, "v1.13.22", {}), wait_timeout=3)
    site.faults()
    assert result["timed_out"] is True
    assert re.search(r"importing for [0-9]+ s .*seen: phase ImportInProgress", result["msg"])


def test_a_ca_in_the_cluster_makes_a_private_certificate_good(site: Site) -> None:
    authority = Path(site.lab["image_source_ca"]).read_text()
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "mirror-ca", "namespace": "cozy-public"},
        "data": {"ca.pem": authority},
    }
    site.api(lambda api: api.create(config))
    result = site.module("golden_image", **options(site, "v1.13.23", {"tls": True}), certConfigMap="mirror-ca")
    assert result["golden"]["state"] == "ready"
