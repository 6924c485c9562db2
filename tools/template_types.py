"""Write the Go types of a Pod template (`kubernetes/controllers/data/template.json`) from a source tree.

    git archive v1.36.1 staging/src/k8s.io/api/core/v1 \
        staging/src/k8s.io/apimachinery/pkg/apis/meta/v1 | tar x -C DIR
    python tools/template_types.py DIR

A Deployment names its ReplicaSets by a hash of how Go prints the template: the names of the Go fields, their
types and their order decide, none of which the published schemas tell. A field is one line,
`GoName|json|type`; the JSON name is empty where a struct is embedded.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from schemas import OTHERS, STAGING, Package, read_package

OUT = Path(__file__).parents[1] / "src/whysync/kubernetes/controllers/data/template.json"
ROOT = "core/v1.PodTemplateSpec"
PLAIN = {"string", "bool", "int32", "int64", "float64"}


def main(root: Path) -> None:
    base = root / STAGING
    packages = {
        "core/v1": read_package(base / "api/core/v1", "core/v1", in_scheme=True),
        "meta/v1": read_package(base / OTHERS["meta/v1"], "meta/v1", in_scheme=False),
    }
    structs: dict[str, list[str]] = {}
    scalars: dict[str, str] = {}
    waiting = [ROOT]
    while waiting:
        name = waiting.pop()
        if name in structs or name in scalars:
            continue
        home, _, short = name.partition(".")
        package = packages[home]
        if short not in package.structs:
            scalars[name] = package.aliases[short].replace("v1.", "meta/v1.")
            waiting.extend(used(full(package, package.aliases[short])))
            continue
        lines: list[str] = []
        for member in package.structs[short]:
            tag = member.tags.get("json", "").split(",")[0]
            kind = full(package, member.type)
            lines.append(f"{member.name}|{tag}|{kind}")
            waiting.extend(used(kind))
        structs[name] = lines
    aliases = {name: full(packages[name.partition(".")[0]], kind) for name, kind in scalars.items()}
    OUT.parent.mkdir(parents=True, exist_ok=True)
    table = {"structs": structs, "aliases": aliases}
    OUT.write_text(json.dumps(table, sort_keys=True, separators=(",", ":")) + "\n")


def full(package: Package, kind: str) -> str:
    """A Go type with the names of our packages: `[]core/v1.Container`."""

    def named(match: re.Match[str]) -> str:
        prefix, name = match[1], match[2]
        if prefix:
            home = package.imports.get(prefix[:-1], prefix[:-1])
            return f"{home}.{name}"
        return name if name in PLAIN or name in {"map", "byte"} else f"{package.name}.{name}"

    return re.sub(r"(\w+\.)?(\b[A-Za-z_]\w*)", named, kind)


def used(kind: str) -> list[str]:
    special = {"meta/v1.Time", "meta/v1.FieldsV1"}
    return [name for name in re.findall(r"(?:core|meta)/v1\.\w+", kind) if name not in special]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
