# SPDX-License-Identifier: Apache-2.0
"""Delete each term of each rule, flip each comparison, and see whether the tables and the recorded verdicts notice.

``python -m tests.unit._guard.mutants [FUNCTION...]`` prints every survivor and, last, ``N mutants, M survived``; it exits 1 when any did.
"""

from __future__ import annotations

import ast
import copy
import functools
import importlib
import io
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
UTILS = "ansible_collections.cozystack.worker_image.plugins.module_utils"
MODULES = (
    "_guard.advice",
    "_guard.case",
    "_guard.catalog",
    "_guard.catalog_advice",
    "_guard.catalog_storage",
    "_guard.clone_case",
    "_guard.cloning",
    "_guard.golden",
    "_guard.import_source",
    "_guard.importing",
    "_guard.kubelet",
    "_guard.ownership",
    "_guard.retire",
    "_guard.schema",
    "_guard.shape",
    "_guard.sizing",
    "_guard.storage",
    "_guard.window",
    "_image.keep",
    "_image.wanted",
    "_pool.source",
    "_storage.classes",
    "_storage.clone",
    "_storage.clone_facts",
    "_storage.disk_report",
    "_storage.settings",
)
_FLIPS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
TESTS = (
    "tests/unit/_guard/test_findings.py",
    "tests/unit/_guard/test_messages.py",
    "tests/unit/_guard/test_catalog_rules.py",
    "tests/unit/_guard/test_clone_case.py",
    "tests/unit/_guard/test_golden_rules.py",
    "tests/unit/_image/test_wanted.py",
    "tests/unit/_image/test_catalog.py",
    "tests/unit/_storage/test_classes.py",
    "tests/unit/_storage/test_clone.py",
    "tests/unit/_storage/test_clone_properties.py",
    "tests/unit/_storage/test_disk_report.py",
    "tests/unit/_storage/test_settings.py",
)
# Mutants that change no answer, each with the reason.
EQUIVALENT: dict[str, str] = {
    "_guard.catalog_storage.golden_too_small:without `least is not None`": "both sizes are known for the same releases",
}


@dataclass(frozen=True)
class Mutant:
    """One changed function. ``name`` tells function, line and change; ``owner`` is the class of a method."""

    name: str
    module: str
    owner: str
    function: ast.FunctionDef


def mutants_of(module: str, wanted: frozenset[str] = frozenset()) -> Iterator[Mutant]:
    """Every mutant of every function of a module."""
    path = ROOT / "plugins" / "module_utils" / (module.replace(".", "/") + ".py")
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and (not wanted or node.name in wanted):
            yield from _of_function(module, "", node)
        elif isinstance(node, ast.ClassDef):
            for item in node.body:
                if isinstance(item, ast.FunctionDef) and (not wanted or item.name in wanted):
                    yield from _of_function(module, node.name, item)


def _of_function(module: str, owner: str, function: ast.FunctionDef) -> Iterator[Mutant]:
    count = len(list(ast.walk(function)))
    for index in range(count):
        for change, apply in _changes(list(ast.walk(function))[index]):
            changed = copy.deepcopy(function)
            apply(list(ast.walk(changed))[index])
            where = f"{module}.{owner + '.' if owner else ''}{function.name}"
            yield Mutant(f"{where}:{change}", module, owner, ast.fix_missing_locations(changed))


def _changes(node: ast.AST) -> Iterator[tuple[str, Callable[[Any], None]]]:
    if isinstance(node, ast.BoolOp):
        for position, value in enumerate(node.values):
            yield f"without `{ast.unparse(value)}`", functools.partial(_drop, position)
    if isinstance(node, ast.Compare):
        for position, operator in enumerate(node.ops):
            flipped = _FLIPS[type(operator)]
            yield f"`{ast.unparse(node)}` with {flipped.__name__}", functools.partial(_flip, position, flipped)
    if isinstance(node, (ast.If, ast.IfExp)) and not isinstance(node.test, (ast.BoolOp, ast.Compare)):
        yield f"not `{ast.unparse(node.test)}`", _negate
    if isinstance(node, ast.comprehension) and node.ifs:
        yield f"without the filter `{ast.unparse(node.ifs[0])}`", _unfilter


def _drop(position: int, node: ast.BoolOp) -> None:
    del node.values[position]
    if len(node.values) == 1:
        # One operand twice is that operand.
        node.values.append(copy.deepcopy(node.values[0]))


def _flip(position: int, operator: type[ast.cmpop], node: ast.Compare) -> None:
    node.ops[position] = operator()


def _negate(node: ast.If | ast.IfExp) -> None:
    node.test = ast.UnaryOp(ast.Not(), node.test)


def _unfilter(node: ast.comprehension) -> None:
    node.ifs = []


@contextmanager
def installed(mutant: Mutant) -> Iterator[None]:
    """Run with the mutant in place of the original, wherever that is known by name."""
    module = importlib.import_module(f"{UTILS}.{mutant.module}")
    scope = dict(vars(module))
    tree = ast.Module([ast.parse("from __future__ import annotations").body[0], mutant.function], [])
    exec(compile(tree, mutant.name, "exec"), scope)
    changed = scope[mutant.function.name]
    if mutant.owner:
        places = [(getattr(module, mutant.owner), mutant.function.name)]
        if isinstance(changed, functools.cached_property):
            changed.__set_name__(places[0][0], mutant.function.name)
    else:
        original = getattr(module, mutant.function.name)
        places = [
            (other, name) for other in _modules() for name, value in list(vars(other).items()) if value is original
        ]
        changed = _relinked(changed)
    before = [(place, name, vars(place)[name]) for place, name in places]
    tables = importlib.import_module(f"{UTILS}._guard.table")
    judge = importlib.import_module(f"{UTILS}._guard.judge")
    try:
        for place, name in places:
            setattr(place, name, changed)
        with _tables(tables, judge, mutant, changed):
            yield
    finally:
        for place, name, value in before:
            setattr(place, name, value)


def _relinked(changed: Any) -> Any:
    """The mutant with the module's own globals, so that it sees what tests put there."""
    target = changed.check if hasattr(changed, "check") else changed
    if isinstance(target, types.FunctionType):
        module = sys.modules.get(target.__module__)
        if module is not None:
            fresh = types.FunctionType(
                target.__code__, vars(module), target.__name__, target.__defaults__, target.__closure__
            )
            return replace(changed, check=fresh) if hasattr(changed, "check") else fresh
    return changed


@contextmanager
def _tables(tables: Any, judge: Any, mutant: Mutant, changed: Any) -> Iterator[None]:
    """Rule tables hold the rules themselves; a changed rule takes the place of the one it is made from."""
    if not hasattr(changed, "check"):
        yield
        return
    places = [
        (tables, "POOL_RULES"),
        (tables, "CATALOG_RULES"),
        (judge, "POOL_RULES"),
        (judge, "CATALOG_RULES"),
        (judge, "IMPORT_RULES"),
        (judge, "RETIRE_RULES"),
    ]
    kept = {(place, name): getattr(place, name) for place, name in places}
    source = importlib.import_module(f"{UTILS}.{mutant.module}").__name__
    judges = {
        "judge_pools": "POOL_RULES",
        "judge_catalog": "CATALOG_RULES",
        "judge_import": "IMPORT_RULES",
        "judge_retirement": "RETIRE_RULES",
    }
    defaults = [(getattr(judge, name), getattr(judge, name).__defaults__) for name in judges]
    try:
        for (place, name), rules in kept.items():
            setattr(place, name, tuple(changed if _same(item, changed, source) else item for item in rules))
        for name, table in judges.items():
            getattr(judge, name).__defaults__ = (getattr(judge, table),)
        yield
    finally:
        for (place, name), rules in kept.items():
            setattr(place, name, rules)
        for function, known in defaults:
            function.__defaults__ = known


def _same(item: Any, changed: Any, module: str) -> bool:
    return bool(
        item.id == changed.id and item.check.__module__ == module and item.check.__name__ == changed.check.__name__
    )


def _modules() -> list[types.ModuleType]:
    """Where a function may be known by name: the product, and the tests that import it."""
    return [
        module
        for name, module in list(sys.modules.items())
        if name.startswith((UTILS, "tests.")) and module is not None
    ]


def _name_of(row: Any) -> str:
    return str(row["id"] if isinstance(row, dict) else row[0] if isinstance(row, tuple) else row.id)


def noticed() -> str:
    """The first row or recorded case whose answer is wrong; blank when all are right. An exception counts as noticed."""
    from tests.conformance import cases

    from . import checks

    try:
        for check, rows in (
            (checks.pool_row, checks.POOL_ROWS),
            (checks.catalog_row, checks.CATALOG_ROWS),
            (checks.import_row, checks.IMPORTS),
            (checks.retirement_row, checks.RETIREMENTS),
            (cases.check_pool, checks.recorded_pools()),
            (cases.check_catalog, checks.recorded_catalogs()),
        ):
            for row in rows:
                if check(row):
                    return _name_of(row)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def noticed_by_tests() -> bool:
    """Whether the slower tests, those of messages and of what was not read, fail."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        return pytest.main(["-x", "-q", "-p", "no:cacheprovider", *(str(ROOT / name) for name in TESTS)]) != 0


def survivors(wanted: frozenset[str] = frozenset()) -> tuple[int, list[str]]:
    """How many mutants were tried, and the names of those that nothing noticed."""
    # This also imports the tests: one that is first imported while a mutant is in place would keep it.
    if noticed_by_tests():
        raise RuntimeError("the tests fail before anything is changed")
    tried, alive = 0, []
    for module in MODULES:
        for mutant in mutants_of(module, wanted):
            tried += 1
            with installed(mutant):
                if not noticed() and mutant.name not in EQUIVALENT and not noticed_by_tests():
                    alive.append(mutant.name)
    return tried, alive


def main(argv: list[str]) -> int:
    sys.path.insert(0, str(ROOT / ".collections"))
    tried, alive = survivors(frozenset(argv))
    print("\n".join(alive))
    print(f"{tried} mutants, {len(alive)} survived")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
