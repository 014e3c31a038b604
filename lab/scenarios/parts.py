# SPDX-License-Identifier: Apache-2.0
"""What scenarios are put together from: the platform's configuration, tenants, clusters, pools, and the image source."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from lab import seed
from lab.api import Api, ApiError, Object
from lab.scenarios import cdi_version
from lab.scenarios.waiting import healthy, object_until, phase
from lab.schemas import DEFAULT_SCHEMATIC_ID

OPTIONS_FILE = "apps-api.options.json"
SCHEMATIC, VERSION = DEFAULT_SCHEMATIC_ID, "v1.13.6"
GOLDENS = seed.PUBLIC
ROOT = seed.ROOT
_OTHERS = ("cozystack.vm-default-images", "cozystack.external-dns")


@dataclass(frozen=True)
class Lab:
    """A running lab: its home and the loopback addresses of what it hosts."""

    home: Path
    image_source: str
    control: str

    @classmethod
    def at(cls, home: Path) -> Lab:
        """Errors: FileNotFoundError when no controllers run there."""
        known = json.loads((home / "controllers.json").read_text())
        return cls(home, known["image_source"] or "", known["control"])

    async def post(self, url: str, body: Any) -> Any:
        """Errors: aiohttp.ClientResponseError."""
        async with aiohttp.ClientSession() as session, session.post(url, json=body) as answer:
            answer.raise_for_status()
            return await answer.json()

    async def misbehave(self, controller: str, rule: dict[str, Any] | None) -> None:
        await self.post(f"{self.control}/misbehave", {"controller": controller, "rule": rule})

    async def behave(self) -> None:
        """Withdraw what CDI was scripted to do wrong, if anything."""
        async with aiohttp.ClientSession() as session, session.get(f"{self.control}/state") as answer:
            rules = (await answer.json())["rules"]
        if rules.get("cdi"):
            await self.misbehave("cdi", None)

    def apps_options(self, **options: Any) -> None:
        """What the app API publishes; no options, no file."""
        path = self.home / OPTIONS_FILE
        if options:
            path.write_text(json.dumps(options))
        else:
            path.unlink(missing_ok=True)


def golden(schematic: str = SCHEMATIC, version: str = VERSION) -> str:
    return f"talos-worker-{schematic}-{version}"


def catalog(lab: Lab, *images: dict[str, Any], **overrides: Any) -> dict[str, Any]:
    """A ``kubernetesWorkerImage`` block over the lab's image source; the default image when none is given."""
    entries = list(images) or [{"schematicID": SCHEMATIC, "version": VERSION}]
    block = {"imageFactoryURL": lab.image_source, "storageClass": "replicated", "storage": "6Gi", "images": entries}
    return block | overrides


def platform_values(worker_image: dict[str, Any] | None = None, disabled: tuple[str, ...] = ()) -> dict[str, Any]:
    """Values of a lived-in platform: keys and packages that have nothing to do with worker images."""
    enabled = [*_OTHERS, *([seed.CATALOG] if worker_image is not None else [])]
    values: dict[str, Any] = {
        "networking": {"podCIDR": "10.244.0.0/16", "podGateway": "10.244.0.1", "serviceCIDR": "10.96.0.0/16"},
        "publishing": {"host": "cloud.example.net", "apiServerEndpoint": "https://192.0.2.10:6443"},
        "bundles": {"enabledPackages": enabled, "disabledPackages": list(disabled)},
        "authentication": {"oidc": {"enabled": False}},
    }
    return values | ({"kubernetesWorkerImage": worker_image} if worker_image is not None else {})


async def base(api: Api, lab: Lab, without_source: bool = False) -> None:
    """What every scenario starts from, whatever an earlier one left: sources, classes, no scripted trouble."""
    lab.apps_options()
    await lab.behave()
    await seed.apply(api)
    await cdi_version.use(api, cdi_version.OLD)
    component = {"name": "external-dns", "path": "system/external-dns"}
    install = {"namespace": seed.SYSTEM, "releaseName": "external-dns"}
    source = seed.package_source("cozystack.external-dns", {"default": ([], [component | {"install": install}])})
    await seed.put(api, source)
    if without_source:
        await api.delete("PackageSource", seed.CATALOG)
    if lab.image_source:
        await lab.post(f"{lab.image_source}/_lab/faults", [])


async def platform(api: Api, lab: Lab, variant: str, values: dict[str, Any]) -> None:
    """Make the platform Package say exactly this, and wait until its release was rendered with it."""
    package = seed.platform_package(variant, values)
    package["metadata"]["annotations"] = {"example.net/owner": "platform-team"}
    live = await api.get("Package", seed.PLATFORM)
    if live is None:
        await api.create(package)
    else:
        await api.replace(live | {"spec": package["spec"]})
    await rendered(api, seed.SYSTEM, "cozystack-platform", values)


async def rendered(api: Api, namespace: str, name: str, values: dict[str, Any], seconds: float = 30.0) -> None:
    """Wait until a release has these values and is healthy with them."""
    await object_until(
        api,
        "HelmRelease",
        namespace,
        name,
        lambda release: healthy(release) and (release or {})["spec"].get("values") == values,
        "healthy with the new values",
        seconds,
    )


async def golden_ready(api: Api, name: str | None = None, seconds: float = 30.0) -> Object:
    found: Object = await object_until(
        api,
        "DataVolume",
        GOLDENS,
        name or golden(),
        lambda disk: disk if phase(disk) == "Succeeded" else None,
        "Succeeded",
        seconds,
    )
    return found


async def app(api: Api, kind: str, namespace: str, name: str, spec: dict[str, Any]) -> None:
    """An app through the app API: made, or given this spec if it is there with another. Its POST of a known name is a 500."""
    live = await api.get(kind, name, namespace)
    if live is None:
        metadata = {"name": name, "namespace": namespace}
        await api.create({"apiVersion": "apps.cozystack.io/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec})
    elif not spec.items() <= live["spec"].items():
        await api.patch(kind, name, {"spec": spec}, namespace)


async def tenant(api: Api, name: str) -> str:
    """A tenant below the root; its namespace exists when this returns it."""
    await app(api, "Tenant", ROOT, name, {"etcd": False, "ingress": False, "monitoring": False})
    namespace = f"tenant-{name}"
    await object_until(api, "Namespace", "", namespace, lambda found: found, "exists")
    return namespace


async def cluster(api: Api, namespace: str, name: str) -> None:
    """A control plane; its KamajiControlPlane exists when this returns."""
    await app(api, "Kubernetes", namespace, name, {"version": "v1.35"})
    await object_until(api, "KamajiControlPlane", namespace, f"kubernetes-{name}", lambda found: found, "exists")


async def pool(api: Api, namespace: str, cluster_name: str, name: str, spec: dict[str, Any]) -> None:
    """A pool whose manifests were applied; workers take longer."""
    await app(api, "KubernetesNodes", namespace, f"{cluster_name}-{name}", {"cluster": cluster_name} | spec)
    release = f"kubernetes-nodes-{cluster_name}-{name}"
    await object_until(api, "HelmRelease", namespace, release, healthy, "healthy")


async def workers(api: Api, namespace: str, deployment: str, count: int, seconds: float = 30.0) -> None:
    """Wait until a machine deployment has that many ready workers of its present template, and no others."""

    def done(found: Object | None) -> bool:
        status = (found or {}).get("status") or {}
        fields = ("replicas", "readyReplicas", "updatedReplicas")
        current = status.get("observedGeneration") == (found or {"metadata": {}})["metadata"].get("generation")
        return bool(found) and current and all(status.get(field) == count for field in fields)

    await object_until(api, "MachineDeployment", namespace, deployment, done, f"has {count} workers", seconds)


async def gone(api: Api, kind: str, name: str, namespace: str = "", seconds: float = 30.0) -> None:
    """Delete, and wait for the end."""
    await api.delete(kind, name, namespace or None)
    await object_until(api, kind, namespace, name, lambda found: found is None, "gone", seconds)


async def together(limit: int, *calls: Any) -> None:
    """Await all of them, so many at a time. Errors: ExceptionGroup of ApiError."""
    slots = asyncio.Semaphore(limit)

    async def one(call: Any) -> None:
        async with slots:
            await call

    async with asyncio.TaskGroup() as group:
        for call in calls:
            group.create_task(one(call))


async def create_once(api: Api, obj: Object) -> None:
    try:
        await api.create(obj)
    except ApiError as error:
        if error.status != 409:
            raise
