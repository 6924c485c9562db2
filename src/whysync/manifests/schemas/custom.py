"""Validate custom kinds: the CRDs of the tree and of `--crds`, and Argo CD's three kinds."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from whysync.argocd.api.own_kinds import GROUP, VERSION, own_definitions
from whysync.json_tree import Object, fields, items, text
from whysync.kubernetes.apiserver.builtin_kinds import Resource
from whysync.kubernetes.apiserver.custom_resources import CustomResource
from whysync.kubernetes.apiserver.status_errors import Refused
from whysync.kubernetes.merge.structured import DEDUCED
from whysync.kubernetes.schema.releases import BASE
from whysync.manifests.schemas.built_in import field_violations
from whysync.manifests.schemas.violation import SchemaViolation, ViolationKind, as_pointer


class Definitions:
    """By `apiVersion` and kind; a tree may have several copies of a CRD, any of which may be the right one.

    A CRD with a folder applies only to files in this folder, in its parents and below it.
    """

    def __init__(self) -> None:
        self._bodies: dict[tuple[str, str], list[tuple[Object, str]]] = {}
        self._homes: dict[tuple[str, str], list[str]] = {}
        self._customs: dict[tuple[str, str, str], list[tuple[CustomResource, str]]] = {}
        self.violations_by_body: dict[bytes, list[SchemaViolation]] = {}
        """Errors in the CRDs themselves, by their bytes."""

    def add(self, bodies: Iterable[Object], folder: str = "", *, home: str = "") -> None:
        """`home` is the folder of a CRD of which it is not known whether it is deployed at all."""
        for body in bodies:
            spec = fields(body.get("spec"))
            key = text(spec.get("group")), text(fields(spec.get("names")).get("kind"))
            self._homes.setdefault(key, []).append(home)
            copies = self._bodies.setdefault(key, [])
            if all(other.get("spec") != spec or scope not in ("", folder) for other, scope in copies):
                copies.append((body, folder))

    def of(self, group: str, version: str, kind: str, path: str) -> list[CustomResource]:
        """The CRDs that apply to an object in this file."""
        key = group, version, kind
        if key not in self._customs:
            self._customs[key] = [
                (custom, folder)
                for body, folder in self._bodies.get((group, kind), ())
                for custom in _customs(body)
                if custom.resource.version == version
            ]
        definitions = [custom for custom, folder in self._customs[key] if _applies(folder, path)]
        if group == GROUP and version == VERSION and not (definitions and self.is_certain(group, kind, path)):
            return [*definitions, *_own_kinds().get(kind, [])]
        return definitions

    def is_certain(self, group: str, kind: str, path: str) -> bool:
        """Is one of the CRDs deployed, or next to this file? Otherwise the cluster may have another one."""
        homes = self._homes.get((group, kind))
        return homes is None or any(_applies(home, path) for home in homes)

    def is_namespaced(self, group: str, kind: str) -> bool | None:
        """`None` without a CRD, or if the CRDs differ."""
        scopes = {
            fields(body.get("spec")).get("scope") != "Cluster"
            for body, _ in self._bodies.get((group, kind), ())
        }
        return scopes.pop() if len(scopes) == 1 else None

    def versions_of(self, group: str, kind: str, path: str) -> list[str]:
        """The versions that the CRDs serve; none without a CRD."""
        bodies = [body for body, folder in self._bodies.get((group, kind), ()) if _applies(folder, path)]
        return [text(version.get("name")) for body in bodies for version in _served(body)]


def _applies(folder: str, path: str) -> bool:
    own = path.rpartition("/")[0]
    return not folder or f"{own}/".startswith(f"{folder}/") or f"{folder}/".startswith(f"{own}/")


def _served(definition: Object) -> list[Object]:
    versions = map(fields, items(fields(definition.get("spec")).get("versions")))
    return [version for version in versions if version.get("served") is True]


def _customs(definition: Object) -> list[CustomResource]:
    """Each version separately: storage and field ownership do not matter here."""
    spec = fields(definition.get("spec"))
    names = fields(spec.get("names"))
    return [
        CustomResource(
            Resource(
                group=text(spec.get("group")),
                version=text(version.get("name")),
                kind=text(names.get("kind")),
                plural=text(names.get("plural")),
                namespaced=spec.get("scope") == "Namespaced",
                custom=True,
            ),
            version,
            {},
            DEDUCED,
            terminating=False,
        )
        for version in _served(definition)
    ]


@cache
def _own_kinds() -> dict[str, list[CustomResource]]:
    return {kind: _customs(definition) for kind, definition in own_definitions().items()}


def custom_violations(body: Object, customs: list[CustomResource]) -> list[SchemaViolation]:
    """No violations if one of the CRDs accepts it, otherwise those of the first."""
    first: list[SchemaViolation] | None = None
    for custom in customs:
        violations = _violations(body, custom)
        if not violations:
            return []
        first = violations if first is None else first
    return first or []


def _violations(body: Object, custom: CustomResource) -> list[SchemaViolation]:
    violations: list[SchemaViolation] = []
    try:
        obj, unknown_fields = custom.decode(body)
    except Refused as problem:
        violations = _metadata_violations(body) or [
            SchemaViolation(ViolationKind.TYPE, "/metadata", str(problem))
        ]
        name = text(fields(body.get("metadata")).get("name"))
        obj, unknown_fields = custom.decode({**body, "metadata": {"name": name}})
    for message in unknown_fields:  # as the API server words it
        path = message.removeprefix('unknown field "').removesuffix('"')
        pointer = as_pointer(body, path)
        similar = _similar_field(custom.openapi, pointer)
        violations.append(SchemaViolation(ViolationKind.UNKNOWN, pointer, message, similar, path=path))
    for cause in custom.problems(custom.defaulted(obj), None):
        path = cause.field if cause.field != "<nil>" else ""
        violations.append(
            SchemaViolation(ViolationKind.REJECTED, as_pointer(body, path), f"{path}: {cause.message}")
        )
    return violations


def _metadata_violations(body: Object) -> list[SchemaViolation]:
    """The metadata of all kinds has the same type."""
    typed: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": body.get("metadata")}
    return [
        violation
        for violation in field_violations(typed, "v1", "ConfigMap", BASE)
        if violation.how is ViolationKind.TYPE
    ]


def _similar_field(schema: Object, pointer: str) -> str:
    """A sibling field with a similar name."""
    from difflib import get_close_matches

    *above, last = pointer.split("/")[1:] or [""]
    node = schema
    for part in above:
        if part.isdecimal() and "items" in node:
            node = fields(node.get("items"))
        else:
            node = fields(fields(node.get("properties")).get(part)) or fields(
                node.get("additionalProperties")
            )
    names = list(fields(node.get("properties")))
    folded = next((name for name in names if name.lower() == last.lower()), "")
    return folded or next(iter(get_close_matches(last, names, 1, 0.8)), "")
