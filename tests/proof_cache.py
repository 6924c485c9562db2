"""Proofs and safety of the same facts, computed once for all runs of the command line in one process.

Both are functions of the facts and the findings. The simulation takes most of the time of a diagnosis, and
tests of the command line diagnose the same few examples hundreds of times.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from hashlib import sha256

import msgspec
import pytest

from whysync.deadline import Deadline
from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.report import AppReport, Safety
from whysync.diagnosis.symptom import SymptomId
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.packed_bodies import OpenPacks
from whysync.proofs import prove, sync_safety

_safety: dict[bytes, Safety] = {}
_findings: dict[bytes, tuple[Finding, ...]] = {}
_safety_of, _prove = sync_safety.safety_of, prove.prove


@contextmanager
def cached_proofs() -> Generator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if sync_safety.safety_of is _safety_of:  # else a test has replaced it
            patch.setattr(sync_safety, "safety_of", _cached_safety)
        if prove.prove is _prove:
            patch.setattr(prove, "prove", _cached_prove)
        yield


def _cached_safety(case: Case, findings: Sequence[Finding] = ()) -> Safety:
    key = _key(case, findings)
    result = _safety.get(key) or _safety_of(case, findings)
    if key:
        _safety[key] = result
    return result


def _cached_prove(report: AppReport, deadline: Deadline) -> AppReport:
    key = b"" if deadline.is_over else _key(report.case, report.findings)
    if key in _findings:
        return msgspec.structs.replace(report, findings=_findings[key])
    proven = _prove(report, deadline)
    if key and not deadline.is_over:  # else some fixes may not have been tried
        _findings[key] = proven.findings
    return proven


def _key(case: Case, findings: Sequence[Finding]) -> bytes:
    """Empty where a value has no form in MessagePack, such as an integer of more than 64 bits."""
    facts = (case.index.snapshot, case.now, case.app.qualified_name, findings)
    try:
        return sha256(msgspec.msgpack.encode(facts, enc_hook=_encoded)).digest()
    except (OverflowError, UnicodeEncodeError):
        return b""


def _encoded(value: object) -> object:
    if isinstance(value, Manifest):
        return (value.role, value.origin, value.cluster, value.body)
    if isinstance(value, SymptomId):
        return str(value)
    if isinstance(value, OpenPacks):
        return None
    raise NotImplementedError(type(value))
