"""Argo CD's cache of one cluster: all live objects, whose they are, and which app a change is news for.

It follows the journal of writes, so that its cost is by change, not by object. Mirrors gitops-engine's
cluster cache and `OnResourceUpdated` of `controller/cache`, Argo CD 3.6: a change of an app's own object is
worth a comparison, unless it touches ignored fields only (status, by default) and leaves the health code as
it was; a change of what an app's object has made merely redraws the tree.
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
from whysync.kubernetes.api.ref import Key, group_of, ref_of
from whysync.kubernetes.merge.structured import DEDUCED, Atom, Schemas

_QUIET: Final = (("", "Endpoints"),)
"""High churn, of no interest to an app."""
_DEFINITIONS: Final = ("apiextensions.k8s.io", "customresourcedefinitions")
_MOST_KEYS: Final = 50_000
_UNSEEN: Final = (("", "Event"), ("events.k8s.io", "Event"))


class Tell(Protocol):
    def __call__(self, instance: str, *, own: bool) -> None:
        """`own`: it is a resource of the app itself, not a child of one."""
        ...


class LiveCache:
    """`watches_all`: a change of ignored fields is news too, as a setting can have it."""

    def __init__(self, destination: Destination, settings: Settings, *, watches_all: bool = False) -> None:
        self.destination = destination
        self.own_kinds: list[Key] = []
        """Objects of Argo CD's own kinds that were written since somebody last asked."""
        self._store = destination.api_server.store
        self._read = 0
        self.learn(settings, watches_all=watches_all)

    def learn(self, settings: Settings, *, watches_all: bool = False) -> None:
        """Applies new settings: all objects are evaluated again."""
        self._settings = settings
        self._by_key: dict[Key, Object] = {}
        self._by_owner: defaultdict[str, dict[Key, Object]] = defaultdict(dict)
        self._children: defaultdict[Key, dict[Key, None]] = defaultdict(dict)
        self._owner_of: dict[Key, str] = {}
        self._keys: dict[int, tuple[Object, Key]] = {}
        self._signs: dict[Key, tuple[Object, object]] = {}
        self._excluded: dict[tuple[str, str], bool] = {}
        self._scopes: Scopes | None = None
        self._schemas: Schemas | None = None
        self._normalizer = None if watches_all else _normalizer(settings)
        for _, obj in self._store.everything():
            key = _key(obj)
            self._put(key, obj)
            if key.group == "argoproj.io":
                self.own_kinds.append(key)
        self._read = len(self._store.journal)

    def follow(self, tell: Tell) -> bool:
        """Reads new writes; calls `tell` for each affected app."""
        journal = self._store.journal
        if self._read == len(journal):
            return False
        while self._read < len(journal):
            change = journal[self._read]
            self._read += 1
            key = _key(change.obj)
            if key.group == "argoproj.io":
                self.own_kinds.append(key)
            if key.kind == "CustomResourceDefinition":
                self._scopes = self._schemas = None
            if self._is_excluded(key):
                continue
            before = self._by_key.get(key)
            gone = change.type == "DELETED"
            apps = {} if before is None else self._apps(key, before)
            if gone:
                self._drop(key)
            else:
                self._put(key, change.obj)
                if before is not None and self._is_no_news(key, before, change.obj):
                    continue
                for app, own in self._apps(key, change.obj).items():
                    apps[app] = own or apps.get(app, False)
            if (key.group, key.kind) in _QUIET:
                continue
            for app, own in apps.items():
                tell(app, own=own)
        return True

    # --- what a comparison asks ------------------------------------------------------------------

    def managed(self, instance: str, targets: Sequence[Object]) -> dict[Key, Object]:
        if self.destination.unreachable:
            server = self.destination.server
            raise LiveStateProblem(f'failed to get cluster info for "{server}": {self.problem}')
        self._check_managed(targets)
        managed = dict(self._by_owner[instance]) if instance in self._by_owner else {}
        if len(self._keys) > _MOST_KEYS:
            self._keys.clear()
        for target in targets:
            known = self._keys.get(id(target))
            if known is None or known[0] is not target:
                known = self._keys[id(target)] = target, _key(target)
            key = known[1]
            live = self._by_key.get(key)
            if live is not None:
                managed[key] = in_version(live, target)
        return managed

    def _check_managed(self, targets: Sequence[Object]) -> None:
        """Where Argo CD looks after some namespaces only, one object elsewhere spoils the comparison."""
        for target in targets if self.destination.namespaces else ():
            key = _key(target)
            if self._is_managed(key):
                continue
            if not key.namespace:
                message = f'cluster level {key.kind} "{key.name}" can not be managed when in namespaced mode'
                raise LiveStateProblem(message)
            raise LiveStateProblem(f'namespace "{key.namespace}" for {key.kind} "{key.name}" is not managed')

    @property
    def problem(self) -> str:
        """What every look at a cluster that does not answer ends with."""
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
    def seen(self) -> int:
        """How far the journal was read: as long as it is the same, so is everything here."""
        return self._read

    def tree(self, instance: str) -> Iterator[Object]:
        """The app's own objects and all that these have made, by owner references."""
        return self.below(self._by_owner.get(instance, ()))

    def top_level(self, namespace: str) -> Iterator[tuple[Key, str]]:
        """Objects of a namespace without an owner, each with the instance name of its tracking metadata."""
        for key, obj in self._by_key.items():
            if key.namespace == namespace and not dig(obj, "metadata", "ownerReferences"):
                yield key, self._owner_of.get(key, "")

    def below(self, keys: Iterable[Key]) -> Iterator[Object]:
        """These, and all that they have made."""
        waiting = list(keys)
        seen: set[Key] = set()
        while waiting:
            key = waiting.pop()
            if key in seen:
                continue
            seen.add(key)
            obj = self._by_key.get(key)
            if obj is not None:
                yield obj
            waiting += self._children.get(key, ())

    def objects(self) -> Iterator[Object]:
        yield from self._by_key.values()

    # --- the index -------------------------------------------------------------------------------

    def _definitions(self) -> list[Object]:
        """Known by discovery, whatever is watched."""
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
        gone = self._by_key.pop(key, {})
        self._signs.pop(key, None)
        app = self._owner_of.pop(key, "")
        if app:
            del self._by_owner[app][key]
        for owner in items(dig(gone, "metadata", "ownerReferences")):
            self._children[_owner_key(fields(owner), key.namespace)].pop(key, None)

    def _is_excluded(self, key: Key) -> bool:
        group_kind = key.group, key.kind
        is_excluded = self._excluded.get(group_kind)
        if is_excluded is None:
            is_excluded = group_kind in _UNSEEN or resource_excluded(
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
        seen: set[Key] = set()
        waiting = [(key, obj)]
        while waiting:
            here, body = waiting.pop()
            if here in seen:
                continue
            seen.add(here)
            owners = items(dig(body, "metadata", "ownerReferences"))
            app = "" if owners else self._owner(body)
            if app:
                return {app: here == key}
            for owner in owners:
                parent = _owner_key(fields(owner), key.namespace)
                owner_object = self._by_key.get(parent)
                if owner_object is not None:
                    waiting.append((parent, owner_object))
        return {}

    # --- what is news ----------------------------------------------------------------------------

    def _is_no_news(self, key: Key, before: Object, after: Object) -> bool:
        if not self._owner(after) or self._normalizer is None:
            return False
        return self._sign(key, before) == self._sign(key, after)

    def _sign(self, key: Key, obj: Object) -> object:
        """What is watched of an object: its health code, and all but the ignored fields."""
        known = self._signs.get(key)
        if known is not None and known[0] is obj:
            return known[1]
        assert self._normalizer is not None
        health = health_of(obj, self._settings.overrides)
        watched = msgspec.json.encode(self._normalizer.normalize(obj), order="deterministic")
        sign = (health.code if health else None, watched)
        self._signs[key] = obj, sign
        return sign


class _Schemas(Schemas):
    def atom(self, api_version: str, kind: str) -> Atom:
        return super().atom(api_version, kind) or DEDUCED


def _normalizer(settings: Settings) -> Normalizer | None:
    try:
        return Normalizer.build((), settings.resource_update_overrides())
    except BadRule:
        return None


def _key(obj: Object) -> Key:
    return ref_of(obj).key


def _owner_key(owner: Object, namespace: str) -> Key:
    group = group_of(text(owner.get("apiVersion")))
    return Key(group, text(owner.get("kind")), namespace, text(owner.get("name")))
