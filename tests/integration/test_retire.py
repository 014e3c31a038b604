# SPDX-License-Identifier: Apache-2.0
"""Role and playbook retire: what is free goes, what is used stays, all refusals come before the first deletion."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab.scenarios import retire
from tests.integration.site import BIN, PRODUCT, Run, Site

SCENARIO = "retire"
pytestmark = pytest.mark.lab


def play(site: Site, data: dict[str, Any], *flags: str, book: str = "retire") -> Run:
    with tempfile.TemporaryDirectory() as folder:
        host = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, **data}
        inventory = Path(folder) / "hosts.yml"
        inventory.write_text(yaml.safe_dump({"all": {"hosts": {"site-a": host}}}))
        done = site.command(str(BIN / "ansible-playbook"), "-i", str(inventory), f"{PRODUCT}.{book}", *flags)
        return Run(done.returncode, done.stdout + done.stderr)


def image(role: str) -> dict[str, str]:
    name = retire.golden(role).removeprefix("talos-worker-")
    schematic, _, version = name.partition("-")
    return {"schematicID": schematic, "version": version}


def there(site: Site, role: str) -> bool:
    return site.get("DataVolume", retire.golden(role), "cozy-public") is not None


def test_a_used_golden_refuses_the_whole_role_before_anything_goes(site: Site) -> None:
    images = [image(role) for role in ("free", "pool", "zero-replicas", "cloning")]
    mark = site.mark()
    run = play(site, {"retire_images": images, "retire_when_free": False, "retire_listed": "allow"})
    assert run.code != 0
    for text in ("golden-declared", "golden-being-cloned", "What to do"):
        assert text in run.output
    assert site.since(mark).writes().count() == 0
    assert there(site, "free")


def test_a_listed_golden_is_refused(site: Site) -> None:
    run = play(site, {"retire_images": [image("free")]})
    assert run.code != 0
    assert "golden-still-listed" in run.output
    assert there(site, "free")


def test_check_mode_says_what_would_go(site: Site) -> None:
    mark = site.mark()
    run = play(site, {"retire_orphans": True}, "--check")
    assert run.code == 0, run.output
    assert "would be retired" in run.output
    assert site.since(mark).writes().count() == 0


def test_orphans_go_and_used_ones_stay(site: Site) -> None:
    data = {"retire_orphans": True, "retire_images": [image("pool")], "retire_listed": "allow"}
    run = play(site, data)
    assert run.code == 0, run.output
    assert "retired" in run.output
    assert "stays for now" in run.output
    assert not there(site, "orphan")
    assert there(site, "pool")
    again = play(site, data)
    assert "changed=0" in again.output


def test_nothing_named_is_nothing_retired(site: Site) -> None:
    mark = site.mark()
    run = play(site, {})
    assert run.code == 0, run.output
    assert "Nothing to retire" in run.output
    assert site.since(mark).count() == 0
