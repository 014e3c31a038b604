# SPDX-License-Identifier: Apache-2.0
"""The process that hosts the image source, the app API, all controllers and their control endpoint."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from lab import apps_api
from lab.api import Api
from lab.control import Control
from lab.controllers.cdi import Cdi
from lab.controllers.garbage import Garbage, Namespaces
from lab.controllers.operator import Operator
from lab.controllers.quotas import Quotas
from lab.controllers.releases import Releases
from lab.controllers.runtime import Controller, Runtime
from lab.controllers.storage import Claims, Profiles
from lab.controllers.workers import Deployments, Machines, Monitors, Sets
from lab.images import ImageSource
from lab.upload.serving import serving

# What can be left out, by name. "cluster" is what a controller-manager does, and is always there.
GROUPS: dict[str, Sequence[type[Controller]]] = {
    "operator": (Operator,),
    "releases": (Releases,),
    "workers": (Deployments, Sets, Machines, Monitors),
    "cdi": (Cdi, Profiles),
    "cluster": (Claims, Quotas, Garbage, Namespaces),
}
NAMES = ("operator", "releases", "workers", "cdi", "apps", "images")
_KINDS = (
    "Namespace", "ResourceQuota", "ConfigMap", "Package", "PackageSource", "HelmRelease", "WorkloadMonitor",
    "StorageClass", "CSIDriver", "VolumeSnapshotClass", "CDI", "CDIConfig", "StorageProfile",
    "VolumeImportSource", "VolumeUploadSource", "VolumeCloneSource", "VolumeSnapshot",
    "DataVolume", "PersistentVolumeClaim", "PersistentVolume", "Pod",
    "Cluster", "KubevirtCluster", "KamajiControlPlane", "MachineDeployment", "MachineSet", "Machine", "MachineHealthCheck",
    "KubevirtMachineTemplate", "KubevirtMachine", "TalosConfigTemplate",
    "VirtualMachine", "VirtualMachineInstance", "VirtualMachineClusterInstancetype",
)  # fmt: skip


def _write(home: Path, content: dict[str, Any]) -> None:
    temporary = home / "controllers.json.new"
    temporary.write_text(json.dumps(content) + "\n")
    temporary.replace(home / "controllers.json")


@contextlib.asynccontextmanager
async def _images(home: Path, wanted: bool) -> AsyncIterator[dict[str, str | None]]:
    """Where the image source answers, in the keys of lab.json."""
    if not wanted:
        yield {}
        return
    source = ImageSource(home / "images", home / "volumes" / ".image-source.json", home / "certs")
    try:
        url = await source.start()
        yield {"image_source": url, "image_source_tls": source.tls_url, "image_source_ca": source.authority}
    finally:
        await source.stop()


@contextlib.asynccontextmanager
async def _apps(home: Path, wanted: bool, other: str | None) -> AsyncIterator[str | None]:
    """Our app API, or the registration of another one."""
    authority = (home / "certs" / "ca.crt").read_text()
    async with Api(home / "kubeconfig", "lab-apps") as api:
        if other:
            await apps_api.register(api, other, authority)
            yield other
        elif wanted:
            serving = await apps_api.serve(api, home)
            try:
                await apps_api.register(api, serving.url, authority)
                yield serving.url
            finally:
                await serving.close()
        else:
            yield None


@contextlib.asynccontextmanager
async def _controllers(home: Path, without: Sequence[str]) -> AsyncIterator[dict[str, str]]:
    """Everything that reconciles; yields addresses: of the control endpoint, and of CDI's upload proxy."""
    async with contextlib.AsyncExitStack() as stack:
        reader = await stack.enter_async_context(Api(home / "kubeconfig", "lab-cache"))
        runtime = Runtime(home, reader)
        for kind in _KINDS:
            runtime.cache(kind)
        runtime.cache("Secret", "metadata.name=cozystack-values")
        groups: dict[str, list[Controller]] = {}
        for name, classes in GROUPS.items():
            if name not in without:
                api = await stack.enter_async_context(Api(home / "kubeconfig", f"lab-{name}"))
                groups[name] = [made(runtime, api) for made in classes]
        everybody = [one for group in groups.values() for one in group]
        control = Control(runtime, groups)
        # Nothing may be reconciled, and no owner be missed, before every kind is known.
        for one in everybody:
            one.open.clear()
            one.setup()
        caches = [asyncio.create_task(cache.run()) for cache in runtime.caches.values()]
        try:
            await asyncio.gather(*(cache.synced.wait() for cache in runtime.caches.values()))
            _sweep(everybody)
            for one in everybody:
                one.open.set()
            known = {"control": await control.start()}
            if "cdi" not in without:
                known |= await stack.enter_async_context(serving(home, runtime, reader))
            yield known
        finally:
            await control.stop()
            for task in caches:
                task.cancel()
            await asyncio.gather(*(one.stop() for one in everybody), *caches, return_exceptions=True)


def _sweep(everybody: list[Controller]) -> None:
    for one in everybody:
        if isinstance(one, Claims):
            one.sweep()


async def host(home: Path, without: Sequence[str], other_apps_api: str | None, stop: asyncio.Event) -> None:
    """Serve until ``stop`` is set. Writes ``controllers.json`` when everything is ready."""
    async with (
        _images(home, "images" not in without) as images,
        _apps(home, "apps" not in without, other_apps_api) as apps,
        _controllers(home, without) as known,
    ):
        _write(home, {"pid": os.getpid(), **images, "apps_api": apps, **known})
        await stop.wait()
