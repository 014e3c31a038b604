# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The fields that the cluster publishes for a kind: how a client learns whether a platform knows osImage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .client import Client
from .errors import KubeError
from .resources import Resource

_REF = "#/components/schemas/"


def _resolve(schema: Any, schemas: Mapping[str, Any], depth: int = 0) -> Mapping[str, Any]:
    """Follow $ref and a single allOf, as API servers publish nested types."""
    if not isinstance(schema, Mapping) or depth > 8:
        return {}
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith(_REF):
        return _resolve(schemas.get(reference[len(_REF) :]), schemas, depth + 1)
    parts = schema.get("allOf")
    if isinstance(parts, list) and len(parts) == 1 and "properties" not in schema:
        return _resolve(parts[0], schemas, depth + 1)
    return schema


def spec_properties(document: Mapping[str, Any], kind: str) -> Mapping[str, Any] | None:
    """``spec.properties`` of a kind in an OpenAPI v3 document, one level resolved; None when it is not described."""
    schemas = (
        (document.get("components") or {}).get("schemas") if isinstance(document.get("components"), Mapping) else None
    )
    if not isinstance(schemas, Mapping):
        return None
    for schema in schemas.values():
        kinds = schema.get("x-kubernetes-group-version-kind") if isinstance(schema, Mapping) else None
        if not isinstance(kinds, list) or not any(
            isinstance(item, Mapping) and item.get("kind") == kind for item in kinds
        ):
            continue
        spec = _resolve((schema.get("properties") or {}).get("spec"), schemas)
        properties = spec.get("properties")
        if isinstance(properties, Mapping) and properties:
            return {name: _resolve(inner, schemas) for name, inner in properties.items()}
    return None


def published_spec(client: Client, resource: Resource) -> Mapping[str, Any] | None:
    """The published spec properties of a kind, None when the cluster does not publish or does not let us read them."""
    try:
        return spec_properties(client.get_path(f"/openapi/v3/apis/{resource.api_version}"), resource.kind)
    except KubeError as error:
        if error.forbidden or error.not_found:
            return None
        raise
