# SPDX-License-Identifier: Apache-2.0
"""The same work by this collection, by kubectl and by kubernetes.core: what each is told, and what a run of it cost."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.measured import ROOT, MeasuredSite, options
from lab import binaries

PROBE = ROOT / "bench" / "probe.py"
LOOP = 40  # pools that a loop is measured with; it costs the same for each


class BenchError(Exception):
    """A contender failed, or did other work than it was given."""


@dataclass(frozen=True)
class Cost:
    """One run: seconds of the whole process and of processor time, peak memory of its largest process, requests, writes
    among them, and requests for further pages of a list.
    """

    seconds: float
    cpu_seconds: float
    peak_mib: float
    requests: int
    writes: int
    pages: int


def probe(*arguments: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    """The figures of bench/probe.py. Errors: BenchError."""
    command = [sys.executable, str(PROBE), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=env)
    if done.returncode:
        raise BenchError(f"{' '.join(command[2:6])}: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


class Contender:
    """``agent`` is how its requests begin in the audit log."""

    agent = ""

    def __init__(self, site: MeasuredSite, folder: Path) -> None:
        self.site, self.folder = site, folder
        self.env = {key: value for key, value in os.environ.items() if not key.startswith(("ANSIBLE_", "K8S_AUTH_"))}
        self.env |= {"KUBECONFIG": site.kubeconfig, "K8S_AUTH_KUBECONFIG": site.kubeconfig}

    def command(self) -> list[str]:
        """Writes the files it needs; not part of what is measured."""
        raise NotImplementedError

    def changed(self, output: str) -> int:
        """What it says it has changed: pools, or tasks for the collection."""
        raise NotImplementedError

    def run(self, writes: int) -> Cost:
        """One run that has to write to exactly so many pools. Errors: BenchError."""
        command, mark = self.command(), self.site.mark()
        done = probe("run", *command, env=self.env)
        if done["code"]:
            raise BenchError(f"{type(self).__name__} ended with {done['code']}: {done['output'][-3000:]}")
        found = self.site.requests(mark, self.agent)
        written, pages = found.writes().count(), sum("continue=" in one.uri for one in found)
        self.check(done["output"], writes, written)
        return Cost(done["seconds"], done["cpu_seconds"], done["peak_mib"], found.count(), written, pages)

    def check(self, output: str, expected: int, written: int) -> None:
        """Errors: BenchError when other work was done than was asked for."""
        if self.changed(output) != expected or written != expected:
            raise BenchError(
                f"{type(self).__name__} says {self.changed(output)} changed and wrote {written} times, not {expected}:\n{output[-2000:]}"
            )


class Kubectl(Contender):
    """Client-side apply of one file with all manifests."""

    agent = "kubectl"

    def command(self) -> list[str]:
        path = self.folder / "manifests.json"
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": self.site.manifests}))
        cache = f"--cache-dir={self.folder}/kubectl"  # of discovery; the first of several runs fills it
        return [str(binaries.kubectl(print)), "apply", cache, "-f", str(path)]

    def changed(self, output: str) -> int:
        return len(re.findall(r" (?:configured|created)$", output, re.MULTILINE))


class Playbook(Contender):
    """One play with one task; what it is about comes from a file of variables, as from an inventory."""

    collections = ROOT / ".collections"

    def task(self) -> dict[str, Any]:
        raise NotImplementedError

    def variables(self) -> dict[str, Any]:
        return {}

    def command(self) -> list[str]:
        book, variables = self.folder / "play.yml", self.folder / "variables.json"
        variables.write_text(json.dumps(self.variables()))
        play = {"hosts": "localhost", "gather_facts": False, "vars_files": [str(variables)], "tasks": [self.task()]}
        book.write_text(json.dumps([play]))  # JSON is YAML
        self.env |= {
            "ANSIBLE_COLLECTIONS_PATH": str(self.collections),
            "ANSIBLE_LOCALHOST_WARNING": "false",
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_LOCAL_TEMP": str(self.folder / "ansible"),
        }
        interpreter = f"ansible_python_interpreter={sys.executable}"
        program = str(Path(sys.executable).parent / "ansible-playbook")
        return [program, "-i", "localhost,", "-c", "local", "-e", interpreter, str(book)]

    def changed(self, output: str) -> int:
        found = re.search(r"changed=(\d+)", output)
        return int(found[1]) if found else -1


class Product(Playbook):
    """node_pools with the whole list, told not to wait: neither do the others."""

    agent = "cozystack.worker_image"

    def task(self) -> dict[str, Any]:
        return {"cozystack.worker_image.node_pools": {"pools": "{{ pools }}", "wait": "none"}}

    def variables(self) -> dict[str, Any]:
        return {"pools": [options(one) for one in self.site.manifests]}

    def check(self, output: str, expected: int, written: int) -> None:
        """One task, changed or not; the audit log says how many pools were written."""
        if self.changed(output) != min(expected, 1) or written != expected:
            raise BenchError(f"Product wrote {written} times, not {expected}:\n{output[-2000:]}")


class Report(Playbook):
    """node_pools_info about everything."""

    agent = "cozystack.worker_image"

    def task(self) -> dict[str, Any]:
        return {"cozystack.worker_image.node_pools_info": {}}


class CoreList(Playbook):
    """kubernetes.core.k8s with all manifests in one task. It patches every object, changed or not."""

    agent = "OpenAPI-Generator"

    def __init__(self, site: MeasuredSite, folder: Path) -> None:
        super().__init__(site, folder)
        self.collections = kubernetes_core(print)

    def task(self) -> dict[str, Any]:
        return {"kubernetes.core.k8s": {"state": "present", "definition": "{{ manifests }}"}}

    def variables(self) -> dict[str, Any]:
        return {"manifests": self.site.manifests}

    def check(self, output: str, expected: int, written: int) -> None:
        if self.changed(output) != min(expected, 1) or written != len(self.variables()["manifests"]):
            raise BenchError(
                f"{type(self).__name__} wrote {written} times, changed {self.changed(output)}:\n{output[-2000:]}"
            )


class CoreLoop(CoreList):
    """kubernetes.core.k8s once for each manifest, with the first ones only."""

    def task(self) -> dict[str, Any]:
        return {"kubernetes.core.k8s": {"state": "present", "definition": "{{ item }}"}, "loop": "{{ manifests }}"}

    def variables(self) -> dict[str, Any]:
        return {"manifests": self.site.manifests[:LOOP]}


def module_cost(site: MeasuredSite, folder: Path, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """What one of the product's modules costs without Ansible around it. Errors: BenchError when it fails or changes."""
    path = folder / "arguments.json"
    path.write_text(json.dumps(arguments | {"kubeconfig": site.kubeconfig}))
    env = os.environ | {"PYTHONPATH": str(ROOT / ".collections")}
    found = probe("module", name, str(path), env=env)
    if found.pop("failed") or found.pop("changed") or not found["job_seconds"]:
        raise BenchError(f"module {name}: {found}")
    return {key: value for key, value in found.items() if key != "msg"}


def kubernetes_core(say: Callable[[str], None]) -> Path:
    """A folder for Ansible's collection path with kubernetes.core in it, fetched once. Errors: CalledProcessError."""
    pins = ROOT / "requirements" / "bench.txt"
    folder = binaries.cache_root() / f"ansible-{sys.version_info.major}.{sys.version_info.minor}-{abs(_stamp(pins)):x}"
    if not folder.is_dir():
        say("bench: fetching kubernetes.core out of the PyPI package ansible (50 MB)")
        binaries.cache_root().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=binaries.cache_root()) as scratch:
            command = [
                sys.executable,
                "-m",
                "pip",
                "download",
                "--quiet",
                "--no-deps",
                "--dest",
                scratch,
                "-r",
                str(pins),
            ]
            subprocess.run(command, check=True)
            (wheel,) = Path(scratch).glob("*.whl")
            with zipfile.ZipFile(wheel) as content:
                wanted = [
                    name for name in content.namelist() if name.startswith("ansible_collections/kubernetes/core/")
                ]
                content.extractall(Path(scratch) / "found", wanted)
            shutil.move(Path(scratch) / "found", folder)
    return folder


def _stamp(path: Path) -> int:
    import zlib

    return zlib.crc32(path.read_bytes())


def kubernetes_core_version() -> str:
    manifest = kubernetes_core(print) / "ansible_collections" / "kubernetes" / "core" / "MANIFEST.json"
    return str(json.loads(manifest.read_text())["collection_info"]["version"])
