# SPDX-License-Identifier: Apache-2.0
"""Types, shapes and keys by a schema."""

from __future__ import annotations

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.pool import POOL_DEFAULTS, POOL_KEYS, Pool
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.schema import (
    POOL_SCHEMA,
    Checker,
)


def breaches(values, schema):
    return list(Checker.of(schema).breaches(values))


def unknown_keys(values, schema):
    return list(Checker.of(schema).unknown_keys(values))


def test_table_knows_every_key_and_passes_the_defaults():
    assert set(POOL_SCHEMA) == set(POOL_KEYS)
    assert list(breaches(POOL_DEFAULTS, POOL_SCHEMA)) == []


@pytest.mark.parametrize(
    ("spec", "path", "problem"),
    [
        ({"version": "v1.36"}, "version", "is none of v1.35, v1.34, v1.33, v1.32, v1.31"),
        ({"version": 1.35}, "version", "has to be of type string, in quotes"),
        ({"talos": {"version": 1.13}}, "talos.version", "has to be of type string, in quotes"),
        ({"talos": {"version": None}}, "talos.version", "is missing"),
        ({"talos": "x"}, "talos", "has to be of type object"),
        ({"minReplicas": "3"}, "minReplicas", "has to be of type integer"),
        ({"minReplicas": True}, "minReplicas", "has to be of type integer"),
        ({"minReplicas": 1.5}, "minReplicas", "has to be of type integer"),
        ({"logSerialConsole": "true"}, "logSerialConsole", "has to be of type boolean"),
        ({"roles": "ingress-nginx"}, "roles", "has to be of type array"),
        ({"roles": ["a", 1]}, "roles[1]", "has to be of type string, in quotes"),
        ({"gpus": [{}]}, "gpus[0].name", "is missing"),
        ({"gpus": ["a"]}, "gpus[0]", "has to be of type object"),
        ({"diskSize": "20 Gi"}, "diskSize", "is not a quantity"),
        ({"diskSize": "20K"}, "diskSize", "is not a quantity"),
        ({"diskSize": "20Gi\n"}, "diskSize", "is not a quantity"),
        ({"diskSize": 1.5}, "diskSize", "has to be a whole number or a quantity in quotes"),
        ({"diskSize": True}, "diskSize", "has to be a whole number or a quantity in quotes"),
        ({"kubelet": {"systemReservedCpu": None}}, "kubelet.systemReservedCpu", "is null"),
        ({"resources": {"cpu": 0.5}}, "resources.cpu", "has to be a whole number or a quantity in quotes"),
        ({"osImage": {"builtin": None}}, "osImage.builtin", "is null"),
        ({"osImage": {"builtin": "x"}}, "osImage.builtin", "has to be of type object"),
        ({"kubelet": {"systemReservedCpu": 1}}, "kubelet.systemReservedCpu", "has to be of type string, in quotes"),
    ],
)
def test_breach(spec, path, problem):
    found = list(breaches(Pool("t", "c", "p", spec).values, POOL_SCHEMA))
    assert [(breach.path, breach.problem) for breach in found] == [(path, problem)]


@pytest.mark.parametrize(
    "spec",
    [
        {"diskSize": 21474836480},
        {"diskSize": "1e1.5"},
        {"diskSize": None},
        {"minReplicas": 3.0},
        {"osImage": None},
        {"podCpuLimit": None},
        {"osImage": {"builtin": {}}},
        {"resources": {"cpu": "500m", "memory": 4294967296}},
        {"labels": {"a": 1}, "taints": [1], "proxmox": {"x": {}}},
        {"talos": {"registryMirrors": {"ghcr.io": {"endpoints": ["x"]}}}},
        {"unknown": 1},
    ],
)
def test_no_breach(spec):
    assert list(breaches(Pool("t", "c", "p", spec).values, POOL_SCHEMA)) == []


@pytest.mark.parametrize(
    ("spec", "paths"),
    [
        ({"image": {}}, ["image"]),
        ({"osimage": {}}, ["osimage"]),
        ({"osImage": {"builtIn": {}}}, ["osImage.builtIn"]),
        ({"osImage": {"builtin": {"schematicId": "x"}}}, ["osImage.builtin.schematicId"]),
        ({"gpus": [{"name": "a", "count": 1}]}, ["gpus[0].count"]),
        ({"labels": {"any": "x"}, "talos": {"registryMirrors": {"any": {}}}}, []),
        ({"cluster": "c", "osImage": {"factory": {"imageFactoryURL": "x"}}}, []),
    ],
)
def test_unknown_keys(spec, paths):
    assert [breach.path for breach in unknown_keys(spec, POOL_SCHEMA)] == paths


def test_what_was_accepted_is_remembered_by_type():
    checker = Checker.of({"a": {"type": "integer"}, "b": {"type": "boolean"}})
    assert list(checker.breaches({"a": 1, "b": True})) == []
    assert [breach.path for breach in checker.breaches({"a": True, "b": 1})] == ["a", "b"]
    assert [breach.path for breach in checker.breaches({"a": 1, "b": True})] == []


def test_a_published_schema_is_read_in_its_own_dialect():
    schema = {
        "size": {"anyOf": [{"type": "integer"}, {"type": "string"}], "pattern": "^[0-9]+$"},
        "count": {"type": "number"},
        "maybe": {"type": "string", "nullable": True},
        "odd": {"type": "string", "pattern": "("},
        "open": {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": True},
    }
    assert list(breaches({"size": "12", "count": 1.5, "maybe": None, "odd": "x", "open": {"b": 1}}, schema)) == []
    assert [breach.path for breach in breaches({"size": "x", "count": "1"}, schema)] == ["size", "count"]
    assert list(unknown_keys({"open": {"b": 1}}, schema)) == []
