"""A quantity as Go prints its insides: what it amounts to, in which form, and its text where it was kept.

Mirrors `resource.ParseQuantity`, Kubernetes 1.36, for the quantities that fit its fast way; the others are
printed as the decimal that Go falls back to.
"""

from __future__ import annotations

import re
from decimal import ROUND_UP, Decimal
from typing import Final

_FORM: Final = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?")
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL: Final = {"": 0, "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_LARGEST: Final = 2**63 - 1
_DIGITS: Final = 18
_NANO: Final = -9


def printed_quantity(text: str) -> str:
    if text == "0":
        return _told(0, 0, "DecimalSI", "0")
    found = _FORM.fullmatch(text)
    if found is None:
        return _told(0, 0, "DecimalSI", "")
    sign, whole, rest, suffix = found[1], found[2].lstrip("0"), (found[3] or "").rstrip("0"), found[4] or ""
    whole = whole or "0"
    shape, exponent = _read(suffix)
    if shape == "BinarySI":
        scale, factor = 0, 1 << exponent
        room = 15 - len(whole) - int(exponent * 3 / 10) - 1 if not rest else -1
    else:
        scale, factor = exponent, 1
        room = _DIGITS - len(whole) - len(rest)
    scale -= len(rest)
    if room >= 0 and scale >= _NANO:
        shifted = whole + rest
        number = int(shifted)
        if number * factor <= _LARGEST:
            amount = -number * factor if sign == "-" else number * factor
            if shape == "BinarySI":
                kept = exponent % 10 == 0 and number & 7 != 0
            else:
                kept = scale % 3 == 0 and not shifted.endswith("000") and shifted[0] != "0"
            return _told(amount, scale, shape, text if kept else "")
    return _decimal(Decimal(f"{sign}{whole}.{rest or '0'}"), shape, exponent)


def _read(suffix: str) -> tuple[str, int]:
    if suffix in _BINARY:
        return "BinarySI", _BINARY[suffix]
    if suffix in _DECIMAL:
        return "DecimalSI", _DECIMAL[suffix]
    return "DecimalExponent", int(suffix[1:])


def _told(value: int, scale: int, shape: str, kept: str) -> str:
    amount = f"(resource.int64Amount){{value:(int64){value} scale:(resource.Scale){scale}}}"
    return (
        f"{{i:{amount} d:(resource.infDecAmount){{Dec:(*inf.Dec)<nil>}} "
        f"s:(string){kept} Format:(resource.Format){shape}}}"
    )


def _decimal(amount: Decimal, shape: str, exponent: int) -> str:
    """Beyond the fast way the number is kept as a big decimal; Go prints its words and its scale."""
    amount = amount * (Decimal(2) ** exponent if shape == "BinarySI" else Decimal(10) ** exponent)
    if amount:
        amount = amount.quantize(Decimal(1).scaleb(_NANO), rounding=ROUND_UP)
    sign, digits, power = amount.as_tuple()
    number = int("".join(str(digit) for digit in digits))
    words: list[str] = []
    while number:
        number, word = divmod(number, 1 << 64)
        words.append(str(word))
    whole = f"{{neg:(bool){'true' if sign else 'false'} abs:(big.nat)[{' '.join(words)}]}}"
    scale = -power if isinstance(power, int) else 0
    zero = "(resource.int64Amount){value:(int64)0 scale:(resource.Scale)0}"
    return (
        f"{{i:{zero} d:(resource.infDecAmount){{Dec:(*inf.Dec){{unscaled:(big.Int){whole} "
        f"scale:(inf.Scale){scale}}}}} s:(string) Format:(resource.Format){shape}}}"
    )
