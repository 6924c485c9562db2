"""Pods and images as they are written in the kubelet's messages."""

from __future__ import annotations

import re
from typing import Final

from whysync.json_tree import Object, fields, text

_REPOSITORY: Final = re.compile(
    r"(?:[a-zA-Z0-9.-]+(?::\d+)?/)?[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*"
    r"(?::[\w][\w.-]{0,127})?(?:@[A-Za-z0-9]+:[0-9a-fA-F]{32,})?",
    re.ASCII,
)


def pod_title(pod: Object) -> str:
    """`web-0_shop(uid)`, as the kubelet writes a pod into its messages."""
    meta = fields(pod.get("metadata"))
    return f"{text(meta.get('name'))}_{text(meta.get('namespace'))}({text(meta.get('uid'))})"


def full_image_name(image: str) -> str:
    """The image with its registry and tag: `nginx` is `docker.io/library/nginx:latest`."""
    first, slash, _ = image.partition("/")
    if not slash:
        image = f"docker.io/library/{image}"
    elif "." not in first and ":" not in first and first != "localhost":
        image = f"docker.io/{image}"
    name = image.rpartition("/")[2]
    return image if ":" in name or "@" in name else f"{image}:latest"


def is_image_name(image: str) -> bool:
    """Is this a valid image reference?"""
    return len(image) <= 1024 and _REPOSITORY.fullmatch(image) is not None
