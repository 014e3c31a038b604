# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules on taking a golden away: whoever still needs it keeps it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from .._image.golden import CATALOG_PACKAGE, GOLDEN_NAMESPACE
from .._image.render import SCHEMATIC_ANNOTATION, VERSION_ANNOTATION
from .._storage.objects import Claim, DataVolume
from .._usage.users import CLONING, DECLARED, IDLE_TEMPLATE, MOUNTED, TEMPLATE, User
from .golden import FORCE_RENDER
from .rule import Found, rule

_SHOWN = 5


@dataclass(frozen=True)
class RetireCase:
    """A golden that is to go. ``unread`` maps what was not read to the reason; ``listed`` is None when the catalog was not read.

    ``recreated`` says that it comes back at once, so that pools which merely declare it may wait for it.
    """

    golden: str
    pair: tuple[str, str]
    volume: DataVolume | None = None
    claim: Claim | None = None
    users: Sequence[User] = ()
    unread: Mapping[str, str] = field(default_factory=dict)
    listed: bool | None = None
    recreated: bool = False

    @property
    def subject(self) -> str:
        return f"golden image {GOLDEN_NAMESPACE}/{self.golden}"

    @property
    def exists(self) -> bool:
        return self.volume is not None or self.claim is not None

    def of(self, how: str) -> list[User]:
        return [user for user in self.users if user.how == how]


def named(users: Sequence[User]) -> str:
    """The first few, and how many more."""
    shown = ", ".join(user.text for user in users[:_SHOWN])
    return shown + (f" and {len(users) - _SHOWN} more" if len(users) > _SHOWN else "")


def _used(case: RetireCase, how: str, says: str) -> Iterator[Found]:
    users = case.of(how) if case.exists else []
    if users:
        yield Found("", f"{says}: {named(users)}", evidence={"how": how, "users": [user.as_dict() for user in users]})


@rule(
    "golden-declared",
    chart=False,
    cause="A pool declares the golden, be it by its defaults or at zero workers: its next worker could not be created.",
    example="osImage: {builtin: {}} on a pool with minReplicas 0",
    remedy="Move the pools to another image (osImage.builtin.version or schematicID, or osImage.factory) and let them roll, "
    "then retire it.",
)
def golden_declared(case: RetireCase) -> Iterator[Found]:
    if not case.recreated:
        yield from _used(case, DECLARED, "pools declare it")


@rule(
    "golden-being-cloned",
    chart=False,
    cause="A clone of the golden has not finished: a worker disk, a temporary claim of CDI, or a clone or snapshot inside the storage. It "
    "would never finish without its source.",
    example="a worker disk in phase CSICloneInProgress",
    remedy="Wait for the clones to finish. A temporary claim that nothing works on any more is listed by golden_image_info as a leftover; "
    "delete it by hand once you are sure.",
)
def golden_being_cloned(case: RetireCase) -> Iterator[Found]:
    yield from _used(case, CLONING, "it is being cloned")


@rule(
    "golden-in-template",
    chart=False,
    cause="A machine template that live machines are made from names the golden: a machine that is replaced would clone it. "
    "This is so while a pool rolls to another image, too.",
    example="a pool that was repointed a minute ago and still rolls",
    remedy="Wait until the pools have rolled.",
)
def golden_in_template(case: RetireCase) -> Iterator[Found]:
    if not case.recreated:
        yield from _used(case, TEMPLATE, "machine templates in use name it")


@rule(
    "golden-in-idle-template",
    chart=False,
    cause="A machine template names the golden, and the MachineSets that refer to it are all at zero. Cluster API keeps old MachineSets so "
    "that a rollout can be undone; undoing it would clone the golden.",
    example="the MachineSet of the rollout before last",
    remedy="Accept it (accept: [golden-in-idle-template]) if nobody will roll back to this image, or delete the old MachineSets.",
)
def golden_in_idle_template(case: RetireCase) -> Iterator[Found]:
    if not case.recreated:
        yield from _used(case, IDLE_TEMPLATE, "machine templates of MachineSets at zero name it")


@rule(
    "golden-mounted",
    chart=False,
    cause="A pod mounts the golden's volume.",
    example="a debugging pod in cozy-public",
    remedy="Delete the pod, or wait for its end.",
)
def golden_mounted(case: RetireCase) -> Iterator[Found]:
    yield from _used(case, MOUNTED, "pods mount it")


@rule(
    "golden-usage-unread",
    chart=False,
    cause="Something that could use the golden may not be read, so nobody can tell whether it is free.",
    example="no right to list KubernetesNodes in all namespaces",
    remedy="Grant list on what is named, in all namespaces.",
)
def golden_usage_unread(case: RetireCase) -> Iterator[Found]:
    if case.exists and case.unread:
        what = "; ".join(f"{name}: {why}" for name, why in case.unread.items())
        yield Found("", f"nobody can tell whether it is used: {what}", evidence={"unread": dict(case.unread)})


@rule(
    "golden-foreign",
    chart=False,
    cause="A DataVolume or claim of a golden's name that was made neither by the catalog nor by this collection: the annotations "
    "that tell its pair are missing or tell another one.",
    example="a DataVolume made by hand, without annotations",
    remedy="Look whose it is. If it is a golden, adopt it first (golden_image with state=present), or accept: [golden-foreign].",
)
def golden_foreign(case: RetireCase) -> Iterator[Found]:
    held = case.volume or case.claim
    if held is None:
        return
    told = tuple(held.meta.annotations.get(key, "") for key in (SCHEMATIC_ANNOTATION, VERSION_ANNOTATION))
    if told != case.pair:
        said = (
            f"its annotations say {told[0] or 'no schematic'} and {told[1] or 'no version'}"
            if any(told)
            else "its annotations are missing"
        )
        yield Found(
            "", f"it was not made by the catalog or by this collection: {said}", evidence={"annotations": list(told)}
        )


@rule(
    "golden-still-listed",
    refuses=False,
    chart=False,
    cause="The catalog still has an entry for the golden, so the catalog's next render imports it again.",
    example="retiring a golden before its entry was taken out",
    remedy="Take the entry out of the catalog first (image_catalog with entries=exact). If it is meant to be imported anew, "
    f"{FORCE_RENDER}: force_render does that.",
)
def golden_still_listed(case: RetireCase) -> Iterator[Found]:
    if case.exists and case.listed and not case.recreated:
        yield Found(
            "",
            f"the catalog of {CATALOG_PACKAGE} still lists it, so the catalog's next render imports it again",
            evidence={"schematicID": case.pair[0], "version": case.pair[1]},
        )


RETIRE_RULES = (
    golden_declared,
    golden_being_cloned,
    golden_in_template,
    golden_in_idle_template,
    golden_mounted,
    golden_usage_unread,
    golden_foreign,
    golden_still_listed,
)
# A golden that somebody needs is kept, whatever the caller would accept.
NEVER_ACCEPTED = (
    "golden-declared",
    "golden-being-cloned",
    "golden-in-template",
    "golden-mounted",
    "golden-usage-unread",
)
# Users that may go away by themselves: with when_free a later run takes the golden then.
PENDING = ("golden-declared", "golden-being-cloned", "golden-in-template", "golden-in-idle-template", "golden-mounted")
