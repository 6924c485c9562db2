"""Quantities (`250m`, `1.5Gi`, `2e3`) in the one form in which Kubernetes writes them.

Mirrors apimachinery `resource.ParseQuantity` and `CanonicalizeBytes`, Kubernetes 1.36, with its surprises:
a text that looks canonical is kept as it is (`1.500`, `+5`, `01`), a bare suffix is zero, an amount finer
than a billionth is rounded up, and a binary amount too large for 64 bits is cut off there.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_FORM: Final = re.compile(r"([+-]?)0*(\d*)(?:\.(\d*))?([eE][+-]?\d+|[A-Za-z]*)")
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX: Final = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX: Final = {0: "", **{exponent: suffix for suffix, exponent in _BINARY.items()}}
_LARGEST: Final = 2**63 - 1
_MOST_DIGITS: Final = 4000


class BadQuantity(ValueError):
    """The text is no quantity."""


@lru_cache(maxsize=8192)
def canonical_quantity(text: str) -> str:
    """`1000m` → `1`, `0.5` → `500m`, `1024Mi` → `1Gi`; raises `BadQuantity`."""
    text = text.strip()
    if text == "0":
        return text
    sign, whole, fraction, suffix, exponent, binary = _parts(text)
    digits = (whole or "0") + fraction
    if _stays(digits, whole, fraction, exponent, binary=binary):
        return text
    amount = int(digits)
    if amount == 0:
        return "0"
    if binary:
        return sign + _binary_text(amount, len(fraction), exponent)
    amount, scale = _rounded_to_nano(amount, exponent - len(fraction))
    return sign + _decimal_text(amount, scale, as_exponent=suffix[:1] in {"e", "E"} and len(suffix) > 1)


@lru_cache(maxsize=8192)
def rounded_up_to_milli(text: str) -> str:
    """What the API server makes of a resource amount: nothing finer than a thousandth, rounded up."""
    canonical = canonical_quantity(text)
    if not canonical.endswith(("n", "u")):
        return text
    amount, finer = int(canonical[:-1]), 10**6 if canonical[-1] == "n" else 10**3
    milli = -(-abs(amount) // finer)
    return canonical_quantity(f"{'-' if amount < 0 else ''}{milli}m")


def _parts(text: str) -> tuple[str, str, str, str, int, bool]:
    found = _FORM.fullmatch(text)
    if not text or found is None or len(text) > _MOST_DIGITS:
        raise BadQuantity(text)
    sign, whole, fraction, suffix = found[1], found[2], found[3] or "", found[4]
    sign = "-" if sign == "-" else ""
    if suffix in _DECIMAL:
        return sign, whole, fraction, suffix, _DECIMAL[suffix], False
    if suffix in _BINARY:
        return sign, whole, fraction, suffix, _BINARY[suffix], True
    if len(suffix) > 1 and suffix[0] in "eE" and suffix[1] in "+-0123456789" and len(suffix) < 12:
        return sign, whole, fraction, suffix, int(suffix[1:]), False
    raise BadQuantity(text)


def _stays(digits: str, whole: str, fraction: str, exponent: int, *, binary: bool) -> bool:
    """Is the text taken for canonical already? Upstream decides this by its look, on its fast path only."""
    length = max(len(whole), 1)
    if binary:
        fast = not fraction and 15 - length - int(exponent * 3 / 10) - 1 >= 0
        return fast and int(digits) % 8 != 0
    scale = exponent - len(fraction)
    fast = length + len(fraction) <= 18 and scale >= -9
    return fast and scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"


def _rounded_to_nano(amount: int, scale: int) -> tuple[int, int]:
    if scale >= -9:
        return amount, scale
    finer = -9 - scale
    if finer > _MOST_DIGITS + 10:
        return 1, -9
    return -(-amount // 10**finer), -9


def _decimal_text(amount: int, scale: int, *, as_exponent: bool) -> str:
    """The largest power of a thousand that leaves a whole number before it."""
    while amount % 10 == 0:
        amount, scale = amount // 10, scale + 1
    amount, scale = amount * 10 ** (scale % 3), scale - scale % 3
    if as_exponent:
        return f"{amount}e{scale}" if scale else str(amount)
    return f"{amount}{_DECIMAL_SUFFIX.get(scale, '')}"


def _binary_text(amount: int, places: int, exponent: int) -> str:
    scaled, divisor = amount << exponent, 10**places
    if scaled > _LARGEST * divisor:
        scaled, divisor = _LARGEST, 1
    if scaled % divisor or scaled < 1024 * divisor:
        return _decimal_text(-(-scaled * 10**9 // divisor), -9, as_exponent=False)
    whole, power = scaled // divisor, 0
    while whole % 1024 == 0 and power < 60:
        whole, power = whole // 1024, power + 10
    return f"{whole}{_BINARY_SUFFIX[power]}"
