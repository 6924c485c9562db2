"""Collect the objects of a bundle by role. They are not masked and must not leave this package."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from whysync.argocd.api.application import Application
from whysync.argocd.api.git_head import Head
from whysync.facts.bundle.attribution import Desired, attributed
from whysync.facts.bundle.entries import Entry, Skipped
from whysync.facts.bundle.header import Header, is_header, merged, read_header
from whysync.facts.bundle.limits import BundleLimits, size
from whysync.facts.bundle.objects import (
    is_managed_resources,
    is_object,
    is_resource_tree,
    managed_states,
    objects_in,
    without_states,
)
from whysync.facts.bundle.roles import KINDS_WITH_ROLES_BY_NAME, BundlePath, bundle_path, roles_of
from whysync.facts.snapshot import Extra, Gap, GapKind, Snapshot
from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.api import yaml
from whysync.kubernetes.api.container_log import Log
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.api.ref import Ref

if TYPE_CHECKING:  # only large bundles need it
    from whysync.facts.bundle.encoded_objects import EncodedObjects
    from whysync.facts.bundle.encoded_objects import Head as ObjectHead

_MANY = 1_000
"""Objects that are handed on together, at most."""
_OBJECTS_ONLY = ("applications", "projects", "settings", "desired", "live", "events")
_HOW_TO_FIX = "fix the file, or export it again with kubectl … -o yaml"


class _Kind(NamedTuple):
    group: str
    version: str
    name: str


class Added(NamedTuple):
    """An object of a file: as one or two manifests, without their bodies if these are not decoded yet."""

    manifests: tuple[Manifest, ...]
    encoded: bytes | None = None


class AddedObjects:
    """Objects of one or several files.

    Of those that are not decoded also the files, and their texts with digits alike.
    """

    def __init__(self) -> None:
        self.objects: list[Added] = []
        self.files: list[bytes] = []
        self.texts: set[bytes] = set()
        self.bytes = 0

    def add_encoded(self, manifests: tuple[Manifest, ...], encoded: bytes) -> None:
        self.objects.append(Added(manifests, encoded))
        self.bytes += len(encoded)

    def add_decoded(self, manifest: Manifest) -> None:
        self.objects.append(Added((manifest,)))


class BundleBuilder:
    def __init__(self, limits: BundleLimits) -> None:
        self.limits = limits
        self.header = Header()
        self.has_header = False
        self.by_role: dict[Role, list[Manifest]] = {role: [] for role in Role}
        self.desired: list[Desired] = []
        self.logs: list[Log] = []
        self.heads: list[Head] = []
        self.facts: list[Extra] = []
        self.gaps: list[Gap] = []
        self.unknown: list[str] = []
        self._new = AddedObjects()
        # Of many objects, equal texts are kept once.
        self._kinds: dict[tuple[str, str, str], tuple[_Kind, tuple[Role, ...]]] = {}
        self._namespaces: dict[str, str] = {}

    def added(self, *, at_least: int = 0) -> AddedObjects | None:
        """The objects that were added since the last call, once they have so many bytes."""
        if self._new.bytes < at_least and len(self._new.objects) < _MANY:
            return None
        new, self._new = self._new, AddedObjects()
        return new

    def add_all(self, other: BundleBuilder) -> None:
        """Add what another input contains."""
        if other.has_header:
            self.header = merged(self.header, other.header) if self.has_header else other.header
            self.has_header = True
        for role, manifests in other.by_role.items():
            self.by_role[role] += manifests
        self.desired += other.desired
        self.logs += other.logs
        self.heads += other.heads
        self.facts += other.facts
        self.gaps += other.gaps
        self.unknown += other.unknown

    def applications(self) -> dict[str, Manifest]:
        """The Applications by `namespace/name`."""
        return {app.ref.place: app for app in self.by_role[Role.APPLICATION]}

    def skip(self, skipped: Skipped) -> None:
        if skipped.is_gap:
            self.gaps.append(
                Gap(
                    kind=GapKind.UNREADABLE,
                    what=skipped.name,
                    why=skipped.why,
                    how_to_get="make the file readable",
                )
            )
        else:
            self.unknown.append(f"{skipped.name} ({skipped.why})" if skipped.why else skipped.name)

    def add(self, entry: Entry, *, packing: bool = False) -> None:
        """Add a file. `packing`: its objects will be packed, and are not decoded if possible."""
        path = bundle_path(entry.name)
        if path.folder == "logs" and path.file.endswith(".log"):
            log, gap = read_log(entry, path, self.limits)
            if log is None:
                self.unknown.append(entry.name)
            else:
                self.logs.append(log)
            self.gaps.extend([gap] if gap else [])
            return
        if packing and path.folder in _OBJECTS_ONLY:
            from whysync.facts.bundle.encoded_objects import encoded_objects

            encoded = encoded_objects(entry.data, depth=self.limits.yaml.depth)
            if encoded is not None:
                self._add_encoded(encoded, path, entry.name)
                self._new.files.append(entry.data)
                return
        number = 0
        for document in yaml.documents(entry.data, limits=self.limits.yaml):
            if isinstance(document, yaml.Broken):
                self.gaps.append(
                    Gap(
                        kind=GapKind.UNREADABLE,
                        what=f"part of {entry.name}",
                        why=str(document),
                        how_to_get=_HOW_TO_FIX,
                    )
                )
                continue
            number = self._add_document(document.body, path, entry.name, number)

    def _add_document(self, body: Json, path: BundlePath, name: str, number: int) -> int:
        """Add one document; `number` counts the objects of the file."""
        origin = _origin(name)
        if is_header(body):
            assert isinstance(body, dict)
            self.header = merged(self.header, read_header(body, name))
            self.has_header = True
        elif path.folder == "git":
            heads = list(heads_in(body))
            self.heads.extend(heads)
            if not heads:
                self.unknown.append(origin(number))
        elif path.folder == "facts" and not _is_managed(body):
            content: Object = body if isinstance(body, dict) else {"items": [body]}
            self.facts.append(Extra(name=_stem(path.file), body=content, origin=origin(number)))
        else:
            for obj in objects_in(body):
                self._add_object(obj, path, origin(number))
                number += 1
            return number
        return number + 1

    def _add_object(self, body: Json, path: BundlePath, origin: str) -> None:
        if isinstance(body, dict) and is_managed_resources(body):
            for state, state_body in managed_states(body):
                if not is_object(state_body):
                    self.gaps.append(
                        Gap(
                            kind=GapKind.UNREADABLE,
                            what=f"an object in {origin}",
                            why=f"its {state} is not a JSON object",
                        )
                    )
                elif state == "targetState":
                    self._add_desired(state_body, path, origin)
                else:
                    self._add_manifest(state_body, Role.LIVE, path, origin)
            body = without_states(body)
            self.facts.append(Extra(name=_stem(path.file), body=body, origin=origin))
        elif isinstance(body, dict) and is_resource_tree(body):
            self.facts.append(Extra(name=_stem(path.file), body=body, origin=origin))
        elif isinstance(body, dict) and is_object(body):
            for role in roles_of(body, path):
                if role is Role.DESIRED:
                    self._add_desired(body, path, origin)
                else:
                    self._add_manifest(body, role, path, origin)
        else:
            self.unknown.append(origin)

    def _add_encoded(self, encoded: EncodedObjects, path: BundlePath, name: str) -> None:
        """Objects whose bodies are decoded when they are needed."""
        origin, cluster = _origin(name), _cluster(path)
        for number, (head, body) in enumerate(encoded.objects):
            namespace = head.namespace
            kind, roles = self._kind_and_roles(head, path)
            ref = Ref(
                group=kind.group,
                version=kind.version,
                kind=kind.name,
                namespace=self._namespaces.setdefault(namespace, namespace),
                name=head.name,
                cluster=cluster,
            )
            manifests: list[Manifest] = []
            for role in roles:
                manifest = Manifest.of_head(
                    replace(ref, cluster="") if cluster and role is Role.DESIRED else ref,
                    role=role,
                    origin=origin(number),
                    owners=head.owners,
                    is_being_deleted=head.is_being_deleted,
                )
                manifests.append(manifest)
                self._add_to_role(manifest, path)
            self._new.add_encoded(tuple(manifests), body)
        self._new.texts.update(encoded.texts)

    def _kind_and_roles(self, head: ObjectHead, path: BundlePath) -> tuple[_Kind, tuple[Role, ...]]:
        key = path.folder, head.api_version, head.kind
        known = self._kinds.get(key)
        if known is None:
            group, _, version = head.api_version.rpartition("/")
            known = _Kind(group, version, head.kind), roles_of(head.as_body, path)
            if head.kind not in KINDS_WITH_ROLES_BY_NAME:
                self._kinds[key] = known
        return known

    def _add_desired(self, body: Object, path: BundlePath, origin: str) -> None:
        manifest = Manifest(body, role=Role.DESIRED, origin=origin)
        self._add_to_role(manifest, path)
        self._new.add_decoded(manifest)

    def _add_manifest(self, body: Object, role: Role, path: BundlePath, origin: str) -> None:
        manifest = Manifest(body, role=role, origin=origin, cluster=_cluster(path))
        self._add_to_role(manifest, path)
        self._new.add_decoded(manifest)

    def _add_to_role(self, manifest: Manifest, path: BundlePath) -> None:
        if manifest.role is not Role.DESIRED:
            self.by_role[manifest.role].append(manifest)
            return
        candidates: tuple[str, ...] = ()
        if path.folder in ("desired", "facts"):
            candidates = path.below[:1] or (_stem(path.file),)
        self.desired.append(Desired(manifest=manifest, candidates=candidates))

    def snapshot(self) -> Snapshot:
        """The Snapshot, which still contains secrets and must be masked."""
        gaps = [*self.header.gaps, *self.gaps]
        manifests_by_role = {
            role: without_duplicates(sorted(map(self._with_cluster, manifests), key=_by_origin), gaps)
            for role, manifests in self.by_role.items()
        }
        applications = tuple(app for app in manifests_by_role[Role.APPLICATION] if _decodes(app, gaps))
        desired = sorted(self.desired, key=lambda entry: _by_origin(entry.manifest))
        owned, orphans = attributed(desired, applications, manifests_by_role[Role.SETTINGS])
        gaps.extend(orphans)
        repeating = {app.ref.place for app in applications if _repeats(app)}
        return Snapshot(
            collected_at=self.header.collected_at,
            argocd_version=self.header.argocd_version,
            applications=applications,
            projects=manifests_by_role[Role.PROJECT],
            settings=manifests_by_role[Role.SETTINGS],
            desired={
                # If Argo CD itself reports an object twice, both are facts.
                app: tuple(owned[app]) if app in repeating else without_duplicates(owned[app], gaps)
                for app in sorted(owned)
            },
            live=manifests_by_role[Role.LIVE],
            events=manifests_by_role[Role.EVENT],
            logs=tuple(self._with_cluster_name(log) for log in sorted(self.logs, key=lambda log: log.origin)),
            heads=tuple(dict.fromkeys(self.heads)),
            facts=tuple(sorted(self.facts, key=lambda extra: _numbered(extra.origin))),
            gaps=tuple(dict.fromkeys(gaps)),
            unknown=tuple(sorted(self.unknown)),
        )

    def _with_cluster(self, manifest: Manifest) -> Manifest:
        """A folder below `live/` is a cluster if bundle.yaml names it, or if it is not a namespace's."""
        clusters, name = self.header.clusters, manifest.cluster
        if (
            manifest.role is Role.LIVE
            and name
            and (name in clusters if clusters else name != manifest.ref.namespace)
        ):
            cluster_name = clusters.get(name, name)
            return manifest if cluster_name == name else manifest.on_cluster(cluster_name)
        return manifest.on_cluster("") if name else manifest

    def _with_cluster_name(self, log: Log) -> Log:
        cluster_name = self.header.clusters.get(log.cluster, log.cluster)
        return log if cluster_name == log.cluster else replace(log, cluster=cluster_name)

    @property
    def is_empty(self) -> bool:
        contents = (self.desired, self.logs, self.heads, self.facts, *self.by_role.values())
        return not self.has_header and not any(contents)


def _repeats(app: Manifest) -> bool:
    conditions = items(app.status.get("conditions"))
    return any(fields(condition).get("type") == "RepeatedResourceWarning" for condition in conditions)


def _decodes(app: Manifest, gaps: list[Gap]) -> bool:
    value, dropped = decode(app.body, Application)
    if dropped:
        what = f"Application {app.ref.place}" if value is None else f"part of Application {app.ref.place}"
        gaps.append(
            Gap(
                kind=GapKind.UNREADABLE,
                what=what,
                why=f"{app.origin}: {'; '.join(dropped[:3])}",
                how_to_get=_HOW_TO_FIX,
            )
        )
    return value is not None


def _is_managed(body: Json) -> bool:
    return isinstance(body, dict) and is_managed_resources(body)


def _origin(name: str) -> Callable[[int], str]:
    return lambda number: f"{name}#{number + 1}" if number else name


def _cluster(path: BundlePath) -> str:
    # Which folders are clusters is only known at the end; the name is checked then.
    return path.below[0] if path.folder == "live" and path.below else ""


def _numbered(origin: str) -> tuple[str, int]:
    name, _, number = origin.rpartition("#")
    return (name, int(number)) if name and number.isdecimal() else (origin, 0)


def _by_origin(manifest: Manifest) -> tuple[str, int]:
    return _numbered(manifest.origin)


def _stem(file: str) -> str:
    for suffix in (".yaml", ".yml", ".json"):
        file = file.removesuffix(suffix)
    return file


def without_duplicates(manifests: Iterable[Manifest], gaps: list[Gap]) -> tuple[Manifest, ...]:
    """Each object once, at its first position. Objects with `generateName` are never duplicates."""
    unique: dict[object, Manifest] = {}
    for manifest in manifests:
        ref = manifest.ref
        if not ref.name:
            unique[id(manifest)] = manifest
            continue
        # Events are served by two API groups.
        group = "" if manifest.role is Role.EVENT else ref.group
        key = (group, ref.kind, ref.namespace, ref.name, manifest.cluster)
        previous = unique.get(key)
        if previous is None:
            unique[key] = manifest
            continue
        newest = previous if _version(previous) > _version(manifest) else manifest
        unique[key] = newest
        if previous.body != manifest.body and manifest.role is not Role.EVENT:
            gaps.append(
                Gap(
                    kind=GapKind.AMBIGUOUS,
                    what=f"which {manifest.role} {ref} is the right one",
                    why=f"{previous.origin} and {manifest.origin} differ; {newest.origin} was used",
                    how_to_get="collect the bundle again, or leave one of them out",
                )
            )
    return tuple(unique.values())


def _version(manifest: Manifest) -> int:
    """`resourceVersion` grows with every write; without it, the later object is used."""
    version = text(manifest.meta.get("resourceVersion"))
    return int(version) if version.isdecimal() and len(version) < 20 else -1


def heads_in(document: Json) -> Iterator[Head]:
    """A list of `{repo, revision, commit}`, alone or under `heads`, or a single entry."""
    if isinstance(document, dict) and "heads" in document:
        document = document["heads"]
    for raw in [document] if isinstance(document, dict) else items(document):
        head = fields(raw)
        repo = text(head.get("repo")) or text(head.get("repoURL"))
        commit = text(head.get("commit")) or text(head.get("sha"))
        if repo and commit:
            yield Head(repo=repo, revision=text(head.get("revision")) or "HEAD", commit=commit)


def read_log(entry: Entry, path: BundlePath, limits: BundleLimits) -> tuple[Log | None, Gap | None]:
    """The log, and a gap if only its end was kept; nothing if the path names no container."""
    if len(path.below) not in (2, 3):
        return None, None
    *cluster, namespace, pod = path.below
    container = path.file.removesuffix(".log")
    previous = container.endswith(".previous")
    lines = entry.data.decode("utf-8-sig", "replace").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    truncated = entry.cut or len(lines) > limits.log_lines
    log = Log(
        namespace=namespace,
        pod=pod,
        container=container.removesuffix(".previous"),
        lines=tuple(line.removesuffix("\r") for line in lines[-limits.log_lines :]),
        previous=previous,
        origin=entry.name,
        cluster=cluster[0] if cluster else "",
    )
    if not truncated:
        return log, None
    return log, Gap(
        kind=GapKind.TRUNCATED,
        what=f"the beginning of {entry.name}",
        why=f"only the last {limits.log_lines:,} lines and {size(limits.log_bytes)} of a log are read",
        how_to_get="cut the log to the part that matters",
    )
