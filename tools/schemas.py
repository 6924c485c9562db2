"""Write the tables of Kubernetes types (`src/whysync/kubernetes/schema/data`) from a Kubernetes source tree.

    git archive v1.36.1 staging/src/k8s.io/api staging/src/k8s.io/apimachinery/pkg/apis/meta/v1 \
        staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1 \
        staging/src/k8s.io/kube-aggregator/pkg/apis/apiregistration/v1 \
        staging/src/k8s.io/client-go/kubernetes/scheme | tar x -C DIR
    python tools/schemas.py DIR

The Go types are read, not the published OpenAPI document: only they tell a pointer from a value, what is
left out when empty, and the types of API versions that no server serves any more but that Argo CD still
knows. What is kept of a field is one line of text; `whysync.kubernetes.schema.types` explains it.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

OUT = Path(__file__).parents[1] / "src/whysync/kubernetes/schema/data"
STAGING = "staging/src/k8s.io"

# Packages outside k8s.io/api, with the name they get in the tables.
OTHERS = {
    "meta/v1": "apimachinery/pkg/apis/meta/v1",
    "apiextensions/v1": "apiextensions-apiserver/pkg/apis/apiextensions/v1",
    "apiregistration/v1": "kube-aggregator/pkg/apis/apiregistration/v1",
}
# Types with an encoding of their own.
SPECIAL = {
    "resource.Quantity": "quantity",
    "intstr.IntOrString": "int-or-string",
    "meta/v1.Time": "time",
    "meta/v1.MicroTime": "microtime",
    "meta/v1.Duration": "duration",
    "meta/v1.FieldsV1": "raw",
    "runtime.RawExtension": "raw",
    "runtime.Object": "raw",
    "apiextensions/v1.JSON": "raw",
    "apiextensions/v1.JSONSchemaPropsOrArray": "raw",
    "apiextensions/v1.JSONSchemaPropsOrBool": "raw",
    "apiextensions/v1.JSONSchemaPropsOrStringArray": "raw",
    "types.UID": "string",
    "types.NodeName": "string",
    "interface{}": "raw",
    "any": "raw",
}
SCALARS = {
    "string": "string", "bool": "bool", "int": "int64", "int32": "int32", "int64": "int64", "uint8": "uint8",
    "byte": "uint8", "uint16": "uint16", "uint32": "uint32", "uint64": "uint64", "float32": "float",
    "float64": "float", "rune": "int32",
}  # fmt: skip

TYPE = re.compile(r"^type (\w+)\s+(?:=\s*)?(.+)$")
MEMBER = re.compile(r"^\t(?:(\w+(?:, \w+)*)\s+)?([^\s`]+)(?:\s+`([^`]*)`)?\s*(?://.*)?$")
TAG = re.compile(r'(\w+):"((?:[^"\\]|\\.)*)"')
MARK = re.compile(r"^\s*//\s*\+(\w+)=(.*)$")
IMPORT = re.compile(r'^\s*(?:import\s+)?(\w+)?\s*"(k8s\.io/[^"]+)"')
CONST = re.compile(r'^\s*(?:const\s+)?(\w+)(?:\s+\w+)?\s*=\s*"([^"]*)"')
GROUP = re.compile(r'GroupName\s*=\s*"([^"]*)"')
REGISTERED = re.compile(r"&(\w+)\{\}")


@dataclass
class Member:
    name: str
    type: str
    tags: dict[str, str]
    marks: list[tuple[str, str]]


@dataclass
class Package:
    name: str
    imports: dict[str, str] = field(default_factory=dict[str, str])
    structs: dict[str, list[Member]] = field(default_factory=dict[str, list[Member]])
    aliases: dict[str, str] = field(default_factory=dict[str, str])
    marks: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    consts: dict[str, str] = field(default_factory=dict[str, str])
    group: str = ""
    kinds: list[str] = field(default_factory=list[str])
    in_scheme: bool = False


def package_of(path: str) -> str:
    """`k8s.io/api/core/v1` → `core/v1`; other libraries keep their last part."""
    if path.startswith("k8s.io/api/"):
        return path.removeprefix("k8s.io/api/")
    for name, folder in OTHERS.items():
        if path == f"k8s.io/{folder}":
            return name
    return path.rpartition("/")[2]


def read_file(package: Package, text: str) -> None:
    comments: list[str] = []
    members: list[Member] | None = None
    for line in text.splitlines():
        if members is not None:
            if line == "}":
                members = None
            elif line.strip().startswith("//"):
                comments.append(line)
            elif match := MEMBER.match(line):
                names, kind, tags = (
                    match[1] or match[2].rpartition(".")[2].lstrip("*"),
                    match[2],
                    match[3] or "",
                )
                marks = [(m[1], m[2].strip()) for c in comments if (m := MARK.match(c))]
                member = Member(names, kind, dict(TAG.findall(tags)), marks)
                members.append(member)
                comments = []
            continue
        if match := IMPORT.match(line):
            path = match[2]
            package.imports[match[1] or path.rpartition("/")[2]] = package_of(path)
        elif line.startswith("//"):
            comments.append(line)
            continue
        elif match := TYPE.match(line):
            name, definition = match[1], match[2].strip()
            package.marks[name] = {m[1]: m[2].strip() for c in comments if (m := MARK.match(c))}
            if definition == "struct {":
                members = package.structs[name] = []
            elif definition == "struct{}" or definition.startswith("struct {}"):
                package.structs[name] = []
            elif not definition.startswith("interface"):
                package.aliases[name] = definition.partition(" //")[0].strip()
        elif match := CONST.match(line):
            package.consts[match[1]] = match[2]
        comments = []


def read_package(folder: Path, name: str, in_scheme: bool) -> Package:
    package = Package(name, in_scheme=in_scheme)
    for file in sorted(folder.glob("*.go")):
        if not file.name.endswith("_test.go") and not file.name.startswith(("zz_", "generated")):
            read_file(package, file.read_text())
    register = folder / "register.go"
    if register.exists():
        text = register.read_text()
        match = GROUP.search(text) or GROUP.search((folder.parent / "register.go").read_text())
        package.group = match[1] if match else ""
        package.kinds = sorted({k for k in REGISTERED.findall(text) if k in package.structs})
    return package


class Tables:
    def __init__(self, packages: dict[str, Package]) -> None:
        self.packages = packages

    def expression(self, package: Package, kind: str) -> str:
        """A Go type in our notation, aliases resolved: `*int32`, `[]Container`, `{}quantity`."""
        if kind.startswith("*"):
            return "*" + self.expression(package, kind[1:])
        if kind == "[]byte":
            return "bytes"
        if kind.startswith("[]"):
            return "[]" + self.expression(package, kind[2:])
        if kind.startswith("map["):
            return "{}" + self.expression(package, kind[kind.index("]") + 1 :])
        if kind in SCALARS:
            return SCALARS[kind]
        if "." in kind:
            prefix, _, name = kind.partition(".")
            home = package.imports.get(prefix, prefix)
        else:
            home, name = package.name, kind
        full = f"{home}.{name}"
        if kind in SPECIAL or full in SPECIAL:
            return SPECIAL.get(full) or SPECIAL[kind]
        other = self.packages[home]
        if name in other.structs:
            return name if other is package else full
        return self.expression(other, other.aliases[name])

    def fields(self, package: Package, name: str) -> dict[str, str]:
        lines: dict[str, str] = {}
        for member in package.structs[name]:
            json_name, *options = member.tags.get("json", "").split(",")
            if json_name == "-" or "json" not in member.tags:
                continue
            if "inline" in options or not json_name:
                name_here = self.expression(package, member.type.lstrip("*"))
                package_name, _, inner = name_here.rpartition(".")
                home = self.packages[package_name] if package_name else package
                for key, line in self.fields(home, inner).items():
                    lines.setdefault(key, self.moved(home, package, line))
                continue
            lines[json_name] = self.line(package, member, options)
        return lines

    def moved(self, home: Package, package: Package, line: str) -> str:
        """A field line of an inlined struct, as seen from the package that inlines it."""
        if home is package:
            return line
        kind, bar, rest = line.partition("|")
        lead = re.match(r"^(?:\*|\[\]|\{\})*", kind)
        assert lead is not None
        name = kind[lead.end() :]
        if name in home.structs and name not in SCALARS.values():
            kind = f"{lead[0]}{home.name}.{name}"
        return kind + bar + rest

    def line(self, package: Package, member: Member, options: list[str]) -> str:
        kind = self.expression(package, member.type)
        marks = dict(member.marks)
        keys = [value for name, value in member.marks if name == "listMapKey"]
        alias = package.marks.get(member.type, {}) if member.type in package.aliases else {}
        parts = [kind]
        if "omitempty" in options:
            parts.append("o")
        if "omitzero" in options:
            parts.append("z")
        if "string" in options:
            parts.append("quoted")
        strategy, merge_key = member.tags.get("patchStrategy"), member.tags.get("patchMergeKey")
        if strategy:
            parts.append(f"p={strategy}")
        if merge_key:
            parts.append(f"k={merge_key}")
        list_type = marks.get("listType") or alias.get("listType")
        if list_type == "map":
            parts.append(f"l={','.join(keys)}")
        elif list_type in {"set", "atomic"}:
            parts.append(list_type)
        elif marks.get("mapType") == "atomic" or marks.get("structType") == "atomic":
            parts.append("atomic")
        elif kind.lstrip("*").startswith("[]") and strategy and strategy.startswith("merge"):
            # The API server reads the strategic tags when no list type is declared.
            parts.append(f"l={merge_key}" if merge_key else "set")
        if default := marks.get("default"):
            if default.startswith("ref("):
                default = json.dumps(package.consts[default[4:-1].rpartition(".")[2]])
            parts.append(f"d={default}")
        return "|".join(parts)

    def reachable(self, package: Package) -> set[str]:
        """Local structs worth keeping: the kinds, and what other packages or kinds use."""
        return {name for name in package.structs if not name.endswith("List") or name in package.kinds}

    def table(self, package: Package) -> dict[str, object]:
        types: dict[str, object] = {}
        for name in sorted(self.reachable(package)):
            if f"{package.name}.{name}" in SPECIAL:
                continue
            try:
                fields = self.fields(package, name)
            except KeyError:
                continue  # options and helpers that never travel inside an object
            if fields or name in package.kinds or not package.structs[name]:
                types[name] = fields
        atomic = sorted(
            name
            for name in types
            if "atomic" in (package.marks[name].get("structType"), package.marks[name].get("mapType"))
        )
        return {"types": types, "atomic": atomic}


def main(root: Path) -> None:
    base = root / STAGING
    register = (base / "client-go/kubernetes/scheme/register.go").read_text()
    scheme = set(re.findall(r'"k8s\.io/api/([^"]+)"', register))
    packages = {
        name: read_package(folder, name, name in scheme)
        for folder in sorted((base / "api").glob("*/v*"))
        if (name := f"{folder.parent.name}/{folder.name}") and (folder / "types.go").exists()
    }
    for name, path in OTHERS.items():
        packages[name] = read_package(base / path, name, in_scheme=False)
    tables = Tables(packages)
    OUT.mkdir(parents=True, exist_ok=True)
    for old in OUT.glob("*.json"):
        if old.name != "releases.json":  # that is `tools.releases`
            old.unlink()
    index: dict[str, object] = {}
    names = [name for name, p in packages.items() if p.in_scheme or name in OTHERS]
    for name in names:
        package = packages[name]
        table = tables.table(package)
        if name != "meta/v1":
            version = name.rpartition("/")[2]
            index[f"{package.group}/{version}" if package.group else version] = {
                "package": name,
                "scheme": package.in_scheme,
                "kinds": [k for k in package.kinds if k in table["types"]],  # type: ignore[operator]
            }
        write(OUT / f"{name.replace('/', '.')}.json", table)
    write(OUT / "index.json", index)


def write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, sort_keys=True, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
