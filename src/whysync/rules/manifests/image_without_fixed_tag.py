"""An image with the tag `latest` or without a tag.

## Why
Git does not determine the image: two nodes may run different images, a rollback has no effect, and Argo CD
still reports Synced.

## Bad
```yaml
image: registry.example.com/web:latest
```

## Good
```yaml
image: registry.example.com/web:1.8.3
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import Layer, rule
from whysync.json_tree import text
from whysync.manifests.files import Part, finding
from whysync.manifests.pods import TEMPLATES, containers_of
from whysync.manifests.tree import Tree

_LONG_RUNNING = ("Deployment", "StatefulSet", "DaemonSet", "Rollout")
_PLACEHOLDERS = ("$", "{", "<", "@sha256:", " ")


@rule(layer=Layer.GITOPS, severity=Severity.WARNING, cause="floating-version", since="0.1")
def image_without_fixed_tag(tree: Tree) -> Iterator[Finding]:
    replaced = {name for kustomization in tree.kustomizations.values() for name in kustomization.images}
    for item in tree.of_kind(*TEMPLATES):
        if item.file.part is not Part.MANIFESTS:
            continue
        for container, at in containers_of(item):
            image = text(container.get("image"))
            name, colon, tag = image.rpartition(":")
            if not colon or "/" in tag:
                name, tag = image, ""
            if (
                not image
                or any(placeholder in image for placeholder in _PLACEHOLDERS)
                or tag not in ("", "latest")
            ):
                continue
            if name in replaced or _is_replaced_by_build_tool(name, tag):
                continue
            problem = "has a floating tag" if tag else "has no tag"
            yield finding(
                item,
                f"image {image} {problem}: Git does not determine which image runs",
                field=f"{at}/image",
                hint="set a version or a digest",
                severity=Severity.WARNING if item.ref.kind in _LONG_RUNNING else Severity.INFO,
            )


def _is_replaced_by_build_tool(name: str, tag: str) -> bool:
    """Is it a bare name of no public image, which a build tool replaces?"""
    return not tag and "/" not in name and name not in _PUBLIC


_PUBLIC = (
    "alpine", "busybox", "cassandra", "centos", "consul", "debian", "docker", "elasticsearch", "golang",
    "haproxy", "httpd", "influxdb", "kibana", "mariadb", "memcached", "mongo", "mysql", "nats", "nginx",
    "node", "perl", "php", "postgres", "python", "rabbitmq", "redis", "registry", "ruby", "tomcat", "traefik",
    "ubuntu", "vault", "wordpress", "zookeeper",
)  # fmt: skip
