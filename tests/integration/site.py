# SPDX-License-Identifier: Apache-2.0
"""Runs real ansible-playbook processes against a lab, and reads what they did from the API server's audit log."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from lab.api import Api, Object
from lab.kinds import KINDS
from lab.ledger import Ledger

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
PRODUCT = "cozystack.worker_image"
SCHEMATIC = "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515"
PLATFORM = "cozystack.cozystack-platform"
CATALOG = "cozystack.kubernetes-worker-image"


def golden(version: str = "v1.13.6", schematic: str = SCHEMATIC) -> str:
    return f"talos-worker-{schematic}-{version}"


def kill_tree(pid: int) -> None:
    """Kill a process and all that came from it: Ansible's workers have sessions of their own, so that no group holds them all."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            children.setdefault(int(stat.read_text().rsplit(")", 1)[1].split()[1]), []).append(int(stat.parent.name))
        except OSError:
            continue
    doomed = [pid]
    for one in doomed:
        doomed += children.get(one, ())
    for one in doomed:
        with suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)


@dataclass(frozen=True)
class Run:
    """One ansible-playbook process: exit code, output, and the registered result of each task."""

    code: int
    output: str
    results: list[dict[str, Any]] = field(default_factory=list)

    @property
    def result(self) -> dict[str, Any]:
        """The result of the only task."""
        if len(self.results) != 1:
            raise LookupError(f"{len(self.results)} results; output:\n{self.output}")
        return self.results[0]


class Site:
    """A lab and the ways to act on it: as an operator (ansible), and behind the operator's back (the lab's own client)."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.lab: dict[str, Any] = json.loads((home / "lab.json").read_text())
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("K8S_AUTH_", "ANSIBLE_"))},
            "K8S_AUTH_KUBECONFIG": self.lab["kubeconfig"],
            "LAB_IMAGE_SOURCE": self.lab["image_source"] or "",
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
            "ANSIBLE_LOCALHOST_WARNING": "false",
            "ANSIBLE_DEPRECATION_WARNINGS": "false",
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_LOCAL_TEMP": str(home / "ansible-tmp"),
        }

    # -- as an operator

    def command(
        self, *command: str, env: dict[str, str] | None = None, timeout: float = 180
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=ROOT,
            env=self.environment | (env or {}),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def play(
        self,
        *tasks: dict[str, Any],
        check: bool = False,
        env: dict[str, str] | None = None,
        flags: tuple[str, ...] = (),
    ) -> Run:
        """Run tasks one after another, going on after a failure."""
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "results.json"
            named = [
                {"name": f"Task {index}", **task, "register": f"result_{index}", "ignore_errors": True}
                for index, task in enumerate(tasks)
            ]
            names = ", ".join(f"result_{index}" for index in range(len(tasks)))
            dump = {
                "name": "Write results",
                "ansible.builtin.copy": {"content": f"{{{{ [{names}] | to_json }}}}", "dest": str(out), "mode": "0600"},
                "check_mode": False,
            }
            book = [{"name": "Test", "hosts": "localhost", "gather_facts": False, "tasks": [*named, dump]}]
            path = Path(folder) / "play.yml"
            path.write_text(yaml.safe_dump(book, sort_keys=False))
            arguments = [
                "ansible-playbook",
                "-i",
                "localhost,",
                "-c",
                "local",
                "-e",
                f"ansible_python_interpreter={sys.executable}",
            ]
            done = self.command(
                str(BIN / arguments[0]), *arguments[1:], *(["--check"] if check else []), *flags, str(path), env=env
            )
            output = done.stdout + done.stderr
            return Run(done.returncode, output, json.loads(out.read_text()) if out.exists() else [])

    def module(
        self, name: str, *, check: bool = False, env: dict[str, str] | None = None, **options: Any
    ) -> dict[str, Any]:
        """The result of one module task."""
        return self.play({f"{PRODUCT}.{name}": options}, check=check, env=env).result

    def site_yml(
        self, data: dict[str, Any], *flags: str, env: dict[str, str] | None = None, timeout: float = 180
    ) -> Run:
        """Run playbooks/site.yml with this inventory data for one host."""
        with tempfile.TemporaryDirectory() as folder:
            done = self.command(*self.site_command(data, Path(folder), *flags), env=env, timeout=timeout)
            return Run(done.returncode, done.stdout + done.stderr)

    def site_command(self, data: dict[str, Any], folder: Path, *flags: str) -> list[str]:
        host = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, **data}
        inventory = folder / "hosts.yml"
        inventory.write_text(yaml.safe_dump({"all": {"hosts": {"site-a": host}}}))
        return [str(BIN / "ansible-playbook"), "-i", str(inventory), f"{PRODUCT}.site", *flags]

    # -- behind the operator's back

    def api(self, act: Callable[[Api], Coroutine[Any, Any, Any]]) -> Any:
        async def run() -> Any:
            async with Api(self.lab["kubeconfig"], "test") as api:
                return await act(api)

        return asyncio.run(run())

    def get(self, kind: str, name: str, namespace: str | None = None) -> Object | None:
        return self.api(lambda api: api.get(kind, name, namespace))

    def list(self, kind: str, namespace: str | None = None) -> list[Object]:
        return self.api(lambda api: api.list(kind, namespace))

    def patch(self, kind: str, name: str, patch: Object, namespace: str | None = None) -> Object:
        return self.api(lambda api: api.patch(kind, name, patch, namespace))

    def wait_for(self, kind: str, accept: Callable[[Object], bool], seconds: float = 60) -> bool:
        """Whether an object that is accepted appears within the time: one list, then a watch."""

        async def look(api: Api) -> bool:
            answer = await api.request("GET", KINDS[kind].path())
            if any(accept(item) for item in answer["items"]):
                return True
            async for _, item in api.watch(kind, answer["metadata"]["resourceVersion"]):
                if accept(item):
                    return True
            return False

        async def limited(api: Api) -> bool:
            try:
                return await asyncio.wait_for(look(api), seconds)
            except TimeoutError:
                return False

        return bool(self.api(limited))

    def scenario(self, name: str) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "lab", "scenario", name, "--home", str(self.home)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"scenario {name}: {done.stdout}{done.stderr}")

    def downloads(self, part: str = "") -> int:
        """How often images whose address holds ``part`` were asked for."""
        with urllib.request.urlopen(self.lab["image_source"] + "/_lab/counts", timeout=10) as answer:
            return sum(
                count["get"] for path, count in json.load(answer).items() if path.endswith(".raw.xz") and part in path
            )

    def post(self, url: str, body: Any) -> None:
        request = urllib.request.Request(url, json.dumps(body).encode(), method="POST")
        with urllib.request.urlopen(request, timeout=10):
            pass

    def faults(self, *rules: dict[str, Any]) -> None:
        """What the image source does wrong from now on; nothing when none are given."""
        self.post(self.lab["image_source"] + "/_lab/faults", list(rules))

    def misbehave(self, rule: dict[str, Any] | None) -> None:
        """What the lab's CDI does wrong beside what it does already; None withdraws it all."""
        self.post(self.lab["control"] + "/misbehave", {"controller": "cdi", "rule": rule})

    # -- what the API server saw

    def mark(self) -> Any:
        return Ledger(Path(self.lab["audit_log"])).mark()

    def since(self, mark: Any) -> Ledger:
        """The product's requests since a mark."""
        return Ledger(Path(self.lab["audit_log"])).since(mark, user_agent=PRODUCT)
