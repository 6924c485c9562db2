"""Checks of single values that many kinds share."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Collection, Iterable

from whysync.json_tree import Json, Missing, Object, fields, integer, text
from whysync.kubernetes.validation import names
from whysync.kubernetes.validation.field_error import (
    NOT_NEGATIVE,
    FieldProblem,
    Problems,
    each,
    forbidden,
    invalid,
    required,
    unsupported,
)

_IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_MAPPED = ipaddress.ip_network("::ffff:0:0/96")


def validate_nonnegative_fields(owner: Object, path: str, *fields: str) -> Problems:
    for field in fields:
        value = integer(owner.get(field))
        if value < 0:
            yield invalid(f"{path}.{field}" if path else field, value, NOT_NEGATIVE)


def validate_enum(
    value: Json | Missing, path: str, supported: Collection[str], *, sort: bool = True
) -> Iterable[FieldProblem]:
    """A required field with a fixed set of values."""
    chosen = text(value)
    if not chosen:
        return (required(path),)
    if chosen in supported:
        return ()
    return (unsupported(path, chosen, sorted(supported) if sort else supported),)


def validate_optional_enum(
    value: Json | Missing, path: str, supported: Iterable[str], *, sort: bool = True
) -> Problems:
    if value is not None and not isinstance(value, Missing):
        supported, chosen = sorted(supported) if sort else list(supported), text(value)
        if chosen not in supported:
            yield unsupported(path, chosen, supported)


def validate_required(value: str, path: str, validate_name: names.NameForm, detail: str = "") -> Problems:
    """A name that must not be empty; `detail` is the text when it is."""
    if value:
        yield from each(path, value, validate_name(value))
    else:
        yield required(path, detail)


def validate_single_source(
    owner: Object, path: str, kinds: Iterable[str], noun: str, validate: Callable[[str, Object], Problems]
) -> Problems:
    """Exactly one of the fields `kinds` is set; only the first that is set is looked into."""
    present = [kind for kind in kinds if isinstance(owner.get(kind), dict)]
    if not present:
        yield required(path, f"must specify a {noun} type")
        return
    yield from validate(present[0], fields(owner.get(present[0])))
    for kind in present[1:]:
        yield forbidden(f"{path}.{kind}", f"may not specify more than 1 {noun} type")


def validate_dns_label(value: str, path: str) -> Problems:
    yield from each(path, value, names.dns_label(value))


def validate_port_num_or_name(port: Json | Missing, path: str) -> Problems:
    if isinstance(port, str):
        yield from each(path, port, names.port_name(port))
    else:
        yield from each(path, integer(port), names.port_number(integer(port)))


def validate_positive_int_or_percent(value: Json, path: str) -> Problems:
    """Mirrors apps `ValidatePositiveIntOrPercent`."""
    if isinstance(value, str):
        yield from each(path, value, names.percent(value))
    elif integer(value) < 0:
        yield invalid(path, integer(value), NOT_NEGATIVE)


def is_not_more_than_100_percent(value: Json, path: str) -> Problems:
    """Mirrors apps `IsNotMoreThan100Percent`."""
    if is_percent(value) and int_or_percent_value(value) > 100:
        yield invalid(path, value, "must not be greater than 100%")


def int_or_percent_value(value: Json | Missing) -> int:
    if isinstance(value, str):
        digits = value.removesuffix("%")
        return int(digits) if digits.isdecimal() and len(digits) < 20 else 0
    return integer(value)


def is_percent(value: Json) -> bool:
    return isinstance(value, str) and not any(True for _ in names.percent(value))


def validate_domain_prefixed_path(value: str, path: str) -> Problems:
    """`example.com/name`. Mirrors `IsDomainPrefixedPath`."""
    if not value:
        yield required(path)
        return
    host, _, rest = value.partition("/")
    if not host or not rest:
        yield invalid(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")')
        return
    yield from each(path, host, names.dns_subdomain(host))
    if not names.is_url_path(rest):
        yield invalid(path, rest, names.url_path_text())


def validate_ip_for_legacy_field(value: str, path: str, accepted: Collection[Json] = ()) -> Problems:
    """An IP address; those in `accepted` are not validated again. Mirrors `IsValidIPForLegacyField`."""
    if value in accepted:
        return
    parsed = parse_ip_sloppy(value)
    if parsed is None:
        yield invalid(path, value, _IP)
    elif _leading_zeros(value):
        yield invalid(path, value, "must not have leading 0s")
    elif parsed in _MAPPED:
        yield invalid(path, value, "must not be an IPv4-mapped IPv6 address")


def validate_cidr_for_legacy_field(value: str, path: str, accepted: Collection[Json] = ()) -> Problems:
    """Mirrors `IsValidCIDRForLegacyField`."""
    if value in accepted:
        return
    address, slash, length = value.partition("/")
    if parse_cidr_sloppy(value) is None:
        yield invalid(path, value, _CIDR)
    elif slash and (_leading_zeros(address) or (len(length) > 1 and length[0] == "0")):
        yield invalid(path, value, "must not have leading 0s in IP or prefix length")


def parse_ip_sloppy(value: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """An IP address; leading zeros are ignored, a zone is an error. Mirrors `ParseIPSloppy`."""
    if "%" in value:
        return None
    try:
        return ipaddress.ip_address(_without_zeros(value))
    except ValueError:
        return None


def parse_cidr_sloppy(value: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    address, slash, length = value.partition("/")
    if not slash or not length.isdecimal() or not length.isascii() or len(length) > 4 or "%" in value:
        return None
    try:
        return ipaddress.ip_network(f"{_without_zeros(address)}/{int(length)}", strict=False)
    except ValueError:
        return None


def validate_endpoint_ip(value: str, path: str) -> Problems:
    """An IP address to which traffic can be sent. Mirrors `ValidateEndpointIP`."""
    parsed = parse_ip_sloppy(value)
    if parsed is None:
        yield invalid(path, value, "must be a valid IP address")
        return
    if parsed.is_unspecified:
        yield invalid(path, value, f"may not be unspecified ({value})")
    if parsed.is_loopback:
        yield invalid(path, value, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if parsed.is_link_local:
        yield invalid(path, value, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if parsed.is_multicast and str(parsed).startswith(("224.0.0.", "ff02:")):
        yield invalid(path, value, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")


def _leading_zeros(address: str) -> bool:
    return ":" not in address and _without_zeros(address) != address


def _without_zeros(address: str) -> str:
    if ":" in address:
        return address
    return ".".join(octet.lstrip("0") or "0" if octet.isdecimal() else octet for octet in address.split("."))
