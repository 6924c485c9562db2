"""`understand`: parse a message of Argo CD or Kubernetes into wrappers and failures."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache, lru_cache
from typing import NamedTuple, TypeVar

import msgspec

from whysync.lazy_pattern import lazy_pattern
from whysync.messages.benign import is_benign
from whysync.messages.failed_step import EVENT_FAMILIES
from whysync.messages.failure import Failure, Unknown
from whysync.messages.infer_family import FamilyFailure, family_of
from whysync.messages.log_line import LogLine, parse_log, parse_log_line
from whysync.messages.pattern import SEARCHED, Context, answer_of_truncated_text, first_answer
from whysync.messages.patterns import TABLES
from whysync.messages.patterns.admission import AdmissionDenied
from whysync.messages.patterns.argocd import RepoServerDown
from whysync.messages.patterns.diffs import DiffSchemaError
from whysync.messages.patterns.manifests import GenerationTimeout, PluginFailed
from whysync.messages.scope import commands_in_shell, is_only_command, is_own_command
from whysync.messages.wrappers import Layer, LayerKind, peel_back, peel_front

_BEGINNINGS = (
    r"error when \w+ \"|error validating \"|error running |error |Internal error occurred|"
    r"admission webhook \"|"
    r"[A-Z]\w{1,62}(?:\.[a-z0-9.-]{1,200})? \"[^\"]{0,253}\" is invalid|"
    r"[a-z]{3,62}(?:\.[a-z0-9.-]{1,200})? \"[^\"]{0,253}\" (?:is forbidden|is invalid|"
    r"not found|already exists)|"
    r"[A-Z]\w{1,62} in version \"|The Kubernetes API could not find|"
    r"the server could not find|no matches for kind|"
    r"resource mapping not found|[Rr]esource [\w.-]{0,200}:\w{1,62} is not permitted|"
    r"namespace \S{1,253} is not permitted|"
    r"Operation cannot be fulfilled|Apply failed with|failed to |Failed to |unable to |"
    r"Unable to |strict decoding error|"
    r"Resource \S{1,300} is missing|[\w/-]{1,80}: Forbidden|the server |"
    r"conversion webhook for|Timeout: |etcdserver: |"
    r"Unauthorized|object is being deleted|job failed|Job has reached|rpc error: "
)
_CONDITION = re.compile(r";(?=(?:Comparison|InvalidSpec|Unknown|Sync|Deletion)Error: )")

# The type of a condition in front of a log line that is its message.
_TYPE_OF_LOGGED = re.compile(
    r"(?:Comparison|InvalidSpec|Unknown|Sync|Deletion)Error: (?=\{|time=|level=|ts=)"
)

# A line of `kubectl get events` or `kubectl describe`: type, reason, the object or the component.
_EVENT = lazy_pattern(
    r"(?:\S{1,20}\s+)?Warning\s+(?P<reason>[A-Z]\w{2,60})\s+(?:\S{0,300}(?:/|kubelet|scheduler|controller)\S{0,300}\s+)?"
)

_F = TypeVar("_F", bound=Failure)
_LONGEST = 1 << 16
_DEEPEST = 4

# Wrappers that are followed by the joined reasons of several objects.
_WITH_SEVERAL_REASONS = frozenset(
    {
        LayerKind.OBJECTS_FAILED_TO_APPLY,
        LayerKind.TASKS_UNSUCCESSFUL,
        LayerKind.TASKS_NOT_VALID,
        LayerKind.NAMESPACE_FAILED_TO_APPLY,
        LayerKind.SYNC_FAIL_HOOKS,
    }
)


# What fails when a call of a gRPC service of Argo CD fails.
_SERVICES = {
    "plugin.ConfigManagementPluginService": LayerKind.PLUGIN,
    "repository.RepoServerService": LayerKind.GENERATE_MANIFESTS,
    "repository.RepositoryService": LayerKind.REPOSITORY,
    "cluster.ClusterService": LayerKind.CLUSTER,
    "CommitService": LayerKind.HYDRATOR,
}


class Reading(StrEnum):
    """How a text was recognized, from the most certain to the least."""

    EXACT = "exact"
    FOLDED = "folded"  # ignoring case and quotes
    CUT = "cut"  # truncated: the text ends in the middle of a known phrase
    FAMILY = "family"  # only the component or the step that failed is known
    UNKNOWN = "unknown"


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed text: the wrappers around it (outermost first), and the failures it reports."""

    text: str
    layers: tuple[Layer, ...]
    failures: tuple[Failure, ...]
    rest: str
    reading: Reading = Reading.EXACT

    @property
    def cached(self) -> bool:
        """Is it a cached error of the repo-server? A hard refresh clears it."""
        return self.layer(LayerKind.CACHED) is not None

    @property
    def retries(self) -> int | None:
        """How often the operation was retried, or the number of the next retry; `None` if unknown."""
        layer = self.layer(LayerKind.RETRIED) or self.layer(LayerKind.RETRYING)
        return layer.attempt if layer else None

    @property
    def revision(self) -> str | None:
        """The commit of the sync."""
        layer = self.layer(LayerKind.SYNC_ATTEMPT) or self.layer(LayerKind.OPERATION)
        return (layer.revision or None) if layer else None

    def layer(self, kind: LayerKind) -> Layer | None:
        return next((layer for layer in self.layers if layer.kind is kind), None)

    def every(self, kind: type[_F]) -> tuple[_F, ...]:
        """All failures of a type, also those nested in others."""
        return tuple(
            nested for failure in self.failures for nested in within(failure) if isinstance(nested, kind)
        )

    @property
    def is_vague(self) -> bool:
        """Is there a failure that no pattern matches?"""
        return any(isinstance(failure, Unknown) for failure in self.failures)

    def first(self, kind: type[_F]) -> _F | None:
        return next(iter(self.every(kind)), None)


@lru_cache(maxsize=4096)
def understand(text: str, *, reason: str = "", of_argocd_log: bool = False) -> Message:
    """Parse a message, condition, event or log line. It is deterministic and never raises.

    `reason` is the reason of the event, from which the family is inferred if no pattern matches.
    `of_argocd_log`: it is a line of a component of Argo CD, also if it is not structured.
    """
    typed = _TYPE_OF_LOGGED.match(text)
    prefix = typed.group() if typed else ""
    logged = parse_log(text[len(prefix) : _LONGEST])
    plain = (f"{prefix}{logged.text}" if logged else text[:_LONGEST]).replace('\\"', '"')
    if logged is None and of_argocd_log:
        logged = parse_log_line(text[:_LONGEST])  # klog, or the `argocd` command
        plain = logged.text.replace('\\"', '"')
    event = _EVENT.match(plain)
    if event is not None and not reason and event["reason"] in EVENT_FAMILIES:
        plain, reason = plain[event.end() :], event["reason"]
    log_layers = _layers_of_log(logged) if logged else ()
    message = _understand(plain, _Frame(log_layers, Reading.EXACT, reason, last=False))
    for reading, last in ((Reading.FOLDED, False), (Reading.EXACT, True), (Reading.CUT, False)):
        if not message.is_vague:
            break
        reparsed = _understand(plain, _Frame(log_layers, reading, reason, last))
        if not reparsed.is_vague or (message.reading, reparsed.reading) == (Reading.UNKNOWN, Reading.FAMILY):
            message = reparsed
    return message if plain == text else _cited_as_written(message, text)


def _layers_of_log(logged: LogLine) -> tuple[Layer, ...]:
    line = Layer(
        kind=LayerKind.LOG, text="", code=logged.level, subject="argocd" if logged.of_command else ""
    )
    service = _SERVICES.get(logged.service)
    layers = (line,) if service is None else (line, Layer(kind=service, text=""))
    if not logged.application_set:
        return layers
    subject = logged.application_set.strip("?")
    return *layers, Layer(kind=LayerKind.APPLICATION_SET, text="", subject=subject)


class _Frame(NamedTuple):
    """The wrappers and the event reason of a text, and how strictly to match it."""

    layers: tuple[Layer, ...]
    reading: Reading
    reason: str
    last: bool

    def inside(self, *layers: Layer) -> _Frame:
        return self._replace(layers=(*self.layers, *layers))


def _understand(text: str, frame: _Frame) -> Message:
    outer = frame.layers
    back, body = peel_back(text.strip())
    layers: list[Layer] = list(outer)
    failures: list[Failure] = []
    rest = ""
    for condition in conditions_of(body):
        condition_layers, condition_failures, condition_rest = _read(condition, frame, 0)
        layers.extend(layer for layer in condition_layers if layer not in layers)
        failures.extend(condition_failures)
        rest = rest or condition_rest
    return Message(
        text=text,
        layers=(*layers, *back),
        failures=_distinct(failures),
        rest=rest,
        reading=_reading(failures, frame.reading),
    )


def _reading(failures: list[Failure], used: Reading) -> Reading:
    unknown = [failure for failure in failures if isinstance(failure, Unknown)]
    if not unknown:
        return used
    return (
        Reading.FAMILY if all(isinstance(failure, FamilyFailure) for failure in unknown) else Reading.UNKNOWN
    )


def within(failure: Failure) -> tuple[Failure, ...]:
    """A failure, and those nested in it."""
    inner = failure.inner if isinstance(failure, (AdmissionDenied, DiffSchemaError)) else None
    return (failure, *within(inner)) if inner else (failure,)


def _read(text: str, frame: _Frame, depth: int) -> tuple[tuple[Layer, ...], list[Failure], str]:
    front, rest = peel_front(text, folded=frame.reading is Reading.FOLDED)
    frame = frame.inside(*front)
    if depth < _DEEPEST and front and any(layer.kind in _WITH_SEVERAL_REASONS for layer in front):
        pieces = reasons_of(rest)
        if len(pieces) > 1:
            inner_layers, failures = list(front), list[Failure]()
            for piece in pieces:
                piece_layers, piece_failures, _ = _read(piece, frame, depth + 1)
                inner_layers.extend(layer for layer in piece_layers if layer not in inner_layers)
                failures.extend(piece_failures)
            return tuple(inner_layers), failures, rest
    back, rest = peel_back(rest)
    return (*front, *back), list(_failures(rest, frame.inside(*back))), rest


def _failures(rest: str, frame: _Frame) -> tuple[Failure, ...]:
    layers, reading = frame.layers, frame.reading
    command = next((layer for layer in reversed(layers) if layer.kind is LayerKind.COMMAND_FAILED), None)
    if command and command.timeout and not command.command.startswith("kubectl"):
        return (GenerationTimeout(text=command.text, command=command.command, after=command.timeout),)
    if command and "signal: killed" in command.text and is_own_command(command.command):
        return (RepoServerDown(text=command.text, killed=command.command),)
    if command and "signal: killed" in command.text and not command.command.startswith("kubectl"):
        return (PluginFailed(text=command.text, killed=command.command),)
    if not rest:
        family = family_of(Context(text="", layers=layers, reason=frame.reason))
        if family is None and len(layers) > 1 and layers[0].kind is LayerKind.LOG and layers[-1].text:
            return (Unknown(text=layers[-1].text),)  # a failure without a reason, which only the log reports
        return (family,) if family is not None and family.text else ()
    if is_benign(rest):
        return ()
    opened = _with_shells_opened(layers)
    answer = answer_of_truncated_text if reading is Reading.CUT else first_answer
    for part in (rest[:SEARCHED], rest[-SEARCHED:])[: 1 + (len(rest) > SEARCHED)]:
        for known in opened:
            context = Context(
                text=part,
                layers=known,
                read=_inner,
                folded=reading is Reading.FOLDED,
                last=frame.last and known is opened[-1],
            )
            if failures := answer(TABLES[context.scope], context):
                return failures
    family = family_of(Context(text=rest, layers=layers, reason=frame.reason))
    return (Unknown(text=rest) if family is None else family,)


def _with_shells_opened(layers: tuple[Layer, ...]) -> tuple[tuple[Layer, ...], ...]:
    """The wrappers with each command of a shell in its place, and as they are if it ran others as well."""
    if not layers or layers[-1].kind is not LayerKind.COMMAND_FAILED:
        return (layers,)
    commands = commands_in_shell(layers[-1].command)
    opened = tuple((*layers[:-1], msgspec.structs.replace(layers[-1], command=one)) for one in commands)
    return opened if is_only_command(layers[-1].command) else (*opened, layers)


def _inner(text: str) -> Failure | None:
    """The first failure in a quoted error, if a pattern matches it."""
    front, rest = peel_front(text[:SEARCHED])
    context = Context(text=rest, layers=front)
    failures = first_answer(TABLES[context.scope], context)
    return failures[0] if failures else None


def _distinct(failures: list[Failure]) -> tuple[Failure, ...]:
    if len(failures) < 2:
        return tuple(failures)
    seen: dict[Failure, Failure] = {}
    for failure in failures:
        key = failure if isinstance(failure, Unknown) else msgspec.structs.replace(failure, text="")
        seen.setdefault(key, failure)
    return tuple(seen.values())


def _cited_as_written(plain: Message, text: str) -> Message:
    """The message with the original text: log lines are parsed without the escapes of quotes."""
    failures = tuple(
        msgspec.structs.replace(failure, text=_as_written(failure.text, text)) for failure in plain.failures
    )
    return msgspec.structs.replace(plain, text=text, failures=failures, rest=_as_written(plain.rest, text))


def _as_written(piece: str, text: str) -> str:
    if piece in text:
        return piece
    escaped = piece.replace('"', '\\"')
    return escaped if escaped in text else text


@cache
def _separator() -> re.Pattern[str]:
    """The separators of reasons: a comma separates them only before the beginning of an error."""
    return re.compile(
        rf",(?=(?:{_BEGINNINGS}))|; (?=(?:{_BEGINNINGS}))|\n(?=one or more SyncFail hooks failed)"
    )


def conditions_of(text: str) -> list[str]:
    """Split `ComparisonError: a;InvalidSpecError: b`, the message of an operation that did not start."""
    return _CONDITION.split(text) if ";" in text and "Error: " in text else [text]


def reasons_of(text: str) -> list[str]:
    """The distinct reasons after `, reason: ` or `are not valid: `."""
    pieces = (piece.strip(" ,;\n") for piece in _separator().split(text[:65536]))
    return list(dict.fromkeys(piece for piece in pieces if piece))[:200]
