# SPDX-License-Identifier: Apache-2.0
"""Processes that outlive the command that started them, and that only their owner may stop.

A child writes its own record (pid and kernel start time) between fork and exec. So whoever is killed, and whenever, no
running process is unknown: before that moment there is nothing but a copy of the starter, which holds the home's lock.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


class ProcessDied(Exception):
    """A process of the lab ended; ``log`` is the end of what it said."""

    def __init__(self, name: str, log: str) -> None:
        self.name, self.log = name, log
        super().__init__(f"{name} ended:\n{log}")


@dataclass(frozen=True)
class Process:
    """``started`` is field 22 of /proc/PID/stat (clock ticks since boot): with the pid it names one process."""

    name: str
    pid: int
    started: int


def start_time(pid: int) -> int | None:
    """Clock ticks since boot, or None when there is no such process or it is a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The command name in parentheses may itself hold spaces and parentheses.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


def _names_home(pid: int, home: Path) -> bool:
    """True if an argument of the process is the home or a path below it."""
    try:
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return False
    values = [argument.partition("=")[2] if argument.startswith("--") else argument for argument in arguments]
    return any(value == str(home) or value.startswith(f"{home}/") for value in values)


def is_ours(process: Process, home: Path) -> bool:
    """True if the recorded process still runs: same pid, same start time, and a command line that names the home."""
    return start_time(process.pid) == process.started and _names_home(process.pid, home)


def _record_path(home: Path, name: str) -> Path:
    return home / "run" / f"{name}.json"


def _record_self(home: Path, name: str) -> None:
    pid = os.getpid()
    path = _record_path(home, name)
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps(asdict(Process(name, pid, start_time(pid) or 0))))
    temporary.replace(path)


def records(home: Path) -> list[Process]:
    """Every process that was ever recorded under this home since its last clean start, running or not."""
    found = []
    for path in sorted((home / "run").glob("*.json")):
        try:
            content = json.loads(path.read_text())
            found.append(Process(str(content["name"]), int(content["pid"]), int(content["started"])))
        except (OSError, ValueError, KeyError, TypeError):
            path.unlink(missing_ok=True)
    return found


def log_path(home: Path, name: str) -> Path:
    return home / "logs" / f"{name}.log"


def tail(home: Path, name: str, lines: int = 15) -> str:
    try:
        return "\n".join(log_path(home, name).read_text(errors="replace").splitlines()[-lines:])
    except OSError:
        return ""


def spawn(
    home: Path, name: str, command: Sequence[str], cwd: Path | None = None, environment: dict[str, str] | None = None
) -> Process:
    """Start a process in a session of its own (ctrl-C of the CLI must not reach it). Errors: OSError.

    The caller holds the home's lock and has no threads: the child runs Python between fork and exec. Signals wait
    meanwhile, so that a caller that cleans up after one finds the child's record.
    """
    for folder in (home / "run", home / "logs"):
        folder.mkdir(parents=True, exist_ok=True)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})

    def before_exec() -> None:
        _record_self(home, name)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    try:
        with log_path(home, name).open("ab") as log:
            child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=cwd,
                env=os.environ | (environment or {}), start_new_session=True, preexec_fn=before_exec,
            )  # fmt: skip
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    child.returncode = 0  # Popen would warn at exit that the process still runs; it shall
    _children.append(child.pid)
    return next(process for process in records(home) if process.name == name)


_children: list[int] = []


def _reap() -> None:
    """Collect our own ended children, so that they do not look alive as zombies to others."""
    for pid in list(_children):
        try:
            if os.waitpid(pid, os.WNOHANG)[0]:
                _children.remove(pid)
        except ChildProcessError:
            _children.remove(pid)


def check(home: Path, processes: Iterable[Process]) -> None:
    """Errors: ProcessDied for the first process that does not run any more."""
    _reap()
    for process in processes:
        if start_time(process.pid) != process.started:
            raise ProcessDied(process.name, tail(home, process.name))


def _signal(process: Process, home: Path, number: signal.Signals) -> None:
    """Through a pidfd, opened before the identity is checked: a reused pid cannot be hit."""
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    except OSError:  # a sandbox without pidfds
        with contextlib.suppress(ProcessLookupError):
            if is_ours(process, home):
                os.kill(process.pid, number)
        return
    try:
        with contextlib.suppress(ProcessLookupError):
            if is_ours(process, home):
                signal.pidfd_send_signal(handle, number)
    finally:
        os.close(handle)


def _wait_gone(processes: Iterable[Process], seconds: float) -> list[Process]:
    """Those of our processes that still run. A dying one loses its command line before it is gone: ask by start time."""
    deadline = time.monotonic() + seconds
    left = list(processes)
    while True:
        _reap()
        left = [process for process in left if start_time(process.pid) == process.started]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.02)


def stop_all(home: Path, grace: float = 5.0) -> list[str]:
    """Stop what runs of this home's recorded processes and wait for the end. Returns the names of what was stopped."""
    running = [process for process in records(home) if is_ours(process, home)]
    for process in running:
        _signal(process, home, signal.SIGTERM)
    stubborn = _wait_gone(running, grace)
    for process in stubborn:
        _signal(process, home, signal.SIGKILL)
    left = _wait_gone(stubborn, 10.0)
    if left:
        raise TimeoutError(f"could not stop {', '.join(f'{process.name} (pid {process.pid})' for process in left)}")
    for path in (home / "run").glob("*.json"):
        path.unlink(missing_ok=True)
    return [process.name for process in running]
