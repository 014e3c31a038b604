# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From declared pools and what the cluster serves to the fewest creates and merge patches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .._pool.pool import Pool
from .._pool.source import OMITTED
from .._storage.quantity import same_quantity
from .._storage.reading import mapping, texts
from .changes import Change, Path, compare, equal, merge_patch, without_nulls
from .plan import CREATE, DELETE, PATCH, Step, fingerprint

KIND = "KubernetesNodes"
API_VERSION = "apps.cozystack.io/v1alpha1"
_FORMS = ("builtin", "factory")
_FORM_KEYS = {"builtin": ("schematicID", "version"), "factory": ("schematicID", "version", "imageFactoryURL")}
_QUANTITIES = frozenset(
    {("diskSize",), ("resources", "cpu"), ("resources", "memory"), ("podCpuLimit",), ("podCpuRequest",)}
)
_SPEC = ("spec",)


@dataclass(frozen=True)
class LivePool:
    """A KubernetesNodes object as the aggregated API serves it: ``spec`` has today's defaults filled in."""

    namespace: str
    name: str
    spec: Mapping[str, Any]
    labels: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_api(cls, obj: Mapping[str, Any]) -> LivePool:
        metadata = obj.get("metadata") if isinstance(obj.get("metadata"), Mapping) else {}
        spec = obj.get("spec")
        metadata = metadata or {}
        return cls(
            str(metadata.get("namespace") or ""),
            str(metadata.get("name") or ""),
            spec if isinstance(spec, Mapping) else {},
            texts(metadata, "labels"),
        )

    @property
    def facts(self) -> dict[str, Any]:
        """What a step that changes this pool rests on."""
        return {"live": fingerprint(self.spec)}


def same_pool_field(path: Path, declared: Any, live: Any) -> bool:
    """Quantities are equal as numbers (20Gi, 20480Mi, 21474836480), everything else to the letter."""
    if path[-2:] in _QUANTITIES or path[-1:] in _QUANTITIES:
        return same_quantity(declared, live)
    return equal(path, declared, live)


def _whole_forms(os_image: Any) -> Any:
    """osImage is declared as a whole: the other form, and what a form does not state, are asked to be absent.

    builtin: {} means "the pool's own default pair"; were it only laid over a live version override, it would mean
    that override. The explicit null for the other form goes into the same patch, else both would stand.
    """
    if not isinstance(os_image, Mapping) or not any(form in os_image for form in _FORMS):
        return None if os_image == {} else os_image
    whole: dict[str, Any] = dict.fromkeys(_FORMS)
    for form, keys in os_image.items():
        if isinstance(keys, Mapping):
            whole[form] = {
                **dict.fromkeys(_FORM_KEYS.get(form, ())),
                **{key: value or None for key, value in keys.items()},
            }
        else:
            whole[form] = keys
    return whole


def declared_spec(pool: Pool) -> dict[str, Any]:
    """The declared spec in the form that is compared with the live one."""
    spec = dict(pool.spec)
    if "osImage" in spec:
        spec["osImage"] = _whole_forms(spec["osImage"])
    return spec


def merge(live: Any, patch: Any) -> Any:
    """RFC 7396: the value after a JSON merge patch."""
    if not isinstance(patch, Mapping):
        return patch
    result = dict(live) if isinstance(live, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


def pool_changes(pool: Pool, live: LivePool) -> tuple[Change, ...]:
    """Declared fields that differ from the live pool; paths start at the object's root."""
    return compare(declared_spec(pool), live.spec, same_pool_field, _SPEC)


def dropped_fields(pool: Pool, stored: Mapping[str, Any]) -> list[str]:
    """Declared fields that an object just written does not show: an older platform drops what it does not know."""
    return [".".join(change.path) for change in pool_changes(pool, LivePool.from_api(stored))]


def pool_after(pool: Pool, live: LivePool | None) -> Pool:
    """The pool as it will be: what the guards have to judge. A new pool is what is declared; a patch lays over the live one."""
    if live is None:
        return pool
    patch = merge_patch(pool_changes(pool, live)).get("spec", {})
    after = merge(live.spec, patch)
    stated = pool.spec.get("osImage")
    if isinstance(stated, Mapping) and None in stated.values():
        after["osImage"] = stated  # a form that is null is refused, and must not vanish by being merged
    return Pool(pool.namespace, pool.cluster, pool.pool, after)


def pool_step(pool: Pool, live: LivePool | None) -> Step | None:
    """The one write that makes the pool what is declared, or None."""
    if live is None:
        spec = without_nulls(pool.spec)
        body = {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": {"namespace": pool.namespace, "name": pool.name},
            "spec": spec,
        }
        changes = compare(spec, {}, equal, _SPEC)
        return Step(CREATE, KIND, pool.namespace, pool.name, "the pool does not exist", changes, body)
    changes = pool_changes(pool, live)
    if not changes:
        return None
    fields = ", ".join(".".join(change.path[1:]) for change in changes)
    reason, patch = f"differs in {fields}", merge_patch(changes)
    return Step(PATCH, KIND, pool.namespace, pool.name, reason, changes, patch, facts=live.facts)


def delete_step(live: LivePool) -> Step:
    """The end of a pool."""
    reason = "the pool is to be absent; its workers and disks go with it"
    return Step(DELETE, KIND, live.namespace, live.name, reason, rolls_workers=True, facts=live.facts)


def way_back(before: Pool, after: Pool) -> str:
    """How to undo a change of what the pool boots from: "run again with osImage.builtin.version v1.13.6"; blank when that stays."""
    old, new = before.source, after.source
    if (old.mode, old.golden, old.url) == (new.mode, new.golden, new.url):
        return ""
    if old.mode == OMITTED:
        told = ["osImage null"] if new.mode != OMITTED else []
        talos = mapping(after.values, "talos")
        kept = {"version": old.version, "schematicID": old.schematic_id, "imageFactoryURL": old.image_factory_url}
        told += [f"talos.{key} {value}" for key, value in kept.items() if talos.get(key) != value]
        return f"run again with {' and '.join(told)}"
    form = f"osImage.{old.mode}"
    told = [f"{form}.version {old.version}"]
    if old.schematic_id != new.schematic_id:
        told.append(f"{form}.schematicID {old.schematic_id}")
    if old.url and (old.mode != new.mode or old.image_factory_url != new.image_factory_url):
        told.append(f"{form}.imageFactoryURL {old.image_factory_url}")
    return f"run again with {' and '.join(told)}"
