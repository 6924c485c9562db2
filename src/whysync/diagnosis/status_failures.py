"""Failures that the status of a custom resource reports, whatever its kind.

Operators agree on few names, but on the form: conditions with a type, a status, a reason and a message, also
inside lists (the listeners of a Gateway, the parents of a route); a phase or state with a message next to it;
fields with an error. kstatus reads only the first, at the top level. A condition that is not known to sum up
the object counts only if its words report a failure, or if no other condition says that the object is ready.

`unrecognized_states` has the conditions and phases that may report a failure, but do not say so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.pointer import join
from whysync.messages.benign import reports_progress

_MAX_DEPTH = 3
_MOST_ENTRIES = 50
_SUMMARIES = frozenset(
    {"Ready", "Available", "Healthy", "Synced", "Succeeded", "Reconciled", "Accepted", "Programmed", "Valid"}
)
_GOOD_IF_TRUE = re.compile(
    r"(?:Ready|Available|Healthy|Synced|Synchronized|Succeeded|Success|Reconciled|Accepted|Programmed|Valid"
    r"|Validated|Verified|ResolvedRefs|Provided|Deployed|Installed|Provisioned|Established|Complete|Scheduled"
    r"|Created|Resolved)$"
)
_BAD_IF_TRUE = re.compile(r"^Not[A-Z]|Fail|Error|Degraded|Stalled|Invalid|Denied|Terminal$|Conflict")
_WORDS_OF_FAILURE = re.compile(
    r"(?i)fail|error|invalid|denied|reject|forbidden|refused|not ?found|unable|cannot|missing|timed? ?out"
    r"|expired|crashloop|errimage|imagepull|unsatisf|unauthorized|conflict|exception|unhealthy"
)
_FAILED_REASON = re.compile(
    r"(?:Error|Failed|Failing|Failure|CrashLoopBackOff|ErrImagePull|ImagePullBackOff)$"
)
_EXPECTED = re.compile(r"(?i)suspend|pause|disabled|in ?progress|pending|creating|waiting|not ?required")
_STATE_NAME = re.compile(r"(?i)(?:phase|state|status|stage|health|result|robustness)$")
_BAD_STATE = re.compile(
    r"(?i)fail|error|invalid|degraded|unhealthy|reject|faulted|abort|unavailable|denied|expired"
    r"|unable to|cannot|not enough|^warning$|^red$|^lost$"
)
# Types that name a problem, an activity, or an ability: nothing is wrong while they are `False`.
_FINE_IF_FALSE = re.compile(
    r"(?i)pressure|unavail|fail|error|degrad|stall|invalid|deni|conflict|paus|suspend|disablee|missing|expire|"
    r"delete|deleting|deletion|terminat|drift|lapse|lost|lock|limit|exceed|orphan|deprecat|outdated|stale|disrupt|evict|interrupt|"
    r"abort|cancel|warning|pending|fallback|overlap|dangl|maintenance|hibernat|restart|violat|unhealthy|"
    r"unknown|disconnect|^out ?of|^un[a-z]|^(?:is)?active$|"
    r"(?-i:^(?:Too|Wait[a-z]*|Requires?|Needs?|Must|Not|No|Non|Partially)(?=[A-Z]))|"
    r"(?:upgrad|migrat|consolidat|resiz|scal|expand|evict|prun)e?able|(?-i:ing$|ing(?=[A-Z]))"
)
_NAMES_PROBLEM = re.compile(
    r"(?i)lapsed|expired|lost$|unavailable|unhealthy|unreachable|missing|blocked|pressure|exceeded|exhausted|"
    r"aborted|crashed|broken|revoked|corrupt|unsupported|violat|^out ?of"
)
_NO_PROBLEM = re.compile(
    r"(?i)^(?:no|not ?any|without|zero|as ?expected|idle|none|unused|skipped|optional|completed?|success)|"
    r"not ?(?:applicable|needed|used|enabled|configured|requested|required|supported)"
)
_GOOD_STATE = re.compile(
    r"(?i)ready|running|active|available|bound|succe|complete|healthy|online|deployed|sync|install|provision|"
    r"^ok\b|normal|idle|valid|establish|stable|enabled|connected|attach|detach|created|configured|operational|"
    r"^up\b|assembl|approv|register|green|optimal|start|release|lock|standby|done|updated|accepted|true|serving|"
    r"primary|leader|initiali|open|reconcil|mounted|current|latest|enforc|complian|applied|finish|found|"
    r"resolved|working|alive|good|fine|pass|clean|live|publish|issued|import|loaded|joined|elected|cached|"
    r"allocate|reserved|assign|claimed|satisf|execute|process|default|managed|exist|present|steady|reach|"
    r"promot|warm|seal|owned|suspend|pause|stop|hibernat|disabled|inactive"
)
_UNFINISHED_STATE = re.compile(
    r"(?i)ing\b|(?-i:ing(?=[A-Z_]))|pending|wait|^new|unknown|queued|progress|submitted|request|planned|propos|"
    r"draft|scheduled|retry|^none$|^n/?a$|^-$|^\W*\d"
)
_NEGATED = re.compile(r"^(?:[Nn]ot?|NOT?)(?=[A-Z _-])|^(?i:un(?!lock|seal)|dis(?!abled))(?=[A-Za-z])")
_ERROR_NAMES = (
    *("error", "errors", "errorMessage", "lastError", "lastErrorMessage", "errorSummary"),
    *("errorDescription", "failureMessage", "validationErrors"),
)
_MESSAGE_NAMES = ("message", "phaseReason", "statusMessage", "lastMessage", "reason")
_DONE_NAMES = ("ready", "applied", "created", "valid", "readyToUse", "available", "synced")


class StatusFailure(msgspec.Struct, frozen=True, kw_only=True):
    """`text` is at `pointer`; `name` is the condition's type, or the field and its value."""

    name: str
    text: str
    reason: str
    pointer: str


def status_failures(manifest: Manifest) -> Iterator[StatusFailure]:
    """The failures in its status, the outer ones first."""
    yield from _failures(manifest.status, ("status",), 0)


def _failures(part: Object, path: tuple[str, ...], depth: int) -> Iterator[StatusFailure]:
    conditions = [fields(raw) for raw in items(part.get("conditions"))]
    is_ready = any(_is_summary(c) and c.get("status") == "True" for c in conditions)
    for index, condition in enumerate(conditions):
        if is_failed(condition, is_ready=is_ready):
            yield from _of_condition(condition, (*path, "conditions", str(index)))
    yield from _errors(part, path)
    yield from _failed_entries(part, path)
    yield from _states(part, path)
    if not conditions and depth == 0:
        yield from _message(part, path)
    if depth < _MAX_DEPTH:
        for below, inner in _parts(part, path):
            yield from _failures(inner, below, depth + 1)


def is_failed(condition: Object, *, is_ready: bool) -> bool:
    """Does the condition report a failure, by its type, its status and its words?"""
    kind, status = text(condition.get("type")), text(condition.get("status"))
    reason, message = text(condition.get("reason")), text(condition.get("message"))
    if (not reason and not message) or condition.get("severity") == "Info":
        return False
    failing = bool(_WORDS_OF_FAILURE.search(f"{reason} {message}"))
    if _BAD_IF_TRUE.search(kind):
        return status == "True"
    if status == "Unknown":
        return failing and _is_summary(condition)
    if status == "True" or not _GOOD_IF_TRUE.search(kind):
        return bool(_FAILED_REASON.search(reason))
    if _EXPECTED.search(reason) and not failing:
        return False
    return failing or _is_summary(condition) or not is_ready


def names_failure(words: str) -> bool:
    """Do the words report a failure, and not only that something is still to come?"""
    return bool(_WORDS_OF_FAILURE.search(words))


def unrecognized_states(manifest: Manifest) -> Iterator[StatusFailure]:
    """Conditions and the phase of an object that may report a failure, unless it is known to be ready."""
    conditions = [fields(raw) for raw in items(manifest.status.get("conditions"))]
    if any(_is_summary(condition) and condition.get("status") == "True" for condition in conditions):
        return
    for index, condition in enumerate(conditions):
        if _may_be_failed(condition):
            yield from _of_condition(condition, ("status", "conditions", str(index)))
    for name in ("phase", "state", "status"):
        value = text(manifest.status.get(name)).strip()
        if value and not _is_known_state(value):
            message = next((other for other in _MESSAGE_NAMES if text(manifest.status.get(other))), "")
            state = f"{name} is {value}"
            yield StatusFailure(
                name=state,
                text=f"{state}: {text(manifest.status.get(message))}" if message else state,
                reason="",
                pointer=join(("status", message or name)),
            )
            return


def _may_be_failed(condition: Object) -> bool:
    """Is a condition of an unknown type not met, or does its name or reason mean a problem?"""
    kind, status = text(condition.get("type")), text(condition.get("status"))
    reason, message = text(condition.get("reason")), text(condition.get("message"))
    if (not reason and not message) or condition.get("severity") == "Info" or reports_progress(message):
        return False
    if _EXPECTED.search(reason) or _NO_PROBLEM.search(reason):
        return False
    if status == "True":
        problem = _NAMES_PROBLEM.search(kind) or _WORDS_OF_FAILURE.search(reason)
        return bool(problem) and not _GOOD_IF_TRUE.search(kind)
    return status in ("False", "Unknown") and not _FINE_IF_FALSE.search(kind)


def _is_known_state(value: str) -> bool:
    """Does the state name success, or work that goes on?"""
    if _UNFINISHED_STATE.search(value):
        return True
    return _GOOD_STATE.search(value) is not None and _NEGATED.search(value) is None


def is_progress_failed(condition: Object) -> bool:
    """Does `Progressing: False` report a failure? An operator that is done sets it to `False` as well."""
    words = f"{text(condition.get('reason'))} {text(condition.get('message'))}"
    return bool(_WORDS_OF_FAILURE.search(words) or re.search(r"(?i)exceeded|abort", words))


def _is_summary(condition: Object) -> bool:
    return text(condition.get("type")) in _SUMMARIES


def _of_condition(condition: Object, path: tuple[str, ...]) -> Iterator[StatusFailure]:
    reason, message = text(condition.get("reason")), text(condition.get("message"))
    yield StatusFailure(
        name=text(condition.get("type")),
        text=message or reason,
        reason=reason,
        pointer=join((*path, "message" if message else "reason")),
    )


def _errors(part: Object, path: tuple[str, ...]) -> Iterator[StatusFailure]:
    """An error as text, as an object with a message, or as a list of these."""
    for name in _ERROR_NAMES:
        value = part.get(name)
        if not value:
            continue
        entries = items(value) if isinstance(value, list) else [value]
        for index, entry in enumerate(entries[:_MOST_ENTRIES]):
            below = (*path, name, str(index)) if isinstance(value, list) else (*path, name)
            if found := text(entry):
                yield StatusFailure(name=name, text=found, reason="", pointer=join(below))
            elif found := text(fields(entry).get("message")):
                yield StatusFailure(name=name, text=found, reason="", pointer=join((*below, "message")))


def _failed_entries(part: Object, path: tuple[str, ...]) -> Iterator[StatusFailure]:
    """`failedNamespaces: [{namespace: a, reason: …}]`: a list of what failed, each with its reason."""
    for name, value in part.items():
        for index, entry in enumerate(_list_of_failed(name, value)[:_MOST_ENTRIES]):
            said = next((said for said in _MESSAGE_NAMES if text(fields(entry).get(said))), "")
            if said:
                at = join((*path, name, str(index), said))
                yield StatusFailure(name=name, text=text(fields(entry).get(said)), reason="", pointer=at)


def _list_of_failed(name: str, value: Json) -> list[Json]:
    return items(value) if name.startswith(("failed", "failures")) and isinstance(value, list) else []


def _message(part: Object, path: tuple[str, ...]) -> Iterator[StatusFailure]:
    """A status that has a message and no condition or phase to tell whether it is good."""
    said = text(part.get("message"))
    if _WORDS_OF_FAILURE.search(said) and not any(_STATE_NAME.search(name) for name in part):
        yield StatusFailure(name="message", text=said, reason="", pointer=join((*path, "message")))


def _states(part: Object, path: tuple[str, ...]) -> Iterator[StatusFailure]:
    """A phase or state with a bad name, or `ready: false`, with the message next to it."""
    message = next((name for name in _MESSAGE_NAMES if text(part.get(name))), "")
    for name, value in part.items():
        is_bad = isinstance(value, str) and _STATE_NAME.search(name) and _BAD_STATE.search(value)
        is_unmet = value is False and name in _DONE_NAMES and bool(message)
        if is_bad or is_unmet:
            state = f"{name} is {value if isinstance(value, str) else 'false'}"
            yield StatusFailure(
                name=state,
                text=text(part.get(message)) or state,
                reason=text(part.get("reason")),
                pointer=join((*path, message or name)),
            )
            return


def _parts(part: Object, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Object]]:
    for name, value in part.items():
        if name != "conditions" and name not in _ERROR_NAMES:
            yield from _inner(value, (*path, name))


def _inner(value: Json, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Object]]:
    if isinstance(value, dict):
        yield path, value
    for index, entry in enumerate(items(value)[:_MOST_ENTRIES] if isinstance(value, list) else []):
        if isinstance(entry, dict):
            yield (*path, str(index)), entry
