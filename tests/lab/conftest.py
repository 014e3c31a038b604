# SPDX-License-Identifier: Apache-2.0
"""Labs that tests share: `bare_lab` is the API server with the base objects, `lab` has all controllers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lab import instance
from lab.api import Api
from lab.instance import Options
from lab.ledger import Ledger

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Lab:
    """A running lab; ``about`` is its lab.json."""

    home: Path
    about: dict[str, Any]

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.about["audit_log"])

    @property
    def environment(self) -> dict[str, str]:
        return instance.environment(self.home)

    def api(self, user_agent: str = "lab-test") -> Api:
        """Use as an async context manager."""
        return Api(self.home / "kubeconfig", user_agent)


def shared_lab(tmp_path_factory: pytest.TempPathFactory, name: str, options: Options) -> Iterator[Lab]:
    home = tmp_path_factory.mktemp(name)
    messages: list[str] = []
    try:
        yield Lab(home, instance.up(home, options, messages.append))
    finally:
        instance.down(home, messages.append)


@pytest.fixture(scope="session")
def bare_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    yield from shared_lab(tmp_path_factory, "bare-lab", Options(("all",)))


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    yield from shared_lab(tmp_path_factory, "lab", Options())


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home of its own for one test; whatever runs in it afterwards is stopped."""
    folder = tmp_path / "home"
    yield folder
    instance.down(folder, lambda _: None)


@pytest.fixture
def start_cli() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts `python -m lab ...` and gives the process with its output as pipes."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str | Path, **environment: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "lab", *map(str, arguments)],
            cwd=ROOT,
            env=os.environ | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # A job in the background of a shell ignores SIGINT, and so would what we start from there.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=30)  # a grandchild that lives on would hold the pipes


@pytest.fixture
def cli(start_cli: Callable[..., subprocess.Popen[str]]) -> Callable[..., tuple[int, str, str]]:
    """Runs `python -m lab ...` and gives exit code, output and errors."""

    def run(*arguments: str | Path, **environment: str) -> tuple[int, str, str]:
        process = start_cli(*arguments, **environment)
        output, errors = process.communicate(timeout=120)
        return process.returncode, output, errors

    return run
