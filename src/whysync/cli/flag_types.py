"""Types and actions of flags, for argparse."""

from __future__ import annotations

import argparse


class Append(argparse.Action):
    """One more value; the first on the line replaces the default, which may be the environment's."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        del parser, option_string
        known = getattr(namespace, self.dest)
        setattr(namespace, self.dest, [values] if known is self.default else [*known, values])


_UNITS = {"": 0, "k": 10, "ki": 10, "kib": 10, "m": 20, "mi": 20, "mib": 20, "g": 30, "gi": 30, "gib": 30}


def size(written: str) -> int:
    """`512MiB`, `4Gi`, `1000000`."""
    digits = written.rstrip("kKmMgGiIbB")
    unit = written[len(digits) :].lower()
    if not digits.isdecimal() or unit not in _UNITS or int(digits) == 0:
        raise argparse.ArgumentTypeError(f"{written!r} is no size such as 512MiB or 4GiB")
    return int(digits) << _UNITS[unit]


def count(written: str) -> int:
    if not written.isdecimal() or int(written) == 0:
        raise argparse.ArgumentTypeError(f"{written!r} is no such number")
    return int(written)


def seconds(written: str) -> float:
    """For argparse: `90`, `90s`, `2m`."""
    from whysync.golang.duration import BadDuration, parse_duration

    try:
        found = parse_duration(f"{written}s" if written.replace(".", "", 1).isdecimal() else written)
    except BadDuration as problem:
        raise argparse.ArgumentTypeError(f"{written!r} is no time such as 90s or 2m") from problem
    if found.total_seconds() <= 0:
        raise argparse.ArgumentTypeError(f"{written!r} is no time to speak of")
    return found.total_seconds()
