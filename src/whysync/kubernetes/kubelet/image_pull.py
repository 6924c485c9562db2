"""What a container runtime answers when it cannot pull an image. Mirrors containerd's words."""

from __future__ import annotations

from whysync.kubernetes.kubelet.formatting import full_image


def pull_error(image: str, how: str) -> str:
    """`how` is `missing` or `denied`, as in a `PodScript`."""
    full = full_image(image)
    tried = f'failed to pull and unpack image "{full}": failed to resolve reference "{full}"'
    if how == "denied":
        return (
            f"rpc error: code = Unknown desc = {tried}: pull access denied, repository does not exist or "
            "may require authorization: server message: insufficient_scope: authorization failed"
        )
    return f"rpc error: code = NotFound desc = {tried}: {full}: not found"
