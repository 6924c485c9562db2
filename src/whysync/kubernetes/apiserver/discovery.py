"""The served kinds: built-in kinds, and those of CustomResourceDefinitions."""

from __future__ import annotations

from functools import cache

from whysync.json_tree import Object, fields, text
from whysync.kubernetes.api.ref import group_of
from whysync.kubernetes.apiserver.builtin_kinds import Resource, built_in
from whysync.kubernetes.apiserver.custom_resources import CustomResource, custom_resources_of
from whysync.kubernetes.apiserver.protocol import ServedKind
from whysync.kubernetes.apiserver.request import UrlPath
from whysync.kubernetes.apiserver.resource_kind import BuiltIn, Served
from whysync.kubernetes.apiserver.status_errors import NoSuchPath, no_such_resource
from whysync.kubernetes.apiserver.storage import Store

_DEFINITIONS = ("apiextensions.k8s.io", "customresourcedefinitions")


class _ServedResources:
    """All served resources, indexed; valid until a definition changes."""

    def __init__(self, customs: list[CustomResource]) -> None:
        self.customs = customs
        self.kinds = [*built_in().values(), *(custom.resource for custom in customs)]
        self.groups = {resource.group for resource in built_in().values()}
        self.versions = {custom.resource.api_version for custom in customs}
        self.by_path: dict[tuple[str, str], CustomResource] = {}
        self.by_kind: dict[tuple[str, str], Resource] = {}
        self.by_store: dict[tuple[str, str], Resource] = {}
        for custom in customs:
            resource = custom.resource
            self.by_path.setdefault((resource.api_version, resource.plural), custom)
        for resource in self.kinds:
            self.by_kind.setdefault((resource.api_version, resource.kind), resource)
            self.by_store.setdefault(resource.store, resource)
        self.served_kinds = tuple(
            ServedKind(
                group=resource.group,
                version=resource.version,
                kind=resource.kind,
                plural=resource.plural,
                namespaced=resource.namespaced,
            )
            for resource in self._preferred_first()
            if resource.kept
        )

    def _preferred_first(self) -> list[Resource]:
        """Groups in their order, the preferred version of a group first."""
        order = {group: index for index, group in enumerate(dict.fromkeys(kind.group for kind in self.kinds))}
        newest = sorted(self.kinds, key=lambda resource: version_rank(resource.version), reverse=True)
        return sorted(newest, key=lambda resource: order[resource.group])


@cache
def _without_definitions() -> _ServedResources:
    """The built-in kinds: the same for every cluster."""
    return _ServedResources([])


def version_rank(version: str) -> tuple[int, int, int]:
    """Stable versions above beta above alpha, later ones above earlier ones."""
    major, stage, minor = version.removeprefix("v"), 2, "0"
    for rank, name in ((1, "beta"), (0, "alpha")):
        if name in major:
            major, _, minor = major.partition(name)
            stage = rank
            break
    return stage, _number(major), _number(minor)


def _number(digits: str) -> int:
    return int(digits) if digits.isdecimal() and len(digits) < 10 else -1


class Discovery:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._built_in: dict[tuple[str, str], BuiltIn] = {}
        self._customs: dict[str, tuple[str, list[CustomResource]]] = {}
        self._writes = -1
        self._known = _without_definitions()

    def served(self, address: UrlPath) -> Served:
        """The served kind of a path. Raises `NoSuchPath`, or `Refused` in a known group or version."""
        key = (address.api_version, address.plural)
        cached = self._built_in.get(key)
        if cached is not None:
            return cached
        resource = built_in().get(key)
        if resource is None or not resource.kept:
            catalogue = self._catalogue()
            custom = catalogue.by_path.get(key)
            if custom is None:
                version = address.api_version
                if group_of(version) in catalogue.groups or version in catalogue.versions:
                    raise no_such_resource()
                raise NoSuchPath
            return custom
        self._built_in[key] = BuiltIn(resource)
        return self._built_in[key]

    def _catalogue(self) -> _ServedResources:
        """The served resources, computed again after a definition was written."""
        writes = self._store.writes(_DEFINITIONS)
        if writes != self._writes:
            customs = self._read()
            self._known = _ServedResources(customs) if customs else _without_definitions()
            self._writes = writes
        return self._known

    def _read(self) -> list[CustomResource]:
        """Custom resources of the definitions in the store; a definition is read again after a change."""
        custom_resources: list[CustomResource] = []
        for object_key, definition in self._store.within(_DEFINITIONS):
            revision = text(fields(definition.get("metadata")).get("resourceVersion"))
            cached = self._customs.get(object_key[2])
            if cached is None or cached[0] != revision:
                cached = self._customs[object_key[2]] = (revision, custom_resources_of(definition))
            custom_resources.extend(cached[1])
        return custom_resources

    def customs(self) -> list[CustomResource]:
        return self._catalogue().customs

    def served_kinds(self) -> tuple[ServedKind, ...]:
        """The kinds whose objects are stored, as discovery lists them."""
        return self._catalogue().served_kinds

    def of_object(self, obj: Object) -> Resource | None:
        return self._catalogue().by_kind.get((text(obj.get("apiVersion")), text(obj.get("kind"))))

    def of_store(self, store: tuple[str, str]) -> Resource | None:
        """The kind, in one of its versions, with this storage key."""
        return self._catalogue().by_store.get(store)
