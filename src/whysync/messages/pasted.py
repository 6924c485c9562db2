"""Text pasted from the UI, a chat, `kubectl describe`, `argocd app get` or a log, split into what it reports.

Decorations are removed first: colors, code fences, quote marks, indentation. Tables and sections of `kubectl`
and `argocd` tell where a text comes from (a condition, an event, a container's state …) and which object it
is about. Everything else is one text of unknown origin.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from enum import StrEnum
from functools import cache

import msgspec

from whysync.messages.log_line import LogLine, parse_log_line
from whysync.messages.log_patterns import LogReason
from whysync.messages.logs import log_failure

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\u200b-\u200f\u2028-\u202e\u2060-\u2069]")
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[\w-]*[ \t]*$", re.MULTILINE)
_QUOTE_MARK = re.compile(r"^[ \t]*>[ \t]?", re.MULTILINE)
# Of a longer text, this much of its beginning and of its end: a log ends with what matters.
_HEAD, _TAIL = 1 << 14, 3 << 15
_MOST_PARTS = 50
_CONDITION_TYPES = (
    "ComparisonError|InvalidSpecError|SyncError|UnknownError|DeletionError|SharedResourceWarning|"
    "RepeatedResourceWarning|ExcludedResourceWarning|OrphanedResourceWarning"
)
_POD_HEADER = ("NAME", "READY", "STATUS", "RESTARTS", "AGE")
# States in which nothing is wrong.
_GOOD = frozenset({"Running", "Completed", "ContainerCreating", "PodInitializing", "Pending", "Terminating"})
_ENDED = frozenset({"Error", "OOMKilled", "ContainerCannotRun", "StartError", "DeadlineExceeded"})


class Origin(StrEnum):
    """Where Argo CD or Kubernetes shows such a text."""

    CONDITION = "condition"
    OPERATION = "operation"
    LONG_OPERATION = "long-operation"  # one that has been running for ten minutes or longer
    RESULT = "result"
    HEALTH = "health"
    EVENT = "event"
    CONTAINER = "container"
    ARGOCD_LOG = "argocd-log"
    CONTAINER_LOG = "container-log"


class PastedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One text and its origin. What the paste does not name is empty.

    `reason` is the type of a condition, the reason of an event or of a container's state, the health or the
    phase of a resource. `ended`: the state is that of a container that terminated.
    """

    origin: Origin
    text: str = ""
    reason: str = ""
    kind: str = ""
    group: str = ""
    namespace: str = ""
    name: str = ""
    container: str = ""
    exit_code: int | None = None
    ended: bool = False
    hook: str = ""


class Pasted(msgspec.Struct, frozen=True, kw_only=True):
    """`parts` are the texts whose origin is known; `text` is everything that was pasted, cleaned.

    `is_cut`: it was too long, and its middle was not read.
    """

    text: str
    parts: tuple[PastedMessage, ...] = ()
    application: str = ""
    is_cut: bool = False


def clean(text: str) -> str:
    """The text without colors, control characters, code fences, quote marks and common indentation."""
    if len(text) > _HEAD + _TAIL:
        text = f"{text[:_HEAD]}\n{text[-_TAIL:]}"
    plain = _ESCAPES.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    plain = _FENCE.sub("", _CONTROLS.sub(" ", plain))
    lines = [line for line in plain.split("\n") if line.strip()]
    if lines and all(_QUOTE_MARK.match(line) for line in lines):
        plain = _QUOTE_MARK.sub("", plain)
    plain = textwrap.dedent(plain.expandtabs(8)).strip()
    is_code = plain.startswith("`") and plain.endswith("`")
    return plain.strip("`").strip() if is_code else plain


def read_paste(text: str) -> Pasted:
    plain = clean(text)
    lines = plain.split("\n")
    described = _Described.read(lines)
    structured = [(raw, line) for raw in lines if (line := parse_log_line(raw)).level]
    logged = [line for _, line in structured]
    parts = [
        *_conditions(plain),
        *_operation(lines),
        *_table_rows(lines, described),
        *_events(lines, described),
        *described.states(),
        *_log_lines(structured),
    ]
    application = next((line.application for line in logged if line.application), described.application)
    distinct = dict.fromkeys(parts)
    return Pasted(
        text=plain,
        parts=tuple(distinct)[-_MOST_PARTS:],
        application=application,
        is_cut=len(text) > _HEAD + _TAIL,
    )


def _log_lines(lines: list[tuple[str, LogLine]]) -> Iterator[PastedMessage]:
    """The message of each line; the whole line where another field has the service that failed."""
    for raw, line in lines:
        if line.is_loud and line.text:
            text = raw.strip() if line.service else line.text
            yield PastedMessage(origin=Origin.ARGOCD_LOG, text=text, reason=line.level)


# --- conditions and the operation of an Application -----------------------------------------------------


@cache
def _condition() -> re.Pattern[str]:
    """`ComparisonError: …`, or the type alone on its line or in the first column of a table."""
    return re.compile(
        rf"^[ \t]*(?P<type>{_CONDITION_TYPES})(?::[ \t]*|[ \t]{{2,}}|[ \t]*\n[ \t]*)(?P<text>\S.*?)"
        rf"(?:[ \t]{{2,}}\d{{4}}-\d\d-\d\d [^\n]*)?(?=\n[ \t]*(?:{_CONDITION_TYPES})\b|\n[ \t]*\n|\Z)",
        re.MULTILINE | re.DOTALL,
    )


def _conditions(text: str) -> Iterator[PastedMessage]:
    for match in _condition().finditer(text):
        yield PastedMessage(origin=Origin.CONDITION, reason=match["type"], text=match["text"].strip())


def _operation(lines: list[str]) -> Iterator[PastedMessage]:
    """`Phase:` and `Message:` of `argocd app get`, or the same words as headings, as the UI shows them."""
    phase = _value_of(lines, "phase")
    if phase in ("Failed", "Error", "Running", "Terminating"):
        yield PastedMessage(origin=Origin.OPERATION, reason=phase, text=_value_of(lines, "message"))


def _value_of(lines: list[str], label: str) -> str:
    for number, line in enumerate(lines):
        name, colon, value = line.strip().partition(":")
        if name.strip().lower() != label:
            continue
        if colon and value.strip():
            return value.strip()
        if not value.strip() and number + 1 < len(lines):
            return lines[number + 1].strip()
    return ""


# --- tables: `argocd app get`, `kubectl get pods` -------------------------------------------------------


def _table_rows(lines: list[str], described: _Described) -> Iterator[PastedMessage]:
    columns: list[tuple[str, int]] = []
    for line in lines:
        cells = line.split()
        if {"KIND", "NAME", "STATUS"} <= set(cells) or tuple(cells[:5]) == _POD_HEADER:
            columns = [(match[0], match.start()) for match in re.finditer(r"\S+(?: \S+)*", line)]
        elif not line.strip():
            columns = []
        elif columns:
            row = _cells(line, columns)
            part = _resource(row) if "KIND" in row else _pod_row(cells, described)
            if part is not None:
                yield part


def _cells(line: str, columns: list[tuple[str, int]]) -> dict[str, str]:
    """By the position of the header; the last column takes the rest of the line."""
    starts = [start for _, start in columns]
    ends = [*starts[1:], len(line)]
    return {name: line[start:end].strip() for (name, start), end in zip(columns, ends, strict=True)}


def _resource(row: dict[str, str]) -> PastedMessage | None:
    status, health, text = row.get("STATUS", ""), row.get("HEALTH", ""), row.get("MESSAGE", "")
    failed = status in ("SyncFailed", "Failed", "Error") or bool(row.get("HOOK") and status == "Failed")
    if not failed and health not in ("Degraded", "Progressing", "Missing", "Suspended", "Unknown"):
        return None
    return PastedMessage(
        origin=Origin.RESULT if failed else Origin.HEALTH,
        text=text,
        reason=status if failed else health,
        kind=row["KIND"],
        group=row.get("GROUP", ""),
        namespace=row.get("NAMESPACE", ""),
        name=row.get("NAME", ""),
        hook=row.get("HOOK", "") if failed else "",
    )


def _pod_row(cells: list[str], described: _Described) -> PastedMessage | None:
    if len(cells) < 5 or cells[2] in _GOOD or not cells[1].replace("/", "").isdigit():
        return None
    reason = cells[2].rpartition(":")[2]
    return PastedMessage(
        origin=Origin.CONTAINER,
        reason=reason,
        kind="Pod",
        namespace=described.namespace,
        name=cells[0],
        ended=reason in _ENDED,
    )


# --- events ---------------------------------------------------------------------------------------------


@cache
def _described_event() -> re.Pattern[str]:
    """`Type Reason Age From Message`, as `kubectl describe` prints them."""
    return re.compile(
        r"[ \t]*Warning\s+(?P<reason>[A-Z]\w+)\s+(?:<unknown>|\d\S*(?:\s+\(x\d+\s+over\s+\S+\))?)\s+"
        r"(?P<source>[\w./-]+)(?:,\s*\S+)?\s+(?P<text>\S.*)"
    )


@cache
def _listed_event() -> re.Pattern[str]:
    """`LAST SEEN, TYPE, REASON, OBJECT, MESSAGE`, as `kubectl get events` prints them."""
    return re.compile(
        r"[ \t]*(?:(?P<namespace>[a-z0-9-]+)\s+)?(?:<unknown>|\d\S*(?:\s+\(x\d+\s+over\s+\S+\))?)\s+"
        r"Warning\s+(?P<reason>[A-Z]\w+)\s+(?P<kind>[\w.-]+)/(?P<name>[\w.:-]+)\s+(?P<text>\S.*)"
    )


def _events(lines: list[str], described: _Described) -> Iterator[PastedMessage]:
    for number, line in enumerate(lines):
        match = _described_event().match(line)
        if match is not None:
            yield PastedMessage(
                origin=Origin.EVENT,
                reason=match["reason"],
                text=_wrapped(match["text"], lines[number + 1 :], indent=match.start("text")),
                kind=described.kind,
                namespace=described.namespace,
                name=described.name,
            )
            continue
        match = _listed_event().match(line)
        if match is not None:
            yield PastedMessage(
                origin=Origin.EVENT,
                reason=match["reason"],
                text=match["text"].strip(),
                kind=_kind(match["kind"]),
                namespace=match["namespace"] or described.namespace,
                name=match["name"],
            )


def _wrapped(text: str, following: list[str], *, indent: int) -> str:
    """With the lines below that are indented as far as the message."""
    lines = [text.strip()]
    for line in following:
        if not line.strip() or len(line) - len(line.lstrip()) < min(indent, 20):
            break
        lines.append(line.strip())
    return " ".join(lines)


_KINDS = {
    "replicaset": "ReplicaSet",
    "statefulset": "StatefulSet",
    "daemonset": "DaemonSet",
    "cronjob": "CronJob",
    "persistentvolumeclaim": "PersistentVolumeClaim",
    "persistentvolume": "PersistentVolume",
    "horizontalpodautoscaler": "HorizontalPodAutoscaler",
    "poddisruptionbudget": "PodDisruptionBudget",
}


def _kind(printed: str) -> str:
    """`kubectl get events` prints kinds in lower case."""
    bare = printed.partition(".")[0]
    return _KINDS.get(bare.lower(), bare[:1].upper() + bare[1:])


# --- `kubectl describe` ---------------------------------------------------------------------------------


class _Described:
    """The object that `kubectl describe` printed, and the states of its containers."""

    def __init__(self) -> None:
        self.kind = self.name = self.namespace = self.application = ""
        self._states: list[PastedMessage] = []

    @staticmethod
    def read(lines: list[str]) -> _Described:
        described = _Described()
        described.name = _top_value(lines, "Name")
        described.namespace = _top_value(lines, "Namespace")
        described.kind = _top_value(lines, "Kind")
        if not described.kind and any(line.startswith(("Containers:", "Init Containers:")) for line in lines):
            described.kind = "Pod"
        if any(line.startswith(("Project:", "Sync Policy:", "Sync Status:")) for line in lines):
            described.application = described.name.rpartition("/")[2]  # `argocd app get`
            described.name = described.namespace = ""
        described._read_states(lines)
        return described

    def states(self) -> tuple[PastedMessage, ...]:
        return tuple(self._states)

    def _read_states(self, lines: list[str]) -> None:
        container, current = "", dict[str, str]()
        for line in (*lines, "State: end"):
            name, colon, value = (piece.strip() for piece in line.partition(":"))
            if not colon:
                continue
            if name in ("State", "Last State"):
                self._add(container, current)
                current = {"state": value}
            elif current and name in ("Reason", "Message", "Exit Code"):
                current.setdefault(name, value)
            elif not value and re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", name):
                self._add(container, current)
                container, current = name, {}

    def _add(self, container: str, state: dict[str, str]) -> None:
        code = state.get("Exit Code", "")
        ended = state.get("state") == "Terminated"
        if state.get("state") not in ("Waiting", "Terminated") or (ended and code == "0"):
            return
        reason = state.get("Reason", "")
        if reason in _GOOD:
            return
        self._states.append(
            PastedMessage(
                origin=Origin.CONTAINER,
                reason=reason,
                text=state.get("Message", ""),
                kind="Pod",
                namespace=self.namespace,
                name=self.name,
                container=container,
                exit_code=int(code) if code.isdigit() else None,
                ended=ended,
            )
        )


def _top_value(lines: list[str], label: str) -> str:
    """The value of a label that is not indented."""
    start = f"{label}:"
    return next((line[len(start) :].strip() for line in lines if line.startswith(start)), "")


# --- a text of unknown origin ---------------------------------------------------------------------------


@cache
def _leading_reason() -> re.Pattern[str]:
    """A reason in front, as in `CrashLoopBackOff: back-off 5m0s restarting failed container`."""
    return re.compile(
        r"(?:Warning\s+)?(?P<reason>[A-Z]+[a-z]+[A-Z]\w*|OOMKilled)\b(?:\s*[:(-]\s*|\s+|$)(?P<text>.*)",
        re.DOTALL,
    )


def possible_origins(text: str) -> tuple[PastedMessage, ...]:
    """A bare text with every origin that it can have, the likeliest first."""
    match = _leading_reason().match(text)
    reason, remainder = (match["reason"], match["text"]) if match else ("", text)
    code = re.search(r"exit(?:ed)?(?: with)?(?: code| status)?[: ]+(\d{1,3})\b", text, re.IGNORECASE)
    exit_code = int(code[1]) if code else None
    parts = [
        PastedMessage(origin=Origin.CONDITION, reason="ComparisonError", text=text),
        PastedMessage(origin=Origin.OPERATION, reason="Failed", text=text),
        PastedMessage(origin=Origin.OPERATION, reason="Running", text=text),
        PastedMessage(origin=Origin.LONG_OPERATION, reason="Running", text=text),
        PastedMessage(origin=Origin.EVENT, reason=reason, text=text),
        PastedMessage(
            origin=Origin.CONTAINER,
            reason=reason
            or ("Error" if exit_code else ""),  # the kubelet's reason for all other codes than 0
            text=remainder,
            ended=True,
            exit_code=exit_code,
        ),
        PastedMessage(origin=Origin.CONTAINER, reason=reason, text=remainder),
        PastedMessage(origin=Origin.HEALTH, reason="Degraded", text=text),
        PastedMessage(origin=Origin.ARGOCD_LOG, reason="error", text=text),
    ]
    logged = log_failure(text.split("\n"))
    if logged is not None and logged.reason is not LogReason.ERROR:
        parts.append(PastedMessage(origin=Origin.CONTAINER_LOG, text=text))
    return tuple(part for part in parts if part.origin is not Origin.CONTAINER or part.reason)


def loud_lines(text: str) -> tuple[str, ...]:
    """The lines that report a failure, each once; of a long log the last ones."""
    lines = (parse_log_line(line) for line in text.split("\n"))
    loud = dict.fromkeys(line.text for line in lines if line.is_loud)
    return tuple(loud)[-_MOST_PARTS:]
