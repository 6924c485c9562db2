"""Argo CD Image Updater cannot read the tags of an image.

## What happens
The image updater asks the registry for the tags of each image in the annotation `image-list` of an
Application. The registry denies it or does not answer, so the app keeps its image. Argo CD itself is not
affected: the image may still be pulled, because nodes have credentials of their own.

## How whysync knows
The image updater logs `Could not get tags from registry`, with the answer of the registry.

## Fix
Give the image updater a credential of the registry: `credentials` in `registries.conf` of ConfigMap
`argocd-image-updater-config`, or the annotation `pull-secret` of the Application.

## When it is something else
If the nodes cannot pull the image: image-pull. If the repository of the manifests rejects Argo CD: repo-auth
with the address of that repository.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, rule
from whysync.diagnosis.rule import VARIES
from whysync.diagnosis.sentences import one_line
from whysync.messages.patterns.argocd import ImageUpdateFailed
from whysync.queries.commands import argocd_namespace, kubectl, with_comment
from whysync.queries.group_failures import grouped

_CONFIG = "argocd-image-updater-config"


@rule(cause=VARIES, since="0.1")
def image_updater_failed(case: Case) -> Iterator[Finding]:
    for group in grouped(case, ImageUpdateFailed, by=lambda failure: failure.detail):
        failure, namespace = group.failure, argocd_namespace(case)
        yield Finding(
            about=case.application.ref,
            explains=group.explains,
            cause="repo-auth" if failure.denied else "repo-unreachable",
            severity=Severity.WARNING,
            confidence=Confidence.HIGH,
            verdict=f"the image updater cannot read the tags of an image: {one_line(failure.detail)}",
            root=one_line(failure.detail) or None,
            evidence=group.cited(says="the answer of the registry"),
            fixes=(
                Fix.run(
                    with_comment(
                        kubectl("get", "configmap", _CONFIG, "-o", "yaml", namespace=namespace),
                        "prefix, api_url and credentials of the registry",
                    ),
                    with_comment(
                        kubectl(
                            "get", "application", case.app.name, "-o", "yaml", namespace=case.app.namespace
                        ),
                        "image-list: Docker Hub images without a user are library/IMAGE",
                    ),
                    title="Give the image updater a credential of this registry, and correct the image's name"
                    if failure.denied
                    else "Let the image updater reach the registry, or correct its api_url",
                ),
            ),
        )
