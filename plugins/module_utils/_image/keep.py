# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write a catalog so that the chart sees no drift where there is none.

The chart compares the storage of a live golden as text and the address byte for byte, so an equal size in other words, or another
number of slashes, would block every later upgrade of the catalog. What we write therefore keeps the spelling that is live.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .._storage.objects import DataVolume
from .._storage.printed import printed
from .._storage.quantity import same_quantity
from .catalog import CATALOG_DEFAULTS, Catalog, CatalogEntry
from .golden import IMAGE_FILE, trim_slashes


@dataclass(frozen=True)
class Drift:
    """One field of an entry that differs from its live golden. ``field`` is in the catalog's words."""

    field: str
    live: str
    wanted: str
    origin: str


def drift_of(entry: CatalogEntry, live: DataVolume) -> tuple[Drift, ...]:
    """Fields that the chart compares and that really differ: sizes by number, addresses without regard to slashes.

    A value that the live golden does not state is not compared: an uploaded golden has no address, and comparing nothing with
    something would block the catalog for ever.
    """
    found = []
    if live.storage_request is not None and not same_quantity(live.storage_request, entry.storage):
        found.append(Drift("storage", printed(live.storage_request), entry.storage, entry.origin("storage")))
    if live.storage_class and live.storage_class != entry.storage_class:
        found.append(Drift("storageClass", live.storage_class, entry.storage_class, entry.origin("storageClass")))
    if live.http_url and not _same_address(live.http_url, entry):
        found.append(Drift("imageFactoryURL", live.http_url, entry.url, entry.origin("imageFactoryURL")))
    return tuple(found)


def keep_live_spelling(values: Mapping[str, Any], goldens: Mapping[str, DataVolume]) -> dict[str, Any]:
    """The values block to write: as given, with no trailing slash on an address, and each live golden's own spelling kept.

    ``goldens`` maps names to live DataVolumes. A spelling is kept on the entry, never in the global value, which other entries share.
    Values that cannot be read as a catalog come back unchanged.
    """
    written = dict(values)
    if isinstance(values.get("imageFactoryURL"), str):
        written["imageFactoryURL"] = trim_slashes(values["imageFactoryURL"])
    images = written.get("images", CATALOG_DEFAULTS["images"])
    if not isinstance(images, (list, tuple)):
        return written
    plain = [_trimmed(item) for item in images]
    entries = {entry.index: entry for entry in Catalog.from_values({**written, "images": plain}).entries}
    kept = [_kept(item, entries[index], goldens) if index in entries else item for index, item in enumerate(plain)]
    if "images" in values or kept != plain:
        written["images"] = kept
    return written


def _trimmed(item: Any) -> Any:
    if isinstance(item, Mapping) and isinstance(item.get("imageFactoryURL"), str):
        return {**item, "imageFactoryURL": trim_slashes(item["imageFactoryURL"])}
    return item


def _kept(item: Mapping[str, Any], entry: CatalogEntry, goldens: Mapping[str, DataVolume]) -> Mapping[str, Any]:
    live = goldens.get(entry.golden)
    if live is None:
        return item
    kept = dict(item)
    if printed(live.storage_request) != entry.storage and same_quantity(live.storage_request, entry.storage):
        kept["storage"] = live.storage_request
    if live.http_url != entry.url and _same_address(live.http_url, entry):
        # The chart drops one slash, so the base that renders the live address carries one more than it shows.
        kept["imageFactoryURL"] = f"{_base_of(live.http_url, entry)}/"
    return kept


def _same_address(live: str, entry: CatalogEntry) -> bool:
    base = _base_of(live, entry)
    return base is not None and trim_slashes(base) == trim_slashes(entry.image_factory_url)


def _base_of(live: str, entry: CatalogEntry) -> str | None:
    """What precedes the image's path in a live address; None when the path is another one."""
    path = f"/image/{entry.schematic_id}/{entry.version}/{IMAGE_FILE}"
    return live.removesuffix(path) if live.endswith(path) else None
