"""`plan -o json`: the report of `diagnose -o json`, with the plan added."""

from __future__ import annotations

from whysync.diagnosis.file_location import FileLocation
from whysync.diagnosis.report import Report, Safety
from whysync.json_tree import Json, Object, fields
from whysync.kubernetes.api.ref import Ref
from whysync.plan.plan import AppPlan, Cause, Change, ChangeKind, Plan, Run, Step
from whysync.reports import diagnose_json
from whysync.reports.json_yaml import as_json, tree
from whysync.reports.output import Safe
from whysync.reports.plan_summary import verdict_text


def render(plan: Plan, report: Report) -> Safe:
    return as_json(as_object(plan, report))


def as_object(plan: Plan, report: Report) -> Object:
    diagnosis = fields(tree(diagnose_json.report_v1(report)))
    apps: list[Json] = [_app(app) for app in plan.apps]
    return {
        **diagnosis,
        "plan": {
            "base": plan.base,
            "head": plan.head,
            "verdict": plan.verdict.value,
            "apps": apps,
            "untouched": list(plan.untouched),
            "notes": list(plan.notes),
            "notPlanned": list(plan.not_planned),
        },
    }


def _app(app: AppPlan) -> Object:
    return {
        "name": app.name,
        "file": app.file,
        "verdict": app.verdict.value,
        "removed": app.is_removed,
        "says": verdict_text(app),
        "location": _location(app.location),
        "causes": [_cause(cause) for cause in app.causes],
        "runs": [_run(run) for run in app.runs],
        "changes": [_change(change) for change in app.changes],
        "safety": _safety(app.safety) if app.safety is not None else None,
        "notes": list(app.notes),
        "gaps": [gap.data for gap in app.unseen],
    }


def _run(run: Run) -> Object:
    return {
        "cluster": run.cluster.value,
        "verdict": "pass" if run.passed else "fail",
        "message": run.message,
        "seconds": run.seconds,
        "steps": [_step(step) for step in run.steps],
        "assumptions": [
            {"kind": assumption.kind.value, "of": assumption.of, "name": assumption.name}
            for assumption in run.assumptions
        ],
        "notes": list(run.notes),
    }


def _cause(cause: Cause) -> Object:
    fixes: list[Json] = [
        {
            "title": planned.fix.title,
            "location": _location(planned.location),
            "diff": planned.diff,
            "hint": planned.hint,
        }
        for planned in cause.fixes
    ]
    finding = cause.finding
    return {
        "rule": finding.rule,
        "cause": finding.cause,
        "verdict": finding.verdict,
        "about": _ref(finding.about),
        "location": _location(finding.location),
        "fixes": fixes,
    }


def _location(location: FileLocation | None) -> Json:
    return None if location is None else {"file": location.path, "line": location.line}


def _step(step: Step) -> Object:
    items: list[Json] = [
        {
            "ref": _ref(item.ref),
            "state": item.state.value,
            "note": item.note,
            "hook": item.hook,
            "waitsFor": _ref(item.waits_for) if item.waits_for is not None else None,
        }
        for item in step.items
    ]
    return {
        "phase": step.phase,
        "wave": step.wave,
        "items": items,
        "began": step.began,
        "ended": step.ended,
    }


def _change(change: Change) -> Object:
    other = _ref(change.renamed) if change.renamed is not None else None
    return {
        "change": change.sort.value,
        "ref": _ref(change.ref),
        "risk": change.risk,
        "fields": list(change.fields),
        "was": other if change.sort is ChangeKind.CREATE else None,
        "becomes": other if change.sort is not ChangeKind.CREATE else None,
        "origin": change.origin,
    }


def _safety(safety: Safety) -> Object:
    return {
        "sync": safety.sync.value,
        "outcome": safety.outcome.value,
        "reasons": [reason.text for reason in safety.reasons],
        "kinds": [reason.kind.value for reason in safety.reasons],
    }


def _ref(ref: Ref) -> Object:
    return {
        "group": ref.group,
        "version": ref.version,
        "kind": ref.kind,
        "namespace": ref.namespace,
        "name": ref.name,
    }
