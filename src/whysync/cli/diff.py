"""`whysync diff`: where Git and the cluster differ, by whom, and what is ignored."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from whysync.cli.exits import Exit
from whysync.cli.filters import add_selector_flag, chosen
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
        help="only this resource, as argocd's --resource; a name alone will do, ! leaves it out (repeatable)",
    )
    verb.add_argument(
        "--show-ignored", action="store_true", help="what ignore rules hide, and rules that hide nothing"
    )
    verb.add_argument(
        "--show-managed", action="store_true", help="all managers of each differing field, not the last alone"
    )
    verb.add_argument(
        "--side-by-side", action="store_true", help="live and Git beside each other (wide terminals: always)"
    )
    add_selector_flag(verb)
    add_watch_flag(verb)
    add_source_flags(verb)
    verb.epilog = "exit codes: 0 nothing differs, 1 something does, 2 an error, or an app cannot be compared"


def run(options: argparse.Namespace) -> int:
    from whysync import app
    from whysync.cli.sources import facts
    from whysync.reports.app_diff import AppDiff

    world = facts(options)
    selected = _selected(options.resource)
    apps = [AppDiff(case, selects=selected) for case in chosen(app.cases(world, options.apps), options)]
    if options.resource and not any(app.resources for app in apps if app.comparison):
        raise NotFound(
            what=f"no resource is {' or '.join(options.resource)}",
            why="none of the chosen apps has one of that name",
            next="whysync get APP shows the resources of an app",
        )
    out().put(_text(apps, options, options.terminal))
    return _exit(apps)


def _text(apps: Sequence[AppDiff], options: argparse.Namespace, terminal: Terminal) -> Safe:
    from whysync.reports import diff_json, diff_markdown
    from whysync.reports.diff_text import WIDE, Shown, render
    from whysync.reports.json_yaml import as_json, as_yaml

    match options.output:
        case "json":
            return as_json(diff_json.as_object(apps))
        case "yaml":
            return as_yaml(diff_json.as_object(apps))
        case "markdown":
            return diff_markdown.render(apps)
        case _:
            beside: bool = options.side_by_side or terminal.width >= WIDE
            shown = Shown(ignored=options.show_ignored, managers=options.show_managed, side_by_side=beside)
            wide = replace(terminal, width=max(terminal.width, 80)) if options.side_by_side else terminal
            return render(apps, wide, shown)


def _exit(apps: Sequence[AppDiff]) -> int:
    """A difference is an answer; where there is none, an app that could not be compared is not "same"."""

    if any(app.differs and not app.failed for app in apps):
        return Exit.FOUND
    return Exit.ERROR if any(app.comparison is None or app.failed for app in apps) else Exit.OK


def _selected(given: Sequence[str]) -> Callable[[ComparedResource], bool]:
    """`GROUP:KIND:NAMESPACE/NAME` as argocd's --resource, or a name alone; `!` in front excludes."""
    tests = [_Wanted.parse(one) for one in given]
    takes = [test for test in tests if not test.excludes]
    leaves = [test for test in tests if test.excludes]

    def wanted(resource: ComparedResource) -> bool:
        taken = not takes or any(take.matches(resource) for take in takes)
        return taken and not any(leaf.matches(resource) for leaf in leaves)

    return wanted


class _Wanted:
    """`*` stands for any group, kind, namespace or name, as in argocd."""

    def __init__(self, group: str, kind: str, namespace: str, name: str, *, excludes: bool) -> None:
        self.parts = group, kind, namespace, name
        self.excludes = excludes

    @classmethod
    def parse(cls, given: str) -> _Wanted:
        excludes = given.startswith("!")
        parts = given.removeprefix("!").split(":", 2)
        if len(parts) == 1 and parts[0]:
            group, kind, place = "*", "*", parts[0]
        elif len(parts) == 3 and parts[1] and parts[2]:
            group, kind, place = parts
        else:
            raise UsageError(
                what=f"--resource {given!r} cannot be read",
                why="it is GROUP:KIND:NAMESPACE/NAME, such as apps:Deployment:shop/web (the group may be"
                " empty), or a name alone",
                next="whysync get APP shows the resources of an app",
            )
        namespace, slash, name = place.rpartition("/")
        return cls(group, kind, namespace if slash else "*", name, excludes=excludes)

    def matches(self, resource: ComparedResource) -> bool:
        return all(part in ("*", value) for part, value in zip(self.parts, resource.key, strict=True))
