# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a change rolls a pool's workers, and why (platform rule 3.5).

Three references in the MachineDeployment move: the machine template (its name is known byte for byte), the Kubernetes release, and, on
newer platforms, the config template (its bytes differ between releases, so it is told from its inputs).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .._image.golden import installer_image
from .._image.versions import kubernetes_minor
from .._storage.printed import printed
from .._storage.reading import dig, is_set, mapping
from .objects import MachineDeployment
from .pool import Pool
from .source import Source
from .template import TemplateUnknown, disk_class, machine_template_name

_REFERENCES = ("template", "version", "config")


@dataclass(frozen=True)
class RollVerdict:
    """``rolls`` is None when it cannot be told; ``moves`` says it for each reference ("template", "version", "config").

    ``reasons`` are phrases for people, ``fields`` the changed field paths that matter, ``notes`` what is worth knowing although it
    rolls nothing. Template names are blank when they cannot be told.
    """

    rolls: bool | None
    reasons: tuple[str, ...] = ()
    old_template: str = ""
    new_template: str = ""
    fields: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    moves: Mapping[str, bool | None] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return {
            "rolls_workers": self.rolls,
            "moves": dict(self.moves),
            "reasons": list(self.reasons),
            "old_template": self.old_template,
            "new_template": self.new_template,
            "fields": list(self.fields),
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class _Move:
    """One reference: whether it moves, why, and by which fields."""

    moves: bool | None
    reason: str = ""
    fields: tuple[str, ...] = ()
    note: str = ""


def predict_roll(
    desired: Pool,
    resolved_class: str | None,
    cluster_values: Mapping[str, Any] | None,
    live: MachineDeployment | None,
    current: Pool | None = None,
    current_class: str | None = None,
    live_read: bool = True,
) -> RollVerdict:
    """Compare what runs with what would run.

    ``live`` is the pool's MachineDeployment; None means that there is none, or with ``live_read`` false that it was not read.
    ``current`` is the pool as it is stored today, None for a new one. ``resolved_class`` and ``current_class`` are rule T2's class for
    either, None when it cannot be told. ``cluster_values`` are the ``_cluster`` values of the namespace, None when not read.
    """
    new = _template(desired, cluster_values, resolved_class)
    if live is None and (live_read or current is None):
        # No MachineDeployment, no workers to roll.
        return RollVerdict(False, new_template=new, moves=dict.fromkeys(_REFERENCES, False))
    stored = _template(current, cluster_values, current_class) if current else ""
    template = _template_move(
        desired, current, (resolved_class, current_class), (new, stored), cluster_values is not None, live
    )
    moves = (template, _version_move(current, desired, live), _config_move(current, desired, live))
    named = dict(zip(_REFERENCES, (move.moves for move in moves), strict=True))
    certain = any(move.moves for move in moves)
    return RollVerdict(
        rolls=True if certain else None if any(move.moves is None for move in moves) else False,
        reasons=tuple(move.reason for move in moves if move.reason),
        old_template=(live.template_name if live else "") or stored,
        new_template=new,
        fields=tuple(dict.fromkeys(name for move in moves for name in move.fields)),
        notes=tuple(move.note for move in moves if move.note),
        moves=named,
    )


def config_is_hashed(live: MachineDeployment) -> bool:
    """Whether this platform names the config template by a hash, so that its inputs roll workers."""
    return re.fullmatch(re.escape(live.meta.name) + r"-[0-9a-f]{6}", live.config_name) is not None


def config_inputs(pool: Pool) -> Mapping[str, Any]:
    """What the worker's config is made from, by field path or in words; a change of any of them moves a hashed config template."""
    values, source = pool.values, pool.source
    talos = mapping(values, "talos")
    kubelet = mapping(values, "kubelet")
    sized = (
        {"resources": dict(mapping(values, "resources"))}
        if pool.sized_by_resources
        else {"instanceType": pool.instance_type}
    )
    return {
        "resolved Talos release": (source.schematic_id, source.version),
        "talos.installerRepository": installer_image(
            printed(talos.get("installerRepository")), source.schematic_id, source.version
        ),
        "talos.registryMirrors": dict(mapping(talos, "registryMirrors")),
        "version": pool.kubernetes_version,
        "kubelet": {key: value for key, value in kubelet.items() if is_set(value)}
        | {
            key: kubelet.get(key) or fallback
            for key, fallback in (("evictionHardMemory", "7%"), ("evictionSoftMemory", "10%"))
        },
        # Reservations that are not declared are computed from the size of the worker.
        "worker size": sized,
        "gpus": bool(values.get("gpus")),
        "kernelModules": values.get("kernelModules"),
        "labels": values.get("labels") or {},
        "taints": values.get("taints") or [],
    }


def _template(pool: Pool, cluster_values: Mapping[str, Any] | None, resolved_class: str | None) -> str:
    """The template's name, blank when it cannot be told."""
    if resolved_class is None and pool.source.clones and not pool.storage_class:
        return ""
    try:
        return machine_template_name(pool, cluster_values or {}, resolved_class or pool.storage_class)
    except TemplateUnknown:
        return ""


def _template_move(
    desired: Pool,
    current: Pool | None,
    classes: tuple[str | None, str | None],
    names: tuple[str, str],
    exact: bool,
    live: MachineDeployment | None,
) -> _Move:
    """``names`` are the new and the stored pool's template; ``exact`` says that site-wide settings went into them."""
    new, stored = names
    old = live.template_name if live and live.template_name else stored
    fields = tuple(_template_fields(current, desired, classes)) if current else ()
    if new and new == old:
        return _Move(False)
    if not new or not old:
        return _Move(None, "the machine template's name cannot be told from here", fields)
    if not exact and not stored:
        return _Move(
            None, "the machine template may change: site-wide settings that are part of its name were not read"
        )
    if not exact and stored == new:
        return _Move(False, note="site-wide settings were not read, so template names are predicted without them")
    why = ", ".join(fields) or "the stored pool was not rendered yet, or a site-wide setting or a default moved"
    return _Move(True, f"the machine template changes from {old} to {new} ({why})", fields)


def _template_fields(current: Pool, desired: Pool, classes: tuple[str | None, str | None]) -> Iterator[str]:
    """Changed fields that are inputs of the machine template."""
    before, after = current.source, desired.source
    if _boots_from(before) != _boots_from(after):
        yield "osImage" if mapping(current.values, "osImage") != mapping(desired.values, "osImage") else "talos"
    if current.disk_size != desired.disk_size:
        yield "diskSize"
    old_class = disk_class(current, before, classes[1] or current.storage_class)
    if old_class != disk_class(desired, after, classes[0] or desired.storage_class):
        yield "storageClass"
    if _instance(current) != _instance(desired):
        yield "instanceType"
    for name in ("resources.cpu", "resources.memory"):
        if printed(dig(current.values, *name.split("."))) != printed(dig(desired.values, *name.split("."))):
            yield name
    for name in ("roles", "gpus", "logSerialConsole", "substrate"):
        if (current.values.get(name) or None) != (desired.values.get(name) or None):
            yield name
    for name in ("podCpuLimit", "podCpuRequest"):
        # A zero counts as given here.
        if current.values.get(name) != desired.values.get(name):
            yield name


def _boots_from(source: Source) -> str:
    return source.golden if source.clones else source.url


def _instance(pool: Pool) -> str:
    return "" if pool.sized_by_resources else pool.instance_type


def _version_move(current: Pool | None, desired: Pool, live: MachineDeployment | None) -> _Move:
    """The Kubernetes release; its patch number follows the platform's own table, which only an upgrade of the platform moves."""
    before = live.version if live and live.version else current.kubernetes_version if current else ""
    old, new = kubernetes_minor(before), kubernetes_minor(desired.kubernetes_version)
    if old is None or new is None or old == new:
        return _Move(False)
    return _Move(True, f"Kubernetes changes from {before} to {desired.kubernetes_version}", ("version",))


def _config_move(current: Pool | None, desired: Pool, live: MachineDeployment | None) -> _Move:
    hashed = config_is_hashed(live) if live else None
    if current is None:
        return (
            _Move(None, "the worker configuration may change: the stored pool was not read") if hashed else _Move(False)
        )
    before, after = config_inputs(current), config_inputs(desired)
    changed = tuple(name for name in after if before[name] != after[name])
    if not changed:
        return _Move(False)
    what = f"the worker configuration changes ({', '.join(changed)})"
    if hashed is False:
        return _Move(False, note=f"{what}, which on this platform reaches no existing worker")
    return _Move(hashed, what, tuple(name for name in changed if " " not in name))
