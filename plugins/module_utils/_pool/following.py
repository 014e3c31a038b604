# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of a pool's fields follow the platform: not stored, so a platform upgrade that moves their default rolls the workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .._storage.reading import dig
from .pool import Pool

# Fields of the worker's configuration, which on platforms of before its template was named by a hash reach no existing worker.
CONFIG_FIELDS = ("talos.installerRepository", "talos.registryMirrors")


def followed_defaults(pool: Pool, stored: Mapping[str, Any], config_hashed: bool | None = None) -> dict[str, Any]:
    """Field path to what it resolves to today. ``stored`` are the values of the pool's release, without any default.

    Only fields that the pool's workers are made from count: the default of a field that an override hides moves nothing. Fields of
    the configuration are left out where it is known that they roll nothing (``config_hashed`` false).
    """
    found = {}
    for path in _used(pool, config_hashed):
        keys = path.split(".")
        if dig(stored, *keys) is None:
            found[path] = dig(pool.values, *keys)
    return found


def _used(pool: Pool, config_hashed: bool | None) -> Iterator[str]:
    origins = set(pool.source.origins.values())
    for key in ("schematicID", "version", "imageFactoryURL"):
        if f"talos.{key}" in origins:
            yield f"talos.{key}"
    if config_hashed is not False:
        yield from CONFIG_FIELDS
    yield "version"
    yield "diskSize"
    yield "storageClass"
    if not pool.sized_by_resources:
        yield "instanceType"
