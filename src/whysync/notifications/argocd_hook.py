"""`POST /api/v1/hooks/argocd`: Argo CD reports that something happened to an app, so look at it now."""

from __future__ import annotations

import hmac
from enum import StrEnum
from typing import Annotated, Final

import msgspec

MOST_BYTES: Final = 64 * 1024
_Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$", max_length=253)]


class HookStatus(StrEnum):
    ACCEPTED = "accepted"
    UNAUTHORIZED = "unauthorized"
    INVALID = "invalid"
    TOO_LARGE = "too-large"
    DISABLED = "disabled"


_CODES: Final = {
    HookStatus.ACCEPTED: 202,
    HookStatus.UNAUTHORIZED: 401,
    HookStatus.INVALID: 400,
    HookStatus.TOO_LARGE: 413,
    HookStatus.DISABLED: 404,
}


class HookRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The body, as the template in the docs writes it. Only the name is trusted: facts are read again."""

    app: _Name
    namespace: Annotated[str, msgspec.Meta(pattern=r"^([a-z0-9]([a-z0-9-]*[a-z0-9])?)?$", max_length=63)] = ""
    instance: Annotated[str, msgspec.Meta(max_length=253)] = ""


class HookResult(msgspec.Struct, frozen=True, kw_only=True):
    """`request` is set if it was accepted. `text` is the body of the response."""

    status: HookStatus
    text: str
    request: HookRequest | None = None

    @property
    def code(self) -> int:
        return _CODES[self.status]


def handle(body: bytes, authorization: str, secret: str) -> HookResult:
    """Check the secret in constant time, then the body. An empty `secret` means that the hook is disabled."""
    if not secret:
        return _refused(HookStatus.DISABLED, "this hook is not configured: set hooks.argocd.secretFrom")
    expected = f"Bearer {secret}".encode()
    if not hmac.compare_digest(authorization.encode("utf-8", "replace"), expected):
        return _refused(HookStatus.UNAUTHORIZED, "send the secret as Authorization: Bearer SECRET")
    if len(body) > MOST_BYTES:
        return _refused(HookStatus.TOO_LARGE, f"the body is larger than {MOST_BYTES} bytes")
    try:
        request = msgspec.json.decode(body, type=HookRequest)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        return _refused(HookStatus.INVALID, f"invalid body: {problem}")
    return HookResult(status=HookStatus.ACCEPTED, text="the app is diagnosed again\n", request=request)


def _refused(status: HookStatus, text: str) -> HookResult:
    return HookResult(status=status, text=f"{text}\n")
