"""`lab list`, `lab show` and the results of `lab test`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from datetime import timedelta

import msgspec

from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.api import yaml
from whysync.reports import output
from whysync.reports.json_yaml import as_json, as_yaml
from whysync.reports.lab_animation import elapsed
from whysync.reports.markdown_text import code, row, rule
from whysync.reports.markdown_text import page as markdown_page
from whysync.reports.output import Safe
from whysync.reports.terminal import Terminal, table


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    title: str
    causes: tuple[str, ...] = ()
    source: str = ""

    @property
    def cause(self) -> str:
        return ", ".join(self.causes)


def listing(entries: list[Entry], terminal: Terminal, *, format: str) -> Safe:
    match format:
        case "json" | "yaml":
            data: Json = {"scenarios": [_data(entry) for entry in entries]}
            return as_json(data) if format == "json" else as_yaml(data)
        case "markdown":
            head = [row("scenario", "what happens", "cause"), rule(3)]
            return markdown_page(
                [*head, *(row(code(entry.name), entry.title, entry.cause) for entry in entries)]
            )
        case "name":
            return output.text(entry.name for entry in entries)
        case _:
            rows = [("NAME", "CAUSE", "WHAT HAPPENS")]
            rows += [(entry.name, entry.cause, entry.title) for entry in entries]
            most = None if format == "wide" else terminal.width
            lines = table([tuple(row) for row in rows], terminal, most=most)
            return output.text([*lines, "", "see whysync lab run NAME and whysync lab show NAME"])


def _data(entry: Entry) -> Object:
    return {
        "name": entry.name,
        "title": entry.title,
        "causes": list(entry.causes),
        "source": entry.source,
    }


def page(name: str, source: str, terminal: Terminal, *, format: str, path: str = "") -> Safe:
    """The story, then the initial state, then the actions; `-o yaml` shows the file itself.

    `path` is the file of a scenario that is not built in.
    """
    body = fields(yaml.load(source))
    if format == "json":
        return as_json(body)
    return output.text([*_page(name, body, terminal), *_next(name, path)])


def _page(name: str, body: Object, terminal: Terminal) -> Iterator[str]:
    title = f"{name}   {text(body.get('title'))}"
    yield from (terminal.paint(line, "bold") for line in terminal.wrap(title, indent=0))
    yield ""
    for paragraph in text(body.get("story")).strip().split("\n\n"):
        yield from terminal.wrap(paragraph.replace("\n", " "), indent=2)
    if body.get("source"):
        yield ""
        yield from terminal.wrap(f"from: {text(body.get('source'))}", indent=2)
    yield from _settings(body, terminal)
    yield from _timeline(body, terminal)
    yield from _files(body, terminal)


def _next(name: str, file: str) -> Iterator[str]:
    yield ""
    yield f"  whysync lab run {shlex.quote(file or name)}"
    if not file:
        yield f"  whysync lab show {name} -o yaml > mine.yaml    # a copy of your own, to change"


def _settings(body: Object, terminal: Terminal) -> Iterator[str]:
    argocd = fields(body.get("argocd"))
    lines = [f"{key} {text(argocd.get(key))}" for key in ("version",) if argocd.get(key)]
    for name, values in fields(argocd.get("settings")).items():
        lines += [f"{name}: {key}" for key in fields(values)]
    cluster = fields(body.get("cluster"))
    for section in ("webhooks", "writers", "pods", "autoscalers"):
        for entry in items(cluster.get(section)):
            entry = fields(entry)
            label = text(entry.get("name")) or text(entry.get("image")) or text(entry.get("object"))
            lines.append(f"{section.removesuffix('s')} {label}")
    if lines:
        yield ""
        yield terminal.paint("  facts besides the manifests", "bold")
        for line in lines:
            yield from terminal.wrap(line, indent=4)


def _timeline(body: Object, terminal: Terminal) -> Iterator[str]:
    yield ""
    yield terminal.paint("  what happens, in simulated time", "bold")
    rows = [("0s", "the app is created")]
    for step in items(body.get("happens")):
        action = fields(step)
        note = text(action.get("note"))
        action_text = _action(action)
        rows.append((_duration(action.get("at")), f"{note}: {action_text}" if note else action_text))
    rows.append((_duration(body.get("ends")), "the end"))
    for at, action_text in rows:
        yield from terminal.wrap(" ".join(action_text.split()), indent=12, first=f"    {at:<6}")


def _duration(value: Json) -> str:
    return value if isinstance(value, str) else "0s"


def _action(step: Object) -> str:
    if step.get("run"):
        user = text(step.get("as"))
        return f"{user}: {text(step.get('run'))}" if user else text(step.get("run"))
    if "push" in step:
        return f"git push: {text(fields(step['push']).get('message'))}"
    for key in ("repo", "rendering", "webhook"):
        if key in step:
            error = fields(step[key]).get("error") or fields(step[key]).get("unreachable")
            return f"{key} fails: {error}" if isinstance(error, str) else f"{key} works again"
    return f"settings change: {', '.join(fields(step.get('settings')))}"


def _files(body: Object, terminal: Terminal) -> Iterator[str]:
    for repo in items(body.get("git")) or [body.get("git")]:
        git = fields(repo)
        for commit in items(git.get("commits")) or [git]:
            fields_of_commit = fields(commit)
            yield ""
            message = text(fields_of_commit.get("message"))
            yield terminal.paint(f"  git: {message}" if message else "  git", "bold")
            for path, content in {
                **fields(fields_of_commit.get("files")),
                **fields(fields_of_commit.get("renders")),
            }.items():
                yield f"    {terminal.paint(path, 'cyan')}"
                content_text = content if isinstance(content, str) else yaml.dump(content)
                yield from (f"      {line}".rstrip() for line in content_text.rstrip().split("\n"))


def verdict(name: str, differences: list[str], terminal: Terminal) -> Iterator[str]:
    """One line for a scenario that passed; for one that failed, its differences too."""
    mark, color = ("bad", "red") if differences else ("good", "green")
    yield terminal.paint(f"{terminal.mark(mark)} {name}", color)
    for difference in differences:
        yield from terminal.wrap(difference, indent=6)


def end_of(duration: timedelta) -> str:
    return elapsed(duration)
