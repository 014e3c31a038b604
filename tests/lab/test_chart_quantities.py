# SPDX-License-Identifier: Apache-2.0
"""Numbers and quantities as the platform's charts see them."""

from __future__ import annotations

from typing import Any

import pytest

from lab.chart.quantities import go_text, to_float, to_millicores


@pytest.mark.parametrize(
    ("quantity", "text"),
    [
        (2, "2"),
        ("1.5", "1.5"),
        ("500m", "0.5"),
        ("100u", "0.0001"),
        ("250n", "2.5e-07"),
        ("2k", "2000"),
        ("3M", "3e+06"),
        ("3G", "3e+09"),
        ("2T", "2e+12"),
        ("1P", "1e+15"),
        ("1E", "1e+18"),
        ("4Ki", "4096"),
        ("256Mi", "2.68435456e+08"),
        ("2Gi", "2.147483648e+09"),
        ("2Ti", "2.199023255552e+12"),
        ("1Pi", "1.125899906842624e+15"),
        ("1Ei", "1.152921504606847e+18"),
        ("2e3", "2000"),
        # what Kubernetes would refuse
        *((text, "0") for text in ("10K", "10gi", "10 Gi", "abc", "5e", "1e1.5", "nan", "", "1_0", "1e999")),
        ("1e3Ki", "1.024e+06"),
        ("inf", "+Inf"),
        ("+5", "5"),
        (".5", "0.5"),
        ("5.", "5"),
        ("-5", "-5"),
    ],
)
def test_to_float(quantity: Any, text: str) -> None:
    assert go_text(to_float(quantity)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (21474836480, "2.147483648e+10"),
        (123456, "123456"),
        (1234567, "1.234567e+06"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (-0.25, "-0.25"),
        (12.5, "12.5"),
        (True, "true"),
        (None, ""),
        ("6Gi", "6Gi"),
    ],
)
def test_go_text(value: Any, text: str) -> None:
    assert go_text(value) == text


@pytest.mark.parametrize(("cpu", "millicores"), [("1500m", 1500), ("1.5", 1500), (2, 2000), ("0.0015", 1), ("x", 0)])
def test_to_millicores(cpu: Any, millicores: int) -> None:
    assert to_millicores(cpu) == millicores
