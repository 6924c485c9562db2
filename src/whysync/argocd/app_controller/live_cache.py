"""Argo CD's cache of one cluster: all live objects, the app that each belongs to, and update events.

It reads the journal of writes, so its cost depends on the number of changes, not of objects. Mirrors
gitops-engine's cluster cache and `OnResourceUpdated` of `controller/cache`, Argo CD 3.6: a change of an app's
own object leads to a comparison, unless only ignored fields (by default `status`) change and the health code
stays the same; a change of a child object only updates the resource tree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Protocol

import msgspec

from whysync.argocd.app_controller.destination import Destination
from whysync.argocd.compare.kind_scopes import Scopes
from whysync.argocd.compare.live_objects import LiveStateProblem, in_version
from whysync.argocd.health.assess import health_of
from whysync.argocd.ignore_differences import BadRule, Normalizer
from whysync.argocd.settings import Settings, resource_excluded
from whysync.argocd.tracking import owner_of
from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.api.ref import Key, group_of, key_of
from whysync.kubernetes.merge.structured import DEDUCED, Atom, Schemas

_NO_REFRESH: Final = (("", "Endpoints"),)
"""Kinds that change often; their changes never lead to a refresh."""
_DEFINITIONS: Final = ("apiextensions.k8s.io", "customresourcedefinitions")
_MAX_KEYS: Final = 50_000
_NEVER_CACHED: Final = (("", "Event"), ("events.k8s.io", "Event"))


class ObjectUpdatedHandler(Protocol):
    def __call__(self, instance: str, *, own: bool) -> None:
        """`own`: the object is a resource of the app, not a child of one."""
        ...


class LiveCache:
    """`ignores_no_updates`: `resource.ignoreResourceUpdatesEnabled` is false."""

    def __init__(
        self, destination: Destination, settings: Settings, *, ignores_no_updates: bool = False
    ) -> None:
        self.destination = destination
        self.written_argocd_objects: list[Key] = []
        """Objects of Argo CD's kinds that were written since the list was last emptied."""
        self._store = destination.api_server.store
        self._position = 0
        self.rebuild(settings, ignores_no_updates=ignores_no_updates)

    def rebuild(self, settings: Settings, *, ignores_no_updates: bool = False) -> None:
        """Applies new settings and evaluates all objects again."""
        self._settings = settings
        self._by_key: dict[Key, Object] = {}
        self._by_owner: defaultdict[str, dict[Key, Object]] = defaultdict(dict)
        self._children: defaultdict[Key, dict[Key, None]] = defaultdict(dict)
        self._owner_of: dict[Key, str] = {}
        self._keys: dict[int, tuple[Object, Key]] = {}
        self._watched_states: dict[Key, tuple[Object, object]] = {}
        self._excluded: dict[tuple[str, str], bool] = {}
        self._scopes: Scopes | None = None
        self._schemas: Schemas | None = None
        self._normalizer = None if ignores_no_updates else _normalizer(settings)
        for _, obj in self._store.everything():
            key = key_of(obj)
            self._put(key, obj)
            if key.group == "argoproj.io":
                self.written_argocd_objects.append(key)
        self._position = len(self._store.journal)

    def process_writes(self, on_updated: ObjectUpdatedHandler) -> bool:
        """Processes new writes; calls `on_updated` for each affected app."""
        journal = self._store.journal
        if self._position == len(journal):
            return False
        while self._position < len(journal):
            change = journal[self._position]
            self._position += 1
            key = key_of(change.obj)
            if key.group == "argoproj.io":
                self.written_argocd_objects.append(key)
            if key.kind == "CustomResourceDefinition":
                self._scopes = self._schemas = None
            if self._is_excluded(key):
                continue
            before = self._by_key.get(key)
            is_deleted = change.type == "DELETED"
            apps = {} if before is None else self._apps(key, before)
            if is_deleted:
                self._drop(key)
            else:
                self._put(key, change.obj)
                if before is not None and self._skip_resource_update(key, before, change.obj):
                    continue
                for app, own in self._apps(key, change.obj).items():
                    apps[app] = own or apps.get(app, False)
            if (key.group, key.kind) in _NO_REFRESH:
                continue
            for app, own in apps.items():
                on_updated(app, own=own)
        return True

    # --- queries of a comparison -----------------------------------------------------------------

    def managed(self, instance: str, targets: Sequence[Object]) -> dict[Key, Object]:
        if self.destination.unreachable:
            server = self.destination.server
            raise LiveStateProblem(f'failed to get cluster info for "{server}": {self.problem}')
        self._check_managed(targets)
        managed = dict(self._by_owner[instance]) if instance in self._by_owner else {}
        if len(self._keys) > _MAX_KEYS:
            self._keys.clear()
        for target in targets:
            cached = self._keys.get(id(target))
            if cached is None or cached[0] is not target:
                cached = self._keys[id(target)] = target, key_of(target)
            key = cached[1]
            live = self._by_key.get(key)
            if live is not None:
                managed[key] = in_version(live, target)
        return managed

    def _check_managed(self, targets: Sequence[Object]) -> None:
        """If Argo CD manages only some namespaces, an object elsewhere fails the comparison."""
        for target in targets if self.destination.namespaces else ():
            key = key_of(target)
            if self._is_managed(key):
                continue
            if not key.namespace:
                message = f'cluster level {key.kind} "{key.name}" can not be managed when in namespaced mode'
                raise LiveStateProblem(message)
            raise LiveStateProblem(f'namespace "{key.namespace}" for {key.kind} "{key.name}" is not managed')

    @property
    def problem(self) -> str:
        """The error of each request to an unreachable cluster."""
        return f"error synchronizing cache state : {self.destination.unreachable}"

    @property
    def scopes(self) -> Scopes:
        if self._scopes is None:
            self._scopes = Scopes.from_objects(self._definitions())
        return self._scopes

    @property
    def schemas(self) -> Schemas:
        if self._schemas is None:
            self._schemas = _Schemas()
            self._schemas.add_definitions(self._definitions())
        return self._schemas

    def get(self, key: Key) -> Object | None:
        return self._by_key.get(key)

    @property
    def position(self) -> int:
        """The number of journal entries that were read; the cache is unchanged while it is the same."""
        return self._position

    def tree(self, instance: str) -> Iterator[Object]:
        """The app's own objects and their descendants by owner reference."""
        return self.below(self._by_owner.get(instance, ()))

    def top_level(self, namespace: str) -> Iterator[tuple[Key, str]]:
        """Objects of a namespace without an owner, each with the instance name of its tracking metadata."""
        for key, obj in self._by_key.items():
            if key.namespace == namespace and not dig(obj, "metadata", "ownerReferences"):
                yield key, self._owner_of.get(key, "")

    def below(self, keys: Iterable[Key]) -> Iterator[Object]:
        """The objects with these keys and their descendants."""
        pending = list(keys)
        visited: set[Key] = set()
        while pending:
            key = pending.pop()
            if key in visited:
                continue
            visited.add(key)
            obj = self._by_key.get(key)
            if obj is not None:
                yield obj
            pending += self._children.get(key, ())

    def objects(self) -> Iterator[Object]:
        yield from self._by_key.values()

    # --- the index -------------------------------------------------------------------------------

    def _definitions(self) -> list[Object]:
        """CRDs, which are known from discovery even if they are excluded."""
        return [obj for _, obj in self._store.within(_DEFINITIONS)]

    def _put(self, key: Key, obj: Object) -> None:
        if self._is_excluded(key):
            return
        self._by_key[key] = obj
        owners = items(dig(obj, "metadata", "ownerReferences"))
        for owner in owners:
            self._children[_owner_key(fields(owner), key.namespace)][key] = None
        app = "" if owners else self._owner(obj)
        before = self._owner_of.pop(key, "")
        if before and before != app:
            del self._by_owner[before][key]
        if app:
            self._owner_of[key] = app
            self._by_owner[app][key] = obj

    def _drop(self, key: Key) -> None:
        removed = self._by_key.pop(key, {})
        self._watched_states.pop(key, None)
        app = self._owner_of.pop(key, "")
        if app:
            del self._by_owner[app][key]
        for owner in items(dig(removed, "metadata", "ownerReferences")):
            self._children[_owner_key(fields(owner), key.namespace)].pop(key, None)

    def _is_excluded(self, key: Key) -> bool:
        group_kind = key.group, key.kind
        is_excluded = self._excluded.get(group_kind)
        if is_excluded is None:
            is_excluded = group_kind in _NEVER_CACHED or resource_excluded(
                self._settings, key.group, key.kind, self.destination.server
            )
            self._excluded[group_kind] = is_excluded
        return is_excluded or not self._is_managed(key)

    def _is_managed(self, key: Key) -> bool:
        only = self.destination.namespaces
        if not key.namespace:
            return not only or self.destination.cluster_resources
        return not only or key.namespace in only

    def _owner(self, obj: Object) -> str:
        settings = self._settings
        return owner_of(
            obj,
            method=settings.tracking_method,
            label_key=settings.instance_label_key,
            installation_id=settings.installation_id,
        )

    def _apps(self, key: Key, obj: Object) -> dict[str, bool]:
        """The app that the object belongs to; true if it is a resource of the app, not a child of one."""
        visited: set[Key] = set()
        pending = [(key, obj)]
        while pending:
            current, body = pending.pop()
            if current in visited:
                continue
            visited.add(current)
            owners = items(dig(body, "metadata", "ownerReferences"))
            app = "" if owners else self._owner(body)
            if app:
                return {app: current == key}
            for owner in owners:
                parent = _owner_key(fields(owner), key.namespace)
                owner_object = self._by_key.get(parent)
                if owner_object is not None:
                    pending.append((parent, owner_object))
        return {}

    # --- ignored updates -------------------------------------------------------------------------

    def _skip_resource_update(self, key: Key, before: Object, after: Object) -> bool:
        if not self._owner(after) or self._normalizer is None:
            return False
        return self._watched_state(key, before) == self._watched_state(key, after)

    def _watched_state(self, key: Key, obj: Object) -> object:
        """The watched part of an object: its health code, and all fields that are not ignored."""
        cached = self._watched_states.get(key)
        if cached is not None and cached[0] is obj:
            return cached[1]
        assert self._normalizer is not None
        health = health_of(obj, self._settings.overrides)
        watched = msgspec.json.encode(self._normalizer.normalize(obj), order="deterministic")
        state = (health.code if health else None, watched)
        self._watched_states[key] = obj, state
        return state


class _Schemas(Schemas):
    def atom(self, api_version: str, kind: str) -> Atom:
        return super().atom(api_version, kind) or DEDUCED


def _normalizer(settings: Settings) -> Normalizer | None:
    try:
        return Normalizer.build((), settings.resource_update_overrides())
    except BadRule:
        return None


def _owner_key(owner: Object, namespace: str) -> Key:
    group = group_of(text(owner.get("apiVersion")))
    return Key(group, text(owner.get("kind")), namespace, text(owner.get("name")))
