"""An Ingress references a Service or port that does not exist.

## Why
The ingress controller returns 503 for the path, or rejects the Ingress.

## Bad
```yaml
kind: Service
metadata: {name: web}
spec:
  ports: [{port: 80}]
---
kind: Ingress
spec:
  defaultBackend:
    service: {name: web, port: {number: 8080}}
```

## Good
```yaml
    service: {name: web, port: {number: 80}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import Layer, rule
from whysync.json_tree import Object, dig, fields, items, text
from whysync.manifests.files import Item, Part, finding
from whysync.manifests.tree import Tree


@rule(layer=Layer.REFERENCES, severity=Severity.WARNING, cause="dependency-missing", since="0.1")
def ingress_backend_missing(tree: Tree) -> Iterator[Finding]:
    for item in tree.of_kind("Ingress"):
        if item.file.part is not Part.MANIFESTS or item.ref.group != "networking.k8s.io":
            continue
        for backend, at in _backends(item):
            name = text(backend.get("name"))
            # The AWS load balancer controller uses the name of an annotation.
            if not name or "{" in name or dig(backend, "port", "name") == "use-annotation":
                continue
            services = tree.named("Service", name, item.ref.namespace)
            if services:
                problem = _port_problem(backend, services)
                if problem:
                    yield finding(item, f"Service {name} {problem}", field=f"{at}/port")
            elif not tree.lives_outside("Service", name, item.ref.namespace):
                similar = tree.similar_name("Service", name)
                yield finding(
                    item,
                    f"Service {name} is not in the files",
                    field=f"{at}/name",
                    hint=f"did you mean {similar}?"
                    if similar
                    else "if it is not in Git, declare it in .whysync.yaml",
                    severity=Severity.WARNING if similar else Severity.INFO,
                )


def _backends(item: Item) -> Iterator[tuple[Object, str]]:
    yield fields(dig(item.spec, "defaultBackend", "service")), "/spec/defaultBackend/service"
    for number, entry in enumerate(items(item.spec.get("rules"))):
        for index, path in enumerate(items(dig(entry, "http", "paths"))):
            at = f"/spec/rules/{number}/http/paths/{index}/backend/service"
            yield fields(dig(path, "backend", "service")), at


def _port_problem(backend: Object, services: list[Item]) -> str:
    port = fields(backend.get("port"))
    number, name = port.get("number"), text(port.get("name"))
    ports = [fields(port) for service in services for port in items(service.spec.get("ports"))]
    if (
        any(service.kustomized or service.spec.get("type") == "ExternalName" for service in services)
        or not ports
    ):
        return ""
    if name and all(port.get("name") != name for port in ports):
        return f"has no port named {name}"
    if isinstance(number, int) and all(port.get("port") != number for port in ports):
        return f"has no port {number}: it has {', '.join(sorted({str(port.get('port')) for port in ports}))}"
    return ""
