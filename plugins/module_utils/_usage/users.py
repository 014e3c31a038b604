# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who uses a golden: pools that declare it, clones of it, machine templates that name it, pods that mount it.

Names are never parsed and never compared by prefix; everything is told from spec, annotations and references.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .._image.golden import GOLDEN_NAMESPACE
from .._pool.objects import MachineDeployment, MachineSet, MachineTemplate
from .._pool.pool import Pool
from .._pool.source import AMBIGUOUS, resolve_source
from .._storage.objects import Claim, DataVolume
from .._storage.pods import Pod

DECLARED, CLONING, CLONED = "declared", "cloning", "cloned"
TEMPLATE, IDLE_TEMPLATE, MOUNTED = "template", "idle_template", "mounted"
KINDS = (DECLARED, CLONING, TEMPLATE, IDLE_TEMPLATE, MOUNTED, CLONED)
# A finished clone is a volume of its own. Every other use would break with the golden.
BLOCKING = frozenset(KINDS) - {CLONED}

# While one of these is on a claim, somebody is cloning it or taking a snapshot of it.
CLONING_FINALIZERS = frozenset(
    {
        "provisioner.storage.kubernetes.io/cloning-protection",
        "snapshot.storage.kubernetes.io/pvc-as-source-protection",
    }
)


@dataclass(frozen=True)
class User:
    """Somebody who uses a golden. ``detail`` says more where the name alone does not tell."""

    how: str
    namespace: str
    name: str
    detail: str = ""

    @property
    def blocks(self) -> bool:
        """Whether the golden must not go as long as this user is there."""
        return self.how in BLOCKING

    @property
    def text(self) -> str:
        where = "/".join(part for part in (self.namespace, self.name) if part)
        return f"{where} ({self.detail})" if self.detail else where

    def as_dict(self) -> dict[str, Any]:
        shown = {"how": self.how, "namespace": self.namespace, "name": self.name}
        return {**shown, "detail": self.detail} if self.detail else shown


@dataclass(frozen=True)
class Surroundings:
    """Everything that can use a golden. None means "not read", which is never the same as "none there".

    ``volumes`` of all namespaces; ``claims`` and ``pods`` of the golden namespace; the machine objects of all namespaces.
    """

    pools: Sequence[Pool] | None = None
    volumes: Sequence[DataVolume] | None = None
    claims: Sequence[Claim] | None = None
    pods: Sequence[Pod] | None = None
    machine_sets: Sequence[MachineSet] | None = None
    machine_deployments: Sequence[MachineDeployment] | None = None
    machine_templates: Sequence[MachineTemplate] | None = None

    def unread(self) -> list[str]:
        """The fields that were not read, in a fixed order."""
        return [name for name in self.__dataclass_fields__ if getattr(self, name) is None]


def users_of(site: Surroundings) -> dict[str, list[User]]:
    """golden name -> users, by kind and then as they were read. What was not read yields no user: ask ``unread`` first."""
    found: dict[str, list[User]] = {}
    claim_of = _claims_of_goldens(site.volumes or ())
    for golden, user in (
        *_declared(site.pools or ()),
        *_disks(site.volumes or (), claim_of),
        *_claims(site.claims or (), claim_of),
        *_templates(site),
        *_mounts(site.pods or (), claim_of),
    ):
        found.setdefault(golden, []).append(user)
    return {golden: sorted(users, key=lambda user: KINDS.index(user.how)) for golden, users in found.items()}


def _claims_of_goldens(volumes: Sequence[DataVolume]) -> dict[str, str]:
    """claim name -> golden, for goldens whose claim has another name than they have."""
    return {
        volume.claim_name: volume.name
        for volume in volumes
        if volume.namespace == GOLDEN_NAMESPACE and volume.claim_name not in ("", volume.name)
    }


def _declared(pools: Sequence[Pool]) -> Iterator[tuple[str, User]]:
    """A pool's own defaults are resolved, so that a form without a version counts too; so does a pool at zero workers."""
    for pool in pools:
        source = pool.source
        if source.mode == AMBIGUOUS:
            # Refused by the chart until one form goes; if factory goes, it clones.
            builtin = {"builtin": pool.values["osImage"]["builtin"]}
            source = resolve_source({**pool.values, "osImage": builtin})
        if source.clones:
            yield source.golden, User(DECLARED, pool.namespace, pool.name)


def _disks(volumes: Sequence[DataVolume], claim_of: dict[str, str]) -> Iterator[tuple[str, User]]:
    for volume in volumes:
        goldens = {volume.golden} if volume.golden else set()
        if volume.source_claim and (volume.source_claim[0] or volume.namespace) == GOLDEN_NAMESPACE:
            goldens.add(claim_of.get(volume.source_claim[1], volume.source_claim[1]))
        finished = volume.phase == "Succeeded"
        for golden in sorted(goldens):
            yield (
                golden,
                User(CLONED if finished else CLONING, volume.namespace, volume.name, "" if finished else volume.phase),
            )


def _claims(claims: Sequence[Claim], claim_of: dict[str, str]) -> Iterator[tuple[str, User]]:
    """Clones that are known from the golden namespace alone: the driver's finalizers, and CDI's temporary claims."""
    for claim in claims:
        for finalizer in sorted(CLONING_FINALIZERS & set(claim.meta.finalizers)):
            detail = f"its claim carries finalizer {finalizer}: a clone or snapshot is being made"
            yield claim_of.get(claim.name, claim.name), User(CLONING, claim.namespace, claim.name, detail)
        if claim.data_source:
            detail = f"temporary claim of a clone, {claim.phase or 'without a phase'}"
            yield claim_of.get(claim.data_source, claim.data_source), User(CLONING, claim.namespace, claim.name, detail)


def _templates(site: Surroundings) -> Iterator[tuple[str, User]]:
    """Machine templates that a MachineSet or a MachineDeployment refers to: a new machine would be made from them."""
    workers: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for machine_set in site.machine_sets or ():
        count = max(machine_set.replicas, machine_set.live_replicas)
        place = machine_set.meta.namespace, machine_set.template_name
        workers.setdefault(place, []).append((f"MachineSet {machine_set.meta.name}", count))
    for deployment in site.machine_deployments or ():
        # The template that a deployment names is the one that its next machine is made from, at zero workers too.
        place = deployment.meta.namespace, deployment.template_name
        workers.setdefault(place, []).append((f"MachineDeployment {deployment.meta.name}", 1))
    for template in site.machine_templates or ():
        users = workers.get((template.meta.namespace, template.meta.name), [])
        goldens = {template.golden} if template.golden else set()
        if template.source_claim and template.source_claim[0] == GOLDEN_NAMESPACE:
            goldens.add(template.source_claim[1])
        for golden in sorted(goldens) if users else ():
            how = TEMPLATE if any(count for _, count in users) else IDLE_TEMPLATE
            detail = "of " + ", ".join(sorted(name for name, count in users if count or how == IDLE_TEMPLATE))
            yield golden, User(how, template.meta.namespace, template.meta.name, detail)


def _mounts(pods: Sequence[Pod], claim_of: dict[str, str]) -> Iterator[tuple[str, User]]:
    for pod in pods:
        for claim in () if pod.of_cdi or pod.over else pod.claims:
            yield claim_of.get(claim, claim), User(MOUNTED, pod.meta.namespace, pod.name)
