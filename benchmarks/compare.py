"""Speed of comparing desired and live objects: `python benchmarks/compare.py [RESOURCES]`

Deployments, Services, ConfigMaps and custom resources of usual size are compared with live objects as an API
server would store them, one in twenty differing. One process, one core; the yardstick is decoding the same
objects from JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Iterable
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
    """Resources per second; the better of two rounds."""
    best = 0.0
    for _ in range(2):
        start = time.perf_counter()
        compared(objects)
        best = max(best, len(objects) / (time.perf_counter() - start))
    return best


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def main(count: int) -> None:
    compared(pairs(8, differing=True))
    for size in (count // 10, count, count * 10):
        sample = min(size, 10_000)
        equal, different = pairs(sample, differing=False), pairs(max(sample // EVERY, 4), differing=True)
        start = time.perf_counter()
        for _ in range(size // sample):
            compared(equal)
            compared(different)
        took = time.perf_counter() - start
        total = (len(equal) + len(different)) * (size // sample)
        say(f"{total:>7} resources, 1 in {EVERY} differing: {took:7.2f} s, {total / took:>8.0f} a second")
    equal, different = pairs(count, differing=False), pairs(max(count // EVERY, 4), differing=True)
    assert compared(equal) == 0
    assert compared(different) >= len(different)
    text = [json.dumps(live) for _, live in equal]
    start = time.perf_counter()
    for line in text:
        json.loads(line)
    yardstick = len(text) / (time.perf_counter() - start)
    say(f"equal      {rate(equal):>8.0f} a second (aim {AIM_EQUAL})")
    say(f"differing  {rate(different):>8.0f} a second (aim {AIM_DIFFERING})")
    for index, (make, _) in enumerate(KINDS):
        same, other = rate(equal[index::4]), rate(different[index::4])
        say(f"  {make.__name__:<16} equal {same:>8.0f}   differing {other:>8.0f}")
    say(f"yardstick  {yardstick:>8.0f} live objects decoded from JSON a second")
    say(f"memory     {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024:>8} MiB at most")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
