# SPDX-License-Identifier: Apache-2.0
"""The objects that every platform has before anybody uses it."""

from __future__ import annotations

from lab.api import Api


async def apply(api: Api) -> None:
    """Create or update them all."""
