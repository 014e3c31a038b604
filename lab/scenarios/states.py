# SPDX-License-Identifier: Apache-2.0
"""The scenarios. Each may be run again, and after any other; each ends when its state is reached, or raises Late."""

from __future__ import annotations

from lab import seed
from lab.api import Api, Object
from lab.scenarios import parts
from lab.scenarios.parts import Lab
from lab.scenarios.waiting import Seen, condition, object_until, phase, until

MISSING_SCHEMATIC = "badc0de" + "0" * 57
_BUILTIN = {"instanceType": "u1.medium", "osImage": {"builtin": {}}}


async def empty(api: Api, lab: Lab) -> None:
    """isp-full without the worker image catalog, beside other packages and foreign settings; no tenants are made"""
    await parts.base(api, lab)
    await parts.platform(api, lab, "isp-full", parts.platform_values())


async def demo(api: Api, lab: Lab) -> None:
    """as empty, with tenants acme and globex and their clusters shop and web; no pools"""
    await empty(api, lab)
    for tenant, cluster in (("acme", "shop"), ("globex", "web")):
        await parts.cluster(api, await parts.tenant(api, tenant), cluster)


async def old_platform(api: Api, lab: Lab) -> None:
    """a platform before the feature: the published pool schema has no osImage, the catalog has no PackageSource"""
    await parts.base(api, lab, without_source=True)
    lab.apps_options(without_os_image=True)
    await parts.platform(api, lab, "isp-full", parts.platform_values())


async def hosted(api: Api, lab: Lab) -> None:
    """variant isp-hosted with the catalog enabled: the name is ignored, nothing is imported"""
    await parts.base(api, lab)
    await parts.platform(api, lab, "isp-hosted", parts.platform_values(parts.catalog(lab)))


async def disabled_package(api: Api, lab: Lab) -> None:
    """the catalog in enabledPackages and in disabledPackages, which wins"""
    await parts.base(api, lab)
    values = parts.platform_values(parts.catalog(lab), disabled=(seed.CATALOG,))
    await parts.platform(api, lab, "isp-full", values)


async def no_platform(api: Api, lab: Lab) -> None:
    """no platform Package at all"""
    await parts.base(api, lab)
    await parts.gone(api, "Package", seed.PLATFORM)
    await object_until(
        api, "HelmRelease", seed.SYSTEM, "cozystack-platform", lambda found: found is None, "uninstalled"
    )


async def enable(api: Api, lab: Lab, catalog: dict[str, object]) -> None:
    """A platform that has the catalog package, with these values; the catalog's own release follows."""
    await parts.platform(api, lab, "isp-full", parts.platform_values(catalog))


async def failing_import(api: Api, lab: Lab) -> None:
    """the catalog lists an image that the image source does not have: 404, restarts, never Failed"""
    await parts.base(api, lab)
    await lab.post(f"{lab.image_source}/_lab/unknown", {"schematics": [MISSING_SCHEMATIC]})
    await enable(api, lab, parts.catalog(lab, {"schematicID": MISSING_SCHEMATIC, "version": parts.VERSION}))

    def failing(disk: Object | None) -> bool:
        restarts = ((disk or {}).get("status") or {}).get("restartCount", 0)
        return restarts >= 3 and condition(disk, "Running").get("reason") == "Error"

    name = parts.golden(MISSING_SCHEMATIC)
    await object_until(api, "DataVolume", parts.GOLDENS, name, failing, "failing for the third time")


async def two_defaults(api: Api, lab: Lab) -> None:
    """class fast is a default class beside replicated, and the newer one"""
    await empty(api, lab)
    await parts.create_once(api, seed.storage_class("fast", default=True, binding="Immediate", replicas=2))
    await object_until(api, "StorageProfile", "", "fast", lambda found: (found or {}).get("status"), "known to CDI")


async def lost_golden(api: Api, lab: Lab) -> None:
    """pool shop-md0 of tenant acme runs from a cloned disk whose golden image is gone from catalog and cluster"""
    await demo(api, lab)
    if await api.get("KubernetesNodes", "shop-md0", "tenant-acme") is None:
        await enable(api, lab, parts.catalog(lab))
        await parts.golden_ready(api)
    spec = _BUILTIN | {"minReplicas": 1, "maxReplicas": 2}
    await parts.pool(api, "tenant-acme", "shop", "md0", spec)
    await parts.workers(api, "tenant-acme", "kubernetes-shop-md0", 1)
    without = parts.catalog(lab, images=[])
    await enable(api, lab, without)
    await parts.rendered(api, seed.SYSTEM, "kubernetes-worker-image", without)
    await parts.gone(api, "DataVolume", parts.golden(), parts.GOLDENS)
    claim = "PersistentVolumeClaim"
    await object_until(api, claim, parts.GOLDENS, parts.golden(), lambda found: found is None, "gone")


async def class_mismatch(api: Api, lab: Lab) -> None:
    """golden on class replicated, pool shop-md0 on local: a clone that hangs, since its release was rendered before"""
    await demo(api, lab)
    await enable(api, lab, parts.catalog(lab, storageClass="local"))
    spec = _BUILTIN | {"minReplicas": 0, "maxReplicas": 2, "storageClass": "local"}
    known = await api.get("KubernetesNodes", "shop-md0", "tenant-acme")
    if known is None or known["spec"]["storageClass"] != "local":
        await _moved(api, "local")
        await parts.pool(api, "tenant-acme", "shop", "md0", spec)
    await enable(api, lab, parts.catalog(lab))
    await _moved(api, "replicated")
    # What an autoscaler does: no render, so nothing refuses it.
    await api.patch("MachineDeployment", "kubernetes-shop-md0", {"spec": {"replicas": 1}}, "tenant-acme")

    def hanging(seen: Seen) -> bool:
        disks = seen["DataVolume"].in_namespace("tenant-acme")
        left = [key for key in seen["PersistentVolumeClaim"].objects if key[1].startswith("tmp-pvc-")]
        return any(phase(disk) == "CSICloneInProgress" for disk in disks) and bool(left)

    await until(api, "clone from replicated to local hangs", ["DataVolume", "PersistentVolumeClaim"], hanging)


async def _moved(api: Api, storage_class: str) -> None:
    """Have the catalog import the golden on another class: an existing one has to go first, then a retry makes it."""

    def there(disk: Object | None) -> bool:
        return bool(disk) and (disk or {})["spec"]["storage"].get("storageClassName") == storage_class

    live = await api.get("DataVolume", parts.golden(), parts.GOLDENS)
    if live is not None and not there(live):
        await api.delete("DataVolume", parts.golden(), parts.GOLDENS)
    await object_until(
        api,
        "DataVolume",
        parts.GOLDENS,
        parts.golden(),
        lambda disk: there(disk) and phase(disk) == "Succeeded",
        f"Succeeded on {storage_class}",
    )
