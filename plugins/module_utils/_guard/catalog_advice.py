# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Advice on a catalog that the chart lets pass, and the platform's own drift rules (platform rules D1 and D2)."""

from __future__ import annotations

from collections.abc import Iterator

from .._image.golden import DEFAULT_SCHEMATIC, DEFAULT_TALOS, GOLDEN_NAMESPACE
from .._pool.pool import POOL_DEFAULTS
from .._storage.golden import FAILED, FAILING, LOST, NOT_PROGRESSING, WILL_NOT_FINISH, golden_state
from .._storage.reading import dig
from .advice import has_query, not_hex
from .catalog import CatalogCase
from .golden import FORCE_RENDER
from .rule import Found, rule


@rule(
    "schematic-not-hex",
    refuses=False,
    chart=False,
    cause="A factory's schematic ID has 64 hexadecimal digits; others are let through, since a plain mirror may serve them.",
    example="an ID of 63 digits",
    remedy="Compare the ID with what the factory answered.",
)
def catalog_schematic_not_hex(case: CatalogCase) -> Iterator[Found]:
    for entry in case.entries:
        yield from not_hex(entry.schematic_id, f"{entry.subject}.schematicID")


@rule(
    "factory-url-query",
    refuses=False,
    chart=False,
    cause="The path of the image is appended to the address, so a query or fragment in it swallows the path.",
    example="imageFactoryURL: https://mirror.example.net/?x=1",
    remedy="Give the address without a query or fragment.",
)
def catalog_url_query(case: CatalogCase) -> Iterator[Found]:
    for entry in case.entries:
        yield from has_query(entry.image_factory_url, entry.origin("imageFactoryURL"))


@rule(
    "default-class-ambiguous",
    refuses=False,
    chart=False,
    cause="No class is declared and several are marked as the default, or only by an annotation that CDI does not read.",
    example="two classes with is-default-class true",
    remedy="Declare the storage class, or leave one class marked as the default.",
)
def catalog_default_ambiguous(case: CatalogCase) -> Iterator[Found]:
    found = case.state.default_class
    if not (found.ambiguous or found.beta_only):
        return
    for entry in case.entries:
        if not entry.storage_class:
            yield Found(
                f"{entry.subject}.storageClass",
                f"{entry.subject} declares no storage class, and the default is not clear: {found.name} is taken ({found.why})",
                evidence={"taken": found.name, "marked": list(found.candidates), "annotation": found.annotation},
            )


@rule(
    "golden-in-trouble",
    refuses=False,
    chart=False,
    cause="The golden of an entry exists and will not become ready by waiting.",
    example="a golden in phase Failed, or with a failing import",
    remedy=f"Fix the cause; where CDI has given up, delete the DataVolume once nothing clones it, then {FORCE_RENDER}.",
)
def golden_in_trouble(case: CatalogCase) -> Iterator[Found]:
    if case.state.data_volumes is None:
        return
    for entry in case.entries:
        volume = case.state.golden(entry.golden)
        if volume is None:
            continue
        state = golden_state(volume, case.state.golden_claim(entry.golden))
        if state.state in {FAILED, FAILING, LOST, NOT_PROGRESSING, WILL_NOT_FINISH}:
            yield Found(
                entry.subject,
                f"golden image {entry.golden} is {state.state}: {state.reason}",
                evidence={
                    "golden": f"{GOLDEN_NAMESPACE}/{entry.golden}",
                    "state": state.state,
                    "restarts": state.restarts,
                },
            )


@rule(
    "default-pair-missing",
    refuses=False,
    chart=False,
    cause="The catalog has no entry for the pair that pools use when they declare nothing, so `osImage: {builtin: {}}` is refused there.",
    example="images with one custom schematic only",
    remedy=f"Add an entry with schematicID {DEFAULT_SCHEMATIC} and version {DEFAULT_TALOS}: a list of entries replaces the default one.",
)
def default_pair_missing(case: CatalogCase) -> Iterator[Found]:
    pair = _default_pair(case)
    if not any((entry.schematic_id, entry.version) == pair for entry in case.entries):
        yield Found(
            "images",
            f"no entry has the pools' default pair, schematicID {pair[0]} and version {pair[1]}",
            evidence={"schematicID": pair[0], "version": pair[1]},
        )


@rule(
    "default-class-differs",
    refuses=False,
    chart=False,
    cause="The golden of the pools' default pair is on another class than pools have by default, so `osImage: {builtin: {}}` is refused "
    "for pools that declare no class.",
    example="storageClass: local in the catalog, pools on replicated",
    remedy="Put the default pair on the pools' default class, or declare storageClass on every pool.",
)
def default_class_differs(case: CatalogCase) -> Iterator[Found]:
    pair, wanted = _default_pair(case), str(POOL_DEFAULTS["storageClass"])
    for entry in case.entries:
        if (entry.schematic_id, entry.version) == pair and entry.storage_class and entry.storage_class != wanted:
            yield Found(
                entry.origin("storageClass"),
                f"{entry.subject} is on storage class {entry.storage_class}, but pools are on {wanted} unless they declare another",
                evidence={"entry_class": entry.storage_class, "pool_class": wanted},
            )


def _default_pair(case: CatalogCase) -> tuple[str, str]:
    published = dig(case.state.pool_schema, "talos", "default")
    schematic, version = dig(published, "schematicID"), dig(published, "version")
    return (schematic or DEFAULT_SCHEMATIC, version or DEFAULT_TALOS)
