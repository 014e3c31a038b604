# SPDX-License-Identifier: Apache-2.0
"""Quantities: the platform's pinned vectors, Kubernetes' refusals, and an oracle."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.quantity import (
    InvalidQuantity,
    bytes_of,
    chart_amount,
    is_size,
    parse_quantity,
    same_quantity,
    to_bytes,
)
from hypothesis import given
from hypothesis import strategies as st

# The platform's own vectors; both readers agree on them.
PINNED = [
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
    ("1Ei", "1.152921504606846976e+18"),
    ("2e3", "2000"),
    ("1E3", "1000"),
    ("+5Gi", "5368709120"),
    (".5Gi", "536870912"),
    ("5.Gi", "5368709120"),
    ("-5Gi", "-5368709120"),
    ("1e-3", "0.001"),
    ("1E+2", "100"),
    ("2.147483648e+10", "21474836480"),
    ("0", "0"),
]
INVALID = [
    "",
    " ",
    "10K",
    "10gi",
    "10 Gi",
    "abc",
    "5e",
    "1e1.5",
    "1e3Ki",
    "inf",
    "nan",
    ".",
    "+",
    "Gi",
    "1..5",
    "1Gi\n",
    "1_000",
    "١Gi",
    "0x10",
    "1e999999999",
    "1iB",
    "--1",
]


@pytest.mark.parametrize(("written", "value"), PINNED)
def test_parse_quantity_pinned(written, value):
    assert parse_quantity(written) == Fraction(Decimal(value))
    assert chart_amount(written) == Fraction(Decimal(value))


@pytest.mark.parametrize("written", INVALID)
def test_parse_quantity_refuses(written):
    with pytest.raises(InvalidQuantity, match="is not a Kubernetes quantity") as caught:
        parse_quantity(written)
    assert caught.value.value == written


@pytest.mark.parametrize("written", [True, None, 1.5, [], {}])
def test_parse_quantity_refuses_other_types(written):
    with pytest.raises(InvalidQuantity):
        parse_quantity(written)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1e3Ki", 1024000),
        ("abc", 0),
        ("10K", 0),
        ("5e", 0),
        (None, 0),
        (True, 0),
        (1.5, Fraction(3, 2)),
        (float("inf"), 0),
    ],
)
def test_chart_amount_follows_the_chart(written, value):
    assert chart_amount(written) == value


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("6Gi", "6144Mi", True),
        ("6Gi", "6442450944", True),
        ("6Gi", 6442450944, True),
        ("5Gi", "5368709120", True),
        ("3Ti", "3072Gi", True),
        ("0.5Ti", "512Gi", True),
        ("1000m", "1", True),
        ("1.2", "1200m", True),
        ("20Gi", 21474836480, True),
        ("6G", "6Gi", False),
        ("6Gi", "6442450945", False),
        ("junk", "junk", True),
        ("junk", "6Gi", False),
    ],
)
def test_same_quantity(left, right, same):
    assert same_quantity(left, right) is same
    assert same_quantity(right, left) is same


@pytest.mark.parametrize(("written", "value"), [("6Gi", 6442450944), ("1500m", 2), ("1n", 1), ("-1500m", -1), (7, 7)])
def test_to_bytes_rounds_up(written, value):
    assert to_bytes(written) == bytes_of(written) == value
    assert is_size(written) is (value > 0)


@pytest.mark.parametrize("written", [*INVALID, None, True, 1.5, [], {}])
def test_what_is_no_quantity_has_no_bytes_and_is_no_size(written):
    assert bytes_of(written) is None
    assert is_size(written) is False


@pytest.mark.parametrize("written", ["0", 0, "0Gi", "-1n"])
def test_a_quantity_above_zero_is_a_size(written):
    assert bytes_of(written) is not None
    assert is_size(written) is False
    assert is_size("1n") is True


def test_exact_beyond_float():
    assert to_bytes("9007199254740993") - to_bytes("9007199254740992") == 1


SUFFIXES = {"": Fraction(1), "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000)} | {
    name: Fraction(base ** (index + 1))
    for base, names in ((1000, ["k", "M", "G", "T", "P", "E"]), (1024, ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]))
    for index, name in enumerate(names)
}
amounts = st.tuples(
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12, places=6),
    st.sampled_from(sorted(SUFFIXES)),
)


@given(amounts)
def test_value_is_number_times_suffix(amount):
    number, suffix = amount
    assert parse_quantity(f"{number:f}{suffix}") == Fraction(number) * SUFFIXES[suffix]


@given(amounts, amounts)
def test_order_and_equality_follow_the_numbers(left, right):
    texts = [f"{number:f}{suffix}" for number, suffix in (left, right)]
    values = [Fraction(number) * SUFFIXES[suffix] for number, suffix in (left, right)]
    assert (parse_quantity(texts[0]) < parse_quantity(texts[1])) == (values[0] < values[1])
    assert same_quantity(*texts) == (values[0] == values[1])


@given(st.text(alphabet="0123456789+-.eEKMGTimkun\n x", max_size=8))
def test_reading_never_fails_otherwise(written):
    chart_amount(written)
    try:
        value = parse_quantity(written)
    except InvalidQuantity:
        return
    assert chart_amount(written) == value
