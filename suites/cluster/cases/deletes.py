# ruff: noqa: E501  (a table: one object on a line)
"""Deletion: options, preconditions, finalizers, what is left of an object on its way out. No controllers run."""

from __future__ import annotations

from suites.cluster.cases.server_side import cm, web
from suites.cluster.steps import (
    Case,
    at,
    case,
    create,
    delete,
    edit,
    get,
    obj,
    patch,
    put,
    ssa,
)

_CM = cm("{a: b}")
_HELD = cm("{a: b}", "metadata: {finalizers: [a.example/hold]}")
_POD = obj("v1/Pod p", "spec: {containers: [{name: c, image: a}]}")
_BOUND = obj("v1/Pod p", "spec: {nodeName: n, containers: [{name: c, image: a}]}")
_JOB = obj(
    "batch/v1/Job j", "spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: a}]}}}"
)
_OWNED = obj(
    "v1/Secret s",
    "metadata: {ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: c, uid: 00000000-0000-0000-0000-000000000001, blockOwnerDeletion: true}]}",
)
_NS = obj("v1/Namespace nsaaaa-x")
_OPTIONS = (
    "propagationPolicy: Background",
    "propagationPolicy: Foreground",
    "propagationPolicy: Orphan",
    "propagationPolicy: Sideways",
    "orphanDependents: true",
    "orphanDependents: false",
    "{orphanDependents: true, propagationPolicy: Foreground}",
    "gracePeriodSeconds: 0",
    "gracePeriodSeconds: -1",
    "gracePeriodSeconds: 30",
    "preconditions: {uid: wrong}",
    "preconditions: {resourceVersion: '1'}",
    "dryRun: [All]",
    "dryRun: [Some]",
    "gracePeriodSeconds: x",
    "foo: bar",
    "kind: Other",
)

CASES: tuple[Case, ...] = (
    *(
        case(
            f"options_{n}",
            create(_CM),
            delete(_CM, options),
            get(_CM),
            create(web()),
            delete(web(), options),
            get(web()),
            create(_POD),
            delete(_POD, options),
            get(_POD),
        )
        for n, options in enumerate(_OPTIONS)
    ),
    case(
        "plain",
        create(_CM),
        delete(_CM),
        get(_CM),
        delete(_CM),
        create(_JOB),
        delete(_JOB),
        get(_JOB),
        create(web()),
        delete(web()),
    ),
    case(
        "held",
        create(_HELD),
        delete(_HELD),
        get(_HELD),
        delete(_HELD),
        patch("merge", _HELD, "data: {x: y}"),
        patch("merge", _HELD, "metadata: {finalizers: [a.example/hold, b.example/more]}"),
        edit(_HELD, "metadata: {deletionTimestamp: null}"),
        create(_CM),
        ssa(cm("{z: z}")),
        patch("json", _HELD, "[{op: remove, path: /metadata/finalizers}]"),
        get(_HELD),
    ),
    case(
        "held_dry_run",
        create(_HELD),
        delete(_HELD, "dryRun: [All]"),
        get(_HELD),
        delete(_HELD),
        patch("merge", _HELD, "metadata: {finalizers: null}", dry_run=True),
        get(_HELD),
        patch("merge", _HELD, "metadata: {finalizers: null}"),
        get(_HELD),
    ),
    case("held_put", create(_HELD), delete(_HELD), edit(_HELD, "metadata: {finalizers: null}"), get(_HELD)),
    case(
        "held_status",
        create(
            obj(
                "v1/PersistentVolumeClaim v",
                "{metadata: {finalizers: [a.example/x]}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}",
            )
        ),
        delete(obj("v1/PersistentVolumeClaim v")),
        get(obj("v1/PersistentVolumeClaim v")),
        patch("merge", obj("v1/PersistentVolumeClaim v"), "metadata: {finalizers: null}"),
    ),
    case(
        "held_foreground",
        create(_HELD),
        delete(_HELD, "propagationPolicy: Foreground"),
        delete(_HELD, "propagationPolicy: Orphan"),
        delete(_HELD, "propagationPolicy: Background"),
        get(_HELD),
    ),
    case(
        "foreground_only",
        create(_CM),
        delete(_CM, "propagationPolicy: Foreground"),
        get(_CM),
        patch("merge", _CM, "metadata: {finalizers: null}"),
        get(_CM),
    ),
    case(
        "orphan_only",
        create(_CM),
        delete(_CM, "propagationPolicy: Orphan"),
        get(_CM),
        delete(_CM, "propagationPolicy: Foreground"),
        get(_CM),
    ),
    case("owned", create(_OWNED), get(_OWNED), delete(_OWNED)),
    case(
        "pod_grace",
        create(_BOUND),
        delete(_BOUND),
        get(_BOUND),
        delete(_BOUND, "gracePeriodSeconds: 60"),
        delete(_BOUND, "gracePeriodSeconds: 5"),
        get(_BOUND),
        delete(_BOUND, "gracePeriodSeconds: 0"),
        get(_BOUND),
    ),
    case(
        "pod_grace_query",
        create(_BOUND),
        delete(_BOUND, grace=7),
        get(_BOUND),
        delete(_BOUND, grace=0),
        get(_BOUND),
    ),
    case(
        "pod_held",
        create(
            obj(
                "v1/Pod p",
                "{metadata: {finalizers: [a.example/x]}, spec: {nodeName: n, containers: [{name: c, image: a}]}}",
            )
        ),
        delete(_BOUND),
        get(_BOUND),
        delete(_BOUND, "gracePeriodSeconds: 0"),
        get(_BOUND),
        patch("merge", _BOUND, "metadata: {finalizers: null}"),
        get(_BOUND),
    ),
    case(
        "service",
        create(obj("v1/Service s", "spec: {ports: [{port: 80}]}")),
        delete(obj("v1/Service s")),
        get(obj("v1/Service s")),
    ),
    case(
        "namespace",
        create(_NS),
        at("create", "/api/v1/namespaces/nsaaaa-x/configmaps", obj("v1/ConfigMap c")),
        delete(_NS),
        get(_NS),
        at("create", "/api/v1/namespaces/nsaaaa-x/configmaps", obj("v1/ConfigMap d")),
        at("ssa", "/api/v1/namespaces/nsaaaa-x/configmaps/e", obj("v1/ConfigMap e"), manager="m"),
        at("update", "/api/v1/namespaces/nsaaaa-x/configmaps/c", obj("v1/ConfigMap c", "data: {a: b}")),
        at(
            "ssa",
            "/api/v1/namespaces/nsaaaa-x/configmaps/c",
            obj("v1/ConfigMap c", "data: {z: z}"),
            manager="m",
        ),
        delete(_NS),
        at("delete", "/api/v1/namespaces/nsaaaa-x/configmaps/c"),
        create(_NS),
        patch("merge", _NS, "metadata: {labels: {a: b}}"),
        delete(_NS, "propagationPolicy: Foreground"),
    ),
    case(
        "namespace_finalize",
        create(_NS),
        delete(_NS),
        at(
            "update",
            "/api/v1/namespaces/nsaaaa-x/finalize",
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": "nsaaaa-x"},
                "spec": {"finalizers": []},
            },
        ),
        get(_NS),
    ),
    case(
        "missing_namespace",
        at("create", "/api/v1/namespaces/nsaaaa-none/configmaps", obj("v1/ConfigMap c")),
        at("ssa", "/api/v1/namespaces/nsaaaa-none/configmaps/c", obj("v1/ConfigMap c"), manager="m"),
        at("list", "/api/v1/namespaces/nsaaaa-none/configmaps"),
        at("delete", "/api/v1/namespaces/nsaaaa-none/configmaps/c"),
        at("create", "/apis/apps/v1/namespaces/nsaaaa-none/deployments", web()),
        at("create", "/api/v1/namespaces/nsaaaa-none/configmaps", obj("v1/ConfigMap c"), dry_run=True),
        at("create", "/api/v1/namespaces/nsaaaa-none/pods", _POD),
    ),
    case(
        "replace",
        create(_CM),
        delete(_CM),
        create(_CM),
        put(cm("{n: m}")),
        delete(_CM, "preconditions: {uid: 00000000-0000-0000-0000-000000000000}"),
    ),
)
