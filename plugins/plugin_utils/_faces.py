# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What filters and tests share: reading what a playbook passes, and one kind of error."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.report import resolved_class
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.state import ClusterState
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.pool import Pool
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.source import resolve_source
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.survey import typed_spec

_POOL_KEYS = ("namespace", "cluster", "pool", "spec")


def face(name: str, job: Callable[..., Any]) -> Callable[..., Any]:
    """The job as a filter: what it refuses becomes an error that names the filter."""

    def wrapped(value: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return job(value, *args, **kwargs)
        except (ValueError, TypeError) as error:
            raise AnsibleFilterError(f"{name}: {error}") from error

    return wrapped


def text_of(value: Any, what: str) -> str:
    """A text that is not blank. A number is refused with a hint, since YAML reads an unquoted 1.13 as one."""
    if isinstance(value, (int, float)):
        raise TypeError(f"{what} is the number {value}; put it in quotes")
    if not isinstance(value, str):
        raise TypeError(f"{what} has to be a text, not {type(value).__name__}")
    if not value:
        raise ValueError(f"{what} is blank")
    return value


def mapping_of(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"{what} has to be a mapping, not {type(value).__name__}")
    return value


def pool_of(value: Any) -> Pool:
    """A pool from a KubernetesNodes object, or from namespace, cluster, pool and spec as module node_pools takes them."""
    given = mapping_of(value, "a pool")
    if "metadata" in given:
        pool = Pool.from_api(given)
        if not pool.declared_name:
            raise ValueError("the KubernetesNodes object has no metadata.name")
        return pool
    unknown = [key for key in given if key not in _POOL_KEYS]
    if unknown:
        raise ValueError(
            f"a pool has no key {unknown[0]!r}; known are {', '.join(_POOL_KEYS)}, or a whole KubernetesNodes object"
        )
    names = [text_of(given.get(key), f"{key} of the pool") for key in _POOL_KEYS[:3]]
    spec = given.get("spec")
    return Pool(names[0], names[1], names[2], {} if spec is None else typed_spec(mapping_of(spec, "spec of the pool")))


def pools_of(value: Any) -> list[Pool]:
    """One pool or a list of them."""
    if isinstance(value, Mapping):
        return [pool_of(value)]
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        raise TypeError(f"pools have to be a list, not {type(value).__name__}")
    return [pool_of(item) for item in value]


def state_of(
    objects: Any, pools: Sequence[Pool] = (), cluster_values: Any = None, pool_schema: Any = None
) -> ClusterState:
    """The state of a list of objects; without one nothing counts as read, so that rules say what they could not judge."""
    known: dict[str, Any] = {}
    if cluster_values is not None:
        values = mapping_of(cluster_values, "cluster_values")
        known["cluster_values"] = {pool.namespace: values for pool in pools}
    if pool_schema is not None:
        known["pool_schema"] = mapping_of(pool_schema, "pool_schema")
    if objects is None:
        return ClusterState(**known)
    if isinstance(objects, (str, bytes, Mapping)) or not isinstance(objects, Sequence):
        raise TypeError(f"objects have to be a list, not {type(objects).__name__}")
    return ClusterState.from_objects([mapping_of(item, "an object") for item in objects], **known)


def class_of(pool: Pool, storage_class: Any, objects: Any) -> str:
    """The class of a pool's disks: given, declared, or resolved from objects. Raises ValueError when nothing tells it."""
    if storage_class is not None:
        return str(storage_class)
    if not resolve_source(pool.values).clones or pool.storage_class:
        return pool.storage_class
    found = resolved_class(pool, state_of(objects))
    if found is None:
        raise ValueError(
            f"{pool.subject} declares no storage class; pass storage_class, or the objects it is resolved from"
        )
    return str(found.value)
