"""Amounts: what a quantity is worth, and which resources may have which."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

from whysync.golang.quantity import BadQuantity, canonical_quantity
from whysync.json_tree import Json, Missing

_PARTS = re.compile(r"([+-]?[0-9.]+)(?:e([+-]?\d+)|([a-zA-Z]*))")
_SUFFIXES = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12),
    "P": Fraction(10**15), "E": Fraction(10**18),
    "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30), "Ti": Fraction(2**40),
    "Pi": Fraction(2**50), "Ei": Fraction(2**60),
}  # fmt: skip
_MOST_EXPONENT = 400


def amount(value: Json | Missing) -> Fraction | None:
    """The worth of a quantity, or `None` where the value is none; nothing at all is worth zero."""
    if value is None or isinstance(value, Missing):
        return Fraction(0)
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    return _amount(str(value))


def written(value: Json) -> str:
    """The canonical text, as `Quantity.String` gives it."""
    try:
        return canonical_quantity(str(value))
    except BadQuantity:
        return str(value)


@lru_cache(maxsize=4096)
def _amount(text: str) -> Fraction | None:
    try:
        found = _PARTS.fullmatch(canonical_quantity(text))
        if found is None:
            return None
        digits, exponent, suffix = found[1], found[2], found[3] or ""
        if exponent and abs(int(exponent)) > _MOST_EXPONENT:
            return None
        return Fraction(digits) * (Fraction(10) ** int(exponent) if exponent else _SUFFIXES[suffix])
    except (BadQuantity, ValueError, KeyError):
        return None
