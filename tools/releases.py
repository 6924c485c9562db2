"""Write which kinds and fields each release of Kubernetes has: `releases.json` next to the tables of types.

    python -m tools.releases            # downloads the PyPI package kubernetes-validate, once
    python -m tools.releases --check    # compare the tables with the schemas of every release

The tables of `tools/schemas.py` are those of one release. They are compared with the published schemas of the
other releases, kind by kind and field by field. The differences are written: in which releases a kind or a
field exists, and the types of those that the one release does not have. Fields are followed instead of type
names, because upstream splits and renames types without any effect on manifests.
`whysync.kubernetes.schema.releases` explains the notation.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from tools.real_cluster.binaries import cache_directory
from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.schema import kinds, type_named, type_of
from whysync.kubernetes.schema.releases import BASE, NEWEST, OLDEST
from whysync.kubernetes.schema.types import SCALARS, Type

PACKAGE = "kubernetes-validate==1.37.0"
OUT = Path(__file__).parents[1] / "src/whysync/kubernetes/schema/data/releases.json"
ALL = range(OLDEST, NEWEST + 1)

# The schemas of types with an encoding of their own.
SPECIAL = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "microtime",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": "raw",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "raw",
}
FORMATS = {"byte": "bytes", "int32": "int32", "int64": "int64", "date-time": "time"}

Definitions = dict[str, Object]


def schemas(*, strict: bool = False) -> dict[int, Definitions]:
    """The definitions of each release, by its minor number; strict ones allow no other fields."""
    folder = re.compile(rf"/v1\.(\d+)\.\d+-local{'-strict' if strict else ''}/_definitions\.json$")
    by_release: dict[int, Definitions] = {}
    with zipfile.ZipFile(_wheel()) as archive:
        for name in archive.namelist():
            if at := folder.search(name):
                by_release[int(at[1])] = json.loads(archive.read(name))["$defs"]
    assert sorted(by_release) == list(ALL), f"the package has the releases {sorted(by_release)}"
    return by_release


def _wheel() -> Path:
    home = cache_directory().parent / "schemas"
    home.mkdir(parents=True, exist_ok=True)
    name, _, version = PACKAGE.partition("==")
    path = home / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    if not path.exists():
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", PACKAGE, "--dest", str(home)]
        subprocess.run(pip, check=True)
    return path


def our_name(definition: str) -> str:
    """`io.k8s.api.core.v1.PodSpec` → `core/v1.PodSpec`."""
    package, version, short = definition.rsplit(".", 3)[-3:]
    return f"{package}/{version}.{short}"


def roots(definitions: Definitions) -> Iterator[tuple[str, str, str]]:
    """`apiVersion`, kind and definition of everything that can be an object."""
    for name, schema in definitions.items():
        if "metadata" not in fields(schema.get("properties")) or "apimachinery" in name:
            continue
        for group_version_kind in map(fields, items(schema.get("x-kubernetes-group-version-kind"))):
            group, kind = text(group_version_kind.get("group")), text(group_version_kind.get("kind"))
            if not kind.endswith("List"):
                yield (
                    f"{group}/{group_version_kind['version']}"
                    if group
                    else text(group_version_kind["version"]),
                    kind,
                    name,
                )


class History:
    """The releases that have a struct, and those of them in which it has a field."""

    def __init__(self) -> None:
        self.kinds: dict[tuple[str, str], set[int]] = {}
        self.met: dict[str, set[int]] = {}
        self.had: dict[str, dict[str, set[int]]] = {}
        self.lines: dict[str, dict[str, str]] = {}
        """Fields that the tables do not have."""
        self.names: dict[tuple[str, str], str] = {}

    def walk(self, release: int, definitions: Definitions) -> None:
        visited: set[tuple[str, str]] = set()
        for api_version, kind, definition in roots(definitions):
            self.kinds.setdefault((api_version, kind), set()).add(release)
            table_type = type_of(api_version, kind)
            name = table_type.name if table_type else our_name(definition)
            self.names[api_version, kind] = name
            self._struct(release, definitions, name, definition, visited)

    def _struct(
        self,
        release: int,
        definitions: Definitions,
        name: str,
        definition: str,
        visited: set[tuple[str, str]],
    ) -> None:
        if (name, definition) in visited:
            return
        visited.add((name, definition))
        self.met.setdefault(name, set()).add(release)
        had = self.had.setdefault(name, {})
        known_fields = table_fields(name)
        for key, schema in fields(definitions[definition].get("properties")).items():
            had.setdefault(key, set()).add(release)
            below = _struct_in(fields(schema))
            if key in known_fields:
                inner = known_fields[key]
                while inner.kind in ("list", "map"):
                    inner = inner.of
                if below and inner.kind == "struct":
                    self._struct(release, definitions, inner.name, below, visited)
                continue
            self.lines.setdefault(name, {})[key] = _line(fields(schema), name)
            if below:
                self._struct(release, definitions, our_name(below), below, visited)


def table_fields(name: str) -> dict[str, Type]:
    """The fields of a struct in the tables; empty for a struct that they do not contain."""
    return {key: field.type for key, field in type_named(name).struct.fields.items()}


def is_object(api_version: str, kind: str) -> bool:
    table_type = type_of(api_version, kind)
    return table_type is not None and "metadata" in table_type.struct.fields and not kind.endswith("List")


def _struct_in(schema: Object) -> str:
    """The definition that a field references, through lists and maps."""
    for key in ("items", "additionalProperties"):
        if isinstance(inner := schema.get(key), dict):
            return _struct_in(inner)
    ref = text(schema.get("$ref")).removeprefix("#/$defs/")
    return "" if ref in SPECIAL or ".JSON" in ref else ref


def _line(schema: Object, home: str) -> str:
    if isinstance(inner := schema.get("items"), dict):
        return f"[]{_line(inner, home)}"
    if isinstance(inner := schema.get("additionalProperties"), dict):
        return f"{{}}{_line(inner, home)}"
    if ref := text(schema.get("$ref")).removeprefix("#/$defs/"):
        if ref in SPECIAL:
            return SPECIAL[ref]
        name = our_name(ref)
        package, _, short = name.partition(".")
        return short if package == home.partition(".")[0] and short not in SCALARS else name
    if form := FORMATS.get(text(schema.get("format"))):
        return form
    return {"string": "string", "boolean": "bool", "integer": "int64", "number": "float"}.get(
        _plain(schema.get("type")), "raw"
    )


def _plain(kind: Json) -> str:
    """`["string", "null"]` is a string: anything may be left empty."""
    return text(items(kind)[0]) if isinstance(kind, list) else text(kind)


def span(releases: set[int], possible: set[int]) -> str:
    """`34-` since, `-27` until, `35-35` both; empty if all releases have it."""
    first, last = min(releases), max(releases)
    assert releases == {release for release in possible if first <= release <= last}, (
        f"it came back: {sorted(releases)}"
    )
    since = str(first) if first > min(possible) else ""
    until = str(last) if last < max(possible) else ""
    return f"{since}-{until}" if since or until else ""


def table(history: History) -> dict[str, object]:
    known_kinds = kinds()
    kinds_out: dict[str, dict[str, str]] = {}
    for (api_version, kind), releases in sorted(history.kinds.items()):
        range_text = span(releases, set(ALL))
        beyond = kind not in known_kinds.get(api_version, ())
        if range_text or beyond:
            own = f"|{history.names[api_version, kind]}" if beyond else ""
            kinds_out.setdefault(api_version, {})[kind] = range_text + own
    for api_version, names in known_kinds.items():
        for kind in sorted(names):
            if (api_version, kind) not in history.kinds and is_object(api_version, kind):
                kinds_out.setdefault(api_version, {})[kind] = f"-{OLDEST - 1}"
    fields_out: dict[str, dict[str, str]] = {}
    for name, possible in sorted(history.met.items()):
        # Fields added to Go types after the last release that served their version.
        entries = dict.fromkeys(table_fields(name).keys() - history.had[name].keys(), f"{BASE}-")
        for key, releases in sorted(history.had[name].items()):
            line = history.lines.get(name, {}).get(key, "")
            range_text = span(releases, possible)
            if range_text or line:
                entries[key] = f"{range_text}|{line}" if line else range_text
        if entries or not table_fields(name):
            fields_out[name] = entries
    return {"kinds": kinds_out, "fields": fields_out}


def main() -> None:
    by_release = schemas()
    if "--check" in sys.argv:
        sys.exit(_check(by_release))
    history = History()
    for release, definitions in by_release.items():
        history.walk(release, definitions)
    OUT.write_text(json.dumps(table(history), sort_keys=True, separators=(",", ":")) + "\n")


def _check(by_release: dict[int, Definitions]) -> str | None:
    """Compare every field of every object of every release in the tables and in the schemas."""
    from whysync.kubernetes.schema.releases import fields_in, type_in

    problems: list[str] = []
    checked = 0

    def compare(release: int, kind: Type, definition: str, at: str, seen: set[tuple[str, str]]) -> None:
        nonlocal checked
        if (kind.name, definition) in seen:
            return
        seen.add((kind.name, definition))
        ours, theirs = (
            fields_in(kind.struct, release),
            fields(by_release[release][definition].get("properties")),
        )
        checked += len(theirs)
        problems.extend(f"1.{release} {at}.{key}: only in our tables" for key in ours if key not in theirs)
        problems.extend(f"1.{release} {at}.{key}: only in the schemas" for key in theirs if key not in ours)
        for key, schema in theirs.items():
            below = _struct_in(fields(schema))
            inner = ours[key].type if key in ours else None
            while inner is not None and inner.kind in ("list", "map"):
                inner = inner.of
            if below and inner is not None and inner.kind == "struct":
                compare(release, inner, below, f"{at}.{key}", seen)

    for release, definitions in by_release.items():
        seen: set[tuple[str, str]] = set()
        for api_version, kind, definition in roots(definitions):
            table_type = type_in(api_version, kind, release)
            if table_type is None:
                problems.append(f"1.{release} {api_version} {kind}: only in the schemas")
            else:
                compare(release, table_type, definition, f"{api_version} {kind}", seen)
    sys.stdout.write("".join(f"{line}\n" for line in problems))
    sys.stdout.write(
        f"{checked} fields of {len(by_release)} releases, {len(problems)} differ (tables: 1.{BASE})\n"
    )
    return "the tables are not those of the schemas" if problems else None


if __name__ == "__main__":
    main()
