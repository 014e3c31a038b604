# SPDX-License-Identifier: Apache-2.0
"""The site that is measured: many pools as after a first edit by anybody, with the annotation that kubectl looks for.

The first patch of a pool stores the platform's defaults and who owns which field. Had that not happened yet, kubernetes.core would
really write every pool in its first run, and its "nothing to do" would cost several times as much as it does.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from lab.api import Api, Object
from lab.apps_api.apps import LABEL_KIND, LABEL_NAME, PREFIX
from lab.ledger import Ledger, Requests
from lab.scenarios import manypools, parts
from lab.scenarios.bigsite import finished
from lab.scenarios.goldens import by_hand
from lab.scenarios.parts import Lab
from lab.scenarios.store import store
from lab.schemas import FILLERS

POOLS_PER_TENANT = 20
_APPLIED = f"{PREFIX}kubectl.kubernetes.io/last-applied-configuration"
# Nothing but the two servers and the app API works while somebody is measured.
_IDLE = [word for name in ("operator", "releases", "workers", "cdi") for word in ("--without", name)]


class MeasuredSite:
    """``manifests`` are the pools as declared at the moment, ``fill_seconds`` what it took to make them."""

    def __init__(self, home: Path, pools: int) -> None:
        self.home, self.pools = home, pools
        self.tenants = -(-pools // POOLS_PER_TENANT)
        self.kubeconfig: str = json.loads((home / "lab.json").read_text())["kubeconfig"]
        self._ledger = Ledger(home / "audit.log")
        begun = time.perf_counter()
        self.manifests: list[Object] = asyncio.run(self._fill())
        self.fill_seconds = time.perf_counter() - begun

    async def _fill(self) -> list[Object]:
        lab = Lab.at(self.home)
        # The app API's own name: as the owner of the fields of what it would store.
        async with Api(self.kubeconfig, "lab-apps") as api:
            await store(self.home, finished(by_hand(lab, parts.SCHEMATIC, "replicated"), {}))
            await manypools.fill(api, lab, self.tenants, min(self.pools, POOLS_PER_TENANT))
            releases = await api.list("HelmRelease", selector=f"{LABEL_KIND}=KubernetesNodes")
            found = {one["metadata"]["uid"]: manifest(one) for one in releases}
            await store(self.home, (_edited(one, found[one["metadata"]["uid"]]) for one in releases))
            edited = await api.list("HelmRelease", selector=f"{LABEL_KIND}=KubernetesNodes")
            await parts.together(16, *(api.replace(one) for one in edited))
        return list(found.values())

    def change(self, count: int, most: int) -> None:
        """Declare another upper bound of workers for the first pools."""
        for one in self.manifests[:count]:
            one["spec"]["maxReplicas"] = most

    def mark(self) -> str:
        return self._ledger.mark()

    def requests(self, mark: str, agent: str) -> Requests:
        return self._ledger.since(mark, agent)


def manifest(release: Object) -> Object:
    """The pool behind a release, as somebody declares it: what was given, nothing of the platform."""
    meta = release["metadata"]
    return {
        "apiVersion": "apps.cozystack.io/v1alpha1",
        "kind": "KubernetesNodes",
        "metadata": {"name": meta["labels"][LABEL_NAME], "namespace": meta["namespace"]},
        "spec": dict(release["spec"]["values"]),
    }


def applied(declared: Object) -> str:
    """What kubectl remembers of a manifest, byte for byte: otherwise it would write the annotation anew."""
    meta = {"annotations": {}, **declared["metadata"]}
    return json.dumps(declared | {"metadata": meta}, sort_keys=True, separators=(",", ":")) + "\n"


def _edited(release: Object, declared: Object) -> Object:
    meta = {key: value for key, value in release["metadata"].items() if key not in ("resourceVersion", "managedFields")}
    meta["annotations"] = (meta.get("annotations") or {}) | {_APPLIED: applied(declared)}
    values = FILLERS["KubernetesNodes"](declared["spec"])
    return release | {"metadata": meta, "spec": release["spec"] | {"values": values}}


def options(declared: Object) -> dict[str, Any]:
    """The same pool as an item of option pools of node_pools."""
    meta, spec = declared["metadata"], dict(declared["spec"])
    cluster = spec.pop("cluster")
    pool = meta["name"].removeprefix(f"{cluster}-")
    return {"namespace": meta["namespace"], "cluster": cluster, "pool": pool, "spec": spec}


@contextmanager
def measured_site(home: Path, pools: int) -> Iterator[MeasuredSite]:
    """A lab that lives as long as the block. Errors: CalledProcessError, Late."""
    lab = [sys.executable, "-m", "lab"]
    subprocess.run([*lab, "build"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([*lab, "up", "--home", str(home), *_IDLE], cwd=ROOT, check=True)
    try:
        yield MeasuredSite(home, pools)
    finally:
        subprocess.run([*lab, "down", "--home", str(home)], cwd=ROOT, check=False)
