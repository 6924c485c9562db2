"""What the API server refused, refused again: where the facts have the refusal and not the reason for it.

A quota, a policy, a right that is missing: its object is often not among the facts, its words are. As long as
the same thing is asked for, the answer is the same; `lift` is for a fix that takes the reason away.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from whysync.diagnosis.case import Case
from whysync.diagnosis.failures import ReportedFailure
from whysync.json_tree import Json, Object
from whysync.kubernetes.api.ref import Key, Ref, ref_of
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.apiserver.status_errors import Refused
from whysync.messages.failure import Failure
from whysync.messages.patterns.admission import AdmissionDenied, WebhookDown
from whysync.messages.patterns.apply import AlreadyExists, LimitRange, QuotaExceeded
from whysync.messages.patterns.rbac import Forbidden
from whysync.messages.patterns.schema import SecretEncoding
from whysync.proofs.admission import configuration
from whysync.proofs.objects import unmasked
from whysync.queries.already_fixed import fixed_by

_NAME: Final = "refused.whysync.dev"
_KUBECTLS: Final = re.compile(r'\Aerror when (?:patching|replacing) "[^"]*": ')
"""What kubectl puts before the server's words, and will put there again."""
_CODES: Final[dict[type[Failure], tuple[int, str]]] = {
    Forbidden: (403, "Forbidden"),
    QuotaExceeded: (403, "Forbidden"),
    LimitRange: (403, "Forbidden"),
    AdmissionDenied: (400, ""),
    WebhookDown: (500, "InternalError"),
    AlreadyExists: (409, "AlreadyExists"),
    # Values are masked in the facts: the model cannot see for itself that one is no base64.
    SecretEncoding: (400, "BadRequest"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    ref: Ref
    failure: Failure
    message: str
    wish: Object
    """What was asked for: something else may be granted."""


class Refusals:
    def __init__(self, case: Case, model: ApiServer) -> None:
        self._by_key: dict[Key, Refusal] = {}
        for result in case.results:
            if result.status != "SyncFailed" and result.hook_phase not in ("Failed", "Error"):
                continue
            desired = case.desired_of(result.key)
            reported = _reported(case, result.ref)
            if desired is None or reported is None:
                continue
            if fixed_by(case, reported.failure, result.ref.namespace) is not None:
                continue
            self._by_key[(reported.ref or result.ref).key] = Refusal(
                ref=result.ref,
                failure=reported.failure,
                message=result.message,
                wish=_wish(unmasked(desired.body)),
            )
        if self._by_key:
            model.load([configuration(_NAME, "ValidatingWebhookConfiguration")])
            model.webhooks[_NAME] = self._judged

    @property
    def all(self) -> tuple[Refusal, ...]:
        return tuple(self._by_key.values())

    def lift(self, which: Callable[[Refusal], bool]) -> int:
        """From now on these are granted; gives how many there were."""
        gone = [key for key, one in self._by_key.items() if which(one)]
        for key in gone:
            del self._by_key[key]
        return len(gone)

    def _judged(self, obj: Object) -> Object:
        one = self._by_key.get(ref_of(obj).key)
        if one is not None and _asks_the_same(one.wish, obj):
            code, reason = _CODES[type(one.failure)]
            raise Refused(code, reason, _KUBECTLS.sub("", one.message))
        return obj


def _reported(case: Case, ref: Ref) -> ReportedFailure[Failure] | None:
    for kind in _CODES:
        for failure in case.failures(kind):
            # Argo CD gives a namespace also to what lies in none.
            if failure.ref is not None and failure.ref.key in (ref.key, ref.key._replace(namespace="")):
                return failure
    return None


def _wish(body: Object) -> Object:
    return {key: value for key, value in body.items() if key not in ("metadata", "status")}


def _asks_the_same(wish: Object, obj: Object) -> bool:
    """Each part of what was refused is still asked for; the server may have added to it."""
    return all(_within(value, obj.get(key)) for key, value in wish.items())


def _within(small: Json, large: Json) -> bool:
    if isinstance(small, dict) and isinstance(large, dict):
        return all(_within(value, large.get(key)) for key, value in small.items())
    if isinstance(small, list) and isinstance(large, list):
        return len(small) <= len(large) and all(map(_within, small, large))
    return small == large or str(small) == str(large)
