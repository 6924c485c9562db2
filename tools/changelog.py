"""Assemble the entry of a release in CHANGELOG.md from the fragments in changes/.

Prints the entry; with --write it goes to the top of CHANGELOG.md and the fragments are deleted.
"""

from __future__ import annotations

import argparse
import re
import sys
from datetime import UTC, date, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KINDS = ("added", "changed", "fixed", "removed", "security")
VERSION = re.compile(r"\d+\.\d+\.\d+")


def fragments(root: Path) -> dict[str, list[Path]]:
    """The fragments of each kind by name; a file whose name has no known kind is an error."""
    by_kind: dict[str, list[Path]] = {kind: [] for kind in KINDS}
    for path in sorted((root / "changes").glob("*.md")):
        if path.name == "README.md":
            continue
        kind = path.name.removesuffix(".md").rpartition(".")[2]
        if kind not in by_kind:
            raise SystemExit(f"changes/{path.name}: the name must end in one of .{'.md, .'.join(KINDS)}.md")
        by_kind[kind].append(path)
    return by_kind


def item(text: str) -> str:
    """A fragment as one item of a list; its further paragraphs belong to the item."""
    lines = text.strip().splitlines()
    return "\n".join(f"{'  ' if number else '- '}{line}".rstrip() for number, line in enumerate(lines))


def entry(version: str, day: date, by_kind: dict[str, list[Path]]) -> str:
    parts = [f"## {version} ({day.isoformat()})"]
    for kind, paths in by_kind.items():
        if paths:
            parts.append(f"### {kind.capitalize()}\n\n" + "\n".join(item(path.read_text()) for path in paths))
    return "\n\n".join(parts) + "\n"


def inserted(changelog: str, version: str, text: str) -> str:
    """The changelog with a new entry above the older ones."""
    if re.search(rf"^## {re.escape(version)} ", changelog, re.MULTILINE):
        raise SystemExit(f"CHANGELOG.md already has an entry for {version}")
    head, mark, older = changelog.partition("\n## ")
    return f"{head.rstrip()}\n\n{text}" + (f"{mark}{older}" if mark else "")


def main(arguments: list[str] | None = None, *, root: Path = ROOT, today: date | None = None) -> int:
    parser = argparse.ArgumentParser(description="Assemble CHANGELOG.md from the fragments in changes/.")
    parser.add_argument("version", metavar="VERSION", help="the version of the release, x.y.z")
    parser.add_argument("--write", action="store_true", help="write CHANGELOG.md and delete the fragments")
    options = parser.parse_args(arguments)
    version: str = options.version
    if not VERSION.fullmatch(version):
        parser.error(f"{version!r} is not a version x.y.z")
    by_kind = fragments(root)
    paths = [path for row in by_kind.values() for path in row]
    if not paths:
        raise SystemExit("no fragments in changes/: nothing to release")
    text = entry(version, today or datetime.now(UTC).date(), by_kind)
    changelog = root / "CHANGELOG.md"
    new = inserted(changelog.read_text(), version, text)
    if not options.write:
        print(text, end="")
        print(f"\n(draft of {len(paths)} fragments; nothing is written without --write)", file=sys.stderr)
        return 0
    changelog.write_text(new)
    for path in paths:
        path.unlink()
    print(f"CHANGELOG.md: {version}, {len(paths)} fragments")
    return 0


if __name__ == "__main__":
    sys.exit(main())
