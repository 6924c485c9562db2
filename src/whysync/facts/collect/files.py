"""A Snapshot as the files of a bundle: names and contents."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from whysync.facts.snapshot import Snapshot
from whysync.json_tree import Json, Object
from whysync.kubernetes.api import yaml
from whysync.kubernetes.api.manifest import Manifest

# The reader's limit is 64 MiB per file; editors prefer less.
LARGEST = 16 << 20
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME = 200
ALL_NAMESPACES = "cluster-wide"

Text = tuple[str, str]
"""The path of a file within the bundle, and its content."""


def files_of(snapshot: Snapshot, number: int, is_new: Callable[[Manifest], bool]) -> Iterator[Text]:
    """Files of one piece with this `number`; `is_new` is called once per object that may be shared."""
    for application in snapshot.applications:
        yield f"applications/{_of(application)}.yaml", yaml.dump(application.body)
    for project in snapshot.projects:
        if is_new(project):
            yield f"projects/{_of(project)}.yaml", yaml.dump(project.body)
    for setting in snapshot.settings:
        if is_new(setting):
            yield f"settings/{setting.ref.kind.lower()}_{_of(setting)}.yaml", yaml.dump(setting.body)
    for app, manifests in snapshot.desired.items():
        folder = f"desired/{safe(app.replace('/', '_', 1))}"
        yield from _pieces(f"{folder}/manifests", (manifest.body for manifest in manifests))
    yield from _by_namespace("live", filter(is_new, snapshot.live), number, clusters=True)
    yield from _by_namespace("events", filter(is_new, snapshot.events), number, clusters=False)
    for log in snapshot.logs:
        name = f"{safe(log.container)}{'.previous' if log.previous else ''}.log"
        folders = [safe(part) for part in (log.cluster, log.namespace, log.pod) if part]
        yield "/".join(("logs", *folders, name)), "".join(f"{line}\n" for line in log.lines)
    for extra in snapshot.facts:
        yield f"facts/{safe(extra.name)}.yaml", yaml.dump(extra.body)


def header(snapshot: Snapshot, clusters: Mapping[str, str]) -> str:
    """`bundle.yaml`: the time, the version, and the gaps."""
    document: Object = {"apiVersion": "whysync.dev/v1", "kind": "Bundle"}
    if snapshot.collected_at is not None:
        document["collectedAt"] = snapshot.collected_at.isoformat().replace("+00:00", "Z")
    if snapshot.argocd_version:
        document["argocdVersion"] = snapshot.argocd_version
    if snapshot.gaps:
        document["gaps"] = [gap.data for gap in snapshot.gaps]
    if clusters:
        document["clusters"] = dict(sorted(clusters.items()))
    return yaml.dump(document)


def heads(snapshot: Snapshot) -> str:
    rows: list[Json] = [
        {"repo": head.repo, "revision": head.revision, "commit": head.commit} for head in snapshot.heads
    ]
    return yaml.dump(rows)


def safe(name: str) -> str:
    """The name of an object as a file name without path separators."""
    return _UNSAFE.sub("-", name).lstrip(".")[:_LONGEST_NAME] or "unnamed"


def _of(manifest: Manifest) -> str:
    ref = manifest.ref
    return safe(f"{ref.namespace}_{ref.name}" if ref.namespace else ref.name)


def _by_namespace(
    folder: str, manifests: Iterable[Manifest], number: int, *, clusters: bool
) -> Iterator[Text]:
    """One file per namespace, below the folder of its cluster if there are several."""
    by_path: defaultdict[str, list[Object]] = defaultdict(list)
    for manifest in manifests:
        cluster = f"{safe(manifest.cluster)}/" if clusters and manifest.cluster else ""
        by_path[f"{folder}/{cluster}{safe(manifest.ref.namespace or ALL_NAMESPACES)}"].append(manifest.body)
    for path, bodies in sorted(by_path.items()):
        yield from _pieces(f"{path}.{number:04d}", bodies)


def _pieces(name: str, bodies: Iterable[Object]) -> Iterator[Text]:
    """One file, or several to stay within the reader's limit."""
    texts: list[str] = []
    size = part = 0
    for body in bodies:
        text = yaml.dump(body)
        if texts and size + len(text) > LARGEST:
            yield f"{name}.{part}.yaml", "---\n".join(texts)
            texts, size, part = [], 0, part + 1
        texts.append(text)
        size += len(text)
    if texts:
        yield f"{name}.{part}.yaml" if part else f"{name}.yaml", "---\n".join(texts)
