# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.site import ROOT, Site


def lab(home: Path, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lab", *arguments, "--home", str(home)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"lab {arguments[0]}: {done.stdout}{done.stderr}")


@pytest.fixture(scope="module")
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A lab of its own for each test module, in the scenario that the module names in SCENARIO."""
    home = tmp_path_factory.mktemp("lab")
    lab(home, "up")
    try:
        found = Site(home)
        found.scenario(getattr(request.module, "SCENARIO", "demo"))
        yield found
    finally:
        lab(home, "down")
