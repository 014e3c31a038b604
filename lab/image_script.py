# SPDX-License-Identifier: Apache-2.0
"""What an image source is told to be and to do wrong: its mode and its faults, as posted to ``/_lab``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from typing import Any

FAULTS = ("status", "html", "truncate", "slow", "drop", "oversize", "headers")


@dataclass
class Fault:
    """How to answer requests that match; ``count`` is how many are left, None for ever.

    ``oversize`` serves a raw disk of ``size`` zero bytes; ``headers`` lays ``headers`` over the right ones, so that a
    Content-Length may be wrong.
    """

    path: re.Pattern[str]
    kind: str
    count: int | None = None
    status: int = 503
    bytes_per_second: int = 1_000_000
    size: int = 7 * 1024**3
    text: str = "scripted fault"
    headers: dict[str, str] = field(default_factory=dict)
    methods: tuple[str, ...] = ("GET",)

    @classmethod
    def parse(cls, given: dict[str, Any]) -> Fault:
        """Errors: ValueError, TypeError (unknown key)."""
        fault = cls(
            **given | {"path": re.compile(given.get("path", "")), "methods": tuple(given.get("methods", ["GET"]))}
        )
        if fault.kind not in FAULTS:
            raise ValueError(f"unknown kind of fault: {fault.kind}")
        return fault

    def takes(self, method: str, path: str) -> bool:
        """Whether it concerns a request; counts down."""
        if method not in self.methods or self.count == 0 or not self.path.search(path):
            return False
        self.count = None if self.count is None else self.count - 1
        return True


@dataclass(frozen=True)
class Mode:
    """What the source is.

    ``kind``: ``factory``, or ``mirror`` (a static web server: ETag, ranges, no API). ``strict``: only registered schematics and
    published versions have an image. ``redirect``: GET of an image answers 302 to an object storage. ``build_seconds``: what the
    first request for an image takes. ``schematic_route``: GET /schematics/<id> exists, as in factories since v0.9.0.
    ``secret``: what a bearer token, or the password of basic authentication, has to be; blank for nobody is asked.
    """

    kind: str = "factory"
    strict: bool = False
    redirect: bool = False
    build_seconds: float = 0.0
    schematic_route: bool = True
    secret: str = ""

    @classmethod
    def parse(cls, given: dict[str, Any]) -> Mode:
        """Errors: ValueError, TypeError (unknown key, wrong type)."""
        mode = cls(**given)
        for one in fields(cls):
            wanted = (int, float) if one.name == "build_seconds" else type(one.default)
            if not isinstance(getattr(mode, one.name), wanted):
                raise TypeError(f"{one.name}: {getattr(mode, one.name)!r}")
        if mode.kind not in ("factory", "mirror"):
            raise ValueError(f"unknown kind of source: {mode.kind}")
        return mode
