# SPDX-License-Identifier: Apache-2.0
"""Which claim CDI makes of a DataVolume: class, access, mode and size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from lab.api import Object
from lab.controllers.objects import annotations, newest_default, size, status
from lab.controllers.runtime import Runtime
from lab.controllers.storage import waits

GA_DEFAULT = "storageclass.kubernetes.io/is-default-class"
BETA_DEFAULT = "storageclass.beta.kubernetes.io/is-default-class"
VIRT_DEFAULT = "storageclass.kubevirt.io/is-default-virt-class"
USE_POPULATOR = "cdi.kubevirt.io/storage.usePopulator"
IMMEDIATE = "cdi.kubevirt.io/storage.bind.immediate.requested"
MINIMUM = "cdi.kubevirt.io/minimumSupportedPvcSize"
MIB = 1 << 20


class ClaimInvalid(Exception):
    """No claim can be made of this; the text of event ErrClaimNotValid."""


@dataclass(frozen=True)
class Claim:
    """``request`` as it is written into the claim."""

    storage_class: Object
    access_modes: tuple[str, ...]
    volume_mode: str
    request: str

    @property
    def class_name(self) -> str:
        return str(self.storage_class["metadata"]["name"])

    @property
    def driver(self) -> str:
        return str(self.storage_class["provisioner"])

    @property
    def waits(self) -> bool:
        return waits(self.storage_class)

    @property
    def expandable(self) -> bool:
        return self.storage_class.get("allowVolumeExpansion") is True

    def spec(self) -> dict[str, Any]:
        return {
            "accessModes": list(self.access_modes),
            "volumeMode": self.volume_mode,
            "storageClassName": self.class_name,
            "resources": {"requests": {"storage": self.request}},
        }


def storage_class_of(disk: Object, runtime: Runtime) -> Object:
    """The declared class, else CDI's default: a virt default wins, and the beta annotation does not count.

    Errors: ClaimInvalid.
    """
    wanted = (disk["spec"].get("storage") or disk["spec"].get("pvc") or {}).get("storageClassName")
    classes = runtime.cache("StorageClass").objects
    if wanted:
        found = classes.get(("", wanted))
        if found is None:
            text = (
                f"DataVolume.storage spec is missing accessMode and cannot get access mode from StorageProfile {wanted}"
            )
            raise ClaimInvalid(text)
        return found
    candidates = list(classes.values())
    default = newest_default(candidates, VIRT_DEFAULT) if "storage" in disk["spec"] else None
    default = default or newest_default(candidates, GA_DEFAULT)
    if default is None or wanted == "":
        raise ClaimInvalid("PVC spec is missing accessMode and no storageClass to choose profile")
    return default


def plan(disk: Object, runtime: Runtime, source: Object | None = None) -> Claim:
    """The claim of a DataVolume; ``source`` is the claim it is cloned from, whose size counts when none is given.

    Errors: ClaimInvalid.
    """
    by_profile = "storage" in disk["spec"]
    given = disk["spec"].get("storage") or disk["spec"].get("pvc") or {}
    storage_class = storage_class_of(disk, runtime)
    name = storage_class["metadata"]["name"]
    profile = runtime.cache("StorageProfile").get("", name) or {"metadata": {}}
    sets = status(profile).get("claimPropertySets") or []
    mode = given.get("volumeMode")
    chosen = next((one for one in sets if mode in (None, one["volumeMode"])), {}) if by_profile else {}
    access = given.get("accessModes") or chosen.get("accessModes")
    if not access:
        raise ClaimInvalid(f"no accessMode specified in StorageProfile {name}")
    mode = mode or chosen.get("volumeMode") or "Filesystem"
    request = (given.get("resources") or {}).get("requests", {}).get("storage") or _source_size(source)
    if not request:
        raise ClaimInvalid("PVC size is missing")
    text = _inflated(str(request), mode, name, profile, runtime) if by_profile else str(request)
    return Claim(storage_class, tuple(access), mode, text)


def _source_size(source: Object | None) -> str | None:
    if source is None:
        return None
    found: str = source["spec"]["resources"]["requests"]["storage"]
    return found


def _inflated(request: str, mode: str, name: str, profile: Object, runtime: Runtime) -> str:
    """A file system needs room for itself, and a profile may know a minimum."""
    needed, written = size(request), request
    if mode == "Filesystem":
        config = runtime.cache("CDIConfig").get("", "config") or {}
        overhead = status(config).get("filesystemOverhead", {})
        share = Fraction(overhead.get("storageClass", {}).get(name) or overhead.get("global") or "0.06")
        needed = math.ceil(-(-needed // MIB) * MIB * (1 + share))
        written = str(needed)
    minimum = annotations(profile).get(MINIMUM)
    return minimum if minimum and size(minimum) > needed else written


def scratch_class(runtime: Runtime, claim: Claim) -> str:
    """CDI 1.64 prefers the cluster's default class to that of the disk; from 1.65 on it is the disk's."""
    cdi = runtime.cache("CDI").get("", "cdi") or {"spec": {}}
    config = cdi["spec"].get("config") or {}
    classes = runtime.cache("StorageClass").objects
    override = config.get("scratchSpaceStorageClass")
    if override and ("", override) in classes:
        return str(override)
    if status(cdi).get("observedVersion", "").startswith("v1.65"):
        return claim.class_name
    default = newest_default(classes.values(), GA_DEFAULT)
    return str(default["metadata"]["name"]) if default else claim.class_name


def populated(disk: Object, runtime: Runtime, claim: Claim) -> bool:
    """True if the disk is filled through a populator. Errors: ValueError for an annotation that is no Go boolean."""
    given = annotations(disk).get(USE_POPULATOR)
    if given is None:
        return ("", claim.driver) in runtime.cache("CSIDriver").objects
    if given in ("1", "t", "T", "TRUE", "true", "True"):
        return True
    if given in ("0", "f", "F", "FALSE", "false", "False"):
        return False
    raise ValueError(f'annotation {USE_POPULATOR}: strconv.ParseBool: parsing "{given}": invalid syntax')
