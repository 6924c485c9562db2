"""Admission as the facts show it: changes by webhooks and defaults, refusals, quotas.

The facts show what a webhook does only through live objects: fields that live has in addition to Git are
added whenever Git's value is written. All other webhooks allow everything. A refusal whose reason is not in
the facts is replayed from its message, as long as the same object is requested.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from whysync.argocd.simulation.simulation import Simulation
from whysync.diagnosis.case import Case
from whysync.diagnosis.drift import Drift
from whysync.diagnosis.failures import ReportedFailure
from whysync.diagnosis.fix import Remove, Set
from whysync.fixes.edit import edited
from whysync.json_tree import MISSING, Json, Missing, Object, dig, fields, items, same, text
from whysync.kubernetes.admission.webhooks import Webhook
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.api.ref import Key, Ref, ref_of
from whysync.kubernetes.apiserver.status_errors import Refused
from whysync.kubernetes.controllers.resource_quota import QUOTAS
from whysync.messages.failure import Failure
from whysync.messages.patterns.admission import AdmissionDenied, WebhookDown
from whysync.messages.patterns.apply import AlreadyExists, LimitRange, QuotaExceeded
from whysync.messages.patterns.rbac import Forbidden
from whysync.messages.patterns.schema import SecretEncoding
from whysync.proofs.partial_objects import unmasked
from whysync.queries.already_fixed import has_room, proof_of_fix

NAME: Final = "seen.whysync.dev"
_CONFIGURATIONS: Final = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passing:
    """A field of one object that comes out of admission otherwise than it went in."""

    key: Key
    pointer: str
    wanted: Json | Missing
    found: Json | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Webhooks of a cluster: their configurations and their responses."""

    objects: tuple[Object, ...] = ()
    webhooks: Mapping[str, Webhook] = field(default_factory=dict[str, Webhook])


def admission_of(case: Case, passing: Iterable[Passing], drifts: Iterable[Drift]) -> Admission:
    """Webhooks in the facts allow everything; one more makes the changes that live objects show."""
    webhooks: dict[str, Webhook] = {
        text(fields(raw).get("name")): _agrees
        for kind in _CONFIGURATIONS
        for found in case.live_of_kind(kind)
        for raw in items(found.body.get("webhooks"))
    }
    by_key: defaultdict[Key, list[Passing]] = defaultdict(list)
    for one in passing:
        by_key[one.key].append(one)
    if not by_key:
        return Admission(webhooks=webhooks)
    names = {drift.key: drift.ref.key for drift in drifts}

    def passed(obj: Object) -> Object:
        key = ref_of(obj).key
        for one in by_key.get(names.get(key, key), ()):
            obj = _passed(obj, one)
        return obj

    return Admission(
        objects=(configuration(NAME, "MutatingWebhookConfiguration"),), webhooks={**webhooks, NAME: passed}
    )


def _agrees(obj: Object) -> Object:
    return obj


def configuration(name: str, kind: str, *, operations: tuple[str, ...] = ("CREATE", "UPDATE")) -> Object:
    """A webhook that is asked about everything."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "webhooks": [
            {
                "name": name,
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "failurePolicy": "Ignore",
                "clientConfig": {"url": "https://seen.whysync.dev"},
                "rules": [
                    {
                        "apiGroups": ["*"],
                        "apiVersions": ["*"],
                        "operations": list(operations),
                        "resources": ["*"],
                    }
                ],
            }
        ],
    }


def _passed(obj: Object, one: Passing) -> Object:
    value = pointers.resolve(obj, one.pointer)
    if isinstance(one.found, Missing):
        return edited(obj, [Remove(pointer=one.pointer)]) if same(value, one.wanted) else obj
    if isinstance(one.wanted, Missing):
        return _added(obj, one.pointer, one.found)
    return edited(obj, [Set(pointer=one.pointer, value=one.found)]) if same(value, one.wanted) else obj


def _added(obj: Object, pointer: str, value: Json) -> Object:
    """Only live has it: it is put in where nothing stands, and into lists where no such element is."""
    parts = pointers.split(pointer)
    around = pointers.resolve(obj, pointers.join(parts[:-1]))
    if isinstance(around, list):
        name = dig(value, "name")
        there = value in around or (name is not MISSING and any(dig(one, "name") == name for one in around))
        place = pointers.join((*parts[:-1], str(len(around))))
        return obj if there else edited(obj, [Set(pointer=place, value=value)])
    if isinstance(pointers.resolve(obj, pointer), Missing):
        return edited(obj, [Set(pointer=pointer, value=value)])
    return obj


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
    def __init__(self, case: Case) -> None:
        self._by_key: dict[Key, Refusal] = {}
        for result in case.results:
            if result.status != "SyncFailed" and result.hook_phase not in ("Failed", "Error"):
                continue
            desired = case.desired_of(result.key)
            reported = _reported(case, result.ref)
            if desired is None or reported is None:
                continue
            if proof_of_fix(case, reported.failure, result.ref.namespace) is not None:
                continue
            self._by_key[(reported.ref or result.ref).key] = Refusal(
                ref=result.ref,
                failure=reported.failure,
                message=result.message,
                wish=_wish(unmasked(desired.body)),
            )

    @property
    def admission(self) -> Admission:
        """A webhook that refuses what was refused."""
        if not self._by_key:
            return Admission()
        objects = (configuration(_NAME, "ValidatingWebhookConfiguration"),)
        return Admission(objects=objects, webhooks={_NAME: self._judged})

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


class Quotas:
    """Makes raised quotas effective immediately, and lifts the refusals that they caused.

    `used` stays as it was read: most of what a quota counts is not part of the simulation.
    """

    def __init__(self, case: Case, refusals: Refusals) -> None:
        self._case = case
        self._refusals = refusals
        self._seen = -1

    def start(self, simulation: Simulation) -> None:
        self._store = simulation.api_server.store

    def reconcile(self) -> bool:
        if self._store.writes(QUOTAS) == self._seen:
            return False
        written = False
        for place, obj in list(self._store.within(QUOTAS)):
            hard, status = fields(dig(obj, "spec", "hard")), fields(obj.get("status"))
            if hard != fields(status.get("hard")):
                self._store.put(place, {**obj, "status": {**status, "hard": hard}})
                written = True
        self._refusals.lift(self._is_over)
        self._seen = self._store.writes(QUOTAS)
        return written

    def next_wakeup(self) -> None:
        """It acts on changes alone."""

    def _is_over(self, refusal: Refusal) -> bool:
        failure = refusal.failure
        if not isinstance(failure, QuotaExceeded) or not failure.quota or not failure.requested:
            return False
        quota = self._named(refusal.ref.namespace or self._case.destination_namespace, failure.quota)
        return quota is not None and has_room(quota, failure.requested)

    def _named(self, namespace: str, name: str) -> Object | None:
        return self._store.get((QUOTAS, namespace, name))
