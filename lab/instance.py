# SPDX-License-Identifier: Apache-2.0
"""Start, stop and describe one lab: everything it has lives in its home folder."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from lab import binaries, certs, furnish, processes, servers
from lab.api import Api, ApiError
from lab.processes import Process, ProcessDied

CONTROLLERS = ("operator", "releases", "workers", "cdi", "apps", "images")
MARKER = "lab.lock"
_READY_SECONDS, _CONTROLLERS_SECONDS, _PORT_ATTEMPTS = 60.0, 30.0, 4

Say = Callable[[str], None]


class LabError(Exception):
    """The lab cannot do what was asked; the message is for the person who asked."""


@dataclass(frozen=True)
class Options:
    """What a lab was started with; ``without`` names controllers, or holds ``all``."""

    without: tuple[str, ...] = ()
    apps_api: str | None = None

    @property
    def controllers(self) -> bool:
        return "all" not in self.without

    def describe(self) -> str:
        parts = [f"--without {name}" for name in self.without]
        parts += [f"--apps-api {self.apps_api}"] if self.apps_api else []
        return " ".join(parts) or "all controllers"


def described(home: Path) -> dict[str, Any] | None:
    """The content of lab.json, or None."""
    try:
        content = json.loads((home / "lab.json").read_text())
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


@contextlib.contextmanager
def locked(home: Path, say: Say) -> Iterator[None]:
    """One command at a time per home; the kernel frees the lock of a killed one."""
    _claim(home)
    with (home / MARKER).open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say("waiting for another lab command on this home")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _claim(home: Path) -> None:
    """A home is empty or was made by us: `up` deletes folders named etcd and volumes in it."""
    if home.exists() and not home.is_dir():
        raise LabError(f"{home} is not a folder")
    if home.is_dir() and not (home / MARKER).exists() and any(home.iterdir()):
        raise LabError(f"{home} holds other files and is no lab home; choose an empty or new folder")
    home.mkdir(mode=0o700, parents=True, exist_ok=True)


def healthy(home: Path) -> bool:
    """True if every recorded process runs and this instance (known by its CA) says it is ready."""
    known = described(home)
    if not known or not known.get("ready"):
        return False
    return not dead(home, known) and asyncio.run(_answers(home))


def dead(home: Path, known: dict[str, Any]) -> list[str]:
    """Names of the processes that lab.json speaks of and that do not run."""
    recorded = {process.name: process for process in processes.records(home)}
    wanted = known.get("processes", {})
    return [name for name in wanted if name not in recorded or not processes.is_ours(recorded[name], home)]


async def _answers(home: Path, seconds: float = 5.0) -> bool:
    try:
        async with asyncio.timeout(seconds), Api(home / "kubeconfig", "lab-health") as api:
            return bool(await api.request("GET", "/readyz") == "ok")
    except (ApiError, aiohttp.ClientError, OSError, TimeoutError):
        return False


def up(home: Path, options: Options, say: Say) -> dict[str, Any]:
    """Start a lab, or find the one that runs. Returns lab.json. Errors: LabError, BinariesError, ProcessDied."""
    if not Path("/proc/self/stat").exists():
        raise LabError("the lab needs Linux: it knows its processes from /proc")
    folder = binaries.ensure(say)
    with locked(home, say):
        if healthy(home):
            known = described(home) or {}
            running = known.get("options")
            if running != options.describe():
                raise LabError(f"a lab with {running} runs in {home}; stop it first (python -m lab down)")
            say(f"already up: {known['apiserver']}")
            return known
        stopped = processes.stop_all(home)
        if stopped:
            say(f"stopped what was left of an earlier lab: {', '.join(stopped)}")
        try:
            return _start(home, folder, options, say)
        except BaseException:
            processes.stop_all(home)
            raise


def _start(home: Path, folder: Path, options: Options, say: Say) -> dict[str, Any]:
    begun = time.monotonic()
    _clean(home)
    certs.write(home / "certs")
    servers.write_private(home / "audit-policy.yaml", servers.AUDIT_POLICY)
    running, port, etcd = _start_servers(home, folder, say)
    about = _describe(home, port, etcd, options, binaries.versions(folder))
    _save(home, about, running, ready=False)
    if options.controllers:
        command = controllers_command(home, options)
        controllers = processes.spawn(home, "controllers", command, cwd=Path(__file__).parent.parent)
        running.append(controllers)
        about |= {key: value for key, value in _wait_controllers(home, controllers).items() if key in about}
    _save(home, about, running, ready=True)
    say(f"up in {time.monotonic() - begun:.1f} s: {about['apiserver']} (kubeconfig {about['kubeconfig']})")
    return described(home) or {}


def _clean(home: Path) -> None:
    """Nothing of an earlier life may answer; its logs stay readable under another name."""
    for name in ("etcd", "volumes", "run", "certs"):
        shutil.rmtree(home / name, ignore_errors=True)
    for name in ("lab.json", "controllers.json", "kubeconfig"):
        (home / name).unlink(missing_ok=True)
    logs = home / "logs"
    for path in [home / "audit.log", *(logs.glob("*.log") if logs.is_dir() else ())]:
        if path.exists() and ".previous" not in path.suffixes:
            path.replace(path.with_name(f"{path.stem}.previous{path.suffix}"))
    (home / "volumes").mkdir()


def _start_servers(home: Path, folder: Path, say: Say) -> tuple[list[Process], int, int]:
    """etcd and kube-apiserver, furnished and ready; again with new ports when another process was faster."""
    for attempt in range(1, _PORT_ATTEMPTS + 1):
        client, peer, port = servers.free_ports(3)
        servers.write_private(home / "kubeconfig", servers.kubeconfig(home, port))
        try:
            etcd = processes.spawn(home, "etcd", servers.etcd_command(folder / "etcd", home, client, peer))
            # kube-apiserver would find the door closed and wait a second before it knocks again.
            _wait_listening(home, etcd, client)
            command = servers.apiserver_command(folder / "kube-apiserver", home, port, client)
            running = [etcd, processes.spawn(home, "kube-apiserver", command, environment=servers.LAZY_COLLECTOR)]
            asyncio.run(furnish.furnish(home, running, _READY_SECONDS))
        except ProcessDied as died:
            processes.stop_all(home, grace=0.0)
            if "address already in use" not in died.log or attempt == _PORT_ATTEMPTS:
                raise
            say("a port was taken meanwhile; trying others")
            shutil.rmtree(home / "etcd", ignore_errors=True)
        else:
            return running, port, client
    raise LabError("no free ports")


def _wait_listening(home: Path, process: Process, port: int) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while time.monotonic() < deadline:
        processes.check(home, [process])
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
            return
        time.sleep(0.01)
    raise LabError(f"etcd did not listen within {_READY_SECONDS:.0f} s; its log ends:\n{processes.tail(home, 'etcd')}")


def controllers_command(home: Path, options: Options) -> list[str]:
    """How the controllers are started; they answer by writing controllers.json into the home."""
    command = [sys.executable, "-m", "lab.controllers", "--home", str(home)]
    for name in options.without:
        command += ["--without", name]
    if options.apps_api:
        command += ["--apps-api", options.apps_api]
    return command


def _wait_controllers(home: Path, process: Process) -> dict[str, Any]:
    deadline = time.monotonic() + _CONTROLLERS_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError, ValueError):
            answer = json.loads((home / "controllers.json").read_text())
            if isinstance(answer, dict):
                return answer
        processes.check(home, [process])
        time.sleep(0.02)
    tail = processes.tail(home, "controllers")
    raise LabError(f"the controllers were not ready after {_CONTROLLERS_SECONDS:.0f} s; their log ends:\n{tail}")


def _describe(home: Path, port: int, etcd: int, options: Options, versions: dict[str, str]) -> dict[str, Any]:
    return {
        "apiserver": f"https://127.0.0.1:{port}",
        "etcd": f"https://127.0.0.1:{etcd}",
        "kubeconfig": str(home / "kubeconfig"),
        "audit_log": str(home / "audit.log"),
        "volumes": str(home / "volumes"),
        "image_source": None,
        "image_source_tls": None,
        "image_source_ca": None,
        "control": None,
        "apps_api": options.apps_api,
        "upload_proxy": None,
        "upload_proxy_ca": None,
        "versions": versions,
        "options": options.describe(),
    }


def _save(home: Path, about: dict[str, Any], running: list[Process], ready: bool) -> None:
    content = about | {"ready": ready, "processes": {p.name: {"pid": p.pid, "started": p.started} for p in running}}
    temporary = home / "lab.json.new"
    temporary.write_text(json.dumps(content, indent=2) + "\n")
    temporary.replace(home / "lab.json")


def down(home: Path, say: Say) -> None:
    """Stop this home's processes; logs and audit log stay. Nothing to stop is fine."""
    if not (home / MARKER).exists():
        say(f"no lab in {home}")
        return
    with locked(home, say):
        stopped = processes.stop_all(home)
        for name in ("lab.json", "controllers.json"):
            (home / name).unlink(missing_ok=True)
        say(f"stopped {', '.join(stopped)}" if stopped else "nothing runs")


def environment(home: Path) -> dict[str, str]:
    """Variables for tools that shall talk to this lab. Errors: LabError when none is up."""
    known = described(home)
    if not known or not known.get("ready"):
        raise LabError(f"no lab is up in {home}")
    variables = {"KUBECONFIG": known["kubeconfig"], "K8S_AUTH_KUBECONFIG": known["kubeconfig"], "LAB_HOME": str(home)}
    if known.get("image_source"):
        variables["LAB_IMAGE_SOURCE"] = known["image_source"]
    return variables


def status(home: Path) -> tuple[str, bool]:
    """A small table for people, and whether the lab is healthy."""
    known = described(home)
    if not known:
        left = [process.name for process in processes.records(home) if processes.is_ours(process, home)]
        remains = f" ({', '.join(left)} left over; `down` or `up` removes them)" if left else ""
        return f"lab   down{remains}\nhome  {home}", False
    missing = dead(home, known)
    fine = healthy(home)
    state = "up" if fine else f"broken, {', '.join(missing)} ended" if missing else "not ready"
    rows = [("lab", state), ("home", str(home)), ("options", known["options"])]
    addresses = ("apiserver", "image_source", "image_source_tls", "control", "apps_api")
    rows += [(key, known[key]) for key in addresses if known.get(key)]
    versions = known["versions"]
    rows.append(("versions", f"etcd {versions['etcd']}, kubernetes {versions['kubernetes']}"))
    for name, process in known["processes"].items():
        rows.append((name, f"pid {process['pid']}{', ended' if name in missing else ''}"))
    width = max(len(key) for key, _ in rows)
    return "\n".join(f"{key:<{width}}  {value}" for key, value in rows), fine
