# SPDX-License-Identifier: Apache-2.0
"""What is generated is current, and what documents name exists."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "guards"


def test_guard_pages_are_current() -> None:
    done = subprocess.run(
        [sys.executable, "tools/guard_pages.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_page_of_troubles_is_current() -> None:
    done = subprocess.run(
        [sys.executable, "tools/trouble_page.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", sorted(PAGES.glob("*.md")), ids=lambda path: path.stem)
def test_a_guard_page_promises_nothing_that_does_not_work(path: Path) -> None:
    text = " ".join(path.read_text().split()).lower()
    assert not re.search(r"falls? back to a (host-assisted |slow )?copy", text)
    assert not re.search(r"(removing|dropping) (an|the) entry deletes", text)
    if "delete the datavolume" in text or "delete the golden" in text:
        assert "forceat" in text or "force" in text, "nothing recreates a golden without a forced render"


@pytest.mark.parametrize("path", sorted(PAGES.glob("*.md")), ids=lambda path: path.stem)
def test_the_example_of_a_guard_page_is_not_empty(path: Path) -> None:
    for example in re.findall(r"```text\n(.*?)```", path.read_text(), re.DOTALL):
        assert example.strip()


def test_links_between_documents_lead_somewhere() -> None:
    files = [*ROOT.glob("*.md"), *ROOT.glob("roles/*/README.md"), *ROOT.glob("lab/*.md"), *ROOT.glob("docs/**/*.md")]
    broken = [
        f"{file.relative_to(ROOT)}: {target}"
        for file in files
        for target in re.findall(r"(?<!\\)\[[^\]]*\]\(([^)#]+)\)", file.read_text())
        if "://" not in target and not (file.parent / target).exists()
    ]
    assert broken == []


def test_the_action_groups_hold_every_module_once() -> None:
    runtime = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text())
    assert sorted(name for group in runtime["action_groups"].values() for name in group) == sorted(
        path.stem for path in (ROOT / "plugins" / "modules").glob("*.py")
    )


def test_readme_names_every_module_role_playbook_and_filter() -> None:
    text = (ROOT / "README.md").read_text()
    names = [path.stem for path in (ROOT / "plugins" / "modules").glob("*.py")]
    names += [path.name for path in (ROOT / "roles").iterdir()]
    names += [path.stem for path in (ROOT / "playbooks").glob("*.yml")]
    names += [path.stem for path in (ROOT / "plugins" / "filter").glob("*.py")]
    assert [name for name in names if f"`{name}`" not in text] == []
