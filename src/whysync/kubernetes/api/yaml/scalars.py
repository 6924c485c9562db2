"""What one YAML scalar means to Kubernetes.

Mirrors `resolve` of the go-yaml v2 that sigs.k8s.io/yaml carries, as kube-apiserver 1.36 uses it: YAML 1.1
words (`yes`, `off`, `y`), both spellings of octal, no base 60, no dates; and then the way through JSON,
which turns `1.0` into 1 and a number beyond int64 into a float.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
from decimal import Decimal
from typing import Final

from whysync.kubernetes.api.yaml.errors import Invalid

Scalar = bool | int | float | str | None

_TAG: Final = "tag:yaml.org,2002:"
_TRUE = ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")
_FALSE = ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")
_NULL = ("", "~", "null", "Null", "NULL")
_WORDS: Final[dict[str, Scalar]] = {
    **dict.fromkeys(_TRUE, True),
    **dict.fromkeys(_FALSE, False),
    **dict.fromkeys(_NULL, None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
# A scalar that starts otherwise is text, whatever follows.
HINTS: Final = frozenset("0123456789+-.~yYnNtTfFoO")

_INTEGER = re.compile(
    r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]([0-7]+)|(0[0-7]*)|([1-9][0-9]*))", re.ASCII
)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
# Text that begins with a dot is passed to Go's ParseFloat, where an underscore must be between digits.
_DOTTED = re.compile(r"\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?", re.ASCII)
_TIMESTAMP = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
    r"(?:[Tt][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?(?:Z|[-+][0-9]{2}:[0-9]{2})"
    r"| [0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?)?",
    re.ASCII,
)
_NO_TEXT = re.compile("[\udc80-\udcff]")
_INT64_MIN: Final = -(1 << 63)
_INT64_MAX: Final = (1 << 63) - 1
_UINT64_MAX: Final = (1 << 64) - 1


class Unsigned(int):
    """A number that only fits uint64: a float once it is a value, refused as a key."""


def plain(value: str) -> Scalar:
    """The value of an unquoted scalar without a tag."""
    if value and value[0] not in HINTS:
        return value
    if value in _WORDS:
        return _WORDS[value]
    first = value[0]
    if first == ".":
        number = float(value.replace("_", "")) if _DOTTED.fullmatch(value) else math.inf
        return value if math.isinf(number) else number
    return _number(value) if first in "0123456789+-" else value


def _number(value: str) -> Scalar:
    digits = value.replace("_", "")
    whole = _INTEGER.fullmatch(digits)
    if whole is not None and len(digits) < 80:
        number = _integer(whole)
        if _INT64_MIN <= number <= _INT64_MAX:
            return number
        if not whole[1] and number <= _UINT64_MAX:
            return Unsigned(number)
    if _FLOAT.fullmatch(digits):
        number = float(digits)
        if not math.isinf(number):
            return number
    return value


def _integer(whole: re.Match[str]) -> int:
    sign, hexadecimal, binary, octal, zero, decimal = whole.groups()
    if decimal:
        number = int(decimal)
    elif hexadecimal:
        number = int(hexadecimal, 16)
    elif binary:
        number = int(binary, 2)
    else:
        number = int(octal or zero, 8)
    return -number if sign == "-" else number


def tagged(tag: str, value: str) -> Scalar:
    """The value of a scalar with a tag: an unknown tag means text, one that does not fit is an error."""
    if tag == f"{_TAG}binary":
        written = value.replace("\n", "").replace("\r", "")
        try:
            data = base64.b64decode(written, validate=True)
        except (binascii.Error, ValueError):
            data = b""
        if bool(data) != bool(written) or len(written) % 4:  # Python forgives an odd end
            raise Invalid("!!binary value contains invalid base64 data")
        # One mark for each byte that is no text, as Go writes it.
        return _NO_TEXT.sub("\ufffd", data.decode("utf-8", "surrogateescape"))
    kind = tag.removeprefix(_TAG) if tag.startswith(_TAG) else ""
    if kind not in ("bool", "int", "float", "null", "timestamp"):
        return value
    if kind == "timestamp" and _TIMESTAMP.fullmatch(value):
        return value
    scalar = plain(value)
    got = _kind(scalar)
    if got == kind:
        return scalar
    if kind == "float" and got == "int" and not isinstance(scalar, Unsigned):
        return scalar
    # The value itself is not included: it may be a secret.
    raise Invalid(f"cannot decode a !!{got} as a !!{kind}")


def _kind(value: Scalar) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case int():
            return "int"
        case float():
            return "float"
        case str():
            return "str"


def as_json(value: Scalar) -> Scalar:
    """The value after its way through Go's JSON encoder and decoder."""
    if type(value) is float:
        if not math.isfinite(value):
            raise Invalid("JSON has no such number: .nan and .inf cannot be sent to Kubernetes")
        return whole_if_possible(value)
    return float(value) if isinstance(value, Unsigned) else value


def whole_if_possible(number: float) -> int | float:
    """Go writes 1.0 as `1`, and 1.5e3 as `1500`: what then fits int64 is read back as a whole number."""
    if not number.is_integer() or not -(2.0**63) <= number < 2.0**63:
        return number
    # The shortest digits that identify the number, padded with zeros: not its exact binary value.
    return int(number) if abs(number) < 2.0**53 else int(Decimal(repr(number)))


def as_key(value: Scalar) -> str:
    """A map key as text. Mirrors `convertToJSONableObject` of sigs.k8s.io/yaml."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case Unsigned() | None:
            raise Invalid("a map key cannot be null, nor a number beyond int64")
        case int():
            return str(value)
        case float():
            return _float_key(value)


def _float_key(value: float) -> str:
    """Mirrors Go's `FormatFloat(value, 'g', -1, 32)`: single precision, with YAML's words for infinity."""
    try:
        single: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        single = math.copysign(math.inf, value)
    if not math.isfinite(single):
        return ".nan" if math.isnan(single) else ".inf" if single > 0 else "-.inf"
    written = next(
        text for digits in range(9) if _is_single(text := f"{single:.{digits}e}", single) or digits == 8
    )
    mantissa, _, exponent = written.partition("e")
    power = int(exponent)
    if -4 <= power < 6:
        return format(Decimal(written), "f")
    return f"{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"


def _is_single(text: str, single: float) -> bool:
    """Do these digits identify the single-precision number uniquely?"""
    try:
        return struct.unpack("f", struct.pack("f", float(text)))[0] == single
    except OverflowError:
        return False
