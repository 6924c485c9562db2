"""`get` in every output format: an Application as in `argocd app get`, with the message of each resource."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from whysync.argocd.api.application import ResourceRow
from whysync.argocd.sync_windows.windows import can_sync, matching, next_allowed
from whysync.diagnosis.case import Case
from whysync.kubernetes.api.ref import Key
from whysync.reports import output
from whysync.reports.json_yaml import as_json, as_yaml
from whysync.reports.markdown_text import BLANK, Md, md, page, row, rule
from whysync.reports.output import Safe
from whysync.reports.terminal import Terminal, ago, one_line, table

_LABEL = 20


def render(cases: Sequence[Case], terminal: Terminal, *, format: str, show_operation: bool) -> Safe:
    match format:
        case "json":
            bodies = [case.application.body for case in cases]
            return as_json(bodies[0] if len(bodies) == 1 else {"kind": "List", "items": bodies})
        case "yaml":
            return as_yaml(*(case.application.body for case in cases))
        case "name":
            return output.text(case.qualified_name for case in cases)
        case "markdown":
            return page(line for case in cases for line in _markdown(case))
        case _:
            wide = format == "wide" or show_operation
            return output.text(line for case in cases for line in _app(case, terminal, operation=wide))


def _markdown(case: Case) -> Iterator[Md]:
    """`get -o markdown`."""
    yield md("# {}", case.qualified_name)
    yield BLANK
    yield from (md("- {}: {}", label, value) for label, value in _head(case))
    for condition in case.app.status.conditions:
        yield md("- **{}**: {}", condition.type, condition.message)
    if case.operation is not None:
        yield md("- Operation: {} {}", case.operation.phase, case.operation.message)
    yield BLANK
    head, *rows = _rows(case)
    yield row(*head)
    yield rule(len(head))
    yield from (row(*cells) for cells in rows)


def _app(case: Case, terminal: Terminal, *, operation: bool) -> Iterator[str]:
    for label, value in _head(case):
        yield f"{label + ':':<{_LABEL}}{value}".rstrip()
    for condition in case.app.status.conditions:
        yield ""
        since = ago(case.age(condition.last_transition_time))
        yield f"{terminal.paint(condition.type, 'red')}   {since}".rstrip()
        yield from terminal.wrap(one_line(condition.message, 2_000), indent=2)
    if operation and case.operation is not None:
        yield ""
        yield from _operation(case)
    yield ""
    yield from _resources(case, terminal)


def _head(case: Case) -> Iterator[tuple[str, str]]:
    app = case.app
    yield "Name", case.qualified_name
    yield "Project", app.project
    yield "Server", app.spec.destination.name or app.spec.destination.server
    yield "Namespace", app.spec.destination.namespace
    for source in app.sources:
        yield "Repo", source.repo_url
        yield "Target", source.target_revision or "HEAD"
        yield ("Chart", source.chart) if source.chart else ("Path", source.path)
    automated = app.spec.sync_policy.automated
    policy = "Manual" if automated is None or automated.enabled is False else "Automated"
    if automated is not None and policy == "Automated":
        policy += (" (Prune)" if automated.prune else "") + (" (SelfHeal)" if automated.self_heal else "")
    yield "Sync Policy", policy
    if app.spec.sync_policy.sync_options:
        yield "Sync Options", ", ".join(app.spec.sync_policy.sync_options)
    yield "SyncWindow", _windows(case)
    at = ", ".join(revision[:7] for revision in app.revisions)
    target = app.sources[0].target_revision or "HEAD" if app.sources else "?"
    yield "Sync Status", f"{app.status.sync.status} from {target}" + (f" ({at})" if at else "")
    message = f" ({app.status.health.message})" if app.status.health.message else ""
    yield "Health Status", f"{app.status.health.status}{message}"
    if app.status.reconciled_at:
        yield (
            "Last compared",
            f"{app.status.reconciled_at:%Y-%m-%dT%H:%M:%SZ} ({ago(case.age(app.status.reconciled_at))})",
        )


def _windows(case: Case) -> str:
    """The sync window as in `argocd app get`, and the time until which syncs are denied."""
    project = case.effective_project
    if project is None:
        return "unknown: the AppProject is not in the facts"
    windows = matching(project.spec.sync_windows, case.app)
    if not windows:
        return "Sync Allowed (no window matches this app)"
    automatic = can_sync(windows, case.now, manual=False).allowed
    manual = can_sync(windows, case.now, manual=True).allowed
    if automatic:
        return "Sync Allowed"
    opening = next_allowed(windows, case.now)
    until = f" until {opening:%Y-%m-%dT%H:%M:%SZ}" if opening else ""
    return f"Manual Allowed, auto-sync denied{until}" if manual else f"Sync Denied{until}"


def _operation(case: Case) -> Iterator[str]:
    state = case.operation
    assert state is not None
    by = state.operation.initiated_by
    result = state.sync_result
    yield f"{'Operation:':<{_LABEL}}Sync"
    if result is not None:
        yield f"{'Sync Revision:':<{_LABEL}}{result.revision or ', '.join(result.revisions)}"
    yield f"{'Phase:':<{_LABEL}}{state.phase}"
    user = by.username or ("automated sync" if by.automated else "unknown")
    yield f"{'Started by:':<{_LABEL}}{user}"
    yield f"{'Start:':<{_LABEL}}{ago(case.age(state.started_at))}"
    if state.finished_at:
        yield f"{'Finished:':<{_LABEL}}{ago(case.age(state.finished_at))}"
    if state.retry_count:
        yield f"{'Retries:':<{_LABEL}}{state.retry_count}"
    yield f"{'Message:':<{_LABEL}}{one_line(state.message, 2_000)}"


def _resources(case: Case, terminal: Terminal) -> list[str]:
    return table(_rows(case), terminal)


def _rows(case: Case) -> list[tuple[str, ...]]:
    """The app's resources, and the hooks and resources that only the operation lists."""
    results = {result.key: result for result in case.results}
    keys: dict[Key, None] = dict.fromkeys([*case.rows, *results])
    rows: list[tuple[str, ...]] = [
        ("GROUP", "KIND", "NAMESPACE", "NAME", "STATUS", "HEALTH", "HOOK", "WAVE", "MESSAGE")
    ]
    for key in keys:
        row, result = case.rows.get(key), results.get(key)
        health, health_message = _health(case, row) if row else ("", "")
        status = (row.status if row else "") or (result.hook_phase or result.status if result else "")
        if row and row.requires_pruning:
            status += " (extra)"
        message = (result.message if result else "") or health_message
        rows.append(
            (key.group, key.kind, key.namespace, key.name, status, health,
                 result.hook_type if result else "", str(row.sync_wave) if row and row.sync_wave else "",
                 one_line(message, 200))
        )  # fmt: skip
    return rows


def _health(case: Case, row: ResourceRow) -> tuple[str, str]:
    """The health Argo CD reports, or computed if the Application does not contain it (since Argo CD 3.0)."""
    if row.health is not None:
        return row.health.status, row.health.message
    live = case.live_of(row.key)
    verdict = case.health_of(live) if live is not None else None
    return (verdict.code or "", verdict.message) if verdict is not None else ("", "")
