# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The catalog of worker images: the platform's values block, entry by entry, with every fall-back resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .._storage.printed import helm_values, printed
from .._storage.reading import is_set
from .golden import DEFAULT_FACTORY, DEFAULT_SCHEMATIC, DEFAULT_TALOS, chart_image_url, golden_name

CATALOG_KEYS = ("imageFactoryURL", "storageClass", "storage", "images")
ENTRY_KEYS = ("schematicID", "version", "storage", "storageClass", "imageFactoryURL")

DEFAULT_STORAGE = "6Gi"
CATALOG_DEFAULTS: Mapping[str, Any] = {
    "imageFactoryURL": DEFAULT_FACTORY,
    "storageClass": "replicated",
    "storage": DEFAULT_STORAGE,
    "images": [{"schematicID": DEFAULT_SCHEMATIC, "version": DEFAULT_TALOS}],
}
_CHART_DEFAULT = "chart default"


@dataclass(frozen=True)
class CatalogEntry:
    """One image with resolved values: the entry's own, else the catalog's, else the chart's default.

    ``storage`` is as the chart prints it. ``index`` is the position in ``images``. ``origins`` maps a key of ENTRY_KEYS to the field
    the value came from (``images[0].storage``, ``storage``, or "chart default").
    """

    schematic_id: str
    version: str
    image_factory_url: str = DEFAULT_FACTORY
    storage: str = DEFAULT_STORAGE
    storage_class: str = ""
    index: int = 0
    origins: Mapping[str, str] = field(default_factory=dict, compare=False)
    declared: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def golden(self) -> str:
        return golden_name(self.schematic_id, self.version)

    @property
    def url(self) -> str:
        """The address that the chart renders: one trailing slash of the base dropped."""
        return chart_image_url(self.image_factory_url, self.schematic_id, self.version)

    @property
    def subject(self) -> str:
        """The entry's field path, for messages; a golden that is declared on its own (index -1) has none."""
        return f"images[{self.index}]" if self.index >= 0 else "the golden"

    def origin(self, key: str) -> str:
        return self.origins.get(key, f"{self.subject}.{key}")


@dataclass(frozen=True)
class Catalog:
    """Every entry of a catalog. ``malformed`` holds the field paths whose value is not of the shape the chart can read."""

    entries: tuple[CatalogEntry, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict, compare=False)
    malformed: tuple[str, ...] = ()

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Catalog:
        """Resolve a values block. An absent ``images`` means the chart's default entry; null or an empty list means none."""
        merged = helm_values(CATALOG_DEFAULTS, values)
        images = merged.get("images")
        if images is None:
            return cls((), merged)
        if not isinstance(images, (list, tuple)):
            return cls((), merged, ("images",))
        malformed = tuple(f"images[{index}]" for index, item in enumerate(images) if not isinstance(item, Mapping))
        entries = tuple(
            _resolve(index, item, merged, values) for index, item in enumerate(images) if isinstance(item, Mapping)
        )
        return cls(entries, merged, malformed)

    def by_golden(self) -> Mapping[str, CatalogEntry]:
        """Entries by golden name; of duplicates the last one, as the later object wins in a rendered chart."""
        return {entry.golden: entry for entry in self.entries}


def _resolve(
    index: int, item: Mapping[str, Any], merged: Mapping[str, Any], declared: Mapping[str, Any]
) -> CatalogEntry:
    origins = {}
    resolved = {}
    for key in ("storage", "storageClass", "imageFactoryURL"):
        value, origin = item.get(key), f"images[{index}].{key}"
        if not is_set(value):
            value, origin = merged.get(key), key if key in declared else f"{_CHART_DEFAULT} of {key}"
        if key == "storage" and not is_set(value):
            value, origin = DEFAULT_STORAGE, f"{_CHART_DEFAULT} of {key}"
        resolved[key], origins[key] = printed(value) if is_set(value) else "", origin
    return CatalogEntry(
        schematic_id=_identity(item.get("schematicID")),
        version=_identity(item.get("version")),
        image_factory_url=resolved["imageFactoryURL"],
        storage=resolved["storage"],
        storage_class=resolved["storageClass"],
        index=index,
        origins=origins,
        declared=item,
    )


def _identity(value: Any) -> str:
    return printed(value) if is_set(value) else ""
