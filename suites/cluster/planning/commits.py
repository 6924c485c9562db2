# ruff: noqa: E501  (a table: one object on a line)
"""Commits that hypothesis puts together: some objects, right and wrong, in waves and with options."""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from suites.cluster.generated import KINDS, Described, written
from suites.cluster.planning.commit_runner import Commit
from suites.cluster.planning.pieces import PIECES, Piece, made
from suites.cluster.steps import kind_of, tree
from whysync.json_tree import Json, Object, copy_object, dig, fields, items, text
from whysync.plan.plan import PlannedCluster

SERVED: Final = tuple(one for one in PIECES if kind_of(*one.kind.rsplit("/", 1)).plural in {
    "configmaps", "secrets", "services", "serviceaccounts", "persistentvolumeclaims", "pods", "namespaces",
    "resourcequotas", "limitranges", "deployments", "statefulsets", "daemonsets", "jobs", "cronjobs",
    "ingresses", "networkpolicies", "horizontalpodautoscalers", "poddisruptionbudgets", "roles",
    "rolebindings", "clusterroles", "priorityclasses", "storageclasses", "customresourcedefinitions",
} and not one.id.startswith(("removed-", "wrong-", "misspelt-kind")))  # fmt: skip
ABSENT: Final = tuple(one for one in PIECES if one not in SERVED)
"""A kind that is not served stops the whole sync before it begins."""

_CUSTOM: Final = (
    "spec: {size: 3}",
    "spec: {size: 3, color: red}",
    "spec: {size: big}",
    "spec: {size: 0}",
    "spec: {}",
    "spec: {size: 1, color: green}",
    "spec: {size: 1, colour: red}",
    "{}",
)
_OPTIONS: Final = (
    "",
    "",
    "",
    "",
    "",
    "Replace=true",
    "Force=true",
    "ServerSideApply=true",
    "Force=true,Replace=true",
)
_WAVES: Final = ("", "", "", "1", "-1")

AROUND: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "nothing": (),
    "quota": (
        (
            "v1/ResourceQuota around",
            "{metadata: {namespace: NS}, spec: {hard: {services: '1', configmaps: '1', count/deployments.apps: '1', requests.storage: 1Gi}}, "
            "status: {hard: {services: '1', configmaps: '1', count/deployments.apps: '1', requests.storage: 1Gi}, used: {services: '0', configmaps: '0', count/deployments.apps: '0', requests.storage: '0'}}}",
        ),
    ),
    "limits": (
        (
            "v1/LimitRange around",
            "{metadata: {namespace: NS}, spec: {limits: [{type: PersistentVolumeClaim, max: {storage: 1Gi}}, {type: Container, max: {cpu: '1'}, min: {cpu: 10m}}]}}",
        ),
    ),
    "policy": (
        (
            "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy around",
            "spec: {failurePolicy: Fail, matchConstraints: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}, resourceRules: [{apiGroups: ['', apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps, deployments]}]}, "
            "validations: [{expression: 'has(object.metadata.labels) && has(object.metadata.labels.team)', message: every object has a team}]}",
        ),
        (
            "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicyBinding around",
            "spec: {policyName: NS-around, validationActions: [Deny]}",
        ),
    ),
    "dead-webhook": (
        (
            "admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration around",
            "webhooks: [{name: dead.example.com, admissionReviewVersions: [v1], sideEffects: None, failurePolicy: Fail, clientConfig: {url: 'https://127.0.0.1:1/'}, namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}, "
            "rules: [{apiGroups: ['', apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps, statefulsets]}]}]",
        ),
    ),
}  # fmt: skip


def around(name: str, namespace: str) -> list[Object]:
    return [made(header, rest, namespace) for header, rest in AROUND[name]]


@st.composite
def commits(draw: st.DrawFn, cluster: PlannedCluster, namespace: str) -> Commit:
    options = draw(st.sampled_from(((), (), ("ServerSideApply=true",), ("Validate=false",))))
    # kubectl does not force on the server's side, so that no base would come up with it.
    own = (
        _OPTIONS[:5]
        if cluster is not PlannedCluster.EMPTY and "ServerSideApply=true" in options
        else _OPTIONS
    )
    drawn = _Drawn(draw, own)
    base, head = drawn.base, drawn.head
    chosen = draw(st.lists(st.sampled_from(SERVED), min_size=2, max_size=6, unique_by=lambda piece: piece.id))
    if draw(st.integers(0, 11)) == 0:
        chosen.append(draw(st.sampled_from(ABSENT)))
    for number, piece in enumerate(chosen):
        before, after = piece.objects(number, namespace)
        drawn.add(before, after)
        if after.get("kind") == "CustomResourceDefinition" and piece.id in (
            "definition",
            "definition-stricter",
        ):
            for at in range(draw(st.integers(0, 2))):
                there = None if before is None else _resource(before, f"r{number}{at}", _CUSTOM[1])
                drawn.add(
                    there,
                    _resource(after, f"r{number}{at}", draw(st.sampled_from(_CUSTOM))),
                )
    for number in range(draw(st.integers(0, 3))):
        kind = KINDS[draw(st.sampled_from(sorted(KINDS)))]
        before, after = draw(_pooled(kind, f"p{number}"))
        drawn.add(before, after)
    if draw(st.booleans()):
        base.append(made("v1/ConfigMap gone", "data: {a: x}", namespace))
    there = around(draw(st.sampled_from(sorted(AROUND))), namespace) if cluster is PlannedCluster.LIVE else []
    return Commit(
        namespace=namespace,
        head=head,
        base=None
        if cluster is PlannedCluster.EMPTY
        else [made("v1/ServiceAccount first", "{}", namespace), *base],
        around=there,
        options=options,
    )


class _Drawn:
    """Waves and options are those of Git before as after."""

    def __init__(self, draw: st.DrawFn, options: tuple[str, ...]) -> None:
        self._draw, self._options = draw, options
        self.base: list[Object] = []
        self.head: list[Object] = []

    def add(self, before: Object | None, after: Object) -> None:
        marks: Object = {}
        wave, option = self._draw(st.sampled_from(_WAVES)), self._draw(st.sampled_from(self._options))
        if wave:
            marks["argocd.argoproj.io/sync-wave"] = wave
        if option:
            marks["argocd.argoproj.io/sync-options"] = option
        if before is not None:
            self.base.append(_marked(before, marks))
        self.head.append(_marked(after, marks))


def _marked(obj: Object, marks: Object) -> Object:
    meta = fields(obj.get("metadata"))
    annotations = meta.get("annotations")
    if not marks or (annotations is not None and not isinstance(annotations, dict)):
        return obj
    return {**obj, "metadata": {**meta, "annotations": {**marks, **fields(annotations)}}}


def _resource(definition: Object, name: str, rest: str) -> Object:
    spec = fields(definition.get("spec"))
    version = text(dig(items(spec.get("versions")), 0, "name"))
    return {
        "apiVersion": f"{text(spec.get('group'))}/{version}",
        "kind": text(dig(spec, "names", "kind")),
        "metadata": {"name": name},
        **fields(tree(rest)),
    }


@st.composite
def _pooled(draw: st.DrawFn, kind: Described, name: str) -> tuple[Object | None, Object]:
    """The least of a kind before, and with some fields after; sometimes one of them mangled."""
    before, after = copy_object(kind.least), copy_object(draw(written(kind, whole=True)))
    for item in (before, after):
        fields(item["metadata"])["name"] = name
    if draw(st.booleans()):
        after = _mangled(draw, after)
    return (before if draw(st.booleans()) else None), after


def _mangled(draw: st.DrawFn, obj: Object) -> Object:
    """One field under another name, of another type, or left out."""
    paths = sorted(_paths(obj.get("spec"), ("spec",))) or [("metadata", "labels")]
    path = draw(st.sampled_from(paths))
    parent: Json = obj
    for step in path[:-1]:
        parent = items(parent)[int(step)] if isinstance(parent, list) else fields(parent).get(step)
    if not isinstance(parent, dict) or path[-1] not in parent:
        return obj
    value = parent[path[-1]]
    match draw(st.sampled_from(("renamed", "retyped", "gone", "null"))):
        case "renamed":
            del parent[path[-1]]
            parent[f"{path[-1]}s"] = value
        case "gone":
            del parent[path[-1]]
        case "null":
            parent[path[-1]] = None
        case _:
            retyped: dict[type, Json] = {int: str(value), str: 7, bool: "yes", list: {"a": "b"}, dict: ["a"]}
            parent[path[-1]] = retyped.get(type(value), "x")
    return obj


def _paths(value: Json, at: tuple[str, ...]) -> list[tuple[str, ...]]:
    if isinstance(value, dict):
        result = [(*at, key) for key in value]
        return result + [path for key, item in value.items() for path in _paths(item, (*at, key))]
    if isinstance(value, list):
        return [path for number, item in enumerate(value) for path in _paths(item, (*at, str(number)))]
    return []


def chunks(pieces: tuple[Piece, ...], size: int) -> list[tuple[Piece, ...]]:
    return [pieces[start : start + size] for start in range(0, len(pieces), size)]
