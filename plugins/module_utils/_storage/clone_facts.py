# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of a clone to come, and what follows from it: CDI's checks one by one, each None when it cannot be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .objects import StorageClass, StorageProfile
from .settings import FILESYSTEM, Cdi, CdiConfig, SnapshotClass, claim_request, mode_of, smallest_claim

CSI_CLONE, SNAPSHOT, COPY, REFUSED, UNKNOWN = "csi-clone", "snapshot", "copy", "refused", "unknown"
STRATEGIES = (CSI_CLONE, SNAPSHOT, COPY)
# Reason of CDI's event and its words in the annotation cdi.kubevirt.io/cloneFallbackReason, in the order of its checks.
NO_POPULATOR, NO_SNAPSHOT_CLASS = "NoPopulator", "NoVolumeSnapshotClass"
DRIVERS_DIFFER, MODES_DIFFER, NO_EXPANSION = "IncompatibleProvisioners", "IncompatibleVolumeModes", "NoVolumeExpansion"
FALLBACK_WORDS: Mapping[str, str] = {
    NO_POPULATOR: "In tree storage class does not support snapshot/clone",
    NO_SNAPSHOT_CLASS: "No compatible volumesnapshotclass found",
    DRIVERS_DIFFER: "Provisioners are incompatible",
    MODES_DIFFER: "The volume modes of source and target are incompatible",
    NO_EXPANSION: "No volume expansion is possible",
}
_NO_LIMIT = 1 << 63
_TRUE, _FALSE = ("1", "t", "T", "TRUE", "true", "True"), ("0", "f", "F", "FALSE", "false", "False")


@dataclass(frozen=True)
class CloneSource:
    """The golden. ``size`` is as declared, ``request`` and ``capacity`` are its claim's (bytes); ``driver`` is that of its volume.

    None means not known (a blank mode, too); a blank class means that it has none. ``class_from`` and ``facts_from`` say where the
    class and the rest stand.
    """

    class_name: str | None = None
    size: int | None = None
    request: int | None = None
    capacity: int | None = None
    mode: str | None = None
    driver: str | None = None
    ready: bool | None = None
    class_from: str = "the golden"
    facts_from: str = "the golden's claim"


@dataclass(frozen=True)
class CloneQuestion:
    """A disk of ``disk_size`` bytes on class ``class_name``, cloned from ``source``. None means not known.

    ``drivers`` are the names of the CSIDriver objects. ``use_populator`` is the disk's annotation, blank without one.
    """

    source: CloneSource = CloneSource()
    disk_size: int | None = None
    class_name: str | None = None
    classes: Mapping[str, StorageClass] | None = None
    profiles: Mapping[str, StorageProfile] | None = None
    snapshot_classes: tuple[SnapshotClass, ...] | None = None
    drivers: frozenset[str] | None = None
    cdi: Cdi | None = None
    config: CdiConfig | None = None
    use_populator: str = ""
    class_from: str = "the pool"


Check = tuple[str, "bool | None", str]  # reason, whether it stands in the way, what is missing when that is not known


class CloneFacts:
    """What follows from a question, each answer None when it cannot be told."""

    def __init__(self, question: CloneQuestion) -> None:
        self.question, self.source = question, question.source
        name = question.class_name
        self.storage_class = (question.classes or {}).get(name) if name else None
        self.profile = (question.profiles or {}).get(name) if name else None
        self.mode = mode_of(self.profile)

    def strategy(self) -> tuple[str, str]:
        """What the settings ask for, and where that stands: the override, else the profile of the target class, else snapshot."""
        cdi, name = self.question.cdi, self.question.class_name
        if cdi is None:
            return "", ""
        if cdi.override:
            return (cdi.override if cdi.override in STRATEGIES else ""), "CDI spec.cloneStrategyOverride"
        if self.question.profiles is None or not name:
            return "", ""
        origin = f"status.cloneStrategy of StorageProfile {name}"
        if self.profile is None or not self.profile.clone_strategy:
            return SNAPSHOT, "CDI's own default"
        return (self.profile.clone_strategy if self.profile.clone_strategy in STRATEGIES else ""), origin

    def refusal(self) -> tuple[str, tuple[str, ...]]:
        """Why CDI makes no claim or no clone at all, and what is missing to exclude that."""
        question, name = self.question, self.question.class_name
        if name == "":
            return "no storage class is declared and there is no default", ()
        if name is None:
            return "", ("the storage class of the disk",)
        if question.classes is not None and self.storage_class is None:
            return f"storage class {name} does not exist", ()
        if self.profile is not None and not self.profile.has_access_modes:
            return f"StorageProfile {name} states no access mode, so no claim can be made", ()
        if question.use_populator not in ("", *_TRUE, *_FALSE):
            return f"annotation usePopulator is {question.use_populator!r}, which is no truth value", ()
        open_ones = [] if question.classes is not None else ["the StorageClasses"]
        open_ones += [] if self.profile is not None else [f"StorageProfile {name}"]
        bounds, wanted = self.request(), self.source.request
        if bounds is None or wanted is None:
            return "", (*open_ones, "the requested size of golden or disk")
        low, high = bounds
        if high < wanted:
            return f"the disk asks for {high} bytes and the golden's claim for {wanted}: a clone cannot be smaller", ()
        return "", (*open_ones, *(["the volume mode of the disk"] if low < wanted else []))

    def request(self) -> tuple[int, int] | None:
        """The least and the most that the disk's claim asks for; the two differ while the file system's overhead is not known."""
        size, config, profile = self.question.disk_size, self.question.config, self.profile
        if size is None:
            return None
        least = max(size, smallest_claim(profile))
        if profile is None or not profile.volume_mode:
            return least, _NO_LIMIT
        if profile.volume_mode != FILESYSTEM:
            return least, least
        if config is None:
            return least, _NO_LIMIT
        exact = claim_request(size, FILESYSTEM, config.share(profile.name), profile)
        return exact, exact

    def checks(self, strategy: str) -> list[Check]:
        """CDI's checks in its order; those on snapshots count only for that strategy, the last three never for a set copy."""
        found: list[Check] = [(NO_POPULATOR, self._no_populator(), "the CSIDrivers, or the class's provisioner")]
        if strategy == COPY:
            return found
        if strategy == SNAPSHOT:
            found.append((NO_SNAPSHOT_CLASS, self._no_snapshot_class(), "the VolumeSnapshotClasses or the drivers"))
        found.append((DRIVERS_DIFFER, self.drivers_differ(), "the drivers of golden and class"))
        found.append((MODES_DIFFER, self._modes_differ(), "the volume modes of golden and disk"))
        found.append(
            (NO_EXPANSION, self._no_expansion(), "the golden's capacity, or whether the class can grow volumes")
        )
        return found

    def _no_populator(self) -> bool | None:
        if self.question.use_populator:
            return self.question.use_populator in _FALSE
        if self.question.drivers is None or self.storage_class is None:
            return None
        return self.storage_class.provisioner not in self.question.drivers

    @property
    def driver(self) -> str | None:
        return self.storage_class.provisioner if self.storage_class is not None else None

    def source_driver(self) -> str | None:
        name = self.source.class_name
        if self.source.driver is not None:
            return self.source.driver
        found = (self.question.classes or {}).get(name) if name else None
        return found.provisioner if found is not None else None

    def drivers_differ(self) -> bool | None:
        ours, theirs = self.driver, self.source_driver()
        return None if theirs is None or ours is None else theirs != ours

    def _no_snapshot_class(self) -> bool | None:
        """One class has to serve both claims: that which both profiles name, else any of the driver."""
        differ, known, profiles = self.drivers_differ(), self.question.snapshot_classes, self.question.profiles
        if differ:
            return True
        if known is None or self.driver is None:
            return None
        usable = {item.meta.name for item in known if item.driver == self.driver}
        if not usable:
            return True
        if differ is None or profiles is None or self.source.class_name is None:
            return None
        theirs = profiles.get(self.source.class_name)
        named = {item.snapshot_class if item is not None else "" for item in (self.profile, theirs)}
        return named.pop() not in ({*usable, ""}) if len(named) == 1 else False

    def _modes_differ(self) -> bool | None:
        return self.source.mode != self.mode if self.source.mode and self.mode else None

    def expandable(self) -> bool | None:
        """Absent means false in an API server's answer; a list written by hand often leaves it out."""
        found = self.storage_class
        if found is None or found.expandable is not None:
            return found.expandable if found is not None else None
        return False if found.meta.resource_version else None

    def _no_expansion(self) -> bool | None:
        expandable, bounds, capacity = self.expandable(), self.request(), self.source.capacity
        if expandable:
            return False
        if bounds is None or capacity is None:
            return None
        low, high = bounds
        if high <= capacity:
            return False
        return True if expandable is False and low > capacity else None

    def probably_needs_expansion(self) -> bool:
        """As far as the declared sizes tell; drivers may round up, so a golden may turn out larger."""
        size, theirs = self.question.disk_size, self.source.size
        if self.expandable() is not False or self.source.capacity is not None or size is None or theirs is None:
            return False
        return size > theirs
