"""Kubernetes quantities (`250m`, `1.5Gi`, `2e3`): their canonical text, their value, and how Go prints them.

Mirrors apimachinery `resource.ParseQuantity` and `CanonicalizeBytes`, Kubernetes 1.36, with its surprises:
a text that looks canonical is kept as it is (`1.500`, `+5`, `01`), a bare suffix is zero, an amount finer
than a billionth is rounded up, and a binary amount too large for 64 bits is cut off there.
"""

from __future__ import annotations

import re
from decimal import ROUND_UP, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final

from whysync.json_tree import Json, Missing

_FORM: Final = re.compile(r"([+-]?)0*(\d*)(?:\.(\d*))?([eE][+-]?\d+|[A-Za-z]*)")
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX: Final = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX: Final = {0: "", **{exponent: suffix for suffix, exponent in _BINARY.items()}}
_LARGEST: Final = 2**63 - 1
_MOST_DIGITS: Final = 4000
_MOST_EXPONENT: Final = 400
_FAST_DIGITS: Final = 18
_NANO: Final = -9
_CANONICAL: Final = re.compile(r"([+-]?[0-9.]+)(?:e([+-]?\d+)|([a-zA-Z]*))")
_DEBUG_FORM: Final = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?")


class BadQuantity(ValueError):
    """The text is no quantity."""


@lru_cache(maxsize=8192)
def canonical_quantity(text: str) -> str:
    """`1000m` → `1`, `0.5` → `500m`, `1024Mi` → `1Gi`; raises `BadQuantity`."""
    text = text.strip()
    if text == "0":
        return text
    sign, integer, fraction, suffix, exponent, binary = _parts(text)
    digits = (integer or "0") + fraction
    if _stays(digits, integer, fraction, exponent, binary=binary):
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


def quantity_value(value: Json | Missing) -> Fraction | None:
    """The value of a quantity, or `None` for what is not a quantity; a missing one is zero."""
    if value is None or isinstance(value, Missing):
        return Fraction(0)
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    return _value(str(value))


def value_or_zero(value: Json | Missing) -> Fraction:
    return quantity_value(value) or Fraction(0)


def milli_value(value: Json | Missing) -> int:
    """The value in thousandths, as `Quantity.MilliValue`; zero for what is not a quantity."""
    return int(value_or_zero(value) * 1000)


def quantity_text(value: Json) -> str:
    """Mirrors `Quantity.String`; what is not a quantity stays as it is."""
    try:
        return canonical_quantity(str(value))
    except BadQuantity:
        return str(value)


def written_like(value: Fraction, like: Json) -> str:
    """A value in the format of another quantity, binary or decimal; rounded to three decimal places."""
    if value.denominator != 1:
        return canonical_quantity(f"{round(value * 1000)}m")
    if not isinstance(like, str) or not like.endswith("i"):
        return canonical_quantity(str(value.numerator))
    mantissa, power = value.numerator, 0
    while mantissa and mantissa % 1024 == 0 and power < 60:
        mantissa, power = mantissa // 1024, power + 10
    return f"{mantissa}{_BINARY_SUFFIX[power]}"


@lru_cache(maxsize=8192)
def _value(text: str) -> Fraction | None:
    try:
        match = _CANONICAL.fullmatch(canonical_quantity(text))
        if match is None:
            return None
        digits, exponent, suffix = Fraction(match[1]), int(match[2] or "0"), match[3] or ""
    except (BadQuantity, ValueError):
        return None
    if abs(exponent) > _MOST_EXPONENT:
        return None
    if suffix in _BINARY:
        return digits * 2 ** _BINARY[suffix]
    return digits * Fraction(10) ** (exponent + _DECIMAL[suffix])


def _parts(text: str) -> tuple[str, str, str, str, int, bool]:
    match = _FORM.fullmatch(text)
    if not text or match is None or len(text) > _MOST_DIGITS:
        raise BadQuantity(text)
    sign, integer, fraction, suffix = match[1], match[2], match[3] or "", match[4]
    sign = "-" if sign == "-" else ""
    if suffix in _DECIMAL:
        return sign, integer, fraction, suffix, _DECIMAL[suffix], False
    if suffix in _BINARY:
        return sign, integer, fraction, suffix, _BINARY[suffix], True
    if len(suffix) > 1 and suffix[0] in "eE" and suffix[1] in "+-0123456789" and len(suffix) < 12:
        return sign, integer, fraction, suffix, int(suffix[1:]), False
    raise BadQuantity(text)


def _stays(digits: str, integer: str, fraction: str, exponent: int, *, binary: bool) -> bool:
    """Is the text treated as canonical? Upstream decides this from the digits, on its fast path only."""
    length = max(len(integer), 1)
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


def _binary_text(amount: int, decimals: int, exponent: int) -> str:
    scaled, divisor = amount << exponent, 10**decimals
    if scaled > _LARGEST * divisor:
        scaled, divisor = _LARGEST, 1
    if scaled % divisor or scaled < 1024 * divisor:
        return _decimal_text(-(-scaled * 10**9 // divisor), -9, as_exponent=False)
    mantissa, power = scaled // divisor, 0
    while mantissa % 1024 == 0 and power < 60:
        mantissa, power = mantissa // 1024, power + 10
    return f"{mantissa}{_BINARY_SUFFIX[power]}"


def debug_quantity(text: str) -> str:
    """A `resource.Quantity` as `spew` dumps it for hashing: value, format, and the text where it is kept.

    Beyond the fast path, Go prints the decimal that it falls back to.
    """
    if text == "0":
        return _dumped(0, 0, "DecimalSI", "0")
    match = _DEBUG_FORM.fullmatch(text)
    if match is None:
        return _dumped(0, 0, "DecimalSI", "")
    sign, integer, fraction, suffix = (
        match[1],
        match[2].lstrip("0"),
        (match[3] or "").rstrip("0"),
        match[4] or "",
    )
    integer = integer or "0"
    shape, exponent = _format(suffix)
    if shape == "BinarySI":
        scale, factor = 0, 1 << exponent
        digits_left = 15 - len(integer) - int(exponent * 3 / 10) - 1 if not fraction else -1
    else:
        scale, factor = exponent, 1
        digits_left = _FAST_DIGITS - len(integer) - len(fraction)
    scale -= len(fraction)
    if digits_left >= 0 and scale >= _NANO:
        shifted = integer + fraction
        number = int(shifted)
        if number * factor <= _LARGEST:
            amount = -number * factor if sign == "-" else number * factor
            if shape == "BinarySI":
                is_canonical = exponent % 10 == 0 and number & 7 != 0
            else:
                is_canonical = scale % 3 == 0 and not shifted.endswith("000") and shifted[0] != "0"
            return _dumped(amount, scale, shape, text if is_canonical else "")
    return _dumped_decimal(Decimal(f"{sign}{integer}.{fraction or '0'}"), shape, exponent)


def _format(suffix: str) -> tuple[str, int]:
    if suffix in _BINARY:
        return "BinarySI", _BINARY[suffix]
    if suffix in _DECIMAL:
        return "DecimalSI", _DECIMAL[suffix]
    return "DecimalExponent", int(suffix[1:])


def _dumped(value: int, scale: int, shape: str, text: str) -> str:
    amount = f"(resource.int64Amount){{value:(int64){value} scale:(resource.Scale){scale}}}"
    return (
        f"{{i:{amount} d:(resource.infDecAmount){{Dec:(*inf.Dec)<nil>}} "
        f"s:(string){text} Format:(resource.Format){shape}}}"
    )


def _dumped_decimal(amount: Decimal, shape: str, exponent: int) -> str:
    """A big decimal: its 64-bit words and its scale."""
    amount = amount * (Decimal(2) ** exponent if shape == "BinarySI" else Decimal(10) ** exponent)
    if amount:
        amount = amount.quantize(Decimal(1).scaleb(_NANO), rounding=ROUND_UP)
    sign, digits, power = amount.as_tuple()
    number = int("".join(str(digit) for digit in digits))
    words: list[str] = []
    while number:
        number, word = divmod(number, 1 << 64)
        words.append(str(word))
    unscaled = f"{{neg:(bool){'true' if sign else 'false'} abs:(big.nat)[{' '.join(words)}]}}"
    scale = -power if isinstance(power, int) else 0
    zero = "(resource.int64Amount){value:(int64)0 scale:(resource.Scale)0}"
    return (
        f"{{i:{zero} d:(resource.infDecAmount){{Dec:(*inf.Dec){{unscaled:(big.Int){unscaled} "
        f"scale:(inf.Scale){scale}}}}} s:(string) Format:(resource.Format){shape}}}"
    )
