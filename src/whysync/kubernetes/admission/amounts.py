"""Amounts of resources as numbers, and as they are written."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from whysync.golang.quantity import BadQuantity, canonical_quantity
from whysync.json_tree import Json, text

_FACTORS: Final = {
    "n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3"), "k": Decimal(10**3),
    "M": Decimal(10**6), "G": Decimal(10**9), "T": Decimal(10**12), "P": Decimal(10**15),
    "E": Decimal(10**18),
    "Ki": Decimal(2**10), "Mi": Decimal(2**20), "Gi": Decimal(2**30), "Ti": Decimal(2**40),
    "Pi": Decimal(2**50), "Ei": Decimal(2**60),
}  # fmt: skip


def amount_of(value: Json) -> Decimal:
    if isinstance(value, (int, float)):
        return Decimal(str(value))
    written = text(value, "0")
    try:
        canonical = canonical_quantity(written)
    except BadQuantity:
        return Decimal(0)
    for suffix in ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "n", "u", "m", "k", "M", "G", "T", "P", "E"):
        if canonical.endswith(suffix):
            return Decimal(canonical[: -len(suffix)]) * _FACTORS[suffix]
    return Decimal(canonical)


def written_as(amount: Decimal, like: Json) -> str:
    """An amount in the form of the limit: binary where that one is."""
    whole = amount == amount.to_integral_value()
    if whole and text(like).endswith("i"):
        number = int(amount)
        for suffix in ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki"):
            if number and number % int(_FACTORS[suffix]) == 0:
                return f"{number // int(_FACTORS[suffix])}{suffix}"
        return str(number)
    if whole:
        return canonical_quantity(str(int(amount)))
    return canonical_quantity(f"{(amount * 1000).to_integral_value()}m")
