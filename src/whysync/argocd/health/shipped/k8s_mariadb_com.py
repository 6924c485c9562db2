"""MariaDB's operator: whichever condition the walk ends at has the word."""

from __future__ import annotations

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    DEGRADED,
    HEALTHY,
    PROGRESSING,
    Check,
    Test,
    is_,
    message,
    verdict,
)
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object

_NO_STATUS = "No status info available"


def _walk(says: str, *ends: tuple[HealthCode, tuple[Test, ...]], at_the_end: HealthCode) -> Check:
    """Walks the conditions until one ends the walk; the last one seen gives the message in any case."""
    write = message(says)

    def check(obj: Object) -> HealthVerdict:
        entries = lua.maybe(obj, "status", "conditions")
        if entries is None:
            return HealthVerdict(PROGRESSING, _NO_STATUS)
        said: Json = _NO_STATUS if at_the_end is PROGRESSING else None
        for condition in lua.ipairs(entries):
            said = write(obj, condition)
            for code, tests in ends:
                if all(test(obj, condition) for test in tests):
                    return verdict(code, said)
        return verdict(at_the_end, said)

    return check


_FALSE = is_("status", "False")
_TRUE = is_("status", "True")

_OWNED_BY_READY = _walk(
    "{message}",
    (HEALTHY, (is_("type", "Ready"), _TRUE)),
    (DEGRADED, (is_("type", "Ready"),)),
    at_the_end=PROGRESSING,
)
MARIADB = _walk(
    "{message}",
    (DEGRADED, (_FALSE, is_("reason", "Failed"))),
    (PROGRESSING, (_FALSE,)),
    at_the_end=HEALTHY,
)

GROUP = "k8s.mariadb.com"
CHECKS: dict[str, Check] = {
    "Backup": _walk(
        "{reason} {message}",
        (DEGRADED, (_FALSE, is_("reason", "CronJobScheduled"), is_("message", "Failed"))),
        (PROGRESSING, (_FALSE,)),
        at_the_end=HEALTHY,
    ),
    "Database": _OWNED_BY_READY,
    "Grant": _OWNED_BY_READY,
    "MariaDB": MARIADB,
    "SqlJob": _walk(
        "{reason} {message}",
        (HEALTHY, (_TRUE, is_("reason", "JobComplete"))),
        (DEGRADED, (_TRUE, is_("reason", "JobFailed"))),
        at_the_end=PROGRESSING,
    ),
    "User": _OWNED_BY_READY,
}
