"""Texts that report no failure: results of kubectl, progress of an operation, ordinary events."""

from __future__ import annotations

import re
from functools import cache

_BENIGN = (
    r"successfully synced(?: \((?:all tasks run|no more tasks)\))?",
    r"one or more tasks are running",
    r"[.…\s]+",
    # the health of an object with a deletion timestamp, which its symptom reports
    r"Pending deletion",
    # in the health of an app: the resources that decide it, whose own health is in their rows
    r"Caused by [^\s,:]{1,300}:[^\s,]{1,300}(?:, [^\s,:]{1,300}:[^\s,]{1,300}){0,20}(?: and \d{1,5} more)?",
    # an ignore rule of Argo CD that names a field which this object does not have
    r"Failed to normalize .{1,600}(?:missing path|nonexistent key).{0,600}",
    # the cluster cache starts each of its watches again after ten minutes
    r"(?:Failed to watch .{1,600}: )?[Rr]esyncing .{1,600} due to timeout(?:, retrying in .{1,20})?",
    # reported by a server about one of its clients
    r"http: TLS handshake error from .{1,300}",
    # the API server records the address or port of a Service that it did not know to be in use
    r"(?:the )?(?:Cluster ?IP|Port) .{1,600}(?:is not allocated|has a wrong reference); repairing",
    # a role is reconciled before it is applied, and the two results follow each other without a space
    r"(?:[a-z0-9.-]{1,253}/[\w.:-]{1,253} reconciled(?: \((?:server )?dry run\))?(?=[a-z]))?"
    r"(?:[a-z0-9.-]{1,253}/[\w.:-]{1,253} )?(?:created|configured|unchanged|serverside-applied|"
    r"replaced|patched|deleted|reconciled)(?: \((?:server )?dry run\))?(?:\. Warning: "
    r".{0,2000}| reconciled.{0,300})?",
    r"(?:\w{1,63}/)?[\w.:-]{1,253} (?:created|updated)",
    r"pruned(?: \(dry run\))?",
    r"statefulset rolling update complete \d{1,6} pods at revision.{0,200}",
    r"(?:Updated (?:sync|health) status: .{0,300})",
    r"(?:\w[\w@.-]{0,100} )?[Ii]nitiated (?:automated |partial )?(?:sync|rollback|refresh).{0,300}",
    r"(?:Partial )?[Ss]ync operation to \S{0,200} ?succeeded",
    r"(?:Normal \w{1,60} (?:\S{1,300} )?)?(?:Successfully (?:assigned|pulled)|"
    r"Created container|Started container|Pulling image|Scaled (?:up|down)|Created pod|"
    r"Updated sync status|Sync operation to \S{0,200} ?succeeded|"
    r"Container image .{1,300} already present).{0,600}",
)
# The output of kubectl auth reconcile: every rule or subject that it adds, and then that of the apply.
_RECONCILED = (
    r"[a-z0-9.-]{1,253}/[\w.:-]{1,253} reconciled(?: \((?:server )?dry run\))?\. "
    r"reconciliation required (?:create|update|recreate)\s"
)
# A condition that is not met because its controller is still at work on the object.
_IN_PROGRESS = (
    r"^(?:issuing|creating|provisioning|initiali[sz]ing|installing|deploying|starting|updating|upgrading|"
    r"scaling|reconciling|configuring|pending|progressing)\b|\bin progress\b|\bis being (?:created|issued|"
    r"provisioned|installed|updated|deployed|reconciled|prepared)\b"
)
# Work that has begun, is awaited or counted, as the health checks of Argo CD report it.
_PROGRESS = (
    r"\b(?:waiting|creating|provisioning|initiali[sz]ing|installing|deploying|starting|updating|upgrading|"
    r"scaling|reconciling|configuring|progressing|restoring|migrating|running|rolling|terminating|becoming|"
    r"publishing|stopping|spawning|resolving|checking|finali[sz]ing)\b|"
    r"\bin ?progress\b|\bpending\b|\bscheduled\b|\bis being \w+|\bstill\b|"
    r"\bnot (?:all \w+ are |yet )?(?:ready|reconciled|completed|available|known|run)\b|"
    r"\d+ ?(?:/|of) ?\d+\b|\bto be \w+|\bhas successfully progressed\b"
)
_FAILED = r"fail|error|denied|refused|invalid|forbidden|unauthorized|not found|cannot|unable|timed? ?out"
# What health checks report of an object without a status.
_NO_STATUS = (
    r"\b(?:has )?no status\b|\bto report (?:a )?status\b|waiting for (?:the )?status\b|"
    r"\bstatus (?:not (?:found|available)|to be reported|is empty)\b"
)
# What Argo CD's checks of workloads report until their controller has seen the last change.
_UNOBSERVED = r"\bobserved \w+ generation less than desired\b|\bspec update to be observed\b"
# Reasons of events of type Normal that nevertheless report a problem.
_PROBLEM_REASONS = frozenset(
    {
        *("BackOff", "NotTriggerScaleUp", "WaitForFirstConsumer", "WaitForPodScheduled"),
        "TaintManagerEviction",
    }
)


@cache
def _benign() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in _BENIGN))


def is_benign(text: str) -> bool:
    text = text.strip()
    if _reconciled().match(text) is not None:
        return True
    return len(text) < 4000 and _benign().fullmatch(text) is not None


@cache
def _reconciled() -> re.Pattern[str]:
    return re.compile(_RECONCILED)


@cache
def _in_progress() -> re.Pattern[str]:
    return re.compile(_IN_PROGRESS, re.IGNORECASE)


def is_in_progress(text: str) -> bool:
    """Does the message or reason of a condition report work in progress?"""
    return _in_progress().search(text) is not None


@cache
def _progress() -> tuple[re.Pattern[str], re.Pattern[str]]:
    return re.compile(_PROGRESS, re.IGNORECASE), re.compile(_FAILED, re.IGNORECASE)


def reports_progress(text: str) -> bool:
    """Does a health message report only that work goes on, in whatever words?"""
    progress, failed = _progress()
    goes_on = progress.search(text) is not None or lacks_status(text)
    return goes_on and failed.search(text) is None


@cache
def _no_status() -> re.Pattern[str]:
    return re.compile(_NO_STATUS, re.IGNORECASE)


def lacks_status(text: str) -> bool:
    """Does a health check report that the object has no status yet?"""
    return _no_status().search(text) is not None


def is_problem_reason(reason: str) -> bool:
    """Does an event of type Normal with this reason report a problem?"""
    return reason in _PROBLEM_REASONS


@cache
def _unobserved() -> re.Pattern[str]:
    return re.compile(_UNOBSERVED, re.IGNORECASE)


def is_unobserved(text: str) -> bool:
    """Does a health check wait until the controller of a workload has seen the last change? Seconds pass."""
    return _unobserved().search(text) is not None


def is_pending_deletion(text: str) -> bool:
    """Is it the health message of an object that is being deleted?"""
    return text == "Pending deletion"
