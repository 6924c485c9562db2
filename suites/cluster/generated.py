"""Conversations that hypothesis makes up: some managers write one object in turn, in all the ways there are.

A kind is described by a smallest valid object and by pools: for some of its fields, values that a writer may
give them. A writer takes some fields, and a value for each.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from suites.cluster.steps import Step, apply, create, delete, get, kind_of, obj, path, put, ssa, tree
from whysync.json_tree import Json, Object, copy_object, fields, items
from whysync.kubernetes.apiserver.protocol import Request

MANAGERS = ("argocd-controller", "kubectl", "operator")


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """A kind, as far as writers write it."""

    least: Object
    pools: dict[str, tuple[Json, ...]]
    """By path, with dots."""


def _pools(**values_by_path: str) -> dict[str, tuple[Json, ...]]:
    """`spec__replicas="[1, 3]"` is the path `spec.replicas` with two values."""
    return {name.replace("__", "."): tuple(items(tree(values))) for name, values in values_by_path.items()}


_META = {
    "metadata__labels": "[{a: x}, {a: y}, {b: x, c: y}, {}]",
    "metadata__annotations": "[{a.example/n: '1'}, {a.example/n: '2'}, {note: hi}]",
}
_CONTAINERS = """[
  [{name: c, image: a}], [{name: c, image: b}], [{name: c, image: a}, {name: d, image: d}], [{name: d, image: d}, {name: c, image: a}],
  [{name: c, image: a, env: [{name: A, value: '1'}]}], [{name: c, image: a, env: [{name: B, value: '2'}, {name: A, value: '3'}]}],
  [{name: c, image: a, env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]}], [{name: c, image: a, ports: [{containerPort: 80}]}],
  [{name: c, image: a, ports: [{containerPort: 80, name: web}, {containerPort: 81}]}], [{name: c, image: a, args: [x]}], [{name: c, image: a, args: [x, y]}],
  [{name: c, image: a, resources: {limits: {cpu: 500m}}}], [{name: c, image: a, resources: {limits: {cpu: '0.5'}, requests: {cpu: 100m}}}],
  [{name: c, image: a, volumeMounts: [{name: v, mountPath: /v}]}], [{name: c, image: a, livenessProbe: {httpGet: {port: 80}}}],
  [{name: c, image: a, securityContext: {runAsUser: 5}}], [{name: c, image: 'a:1', imagePullPolicy: Always}], [{name: c}]
]"""  # fmt: skip  # noqa: E501
_POD = {
    "spec__template__spec__containers": _CONTAINERS,
    "spec__template__spec__volumes": "[[{name: v, emptyDir: {}}], [{name: v, configMap: {name: m}}], [{name: w, secret: {secretName: s}}]]",  # noqa: E501
    "spec__template__spec__nodeSelector": "[{a: b}, {c: d}, {}]",
    "spec__template__spec__tolerations": "[[{key: a, operator: Exists}], [{key: b, value: c}], []]",
    "spec__template__spec__serviceAccountName": "[robot, other]",
    "spec__template__metadata__annotations": "[{restarted: '1'}, {restarted: '2', x: y}]",
}
_TEMPLATE = "{metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: a}]}}"
_SELECTOR = "selector: {matchLabels: {app: web}}"

KINDS: dict[str, Described] = {
    "config_map": Described(
        least=obj("v1/ConfigMap c"),
        pools=_pools(
            **_META,
            data="[{a: x}, {a: y}, {a: x, b: y}, {c: ''}, {}]",
            binaryData="[{p: aGk=}, {q: aGk=}]",
            metadata__finalizers="[[a.example/x], [a.example/y], [a.example/x, a.example/y]]",
            immutable="[true, false]",
        ),
    ),
    "secret": Described(
        least=obj("v1/Secret s"),
        pools=_pools(
            **_META,
            data="[{a: eA==}, {a: eQ==}, {b: eQ==}]",
            stringData="[{a: x}, {a: z}, {c: y}]",
            type="[Opaque, a.example/b]",
        ),
    ),
    "deployment": Described(
        least=obj("apps/v1/Deployment web", f"spec: {{{_SELECTOR}, template: {_TEMPLATE}}}"),
        pools=_pools(
            **_META,
            **_POD,
            spec__replicas="[0, 1, 3]",
            spec__paused="[true, false]",
            spec__minReadySeconds="[0, 5]",
            spec__strategy="[{type: Recreate}, {type: RollingUpdate}, {rollingUpdate: {maxSurge: 1}}, {rollingUpdate: {maxSurge: 25%, maxUnavailable: 0}}]",  # noqa: E501
            spec__revisionHistoryLimit="[2, 10]",
        ),
    ),
    "stateful_set": Described(
        least=obj(
            "apps/v1/StatefulSet web", f"spec: {{serviceName: web, {_SELECTOR}, template: {_TEMPLATE}}}"
        ),
        pools=_pools(
            **_POD,
            spec__replicas="[1, 2]",
            spec__serviceName="[web, other]",
            spec__podManagementPolicy="[Parallel, OrderedReady]",
            spec__updateStrategy="[{type: OnDelete}, {rollingUpdate: {partition: 1}}]",
        ),
    ),
    "daemon_set": Described(
        least=obj("apps/v1/DaemonSet web", f"spec: {{{_SELECTOR}, template: {_TEMPLATE}}}"),
        pools=_pools(**_POD, **_META, spec__updateStrategy="[{type: OnDelete}, {type: RollingUpdate}]"),
    ),
    "job": Described(
        least=obj(
            "batch/v1/Job j",
            "spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: a}]}}}",
        ),
        pools=_pools(
            **_META,
            spec__parallelism="[0, 1, 2]",
            spec__completions="[1, 2]",
            spec__backoffLimit="[1, 6]",
            spec__suspend="[true, false]",
            spec__ttlSecondsAfterFinished="[0, 60]",
            spec__template__spec__containers="[[{name: c, image: a}], [{name: c, image: b}]]",
        ),
    ),
    "service": Described(
        least=obj("v1/Service s", "spec: {ports: [{port: 80}]}"),
        pools=_pools(
            **_META,
            spec__type="[ClusterIP, NodePort, LoadBalancer]",
            spec__selector="[{a: b}, {c: d}, {a: b, c: d}]",
            spec__ports="[[{port: 80}], [{port: 81}], [{port: 80, name: a}, {port: 81, name: b}], [{port: 81, name: b, targetPort: web}], [{port: 80, protocol: UDP}]]",  # noqa: E501
            spec__sessionAffinity="[ClientIP, None]",
            spec__externalTrafficPolicy="[Local, Cluster]",
            spec__clusterIP="[None]",
            spec__publishNotReadyAddresses="[true]",
        ),
    ),
    "ingress": Described(
        least=obj("networking.k8s.io/v1/Ingress i", "spec: {rules: [{host: a.example}]}"),
        pools=_pools(
            **_META,
            spec__rules="[[{host: a.example}], [{host: b.example}, {host: a.example}], [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: s, port: {number: 80}}}}]}}]]",  # noqa: E501
            spec__tls="[[{hosts: [a.example]}], [{secretName: s}]]",
            spec__ingressClassName="[nginx, other]",
        ),
    ),
    "role_binding": Described(
        least=obj(
            "rbac.authorization.k8s.io/v1/RoleBinding r",
            "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}",
        ),
        pools=_pools(
            **_META,
            subjects="[[{kind: User, name: u}], [{kind: Group, name: g}, {kind: User, name: v}], []]",
            roleRef="[{apiGroup: rbac.authorization.k8s.io, kind: Role, name: other}]",
        ),
    ),
    "claim": Described(
        least=obj(
            "v1/PersistentVolumeClaim p",
            "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}",
        ),
        pools=_pools(
            **_META,
            spec__accessModes="[[ReadWriteMany], [ReadWriteOnce]]",
            spec__resources="[{requests: {storage: 1Gi}}, {requests: {storage: 1024Mi}}]",
            spec__storageClassName="[slow, fast, '']",
        ),
    ),
}


def _put_at(target: Object, field_path: str, value: Json) -> None:
    *parents, last = field_path.split(".")
    for step in parents:
        inner = target.get(step)
        if not isinstance(inner, dict):
            inner = target[step] = {}
        target = inner
    target[last] = value


@st.composite
def written(draw: st.DrawFn, kind: Described, *, nulls: bool = False, whole: bool = False) -> Object:
    """A part of an object, or with `whole` a valid one."""
    chosen = draw(st.lists(st.sampled_from(sorted(kind.pools)), max_size=3, unique=True))
    result: Object = copy_object(kind.least) if whole else {}
    for field_path in chosen:
        values: tuple[Json, ...] = (*kind.pools[field_path], None) if nulls else kind.pools[field_path]
        _put_at(result, field_path, draw(st.sampled_from(values)))
    return result


@st.composite
def _json_patch(draw: st.DrawFn, kind: Described) -> Json:
    field_path = draw(st.sampled_from(sorted(kind.pools)))
    at = "/" + field_path.replace(".", "/")
    verb = draw(st.sampled_from(("add", "replace", "remove", "test")))
    if verb == "remove":
        return [{"op": verb, "path": at}]
    return [{"op": verb, "path": at, "value": draw(st.sampled_from(kind.pools[field_path]))}]


@st.composite
def _step(draw: st.DrawFn, kind: Described) -> Step:
    manager = draw(st.sampled_from(MANAGERS))
    dry_run = draw(st.integers(0, 9)) == 0
    match draw(
        st.sampled_from(("ssa", "ssa", "ssa", "part", "merge", "strategic", "json", "put", "apply", "delete"))
    ):
        case "ssa":
            force = draw(st.sampled_from((None, True)))
            return ssa(draw(written(kind, whole=True)), manager, force=force, dry_run=dry_run)
        case "part":
            identity: Object = {key: kind.least[key] for key in ("apiVersion", "kind")}
            partial = draw(written(kind))
            meta: Object = {**fields(partial.get("metadata")), **fields(kind.least["metadata"])}
            return ssa({**identity, **partial, "metadata": meta}, manager, dry_run=dry_run)
        case "put":
            return put(draw(written(kind, whole=True)), manager=manager, dry_run=dry_run)
        case "apply":
            return apply(draw(written(kind, whole=True)))
        case "delete":
            return delete(kind.least, draw(st.sampled_from(("", "propagationPolicy: Foreground"))))
        case "json":
            return _patch("json-patch", kind, draw(_json_patch(kind)), manager)
        case verb:
            return _patch(f"{verb}-patch", kind, draw(written(kind, nulls=True)), manager)


def _patch(verb: str, kind: Described, body: Json, manager: str) -> Step:
    return Step(Request(verb=verb, path=path(kind.least), body=body, manager=manager))


def conversations(name: str) -> st.SearchStrategy[tuple[Step, ...]]:
    """A first write, some more, and a look at what came of it."""
    kind = KINDS[name]
    first = st.one_of(
        st.builds(create, written(kind, whole=True)),
        st.builds(ssa, written(kind, whole=True), st.just("kubectl")),
    )

    def told(begin: Step, more: list[Step]) -> tuple[Step, ...]:
        return (begin, *more, get(kind.least))

    return st.builds(told, first, st.lists(_step(kind), min_size=1, max_size=6))


assert all(kind_of(str(one.least["apiVersion"]), str(one.least["kind"])) for one in KINDS.values())
