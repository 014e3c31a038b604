# SPDX-License-Identifier: Apache-2.0
"""Which CDI the lab imitates: 1.64, which Cozystack ships, or 1.65, which knows checksums."""

from __future__ import annotations

import asyncio
from typing import Any

from lab import furnish, seed
from lab.api import Api, Object

OLD, NEW = "v1.64.0", "v1.65.0"
_DEFINITION = "datavolumes.cdi.kubevirt.io"
_PATTERN = (
    "(?i)^(md5:[0-9a-f]{32}|sha1:[0-9a-f]{40}|sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$"  # as CDI's webhook checks
)
_CHECKSUM = {"type": "string", "maxLength": 256, "pattern": _PATTERN}
_POLL_SECONDS = 0.05


def _http(definition: Object) -> dict[str, Any]:
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    found: dict[str, Any] = schema["properties"]["spec"]["properties"]["source"]["properties"]["http"]["properties"]
    return found


async def use(api: Api, version: str) -> None:
    """Install the DataVolume definition of a version and have CDI say that it is that one. Errors: ApiError."""
    wanted = next(one for one in furnish.definitions() if one["metadata"]["name"] == _DEFINITION)
    if version == NEW:
        _http(wanted)["checksum"] = _CHECKSUM
    live = await api.get("CustomResourceDefinition", _DEFINITION)
    if live is not None and ("checksum" in _http(live)) != (version == NEW):
        versions = {"spec": {"versions": wanted["spec"]["versions"]}}
        await api.patch("CustomResourceDefinition", _DEFINITION, versions)
        while await _keeps_checksum(api) != (version == NEW):
            await asyncio.sleep(_POLL_SECONDS)
    status = {"operatorVersion": version, "observedVersion": version, "targetVersion": version}
    await api.patch("CDI", "cdi", {"status": status})


async def _keeps_checksum(api: Api) -> bool:
    """Asked by a dry run: a changed definition takes effect a moment after it was stored."""
    http = {"url": "http://127.0.0.1/", "checksum": f"md5:{'0' * 32}"}
    spec = {"source": {"http": http}, "storage": {"resources": {"requests": {"storage": "1Mi"}}}}
    disk = {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume", "metadata": {"name": "dry"}, "spec": spec}
    path = f"/apis/cdi.kubevirt.io/v1beta1/namespaces/{seed.SYSTEM}/datavolumes"
    answer = await api.request("POST", path, disk, query={"dryRun": "All"})
    return "checksum" in answer["spec"]["source"]["http"]
