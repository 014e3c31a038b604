# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which StorageClass is the default one (platform rule 5.3, T4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .objects import BETA_DEFAULT, GA_DEFAULT, VIRT_DEFAULT, StorageClass


@dataclass(frozen=True)
class DefaultClass:
    """The resolved default: ``name`` (blank: none), the annotation that decided, every class that carries it.

    ``why`` is a phrase for messages. ``ambiguous`` says that several classes carry the deciding annotation. ``beta_only`` says that
    the chosen class carries only the annotation that CDI itself does not read.
    """

    name: str = ""
    annotation: str = ""
    candidates: tuple[str, ...] = ()
    why: str = "no class is marked as the default"
    beta_only: bool = False

    @property
    def ambiguous(self) -> bool:
        return len(self.candidates) > 1


def default_class(classes: Iterable[StorageClass]) -> DefaultClass:
    """The class that the platform takes when none is declared.

    A virtualisation default wins even if it is older; only the exact text "true" counts; the newest of several is taken. Equal
    creation times are told apart by name, so that the answer does not depend on the order of a list.
    """
    known = tuple(classes)
    for keys in ((VIRT_DEFAULT,), (GA_DEFAULT, BETA_DEFAULT)):
        marked = [item for item in known if any(item.meta.annotations.get(key) == "true" for key in keys)]
        if marked:
            return _newest(marked, keys)
    return DefaultClass()


def _newest(marked: list[StorageClass], keys: tuple[str, ...]) -> DefaultClass:
    ordered = sorted(marked, key=lambda item: (item.meta.created, item.name), reverse=True)
    chosen = ordered[0]
    annotation = next(key for key in keys if chosen.meta.annotations.get(key) == "true")
    why = f'{annotation} is "true" on it'
    if len(ordered) > 1:
        why += f", as on {', '.join(sorted(item.name for item in ordered[1:]))}; it is the newest of them"
    return DefaultClass(chosen.name, annotation, tuple(item.name for item in ordered), why, annotation == BETA_DEFAULT)
