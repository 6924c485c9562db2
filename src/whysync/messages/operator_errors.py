"""What an operator's error asks for: a permission, a missing object, a quota, a login.

Operators repeat the errors of the service that they call (AWS, Google Cloud, Azure, Vault), each in its own
words. The first pattern that matches decides.
"""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec

from whysync.messages.pattern import compiled


class Demand(StrEnum):
    PERMISSION = "permission"
    MISSING = "missing"
    QUOTA = "quota"
    LOGIN = "login"


class OperatorError(msgspec.Struct, frozen=True, kw_only=True):
    """`who` may not do `action` on `subject`; for other demands only `subject`. Unknown fields are empty."""

    demand: Demand
    who: str = ""
    action: str = ""
    subject: str = ""
    code: str = ""
    """The service's own name of the error, such as `AccessDeniedException`."""


_CODE = r"\b[A-Za-z]{0,40}(?:AccessDenied|Unauthorized|Forbidden|PermissionDenied)[A-Za-z]{0,40}\b"
_PATTERNS = (
    (
        Demand.PERMISSION,
        r"(?:User: )?(?P<who>arn:aws[\w-]{0,10}:(?:sts|iam)::\d{0,20}:[\w+=,.@/-]{1,300}) is not authorized"
        r" to perform: (?P<action>[\w-]{1,60}:[\w*]{1,80})"
        r"(?: on resource: (?P<subject>\S{1,400}?))?(?= because|[\s,;]|$)",
    ),
    (
        Demand.PERMISSION,
        r"Permission '?(?P<action>[\w.-]{3,100})'? denied (?:on|for) resource:? "
        r"'?(?P<subject>[^\s'()]{1,400})",
    ),
    (
        Demand.PERMISSION,
        r"Caller: (?P<who>[^\r\n]{1,200}?)\s{1,4}Action: '(?P<action>[^']{1,200})'"
        r"\s{1,4}Resource: '(?P<subject>[^']{1,400})'",
    ),
    (
        Demand.PERMISSION,
        r'User "(?P<who>system:[^"]{1,300})" cannot (?P<action>\w{1,20}) resource "(?P<subject>[^"]{1,100})"',
    ),
    (
        Demand.MISSING,
        r"ResourceNotFoundException|can't find the specified secret|SecretNotFound"
        r"|(?<!certificate as )[Ss]ecret does not exist"
        r"|Secret \[(?P<subject>[^\]]{1,300})\] not found",
    ),
    (
        Demand.QUOTA,
        r"(?i:quota (?P<subject>[\w./-]{2,80}) (?:is )?exceeded|quota '?(?P<quota>[\w./-]{2,80})'? exceeded"
        r"|(?:quota|limit)[ _-]?exceeded|exceeded (?:your |the )?(?:\w{1,30} )?quota)",
    ),
    (
        Demand.LOGIN,
        r"(?i:ExpiredToken|token (?:is |has )?expired|InvalidClientTokenId|UnrecognizedClientException"
        r"|invalid credentials|invalid_grant|authentication failed|InvalidProviderConfig"
        r"|unable to (?:log in|create session|retrieve credentials))",
    ),
)


def operator_error(text: str) -> OperatorError | None:
    """What the text asks for; `None` if it is of another sort."""
    flat = " ".join(text.split())
    for demand, regex in _PATTERNS:
        if match := compiled(regex).search(flat):
            found = {name: value or "" for name, value in match.groupdict().items()}
            subject = found.get("subject") or found.get("quota") or ""
            return OperatorError(
                demand=demand,
                who=_identity(found.get("who", "")),
                action=found.get("action", ""),
                subject=subject.rstrip(".,;"),
                code=code[0] if (code := compiled(_CODE).search(flat)) else "",
            )
    return None


def challenge_type(text: str) -> str:
    """`HTTP-01` or `DNS-01` in what an ACME Challenge reports; empty if it names neither."""
    found = compiled(r"\b(HTTP|DNS)-?01\b").search(text)
    return f"{found[1]}-01" if found else ""


def _identity(name: str) -> str:
    """`role eso-prod` of `arn:aws:sts::1:assumed-role/eso-prod/session`."""
    if found := re.search(r":(assumed-role|role|user)/([^/]{1,200})", name):
        return f"{'user' if found[1] == 'user' else 'role'} {found[2]}"
    if found := re.fullmatch(r"system:serviceaccount:([^:]{1,63}):([^:]{1,253})", name):
        return f"ServiceAccount {found[1]}/{found[2]}"
    return name
