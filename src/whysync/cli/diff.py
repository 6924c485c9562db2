"""`whysync diff`: differences between Git and the cluster, their writers, and what is ignored."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from whysync.cli.exits import Exit
from whysync.cli.filters import add_selector_flag, matching_labels
from whysync.cli.flag_types import Append
from whysync.cli.output_flags import add_output_flag, add_watch_flag
from whysync.cli.source_flags import add_source_flags
from whysync.errors import NotFound, UsageError
from whysync.reports.output import Safe, out
from whysync.reports.terminal import Terminal

if TYPE_CHECKING:  # --help does not load what a run needs
    from whysync.argocd.compare.comparison import ComparedResource
    from whysync.reports.app_diff import AppDiff

OUTPUTS = ("text", "json", "yaml", "markdown")


def add_flags(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("apps", metavar="APP", nargs="*", help="name or namespace/name; none means all")
    add_output_flag(verb, OUTPUTS)
    verb.add_argument(
        "--resource",
        metavar="GROUP:KIND:NS/NAME",
        action=Append,
        default=[],
        help="only this resource, or a name alone; a leading ! excludes it (repeatable)",
    )
    verb.add_argument(
        "--show-ignored", action="store_true", help="show ignored fields, and ignore rules without effect"
    )
    verb.add_argument("--show-managed", action="store_true", help="show all managers of each differing field")
    verb.add_argument(
        "--side-by-side", action="store_true", help="show live and Git side by side (default if wide)"
    )
    add_selector_flag(verb)
    add_watch_flag(verb)
    add_source_flags(verb)
    verb.epilog = "exit codes: 0 no difference, 1 differences, 2 an error, or an app cannot be compared"


def run(options: argparse.Namespace) -> int:
    from whysync import app
    from whysync.cli.sources import facts
    from whysync.reports.app_diff import AppDiff

    world = facts(options)
    selects = _resource_filter(options.resource)
    apps = [
        AppDiff(case, selects=selects) for case in matching_labels(app.cases(world, options.apps), options)
    ]
    if options.resource and not any(app.resources for app in apps if app.comparison):
        raise NotFound(
            what=f"no resource matches {' or '.join(options.resource)}",
            why="none of the selected apps has such a resource",
            next="whysync get APP lists the resources of an app",
        )
    out().put(_text(apps, options, options.terminal))
    return _exit(apps)


def _text(apps: Sequence[AppDiff], options: argparse.Namespace, terminal: Terminal) -> Safe:
    from whysync.reports import diff_json, diff_markdown
    from whysync.reports.diff_text import WIDE, DiffOptions, render
    from whysync.reports.json_yaml import as_json, as_yaml

    match options.output:
        case "json":
            return as_json(diff_json.as_object(apps))
        case "yaml":
            return as_yaml(diff_json.as_object(apps))
        case "markdown":
            return diff_markdown.render(apps)
        case _:
            columns: bool = options.side_by_side or terminal.width >= WIDE
            shown = DiffOptions(
                ignored=options.show_ignored, managers=options.show_managed, side_by_side=columns
            )
            wide = terminal._replace(width=max(terminal.width, 80)) if options.side_by_side else terminal
            return render(apps, wide, shown)


def _exit(apps: Sequence[AppDiff]) -> int:
    """1 if anything differs; otherwise 2 if an app could not be compared."""
    if any(app.differs and not app.failed for app in apps):
        return Exit.FOUND
    return Exit.ERROR if any(app.comparison is None or app.failed for app in apps) else Exit.OK


def _resource_filter(values: Sequence[str]) -> Callable[[ComparedResource], bool]:
    """A filter from `--resource` flags; with `!` in front the resource is excluded."""
    patterns = [_ResourcePattern.parse(value) for value in values]
    included = [pattern for pattern in patterns if not pattern.excludes]
    excluded = [pattern for pattern in patterns if pattern.excludes]

    def selects(resource: ComparedResource) -> bool:
        is_included = not included or any(pattern.matches(resource) for pattern in included)
        return is_included and not any(pattern.matches(resource) for pattern in excluded)

    return selects


class _ResourcePattern:
    """`GROUP:KIND:NAMESPACE/NAME`, as in argocd's --resource, or a name alone; `*` matches any value."""

    def __init__(self, group: str, kind: str, namespace: str, name: str, *, excludes: bool) -> None:
        self.parts = group, kind, namespace, name
        self.excludes = excludes

    @classmethod
    def parse(cls, value: str) -> _ResourcePattern:
        excludes = value.startswith("!")
        parts = value.removeprefix("!").split(":", 2)
        if len(parts) == 1 and parts[0]:
            group, kind, path = "*", "*", parts[0]
        elif len(parts) == 3 and parts[1] and parts[2]:
            group, kind, path = parts
        else:
            raise UsageError(
                what=f"invalid --resource {value!r}",
                why="it must be GROUP:KIND:NAMESPACE/NAME, such as apps:Deployment:shop/web (the group may be"
                " empty), or a name",
                next="whysync get APP lists the resources of an app",
            )
        namespace, slash, name = path.rpartition("/")
        return cls(group, kind, namespace if slash else "*", name, excludes=excludes)

    def matches(self, resource: ComparedResource) -> bool:
        return all(part in ("*", value) for part, value in zip(self.parts, resource.key, strict=True))
