# SPDX-License-Identifier: Apache-2.0
"""Plans as data: shown, approved by hash or whole, executed exactly or refused with what moved."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.site import BIN, PRODUCT, SCHEMATIC, Run, Site, golden

SCENARIO = "demo"
pytestmark = pytest.mark.lab


def pool(name: str, **spec: Any) -> dict[str, Any]:
    known = {"minReplicas": 1, "maxReplicas": 2, "instanceType": "u1.medium", "osImage": {"builtin": {}}}
    return {"namespace": "tenant-acme", "cluster": "shop", "pool": name, "spec": {**known, **spec}}


def data(site: Site, **more: Any) -> dict[str, Any]:
    images = [{"schematicID": SCHEMATIC, "version": "v1.13.6"}]
    catalog = {"imageFactoryURL": site.lab["image_source"], "images": images}
    return {"catalog_values": catalog, "tenant_pools_pools": [pool("md0"), pool("md1")], **more}


def play(site: Site, book: str, host: dict[str, Any], *flags: str) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        known = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, **host}
        inventory = Path(folder) / "hosts.yml"
        inventory.write_text(yaml.safe_dump({"all": {"hosts": {"site-a": known}}}))
        done = site.command(str(BIN / "ansible-playbook"), "-i", str(inventory), f"{PRODUCT}.{book}", *flags)
        return Run(done.returncode, done.stdout + done.stderr)


def hash_of(run: Run) -> str:
    found = re.search(r"Plan (sha256:[0-9a-f]{64})", run.output)
    assert found, run.output
    return found[1]


def test_a_plan_is_shown_approved_and_executed(site: Site) -> None:
    mark = site.mark()
    shown = play(site, "plan", data(site))
    assert shown.code == 0, shown.output
    assert site.since(mark).writes().count() == 0
    for text in ("3 steps", "change Package", "create KubernetesNodes tenant-acme/shop-md0"):
        assert text in shown.output
    wrong = play(site, "site", data(site), "-e", "site_expected_plan=sha256:" + "0" * 64)
    assert wrong.code != 0
    assert "the plan is no longer the approved one" in wrong.output, wrong.output
    assert site.since(mark).writes().count() == 0
    done = play(site, "site", data(site), "-e", f"site_expected_plan={hash_of(shown)}")
    assert done.code == 0, done.output
    assert site.get("DataVolume", golden(), "cozy-public") is not None
    after = play(site, "plan", data(site))
    assert "Nothing to do" in after.output
    again = play(site, "site", data(site), "-e", f"site_expected_plan={hash_of(shown)}")
    assert again.code == 0, again.output
    assert "changed=0" in again.output


def test_the_module_says_the_same_as_the_writing_modules(site: Site) -> None:
    pools = [pool("md0", diskSize="30Gi"), pool("md2")]
    plan = site.module("site_plan_info", pools=pools, retirements=[{"schematicID": SCHEMATIC, "version": "v1.13.6"}])
    check = site.module("node_pools", check=True, pools=pools)
    assert plan["parts"]["pools"] == check["plan"]
    assert plan["executable"] is True
    assert (plan["totals"]["steps"], plan["totals"]["rolling"]) == (2, 1)
    assert [found["state"] for found in plan["pending"]] == ["pending"]
    rolling = plan["plan"]["steps"][0]
    assert (rolling["risk"], rolling["concerned"]["workers"]) == ("rolls", 1)
    assert "replaces workers: 1 worker" in "\n".join(plan["text"])
    assert plan["markdown"].count("\n| ") == 3


def test_refusals_are_part_of_the_answer(site: Site) -> None:
    plan = site.module("site_plan_info", pools=[pool("md0", diskSize="1Gi")])
    assert plan.get("failed", False) is False
    assert plan["executable"] is False
    assert [found["id"] for found in plan["refusals"]] == ["disk-smaller-than-golden"]


def test_a_pool_that_somebody_edited_since_is_named(site: Site) -> None:
    pools = [pool("md0", minReplicas=2), pool("md1", minReplicas=2)]
    plan = site.module("site_plan_info", pools=pools)
    site.patch("KubernetesNodes", "shop-md1", {"spec": {"maxReplicas": 7}}, "tenant-acme")
    mark = site.mark()
    for approved in (plan["parts"]["pools"]["hash"], plan["parts"]["pools"]):
        refused = site.module("node_pools", pools=pools, expected_plan=approved)
        assert refused["failed"] is True
        assert any("tenant-acme/shop-md1" in line for line in refused["moved"])
    assert "tenant-acme/shop-md0" not in "".join(refused["moved"])
    assert site.since(mark).writes().count() == 0


def test_an_interrupted_run_goes_on_with_the_rest_of_the_whole_plan(site: Site) -> None:
    pools = [pool("md0", minReplicas=2, logSerialConsole=True), pool("md1", minReplicas=2, maxReplicas=7)]
    plan = site.module("site_plan_info", pools=pools)["parts"]["pools"]
    site.module("node_pools", pools=pools[:1])
    rest = site.module("node_pools", pools=pools, expected_plan=plan)
    assert rest["changed"] is True
    assert [step["name"] for step in rest["plan"]["steps"]] == ["shop-md1"]


def test_what_is_no_plan_is_refused_by_name(site: Site) -> None:
    wrong = site.module("node_pools", pools=[pool("md0")], expected_plan="yes")
    assert wrong["msg"].startswith("expected_plan: ")
