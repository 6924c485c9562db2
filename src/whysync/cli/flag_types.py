"""Types, actions and groups of flags, for argparse."""

from __future__ import annotations

import argparse


class CollapsedGroup(argparse._ArgumentGroup):  # pyright: ignore[reportPrivateUsage]  (no public class)
    """Flags that `--help` lists by name only, and `--help-all` describes."""

    @property
    def names(self) -> list[str]:
        """`--bundle` or `-n/--namespace`, without aliases."""
        return [
            "/".join(action.option_strings[: 1 if action.option_strings[0].startswith("--") else 2])
            for action in self._group_actions
        ]


def collapsed_group(verb: argparse.ArgumentParser, title: str, description: str = "") -> CollapsedGroup:
    group = CollapsedGroup(verb, title, description or None)
    verb._action_groups.append(group)  # pyright: ignore[reportPrivateUsage]  (as add_argument_group does)
    return group


class Append(argparse.Action):
    """Append a value; the first one on the command line replaces the default from the environment."""

    known: tuple[str, ...] = ()
    """Values for the completion of a flag that accepts others too."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        del parser, option_string
        current = getattr(namespace, self.dest)
        setattr(namespace, self.dest, [values] if current is self.default else [*current, values])


_UNITS = {"": 0, "k": 10, "ki": 10, "kib": 10, "m": 20, "mi": 20, "mib": 20, "g": 30, "gi": 30, "gib": 30}


def size(value: str) -> int:
    """`512MiB`, `4Gi`, `1000000`."""
    digits = value.rstrip("kKmMgGiIbB")
    unit = value[len(digits) :].lower()
    if not digits.isdecimal() or unit not in _UNITS or int(digits) == 0:
        raise argparse.ArgumentTypeError(f"invalid size {value!r}; examples: 512MiB, 4GiB")
    return int(digits) << _UNITS[unit]


def count(value: str) -> int:
    if not value.isdecimal() or int(value) == 0:
        raise argparse.ArgumentTypeError(f"invalid number {value!r}; it must be 1 or more")
    return int(value)


def seconds(value: str) -> float:
    """`90`, `90s`, `2m`."""
    from whysync.golang.duration import BadDuration, parse_duration

    try:
        duration = parse_duration(f"{value}s" if value.replace(".", "", 1).isdecimal() else value)
    except BadDuration as problem:
        raise argparse.ArgumentTypeError(f"invalid duration {value!r}; examples: 90s, 2m") from problem
    if duration.total_seconds() <= 0:
        raise argparse.ArgumentTypeError(f"invalid duration {value!r}; it must be greater than 0")
    return duration.total_seconds()
