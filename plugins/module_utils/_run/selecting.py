# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Selection by a JMESPath expression over what a module returns for each object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .failures import Failure, OptionFailure
from .options import shown


class Where:
    """``accepts`` says whether an expression holds for an object, by JMESPath's own notion of true. A blank one always does."""

    def __init__(self, expression: str | None, field: str = "where") -> None:
        self._field, self._text = field, expression
        self._compiled: Any = None
        if not expression:
            return
        try:
            import jmespath
        except ImportError as error:
            from ansible.module_utils.basic import missing_required_lib

            raise Failure(missing_required_lib("jmespath", reason=f"for option {field}"), field=field) from error
        self._errors = jmespath.exceptions.JMESPathError
        try:
            self._compiled = jmespath.compile(expression)
        except self._errors as error:
            raise OptionFailure(field, f"{shown(expression)} is no JMESPath expression: {_plain(error)}") from error

    def accepts(self, item: Mapping[str, Any]) -> bool:
        """Errors: OptionFailure when the expression cannot be evaluated, such as a function given the wrong type."""
        if self._compiled is None:
            return True
        try:
            found = self._compiled.search(item)
        except self._errors as error:
            raise OptionFailure(self._field, f"{shown(self._text)} cannot be evaluated: {_plain(error)}") from error
        # A number is true in JMESPath, 0 included.
        return found is not None and found is not False and found not in ("", [], {})


def _plain(error: Exception) -> str:
    return " ".join(str(error).split())
