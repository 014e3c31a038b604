# SPDX-License-Identifier: Apache-2.0
"""Discovery and OpenAPI documents. The aggregator reads the first, clients find out about ``osImage`` in the second."""

from __future__ import annotations

from typing import Any

from lab.apps_api.apps import API_VERSION, APPS, GROUP, VERSION, App
from lab.schemas import SCHEMAS

Object = dict[str, Any]

VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]
PATH = f"/apis/{API_VERSION}"
_SCHEMA_PREFIX = "com.github.cozystack.cozystack.pkg.apis.apps.v1alpha1"


def _version() -> Object:
    return {"groupVersion": API_VERSION, "version": VERSION}


def group() -> Object:
    return {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": GROUP,
        "versions": [_version()],
        "preferredVersion": _version(),
    }


def groups() -> Object:
    entry = {key: value for key, value in group().items() if key not in ("kind", "apiVersion")}
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [entry]}


def _resource(app: App) -> Object:
    return {
        "name": app.plural,
        "singularName": app.singular,
        "namespaced": True,
        "group": GROUP,
        "version": VERSION,
        "kind": app.kind,
        "verbs": VERBS,
    }


def resources() -> Object:
    entries = [_resource(APPS[plural]) for plural in sorted(APPS)]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": API_VERSION, "resources": entries}


def _aggregated_resource(app: App) -> Object:
    return {
        "resource": app.plural,
        "responseKind": {"group": GROUP, "version": VERSION, "kind": app.kind},
        "scope": "Namespaced",
        "singularResource": app.singular,
        "verbs": VERBS,
    }


AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def aggregated() -> Object:
    """All of discovery at once, in the only form that kube-apiserver asks for."""
    entries = [_aggregated_resource(APPS[plural]) for plural in sorted(APPS)]
    versions = [{"version": VERSION, "resources": entries, "freshness": "Current"}]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [{"metadata": {"name": GROUP}, "versions": versions}],
    }


def _spec(kind: str, without_os_image: bool) -> Object:
    schema = SCHEMAS[kind]
    if not without_os_image:
        return schema
    return {**schema, "properties": {key: value for key, value in schema["properties"].items() if key != "osImage"}}


def _kind_mark(kind: str) -> Object:
    return {"group": GROUP, "version": VERSION, "kind": kind}


def _definitions(without_os_image: bool, root: str) -> Object:
    """Schemas by name; ``root`` is the prefix of references. metadata is left open, no client learns it from here."""
    found: Object = {}
    for app in APPS.values():
        base = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}
        name = f"{_SCHEMA_PREFIX}.{app.kind}"
        found[name] = {
            "type": "object",
            "properties": {**base, "spec": _spec(app.kind, without_os_image), "status": {"type": "object"}},
            "x-kubernetes-group-version-kind": [_kind_mark(app.kind)],
        }
        found[f"{name}List"] = {
            "type": "object",
            "required": ["items"],
            "properties": {**base, "items": {"type": "array", "items": {"$ref": f"{root}{name}"}}},
            "x-kubernetes-group-version-kind": [_kind_mark(f"{app.kind}List")],
        }
    return found


_ACTIONS = {"list": "get", "post": "post"}
_ITEM_ACTIONS = {"get": "get", "put": "put", "patch": "patch", "delete": "delete"}


def _operations(app: App, actions: dict[str, str]) -> Object:
    mark = _kind_mark(app.kind)
    return {
        method: {
            "operationId": f"{action}AppsCozystackIoV1alpha1Namespaced{app.kind}",
            "responses": {"200": {"description": "OK"}},
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": mark,
        }
        for action, method in actions.items()
    }


def _paths() -> Object:
    paths: Object = {}
    for app in APPS.values():
        collection = f"{PATH}/namespaces/{{namespace}}/{app.plural}"
        namespace = {"name": "namespace", "in": "path", "required": True, "schema": {"type": "string"}}
        name = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
        paths[collection] = {"parameters": [namespace], **_operations(app, _ACTIONS)}
        paths[f"{collection}/{{name}}"] = {"parameters": [name, namespace], **_operations(app, _ITEM_ACTIONS)}
    return paths


def openapi_index() -> Object:
    return {"paths": {PATH[1:]: {"serverRelativeURL": f"/openapi/v3{PATH}"}}}


def openapi_v3(without_os_image: bool) -> Object:
    return {
        "openapi": "3.0.0",
        "info": {"title": "Cozystack", "version": VERSION},
        "paths": _paths(),
        "components": {"schemas": _definitions(without_os_image, "#/components/schemas/")},
    }


def openapi_v2() -> Object:
    """Only what keeps the aggregator content: it merges this document into its own and wants no more than validity."""
    return {"swagger": "2.0", "info": {"title": "Cozystack", "version": VERSION}, "paths": {}}
