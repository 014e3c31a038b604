# SPDX-License-Identifier: Apache-2.0
"""The lab's imitation of the platform's charts: values in, objects or a refusal out, nothing else.

Written from the platform's recorded behaviour and sharing no line with the product, so that the two can disagree.
"""

from __future__ import annotations

from lab.chart.catalog import render_catalog
from lab.chart.platform import render_platform
from lab.chart.pool import render_pool
from lab.chart.refusal import Lookups, ObjectLookups, Refused
from lab.chart.tenancy import render_kubernetes, render_tenant, tenant_namespace

__all__ = [
    "Lookups",
    "ObjectLookups",
    "Refused",
    "render_catalog",
    "render_kubernetes",
    "render_platform",
    "render_pool",
    "render_tenant",
    "tenant_namespace",
]
