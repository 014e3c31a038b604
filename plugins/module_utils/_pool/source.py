# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a pool's boot disk comes from (platform rule 5.3, R)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .._image.golden import chart_image_url, golden_name
from .._storage.printed import printed
from .._storage.reading import dig, is_set, mapping

OMITTED, FACTORY, BUILTIN, AMBIGUOUS = "omitted", "factory", "builtin", "ambiguous"


@dataclass(frozen=True)
class Source:
    """The resolved boot source.

    ``mode`` is "omitted", "factory", "builtin" or "ambiguous" (both forms). ``url`` is the image's address as the chart renders it,
    blank for builtin.
    ``golden`` is the golden of the resolved pair whatever the mode. ``origins`` maps schematicID, version and imageFactoryURL to the
    field path each value came from.
    """

    mode: str
    schematic_id: str
    version: str
    image_factory_url: str
    url: str
    golden: str
    origins: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def clones(self) -> bool:
        """Whether the boot disk is a clone of the golden."""
        return self.mode == BUILTIN

    def as_dict(self) -> dict[str, Any]:
        """The form that results carry, in the platform's words."""
        return {
            "mode": self.mode,
            "schematicID": self.schematic_id,
            "version": self.version,
            "imageFactoryURL": self.image_factory_url,
            "url": self.url,
            "golden": self.golden,
            "origins": dict(self.origins),
        }


def source_mode(values: Mapping[str, Any]) -> str:
    """The mode by presence of the keys, not by their values: ``builtin: {}`` is a request."""
    image = mapping(values, "osImage")
    if "builtin" in image and "factory" in image:
        return AMBIGUOUS
    if "builtin" in image:
        return BUILTIN
    return FACTORY if "factory" in image else OMITTED


def resolve_source(values: Mapping[str, Any]) -> Source:
    """Resolve a pool's values (declared over defaults). Total: malformed values resolve to what the chart would print.

    Both forms at once resolve as builtin would, so that later rules have a pair to judge.
    """
    mode = source_mode(values)
    form = {AMBIGUOUS: "builtin", OMITTED: ""}.get(mode, mode)
    schematic, schematic_from = _pick(values, form, "schematicID")
    version, version_from = _pick(values, form, "version")
    base, base_from = _pick(values, "factory" if form == "factory" else "", "imageFactoryURL")
    clones = form == "builtin"
    return Source(
        mode=mode,
        schematic_id=schematic,
        version=version,
        image_factory_url="" if clones else base,
        url="" if clones else chart_image_url(base, schematic, version),
        golden=golden_name(schematic, version),
        origins={"schematicID": schematic_from, "version": version_from}
        | ({} if clones else {"imageFactoryURL": base_from}),
    )


def _pick(values: Mapping[str, Any], form: str, key: str) -> tuple[str, str]:
    """An override that counts, else ``talos.*``; with the field path it came from."""
    override = dig(values, "osImage", form, key) if form else None
    if is_set(override):
        return printed(override), f"osImage.{form}.{key}"
    value = dig(values, "talos", key)
    return printed(value) if is_set(value) else "", f"talos.{key}"
