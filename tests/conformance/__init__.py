# SPDX-License-Identifier: Apache-2.0
"""Recorded verdicts of the platform's real charts, and the product's answers to the same questions."""

from __future__ import annotations
