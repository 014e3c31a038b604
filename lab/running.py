# SPDX-License-Identifier: Apache-2.0
"""Runs one command inside a lab: up, the command with the lab's environment, down, whatever happens."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from lab import instance
from lab.instance import LabError, Options, Say


def run(home: Path | None, options: Options, command: Sequence[str], say: Say) -> int:
    """Exit code of the command (128 + N if signal N ended it). A lab that ran before in ``home`` stays up."""
    if not shutil.which(command[0]):
        raise LabError(f"there is no command {command[0]}")
    if home is None:
        temporary = Path(tempfile.mkdtemp(prefix="lab-"))
        try:
            return _inside(temporary, options, command, say)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    if instance.described(home) and instance.healthy(home):
        instance.up(home, options, say)  # refuses when the options differ
        return _execute(command, os.environ | instance.environment(home))
    return _inside(home, options, command, say)


def _inside(home: Path, options: Options, command: Sequence[str], say: Say) -> int:
    instance.up(home, options, say)
    try:
        return _execute(command, os.environ | instance.environment(home))
    finally:
        instance.down(home, say)


def _execute(command: Sequence[str], environment: dict[str, str]) -> int:
    child: subprocess.Popen[bytes] | None = None
    early: list[int] = []

    def pass_on(number: int, _: FrameType | None) -> None:
        if child is None:
            early.append(number)
        elif not (number == signal.SIGINT and _in_foreground()):
            child.send_signal(number)

    # From before the start on: a signal in between would end us and leave the command running.
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, pass_on) for number in numbers}
    try:
        child = subprocess.Popen(command, env=environment)
        for number in early:
            child.send_signal(number)
        code = child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code


def _in_foreground() -> bool:
    """True if ctrl-C at the terminal has reached the child already: it is in our process group."""
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False
