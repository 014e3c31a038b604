# SPDX-License-Identifier: Apache-2.0
"""Asynchronous tests against a lab, without sleeping: everything is waited for by watching."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from lab.api import Api, Object
from lab.controllers.storage import volume_path
from lab.images import FILE, raw_image
from lab.scenarios import parts
from lab.scenarios.waiting import object_until, phase

SECONDS = 120


@dataclass(frozen=True)
class Bench:
    """A lab as tests use it."""

    api: Api
    lab: parts.Lab

    @property
    def home(self) -> Path:
        return self.lab.home

    async def namespace(self, name: str) -> str:
        await parts.create_once(self.api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        return name

    def volume(self, namespace: str, claim: str) -> Path:
        return volume_path(self.home / "volumes", namespace, claim)

    async def source(self, action: str, body: Any = None) -> Any:
        """Talk to the image source's own routes; no body is a GET."""
        url = f"{self.lab.image_source}/_lab/{action}"
        if body is not None:
            return await self.lab.post(url, body)
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            return await answer.json()

    async def gets(self, schematic: str, version: str = parts.VERSION) -> int:
        """How many GETs an image has seen."""
        path = f"/image/{schematic}/{version}/{FILE}"
        counts = await self.source("counts")
        return int(counts.get(path, {}).get("get", 0))

    def url(self, schematic: str, version: str = parts.VERSION) -> str:
        return f"{self.lab.image_source}/image/{schematic}/{version}/{FILE}"

    async def disk(self, namespace: str, name: str, check: Callable[[Object], Any], what: str = "") -> Object:
        """The DataVolume as soon as ``check`` holds."""

        def look(found: Object | None) -> Object | None:
            disk = found and {"status": {}} | found
            return disk if disk and check(disk) else None

        found: Object = await object_until(self.api, "DataVolume", namespace, name, look, what)
        return found

    async def succeeded(self, namespace: str, name: str) -> Object:
        return await self.disk(namespace, name, lambda disk: phase(disk) == "Succeeded", "Succeeded")

    async def absent(self, kind: str, namespace: str, name: str) -> None:
        await object_until(self.api, kind, namespace, name, lambda found: found is None, "gone")


def raw(schematic: str, version: str = parts.VERSION) -> bytes:
    return raw_image(schematic, version)


def imported(bench: Bench, namespace: str, name: str, schematic: str, **changes: Any) -> Object:
    """A DataVolume filled over HTTP. ``changes``: annotations, storage (a dictionary), url."""
    storage = {"resources": {"requests": {"storage": "64Mi"}}, "storageClassName": "replicated"}
    source = {"http": {"url": changes.get("url", bench.url(schematic))}}
    return _disk(namespace, name, source, changes.get("storage", storage), changes.get("annotations", {}))


def cloned(namespace: str, name: str, source: tuple[str, str], **changes: Any) -> Object:
    """A DataVolume cloned from a claim."""
    storage = {"resources": {"requests": {"storage": "64Mi"}}, "storageClassName": "replicated"}
    given = {"pvc": {"namespace": source[0], "name": source[1]}}
    return _disk(namespace, name, given, changes.get("storage", storage), changes.get("annotations", {}))


def _disk(namespace: str, name: str, source: Object, storage: Object, annotations: dict[str, str]) -> Object:
    metadata = {"name": name, "namespace": namespace, "annotations": annotations}
    spec = {"contentType": "kubevirt", "source": source, "storage": storage}
    return {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume", "metadata": metadata, "spec": spec}


def storage(size: str = "64Mi", storage_class: str | None = "replicated") -> Object:
    found: Object = {"resources": {"requests": {"storage": size}}}
    return found | ({"storageClassName": storage_class} if storage_class is not None else {})


async def play(home: Path, test: Callable[..., Coroutine[Any, Any, None]], **arguments: Any) -> None:
    """Run an asynchronous function with a Bench of the lab at ``home``."""
    async with Api(home / "kubeconfig", "lab-test") as api:
        await asyncio.wait_for(test(Bench(api, parts.Lab.at(home)), **arguments), SECONDS)


def live(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Make an asynchronous test, whose first argument is a Bench, one that takes fixture ``lab``."""

    def run(lab: Any, **arguments: Any) -> None:
        asyncio.run(play(lab.home, test, **arguments))

    others = list(inspect.signature(test).parameters.values())[1:]
    first = inspect.Parameter("lab", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    run.__name__, run.__doc__, run.__module__ = test.__name__, test.__doc__, test.__module__
    run.__signature__ = inspect.Signature([first, *others])  # type: ignore[attr-defined]
    return run
