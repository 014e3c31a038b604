# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Advice on a pool's values that the chart lets pass."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .._image.versions import SCHEMATIC_SHAPE
from .case import PoolCase
from .rule import Found, rule, shown

_HEX = r"[0-9a-f]{64}"


@rule(
    "schematic-not-hex",
    refuses=False,
    chart=False,
    cause="A factory's schematic ID has 64 hexadecimal digits. Others are let through, since a plain mirror may serve them, but most "
    "are cut or mistyped.",
    example="an ID of 63 digits",
    remedy="Compare the ID with what the factory answered.",
)
def schematic_not_hex(case: PoolCase) -> Iterator[Found]:
    yield from not_hex(case.source.schematic_id, case.source.origins["schematicID"])


@rule(
    "factory-url-query",
    refuses=False,
    chart=False,
    cause="The path of the image is appended to the address, so a query or fragment in it swallows the path.",
    example="imageFactoryURL: https://mirror.example.net/?x=1",
    remedy="Give the address without a query or fragment.",
)
def factory_url_query(case: PoolCase) -> Iterator[Found]:
    if "imageFactoryURL" in case.source.origins:
        yield from has_query(case.source.image_factory_url, case.source.origins["imageFactoryURL"])


@rule(
    "release-suspended",
    own=True,
    refuses=False,
    chart=False,
    cause="The pool's HelmRelease is suspended, so a change is stored and nothing happens.",
    example="spec.suspend: true",
    remedy="Resume the release.",
)
def release_suspended(case: PoolCase) -> Iterator[Found]:
    live = (
        case.state.release(case.pool.namespace, case.pool.release_name)
        if case.state.helm_releases is not None
        else None
    )
    if live is not None and live.suspended:
        yield Found(
            "",
            f"HelmRelease {case.pool.namespace}/{case.pool.release_name} is suspended, so changes of the pool have no effect",
            evidence={"release": f"{case.pool.namespace}/{case.pool.release_name}"},
        )


def not_hex(value: str, origin: str) -> Iterator[Found]:
    """An ID that the chart accepts and no factory gives out."""
    if re.fullmatch(SCHEMATIC_SHAPE, value) and not re.fullmatch(_HEX, value):
        yield Found(
            origin,
            f"{origin} is {shown(value)}, which has {len(value)} characters; a factory's ID has 64 hexadecimal digits",
            evidence=_value(origin, value),
        )


def has_query(value: str, origin: str) -> Iterator[Found]:
    """An address whose query or fragment would swallow the path of the image."""
    if value.startswith(("http://", "https://")) and ("?" in value or "#" in value):
        yield Found(
            origin,
            f"{origin} is {shown(value)}, and the image's path is appended after its query or fragment",
            evidence=_value(origin, value),
        )


def _value(origin: str, value: str) -> dict[str, Any]:
    return {"field": origin, "value": value}
