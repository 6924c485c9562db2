"""Quantities in canonical form."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.shared import CONFORMANCE, needs_shared
from whysync.golang.quantity import (
    BadQuantity,
    canonical_quantity,
    quantity_value,
    rounded_up_to_milli,
    value_or_zero,
    written_like,
)
from whysync.json_tree import Json, dig, fields
from whysync.kubernetes.schema.scalars import NotOfType, as_quantity

FACTORS = {
    **{suffix: Fraction(1, 1000**power) for power, suffix in enumerate(("", "m", "u", "n"))},
    **{suffix: Fraction(1000**power) for power, suffix in enumerate(("", "k", "M", "G", "T", "P", "E"))},
    **{f"{suffix}i": Fraction(1024**power) for power, suffix in enumerate("KMGTPE", start=1)},
}


def amount(text: str) -> Fraction:
    number = text.rstrip("numkMGTPEKi")
    return Fraction(number) * FACTORS[text[len(number) :]]


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("1000m", "1"),
        ("0.2", "200m"),
        ("0.5", "500m"),
        ("1.5Gi", "1536Mi"),
        ("1024Mi", "1Gi"),
        ("1536Mi", "1536Mi"),
        ("1500m", "1500m"),
        ("0", "0"),
        ("0.0", "0"),
        ("00", "0"),
        ("-0.5", "-500m"),
        ("1e3", "1e3"),
        ("1000e0", "1e3"),
        ("12000", "12k"),
        ("1.500", "1.500"),
        ("+5", "+5"),
        ("512Ki", "512Ki"),
        ("0.0000000001", "1n"),
        ("9223372036854775807Ki", "9223372036854775807"),
        ("Mi", "0"),
        ("1e-999999999", "1e-9"),
        ("1e999999999", "1e999999999"),
    ],
)
def test_canonical_form(text: str, canonical: str) -> None:
    assert canonical_quantity(text) == canonical


@pytest.mark.parametrize(
    "text", ["", "abc", "1kb", "1mi", "1e", "1Gi1", "1,5", "0x10", "1 Gi", "++1", "9" * 5000]
)
def test_what_is_no_quantity(text: str) -> None:
    with pytest.raises(BadQuantity):
        canonical_quantity(text)


@pytest.mark.parametrize(
    ("text", "rounded"), [("1", "1"), ("5n", "1m"), ("1001u", "2m"), ("100m", "100m"), ("-5n", "-1m")]
)
def test_resources_are_kept_in_thousandths(text: str, rounded: str) -> None:
    assert rounded_up_to_milli(text) == rounded


numbers = st.tuples(st.integers(0, 10**7), st.integers(0, 999), st.sampled_from(sorted(FACTORS))).map(
    lambda parts: f"{parts[0]}.{parts[1]}{parts[2]}"
)


@given(numbers)
def test_the_canonical_form_is_stable(text: str) -> None:
    once = canonical_quantity(text)
    assert canonical_quantity(once) == once


@given(numbers)
def test_the_canonical_form_is_the_same_amount(text: str) -> None:
    """Up to rounding at a billionth, and to the largest binary amount.

    Beyond thousands of E there is no suffix, and upstream writes none: `625000E` becomes `625`.
    """
    before, after = amount(text), amount(canonical_quantity(text))
    assume(before < 10**21 or text.endswith("i"))
    if text.endswith("i") and before > 2**63 - 1:
        assert after == 2**63 - 1
    else:
        assert 0 <= after - before < FACTORS["n"]


@needs_shared
def test_as_an_api_server_writes_them() -> None:
    seen = 0
    for line in (CONFORMANCE / "apiserver_defaults.jsonl").read_text().splitlines():
        record = json.loads(line)
        if record["op"] != "quantity":
            continue
        step = record["steps"][0]
        name, given_value = next(iter(fields(dig(step, "request", "body", "spec", "hard")).items()))
        stored = dig(step, "response", "object", "spec", "hard", name)
        message = str(dig(step, "response", "status", "message"))
        if "greater than or equal to 0" in message or given_value is None:
            continue
        seen += 1
        try:
            assert rounded_up_to_milli(as_quantity(given_value)) == stored, record["id"]
        except NotOfType:
            assert "quantit" in message, record["id"]
    assert seen > 50


@pytest.mark.parametrize(
    ("value", "worth"),
    [("1500m", Fraction(3, 2)), ("2Ki", Fraction(2048)), ("12e6", Fraction(12_000_000)), (3, Fraction(3)),
     (None, Fraction(0)), ("five", None), (True, None), ("1e9999", None)],
)  # fmt: skip
def test_the_value_of_a_quantity(value: Json, worth: Fraction | None) -> None:
    assert quantity_value(value) == worth
    assert value_or_zero(value) == (worth or 0)


@pytest.mark.parametrize(
    ("value", "like", "text"),
    [(Fraction(3 * 2**20), "1Gi", "3Mi"), (Fraction(3000), "1", "3k"), (Fraction(3, 2), "1", "1500m"),
     (Fraction(0), "1Gi", "0"), (Fraction(5), 1, "5")],
)  # fmt: skip
def test_a_value_is_written_in_the_format_of_another(value: Fraction, like: Json, text: str) -> None:
    assert written_like(value, like) == text
