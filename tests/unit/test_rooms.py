# SPDX-License-Identifier: Apache-2.0
"""The import rules of the rooms: data flows one way, and only one room talks to an API server."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PLUGINS = Path(__file__).resolve().parents[2] / "plugins"
UTILS = PLUGINS / "module_utils"
PURE = {"_image", "_storage", "_pool", "_guard", "_usage", "_plan"}
BEYOND = {"ansible", "kubernetes", "urllib3", "requests", "socket", "subprocess", "http"}
COLLECTION = "ansible_collections.cozystack.worker_image.plugins"


def imports(path: Path) -> set[str]:
    """Absolute module names that a file imports, relative ones resolved against its place in the collection."""
    return imports_of(path.read_text(), path)


def imports_of(source: str, path: Path) -> set[str]:
    package = [*COLLECTION.split("."), *path.relative_to(PLUGINS).with_suffix("").parts]
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: -node.level] if node.level else []
            found.add(".".join([*base, node.module] if node.module else base))
    return found


def rooms(names: set[str]) -> set[str]:
    prefix = f"{COLLECTION}.module_utils."
    return {name.removeprefix(prefix).split(".")[0] for name in names if name.startswith(prefix)}


def breaches(path: Path, found: set[str]) -> list[str]:
    """What a file may not import."""
    parts = path.relative_to(PLUGINS).parts
    tops, entered = {name.split(".")[0] for name in found}, rooms(found)
    wrong: set[str] = set()
    if parts[0] == "module_utils" and parts[1] in PURE:
        wrong = (tops & BEYOND) | (entered - PURE)
    elif parts[0] == "module_utils" and parts[1] == "_kube":
        wrong = (tops & {"ansible"}) | (entered - {"_kube"})
    elif parts[0] == "module_utils" and parts[1] == "_factory":
        wrong = (tops & {"ansible", "kubernetes"}) | (entered - PURE - {"_factory"})
    elif parts[0] == "modules":
        wrong = (tops - {"__future__", "ansible_collections"}) | (entered - {"_run"})
    elif parts[0] in ("filter", "test"):
        wrong = entered - PURE
    if "lab" in tops or "tests" in tops:
        wrong |= {"lab", "tests"} & tops
    return sorted(wrong)


FILES = sorted(path for path in PLUGINS.rglob("*.py") if path.name != "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PLUGINS)))
def test_a_room_imports_only_what_it_may(path: Path) -> None:
    assert breaches(path, imports(path)) == []


@pytest.mark.parametrize(
    ("place", "source", "expected"),
    [
        ("module_utils/_image/golden.py", "import kubernetes", ["kubernetes"]),
        ("module_utils/_plan/plan.py", "from ansible.module_utils.basic import AnsibleModule", ["ansible"]),
        ("module_utils/_guard/judge.py", "from .._kube.client import Client", ["_kube"]),
        ("module_utils/_kube/client.py", "from .._run.entry import run_module", ["_run"]),
        ("module_utils/_factory/web.py", "import kubernetes", ["kubernetes"]),
        ("module_utils/_factory/web.py", "from .._kube.errors import KubeError", ["_kube"]),
        ("module_utils/_factory/web.py", "import urllib3", []),
        ("modules/node_pools.py", f"from {COLLECTION}.module_utils._kube.client import Client", ["_kube"]),
        ("filter/golden_name.py", f"from {COLLECTION}.module_utils._run.entry import run_module", ["_run"]),
        ("module_utils/_pool/pool.py", "from lab.chart import render_pool", ["lab"]),
        ("module_utils/_guard/judge.py", "from .._pool.pool import Pool", []),
    ],
)
def test_the_rule_itself_notices_a_breach(place: str, source: str, expected: list[str]) -> None:
    path = PLUGINS / place
    assert breaches(path, imports_of(source, path)) == expected


def test_every_room_of_the_design_has_files() -> None:
    assert {path.name for path in UTILS.iterdir() if path.name.startswith("_") and path.is_dir()} - {"__pycache__"} == {
        *PURE,
        "_factory",
        "_kube",
        "_run",
    }


def test_module_files_stay_thin() -> None:
    for path in (PLUGINS / "modules").glob("*.py"):
        main = next(node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef))
        assert len(ast.unparse(main).splitlines()) <= 15, path.name


def test_no_asserts_and_no_python_two_remains_in_plugins() -> None:
    for path in FILES:
        tree = ast.parse(path.read_text())
        assert not any(isinstance(node, ast.Assert) for node in ast.walk(tree)), path
        assert "__metaclass__" not in path.read_text(), path
