"""Speed of comparing desired and live objects: `python benchmarks/compare.py [RESOURCES]`

Deployments, Services, ConfigMaps and custom resources of usual size are compared with live objects as an API
server would store them, one in twenty differing. One process, one core; the yardstick is decoding the same
objects from JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from whysync.argocd.diff.diff import diff
from whysync.argocd.diff.normalize import normalize
from whysync.argocd.diff.options import DiffOptions
from whysync.argocd.diff.remarshal import remarshal, scheme_type
from whysync.json_tree import Object, copy_object, dig, fields
from whysync.kubernetes.merge.last_applied import LAST_APPLIED
from whysync.kubernetes.schema.defaults import with_defaults

EVERY: Final = 20
AIM_EQUAL: Final = 20_000
AIM_DIFFERING: Final = 2_000

Pair = tuple[Object, Object]


def deployment(index: int) -> Object:
    labels: Object = {"app.kubernetes.io/name": f"web-{index}", "app.kubernetes.io/part-of": "shop"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": f"web-{index}",
            "namespace": "shop",
            "labels": labels,
            "annotations": {"argocd.argoproj.io/tracking-id": f"shop:apps/Deployment:shop/web-{index}"},
        },
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app.kubernetes.io/name": f"web-{index}"}},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "serviceAccountName": "web",
                    "containers": [container("web", index), container("proxy", index)],
                    "volumes": [{"name": "config", "configMap": {"name": f"web-{index}"}}],
                },
            },
        },
    }


def container(name: str, index: int) -> Object:
    return {
        "name": name,
        "image": f"registry.example.com/{name}:1.{index}",
        "ports": [{"name": "http", "containerPort": 8080}],
        "env": [{"name": f"SETTING_{n}", "value": str(n)} for n in range(8)],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}, "periodSeconds": 5},
        "volumeMounts": [{"name": "config", "mountPath": "/etc/web"}],
    }


def service(index: int) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": f"web-{index}", "namespace": "shop", "labels": {"app": "web"}},
        "spec": {
            "selector": {"app": f"web-{index}"},
            "ports": [{"name": "http", "port": 80, "targetPort": "http"}, {"name": "metrics", "port": 9090}],
        },
    }


def config_map(index: int) -> Object:
    data: Object = {f"file-{n}.yaml": f"key-{n}: {index}\n" * 20 for n in range(5)}
    meta: Object = {"name": f"web-{index}", "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def custom_resource(index: int) -> Object:
    return {
        "apiVersion": "monitoring.example.com/v1",
        "kind": "Monitor",
        "metadata": {"name": f"web-{index}", "namespace": "shop", "labels": {"team": "shop"}},
        "spec": {
            "endpoints": [
                {"port": "http", "interval": "30s", "path": f"/metrics/{n}", "labels": {"n": str(n)}}
                for n in range(6)
            ],
            "selector": {"matchLabels": {"app": f"web-{index}"}},
            "thresholds": {f"level-{n}": n * 10 for n in range(10)},
        },
    }


KINDS: Final[tuple[tuple[Callable[[int], Object], tuple[str | int, ...]], ...]] = (
    (deployment, ("spec", "template", "spec", "containers", 0, "image")),
    (service, ("spec", "selector", "app")),
    (config_map, ("data", "file-0.yaml")),
    (custom_resource, ("spec", "endpoints", 0, "interval")),
)


def stored(desired: Object, index: int) -> Object:
    """The object as the API server returns it after an apply by Argo CD."""
    live = copy_object(normalize(remarshal(desired)))
    kind = scheme_type(live)
    if kind is not None:
        live = copy_object(with_defaults(live, kind))
    meta = fields(live["metadata"])
    annotations = dict(fields(meta.get("annotations")))
    annotations[LAST_APPLIED] = json.dumps(desired) + "\n"
    owned: Object = {"f:metadata": {"f:labels": {}}, "f:spec": {"f:replicas": {}, "f:template": {}}}
    claim: Object = {"manager": "argocd-controller", "operation": "Update", "fieldsV1": owned}
    meta.update(
        {
            "annotations": annotations,
            "uid": f"00000000-0000-0000-0000-{index:012d}",
            "resourceVersion": str(index),
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "managedFields": [claim],
        }
    )
    live["status"] = {"observedGeneration": 1, "conditions": [{"type": "Available", "status": "True"}]}
    return live


def pairs(count: int, *, differing: bool) -> list[Pair]:
    result: list[Pair] = []
    for index in range(count):
        make, path = KINDS[index % len(KINDS)]
        desired = make(index)
        live = stored(desired, index)
        if differing:
            holder = dig(live, *path[:-1])
            assert isinstance(holder, dict)
            holder[str(path[-1])] = "changed by hand"
        result.append((desired, live))
    return result


def without_status(obj: Object) -> Object:
    return {key: value for key, value in obj.items() if key != "status"} if "status" in obj else obj


def compared(objects: Iterable[Pair]) -> int:
    options = DiffOptions(normalizer=without_status)
    return sum(len(diff(desired, live, options).changes) for desired, live in objects)


def rate(objects: list[Pair]) -> float:
    """Resources per second of processor time; the better of two rounds."""
    best = 0.0
    for _ in range(2):
        start = time.process_time()
        compared(objects)
        best = max(best, len(objects) / (time.process_time() - start))
    return best


def run(count: int = 1_000) -> Iterator[tuple[str, str]]:
    compared(pairs(8, differing=True))
    for size in (count // 10, count, count * 10):
        sample = min(size, 10_000)
        equal, different = pairs(sample, differing=False), pairs(max(sample // EVERY, 4), differing=True)
        start = time.process_time()
        for _ in range(size // sample):
            compared(equal)
            compared(different)
        took = time.process_time() - start
        total = (len(equal) + len(different)) * (size // sample)
        yield f"{total:,} resources, 1 in {EVERY} differing", f"{took:.2f} s, {total / took:,.0f} a second"
    equal, different = pairs(count, differing=False), pairs(max(count // EVERY, 4), differing=True)
    assert compared(equal) == 0
    assert compared(different) >= len(different)
    yield "equal objects", f"{rate(equal):,.0f} a second (aim {AIM_EQUAL:,})"
    yield "differing objects", f"{rate(different):,.0f} a second (aim {AIM_DIFFERING:,})"
    for index, (make, _) in enumerate(KINDS):
        same, other = rate(equal[index::4]), rate(different[index::4])
        yield f"of kind {make.__name__}", f"equal {same:,.0f}, differing {other:,.0f} a second"
    yield from _gitops_engine(equal, different)
    yield "the yardstick: json.loads of the live objects", f"{_decoded(equal):,.0f} a second"


def _gitops_engine(equal: list[Pair], different: list[Pair]) -> list[tuple[str, str]]:
    """The same objects by Argo CD's own comparison, and how many times faster ours is."""
    from benchmarks.gitops_engine import compared as by_gitops_engine
    from benchmarks.kubeconform import NotAvailable

    rows: list[tuple[str, str]] = []
    for name, objects in (("equal", equal), ("differing", different)):
        try:
            theirs = by_gitops_engine(objects)
        except NotAvailable as problem:
            return [("gitops-engine", str(problem))]
        assert theirs.modified == (0 if objects is equal else len(objects))
        figure = f"{theirs.rate:,.0f} a second; whysync is {rate(objects) / theirs.rate:.1f} times as fast"
        rows.append((f"gitops-engine, {name} objects, one core", figure))
    return rows


def _decoded(objects: list[Pair]) -> float:
    text = [json.dumps(live) for _, live in objects]
    start = time.process_time()
    for line in text:
        json.loads(line)
    return len(text) / (time.process_time() - start)


def main() -> None:
    for label, figure in run(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000):
        print(f"{label:<48} {figure}", flush=True)


if __name__ == "__main__":
    main()
