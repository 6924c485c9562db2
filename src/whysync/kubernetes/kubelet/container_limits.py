"""What a container may do, by its spec: how much memory it may use, and as whom it may run."""

from __future__ import annotations

from whysync.json_tree import Json, Missing, Object, dig, text
from whysync.kubernetes.kubelet.formatting import pod_title
from whysync.kubernetes.scheduler.resources import thousandths


def takes_too_much(container: Object, memory: str) -> bool:
    """Does it use more memory than its limit lets it? Without a limit, the node has enough."""
    limit = dig(container, "resources", "limits", "memory")
    return bool(memory) and not isinstance(limit, Missing) and thousandths(memory) > thousandths(limit)


def root_refused(pod: Object, container: Object, image_user: str) -> str:
    """Why the kubelet does not make a container that must not run as root; empty where it does.

    Mirrors `verifyRunAsNonRoot`, Kubernetes 1.36: the spec's user counts before that of the image.
    """
    if _security(pod, container, "runAsNonRoot") is not True:
        return ""
    about = f'(pod: "{pod_title(pod)}", container: {text(container.get("name"))})'
    user = _security(pod, container, "runAsUser")
    if not isinstance(user, Missing | None):
        return f"container's runAsUser breaks non-root policy {about}" if user == 0 else ""
    if image_user == "0":
        return f"container has runAsNonRoot and image will run as root {about}"
    if image_user and not image_user.isdecimal():
        unsure = "cannot verify user is non-root"
        return f"container has runAsNonRoot and image has non-numeric user ({image_user}), {unsure} {about}"
    return ""


def _security(pod: Object, container: Object, field: str) -> Json | Missing:
    """The container's own word counts before the pod's."""
    own = dig(container, "securityContext", field)
    return dig(pod, "spec", "securityContext", field) if isinstance(own, Missing) or own is None else own
