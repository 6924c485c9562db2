"""What generators of ApplicationSets read in a plan: the checkout, `--clusters` and `--generator-values`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from whysync.argocd.application_sets.errors import NotExpanded
from whysync.argocd.application_sets.inputs import RegisteredCluster
from whysync.argocd.projects.cluster_secrets import cluster_secret_data
from whysync.errors import Unreadable
from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.api import yaml
from whysync.kubernetes.api.yaml import Broken

_MAX_BYTES: Final = 16 << 20
RECORDED_KINDS: Final = ("clusterDecisionResource", "plugin", "pullRequest", "scmProvider")
_SECRET_TYPE: Final = "argocd.argoproj.io/secret-type"

Recorded = dict[str, dict[str, list[Json]]]
"""Answers by ApplicationSet and kind of generator."""


class GeneratorFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The files of `--clusters` and `--generator-values`; `None` if a flag is not given."""

    clusters: tuple[RegisteredCluster, ...] | None = None
    recorded: Recorded = msgspec.field(default_factory=dict[str, dict[str, list[Json]]])

    def answer(self, application_set: str, kind: str, number: int) -> list[Object]:
        """Raises `NotExpanded`. A list of lists has one answer for each generator of the kind."""
        answers = self.recorded.get(application_set, {}).get(kind)
        if answers is None:
            raise NotExpanded(
                f"its {kind} generator asks a server: record the answer with --generator-values FILE"
            )
        if answers and all(isinstance(answer, list) for answer in answers):
            if number >= len(answers):
                raise NotExpanded(
                    f"--generator-values has {len(answers)} answers for its {kind} generators, it has more"
                )
            return [fields(record) for record in items(answers[number])]
        return [fields(record) for record in answers]


def clusters_in(path: str) -> tuple[RegisteredCluster, ...]:
    """The clusters of `--clusters FILE`: cluster Secrets, or a list of clusters. Raises `Unreadable`."""
    bodies = [body for document in _documents(path, "--clusters") for body in _flattened(document)]
    if any(not _names_cluster(body) for body in bodies):
        raise Unreadable(
            what=f"--clusters {path}: an entry has no name or server",
            why="each entry is a cluster Secret with data.name and data.server, or has a name and a server",
            next="pass the output of: argocd cluster list -o json",
        )
    return tuple(_cluster(body) for body in bodies)


def recorded_in(path: str) -> Recorded:
    """The answers of `--generator-values FILE`. Raises `Unreadable`."""
    recorded: Recorded = {}
    for document in _documents(path, "--generator-values"):
        for name, kinds in fields(document).items():
            for kind, answer in fields(kinds).items():
                if kind not in RECORDED_KINDS or not isinstance(answer, list):
                    raise Unreadable(
                        what=f"--generator-values {path}: {name}.{kind} is no recorded answer",
                        why=f"each ApplicationSet has lists for: {', '.join(RECORDED_KINDS)}",
                        next="see docs/planning.md, ApplicationSets",
                    )
                recorded.setdefault(name, {})[kind] = answer
    return recorded


def secret_clusters(bodies: Iterable[Object]) -> tuple[RegisteredCluster, ...]:
    """The clusters of Argo CD's cluster Secrets among these objects; each once."""
    found: dict[str, RegisteredCluster] = {}
    for body in bodies:
        if body.get("kind") == "Secret" and cluster_secret_data(body).get("server"):
            cluster = _cluster(body)
            found.setdefault(cluster.server + cluster.name, cluster)
    return tuple(found.values())


def _documents(path: str, flag: str) -> Iterator[Json]:
    try:
        file = Path(path)
        if file.stat().st_size > _MAX_BYTES:
            raise Unreadable(
                what=f"{flag} {path} is larger than {_MAX_BYTES >> 20} MiB", next="pass a smaller file"
            )
        data = file.read_bytes()
    except OSError as problem:
        raise Unreadable(
            what=f"{flag} {path} cannot be read", why=problem.strerror or str(problem), next="check the path"
        ) from problem
    for document in yaml.documents(data):
        if isinstance(document, Broken):
            raise Unreadable(
                what=f"{flag} {path} is no YAML or JSON",
                why=f"line {document.line}: {document.problem}",
                next="correct the file",
            )
        if document.body is not None:
            yield document.body


def _flattened(document: Json) -> list[Object]:
    if isinstance(document, list):
        return [fields(entry) for entry in document]
    body = fields(document)
    return (
        [fields(entry) for entry in items(body["items"])] if isinstance(body.get("items"), list) else [body]
    )


def _names_cluster(body: Object) -> bool:
    values = _values(body)
    return bool(text(values.get("name"))) and bool(text(values.get("server")))


def _values(body: Object) -> Object:
    return {**cluster_secret_data(body)} if body.get("kind") == "Secret" else body


def _cluster(body: Object) -> RegisteredCluster:
    values = _values(body)
    meta = fields(body.get("metadata")) if body.get("kind") == "Secret" else body
    return RegisteredCluster(
        name=text(values.get("name")),
        server=text(values.get("server")),
        project=text(values.get("project")),
        labels=_texts(meta.get("labels")),
        annotations=_texts(meta.get("annotations")),
    )


def _texts(value: Json) -> dict[str, str]:
    return {key: text(below) for key, below in fields(value).items()}
