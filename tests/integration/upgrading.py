# SPDX-License-Identifier: Apache-2.0
"""Playbook upgrade as an operator runs it, and a recorder that reconstructs which pools were moving at the same time."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from lab.api import Api, Object
from lab.kinds import KINDS
from tests.integration.inprocess import pools_job
from tests.integration.site import BIN, PRODUCT, SCHEMATIC, Run, Site

OLD, NEW = "v1.13.6", "v1.13.7"
NODES = "kubernetesnodeses.apps.cozystack.io"


def images(*versions: str) -> list[dict[str, str]]:
    return [{"schematicID": SCHEMATIC, "version": version} for version in versions]


def catalog(site: Site, *versions: str) -> dict[str, Any]:
    return {"imageFactoryURL": site.lab["image_source"], "storage": "6Gi", "images": images(*versions)}


def pools_at(version: str, places: list[tuple[str, str, str]]) -> list[dict[str, Any]]:
    """Pools with one worker each; places are namespace, cluster and pool."""
    spec = {"minReplicas": 1, "maxReplicas": 2, "osImage": {"builtin": {"version": version}}}
    return [{"namespace": place[0], "cluster": place[1], "pool": place[2], "spec": dict(spec)} for place in places]


def bring(site: Site, *releases: str) -> None:
    """Their goldens."""
    made = site.module("image_catalog", catalog=catalog(site, *releases))
    assert not made.get("failed"), made["msg"]


def furnish(site: Site, places: list[tuple[str, str, str]], version: str = OLD) -> None:
    """Pools on this release, whose golden is there."""
    done = pools_job(
        site.lab["kubeconfig"], pools=pools_at(version, places), wait="workers", wait_timeout=120, parallel=16
    )
    assert not done.get("failed"), done["msg"]


def upgrade_command(site: Site, folder: Path, data: dict[str, Any], *flags: str) -> list[str]:
    """The command line of playbook upgrade for one site with this data."""
    return hosts_command(site, folder, {"site-a": data}, *flags)


def hosts_command(site: Site, folder: Path, hosts: dict[str, dict[str, Any]], *flags: str) -> list[str]:
    """The same for several inventory hosts, which are all the same site here."""
    known = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "catalog_values": catalog(site, OLD),
        "upgrade_version": NEW,
    }
    inventory = folder / "hosts.yml"
    inventory.write_text(yaml.safe_dump({"all": {"hosts": {name: {**known, **data} for name, data in hosts.items()}}}))
    return [str(BIN / "ansible-playbook"), "-i", str(inventory), f"{PRODUCT}.upgrade", *flags]


def upgrade(site: Site, folder: Path, data: dict[str, Any], *flags: str, timeout: float = 240) -> Run:
    done = site.command(*upgrade_command(site, folder, data, *flags), timeout=timeout)
    return Run(done.returncode, done.stdout + done.stderr)


def versions(site: Site) -> dict[str, str]:
    """Pool name -> release of its osImage.builtin, blank for others."""
    return {
        item["metadata"]["name"]: ((item["spec"].get("osImage") or {}).get("builtin") or {}).get("version", "")
        for item in site.list("KubernetesNodes")
    }


def children(pid: int) -> list[int]:
    """A process and all its descendants. Workers of ansible-playbook have sessions of their own, so a group is not enough."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        try:
            number = int(entry.name)
            parents.setdefault(int((entry / "stat").read_text().rpartition(")")[2].split()[1]), []).append(number)
        except (OSError, ValueError, IndexError):
            continue
    found = [pid]
    for known in found:
        found += parents.get(known, [])
    return found


def kill(process: subprocess.Popen[Any]) -> None:
    """All of it at once, as when a host loses its power."""
    for pid in children(process.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    process.wait(timeout=30)


def boot_seconds(site: Site, seconds: float) -> None:
    """How long workers take from now on, once their disk is there."""
    rule = {"controller": "timings", "rule": {"machine_boot": seconds}}
    site.post(site.lab["control"] + "/misbehave", rule)


class Recorder:
    """What happened to releases, machines and goldens, as one history.

    All of them live in one etcd, so that their resource versions are of one sequence: the order of events is exact, and
    nothing that a product or a controller wrote is missed.
    """

    KINDS = ("HelmRelease", "MachineDeployment", "DataVolume")

    def __init__(self) -> None:
        self.history: list[tuple[int, str, str, Object]] = []

    def moving(self) -> Iterator[tuple[int, set[str]]]:
        """Resource version and the pools on their way: from the new release values until all workers are of a new template."""
        image: dict[str, str] = {}
        settled_by: dict[str, str] = {}
        away: set[str] = set()
        for version, kind, _, item in sorted(self.history, key=lambda event: event[0]):
            place = item["metadata"]["namespace"]
            if kind == "HelmRelease" and item["metadata"]["name"].startswith("kubernetes-nodes-"):
                pool = f"{place}/{item['metadata']['name'].removeprefix('kubernetes-nodes-')}"
                now = str((item["spec"].get("values") or {}).get("osImage"))
                if pool in image and image[pool] != now:
                    away.add(pool)
                image[pool] = now
            elif kind == "MachineDeployment":
                pool = f"{place}/{item['metadata']['name'].removeprefix('kubernetes-')}"
                template = item["spec"]["template"]["spec"]["infrastructureRef"]["name"]
                if settled(item) and settled_by.get(pool) != template:
                    settled_by[pool] = template
                    away.discard(pool)
            yield version, set(away)

    def most(self) -> int:
        return max((len(away) for _, away in self.moving()), default=0)

    def waves(self) -> list[set[str]]:
        """Pools that set out together: a new wave begins when one sets out while none is on its way."""
        found: list[set[str]] = []
        before: set[str] = set()
        for _, away in self.moving():
            if away - before and not before:
                found.append(set())
            if away - before:
                found[-1] |= away - before
            before = away
        return found

    def deleted_goldens(self) -> list[tuple[int, str]]:
        return [
            (version, item["metadata"]["name"])
            for version, kind, event, item in self.history
            if kind == "DataVolume" and event == "DELETED" and item["metadata"]["namespace"] == "cozy-public"
        ]


def settled(deployment: Object) -> bool:
    status = deployment.get("status") or {}
    counts = [status.get(key, 0) for key in ("replicas", "updatedReplicas", "readyReplicas")]
    current = status.get("observedGeneration") == deployment["metadata"]["generation"]
    return current and counts[0] >= 1 and len(set(counts)) == 1


@contextmanager
def recorded(site: Site) -> Iterator[Recorder]:
    """Watches from now until the end of the block."""
    recorder, halt, ready = Recorder(), threading.Event(), threading.Event()

    async def follow(api: Api, kind: str, started: list[str]) -> None:
        answer = await api.request("GET", KINDS[kind].path())
        recorder.history += [
            (int(item["metadata"]["resourceVersion"]), kind, "ADDED", item) for item in answer["items"]
        ]
        started.append(kind)
        async for event, item in api.watch(kind, answer["metadata"]["resourceVersion"]):
            if event != "BOOKMARK":
                recorder.history.append((int(item["metadata"]["resourceVersion"]), kind, event, item))

    async def watch() -> None:
        async with Api(site.lab["kubeconfig"], "test-recorder") as api:
            started: list[str] = []
            tasks = [asyncio.create_task(follow(api, kind, started)) for kind in Recorder.KINDS]
            while not halt.is_set():
                if len(started) == len(tasks):
                    ready.set()
                broken = [task for task in tasks if task.done()]
                if broken:
                    broken[0].result()
                    raise RuntimeError("a watch has ended")
                await asyncio.sleep(0.05)
            await asyncio.sleep(0.5)  # what was written before the end of the block has arrived then
            for task in tasks:
                task.cancel()

    failed: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(watch())
        except BaseException as error:
            failed.append(error)
            ready.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(30)
    try:
        yield recorder
    finally:
        halt.set()
        thread.join(30)
    assert not failed, failed
