"""Size limits of a bundle, applied to the unpacked content and not to what an archive claims."""

from __future__ import annotations

import msgspec

from whysync.errors import TooLarge
from whysync.kubernetes.api import yaml

MIB = 1 << 20


class BundleLimits(msgspec.Struct, frozen=True, kw_only=True):
    unpacked_bytes: int = 2048 * MIB
    files: int = 200_000
    file_bytes: int = 64 * MIB
    # Only the end of a log is kept.
    log_bytes: int = 2 * MIB
    log_lines: int = 5_000
    yaml: yaml.YamlLimits = msgspec.field(default_factory=yaml.YamlLimits)


class Budget:
    """How much of the limits all inputs have used."""

    def __init__(self, limits: BundleLimits) -> None:
        self.limits = limits
        self.files = 0
        self.unpacked = 0

    def open_file(self, name: str) -> None:
        self.files += 1
        if self.files > self.limits.files:
            raise TooLarge(
                what=f"the bundle has more than {self.limits.files:,} files",
                why=f"the limit was reached at {name}",
                next="read a smaller part of it, or raise --max-files",
            )

    def spend(self, count: int, name: str) -> None:
        self.unpacked += count
        if self.unpacked > self.limits.unpacked_bytes:
            raise TooLarge(
                what=f"the bundle unpacks to more than {size(self.limits.unpacked_bytes)}",
                why=f"the limit was reached at {name}",
                next="read a smaller part of it, or raise --max-size",
            )


def size(count: int) -> str:
    for unit, bytes_each in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= bytes_each:
            return f"{count / bytes_each:.3g} {unit}"
    return f"{count} bytes"
