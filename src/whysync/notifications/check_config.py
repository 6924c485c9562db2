"""Check a configuration file: every mistake with its line, what is wrong, and how to correct it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import msgspec

from whysync.errors import NotFound, TooLarge, Unreadable
from whysync.json_tree import Json
from whysync.kubernetes.api import yaml
from whysync.kubernetes.api.yaml import Broken, position
from whysync.notifications.config import (
    PATTERNS,
    Channel,
    Config,
    InstanceSettings,
    QuietHours,
    Route,
    SecretSource,
)
from whysync.notifications.secrets import read_secret

_MOST_BYTES: Final = 1 << 20
_LABEL: Final = re.compile("[a-zA-Z_][a-zA-Z0-9_]*")


class Mistake(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """`line` counts from 1; 0 if the mistake is about the whole file."""

    line: int
    pointer: str
    text: str

    def __str__(self) -> str:
        place = self.pointer.removeprefix("/").replace("/", ".")
        return f"line {self.line}: {f'{place}: ' if place else ''}{self.text}"


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """The configuration if the file has no mistakes, and the mistakes otherwise."""

    config: Config | None
    mistakes: tuple[Mistake, ...] = ()


def read_config(path: str, environ: Mapping[str, str] = os.environ) -> Config:
    """The configuration in a file; mistakes are an error that lists them."""
    checked = check_file(path, environ)
    if checked.config is None:
        raise Unreadable(
            what=f"{path} has {len(checked.mistakes)} mistakes"
            if len(checked.mistakes) > 1
            else f"{path} has a mistake",
            why="; ".join(map(str, checked.mistakes[:5])),
            next=f"correct it; whysync serve --check-config {path} shows all of them",
        )
    return checked.config


def check_file(path: str, environ: Mapping[str, str] = os.environ) -> Checked:
    try:
        with Path(path).expanduser().open("rb") as stream:
            data = stream.read(_MOST_BYTES + 1)
    except OSError as problem:
        raise NotFound(
            what=f"{path} cannot be read", why=problem.strerror or "", next="pass the path of a YAML file"
        ) from problem
    if len(data) > _MOST_BYTES:
        raise TooLarge(what=f"{path} is larger than 1 MiB", next="pass a configuration file")
    return check_text(data, environ)


def check_text(text: str | bytes, environ: Mapping[str, str] = os.environ) -> Checked:
    documents = list(yaml.documents(text))
    broken = next((document for document in documents if isinstance(document, Broken)), None)
    if broken is not None:
        return _refused([Mistake(line=broken.line, pointer="", text=f"invalid YAML: {broken.problem}")])
    if len(documents) != 1:
        text_ = "the file is empty" if not documents else "the file has several documents; only one is read"
        return _refused([Mistake(line=1, pointer="", text=text_)])
    (document,) = documents
    assert not isinstance(document, Broken)
    mistakes = [_mistake("", warning) for warning in document.warnings]
    mistakes += _structural(document.body, msgspec.inspect.type_info(Config), "")
    if not mistakes:
        config = msgspec.convert(document.body, Config)
        mistakes = [*_semantic(config, environ)]
        if not mistakes:
            return Checked(config=config)
    return _refused(_with_line(mistake, text) for mistake in dict.fromkeys(mistakes))


def _refused(mistakes: Iterable[Mistake]) -> Checked:
    return Checked(config=None, mistakes=tuple(sorted(mistakes)))


def _with_line(mistake: Mistake, text: str | bytes) -> Mistake:
    """The line of the field, or of the nearest section around it that is in the file."""
    pointer = mistake.pointer
    line = position(text, pointer) if pointer else 1
    while line is None:
        pointer = pointer.rpartition("/")[0]
        line = position(text, pointer) if pointer else 1
    return msgspec.structs.replace(mistake, line=line)


# --- shape -----------------------------------------------------------------------------------------


def _structural(value: Json, type: msgspec.inspect.Type, pointer: str) -> Iterator[Mistake]:
    """All mistakes in the shape of a value; msgspec itself stops at the first one."""
    type = _without_description(type)
    if isinstance(type, msgspec.inspect.UnionType):
        inner = [one for one in type.types if not isinstance(one, msgspec.inspect.NoneType)]
        if value is None:
            return
        type = _without_description(inner[0]) if len(inner) == 1 else type
    if isinstance(type, msgspec.inspect.StructType):
        yield from _section(value, type, pointer)
    elif isinstance(type, msgspec.inspect.VarTupleType) and isinstance(value, list):
        if type.min_length and len(value) < type.min_length:
            yield _mistake(pointer, "it must not be empty")
        for index, item in enumerate(value):
            yield from _structural(item, type.item_type, f"{pointer}/{index}")
    elif isinstance(type, msgspec.inspect.DictType) and isinstance(value, dict):
        for key, item in value.items():
            yield from _structural(item, type.value_type, f"{pointer}/{_escaped(key)}")
    else:
        yield from _leaf(value, type, pointer)


def _without_description(type: msgspec.inspect.Type) -> msgspec.inspect.Type:
    return _without_description(type.type) if isinstance(type, msgspec.inspect.Metadata) else type


def _section(value: Json, type: msgspec.inspect.StructType, pointer: str) -> Iterator[Mistake]:
    if not isinstance(value, dict):
        names = ", ".join(field.encode_name for field in type.fields)
        yield _mistake(pointer, f"it must be a section with the fields {names}")
        return
    fields = {field.encode_name: field for field in type.fields}
    for key in value.keys() - fields.keys():
        similar = get_close_matches(key, fields, n=1)
        hint = f"did you mean {similar[0]}?" if similar else f"the fields are {', '.join(fields)}"
        yield _mistake(f"{pointer}/{_escaped(key)}", f"unknown field; {hint}")
    for name, field in fields.items():
        if name in value:
            yield from _structural(value[name], field.type, f"{pointer}/{name}")
        elif field.required:
            yield _mistake(pointer, f"the field {name} is missing")


def _leaf(value: Json, type: msgspec.inspect.Type, pointer: str) -> Iterator[Mistake]:
    match type:
        case msgspec.inspect.StrType(pattern=pattern):
            if not isinstance(value, str):
                yield _mistake(pointer, f"it must be text, not {_kind(value)}; put it in quotes")
            elif not value:
                yield _mistake(pointer, "it must not be empty")
            elif pattern is not None and not re.search(pattern, value):
                yield _mistake(pointer, f"invalid value; it must be {PATTERNS.get(pattern, pattern)}")
        case msgspec.inspect.IntType(ge=lowest, le=highest):
            if isinstance(value, bool) or not isinstance(value, int):
                yield _mistake(pointer, f"it must be a number, not {_kind(value)}")
            elif (lowest is not None and value < lowest) or (highest is not None and value > highest):
                yield _mistake(pointer, f"it must be {lowest} to {highest}")
        case msgspec.inspect.BoolType():
            if not isinstance(value, bool):
                yield _mistake(pointer, f"it must be true or false, not {_kind(value)}")
        case msgspec.inspect.LiteralType(values=values):
            yield from _choice(value, [str(one) for one in values], pointer)
        case msgspec.inspect.EnumType(cls=cls):
            yield from _choice(value, [str(member.value) for member in cast("Iterable[Any]", cls)], pointer)
        case msgspec.inspect.VarTupleType():
            yield _mistake(pointer, f"it must be a list, not {_kind(value)}")
        case _:
            yield _mistake(pointer, f"it must be a section, not {_kind(value)}")


def _choice(value: Json, choices: list[str], pointer: str) -> Iterator[Mistake]:
    if isinstance(value, str | int) and str(value) in choices:
        return
    similar = get_close_matches(str(value), choices, n=1)
    hint = f"; did you mean {similar[0]}?" if similar and len(choices) > 1 else ""
    one_of = "one of " if len(choices) > 1 else ""
    yield _mistake(pointer, f"it must be {one_of}{', '.join(choices)}{hint}")


def _kind(value: Json) -> str:
    if value is None:
        return "empty"
    names = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list"}
    return next((name for kind, name in names.items() if isinstance(value, kind)), "a section")


def _mistake(pointer: str, text: str) -> Mistake:
    return Mistake(line=0, pointer=pointer, text=text)


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


# --- meaning ---------------------------------------------------------------------------------------


def _semantic(config: Config, environ: Mapping[str, str]) -> Iterator[Mistake]:
    yield from _instances(config.instances, environ)
    names: set[str] = set()
    for index, channel in enumerate(config.notifications.channels):
        pointer = f"/notifications/channels/{index}"
        if channel.name in names:
            yield _mistake(f"{pointer}/name", f"another channel is named {channel.name}")
        names.add(channel.name)
        yield from _channel(channel, pointer, environ)
    yield from _routes(config.notifications.routes, names)
    if config.hooks.argocd is not None:
        yield from _secret(config.hooks.argocd.secret_from, "/hooks/argocd/secretFrom", environ)
    if config.link is not None:
        yield from _address(config.link, "/link")


def _instances(instances: tuple[InstanceSettings, ...], environ: Mapping[str, str]) -> Iterator[Mistake]:
    names: set[str] = set()
    for index, instance in enumerate(instances):
        pointer = f"/instances/{index}"
        if instance.name in names:
            yield _mistake(f"{pointer}/name", f"another instance is named {instance.name}")
        names.add(instance.name)
        in_cluster = bool(instance.kubeconfig or instance.context or instance.in_cluster)
        if not (instance.server or in_cluster or instance.bundle):
            yield _mistake(pointer, "it needs server, kubeconfig, context, inCluster or bundle")
        if instance.bundle and (instance.server or in_cluster):
            yield _mistake(f"{pointer}/bundle", "a bundle is read alone, without a server or a cluster")
        if instance.in_cluster and (instance.kubeconfig or instance.context):
            yield _mistake(f"{pointer}/inCluster", "it is either inCluster or kubeconfig and context")
        if instance.token_from is not None and not instance.server:
            yield _mistake(f"{pointer}/tokenFrom", "a token needs a server")
        yield from _secret(instance.token_from, f"{pointer}/tokenFrom", environ)
        for name in ("ca_file", "kubeconfig", "bundle"):
            path = getattr(instance, name)
            if path and not Path(path).expanduser().exists():
                yield _mistake(
                    f"{pointer}/{'caFile' if name == 'ca_file' else name}", f"{path} does not exist"
                )


def _channel(channel: Channel, pointer: str, environ: Mapping[str, str]) -> Iterator[Mistake]:
    given = [kind for kind in ("webhook", "slack", "alertmanager") if getattr(channel, kind) is not None]
    if len(given) != 1:
        found = f"it has {' and '.join(given)}" if given else "it has none"
        yield _mistake(pointer, f"a channel needs exactly one of webhook, slack and alertmanager; {found}")
    if (webhook := channel.webhook) is not None:
        if (webhook.url is None) is (webhook.url_from is None):
            yield _mistake(f"{pointer}/webhook", "it needs either url or urlFrom")
        if webhook.url is not None:
            yield from _address(webhook.url, f"{pointer}/webhook/url")
        yield from _url_secret(webhook.url_from, f"{pointer}/webhook/urlFrom", environ)
        yield from _secret(webhook.token_from, f"{pointer}/webhook/tokenFrom", environ)
    if channel.slack is not None:
        yield from _url_secret(channel.slack.url_from, f"{pointer}/slack/urlFrom", environ)
    if (alertmanager := channel.alertmanager) is not None:
        yield from _address(alertmanager.url, f"{pointer}/alertmanager/url")
        yield from _secret(alertmanager.token_from, f"{pointer}/alertmanager/tokenFrom", environ)
        for label in alertmanager.labels:
            if not _LABEL.fullmatch(label):
                place = f"{pointer}/alertmanager/labels/{_escaped(label)}"
                yield _mistake(place, "invalid label name; it must be letters, digits and _")


def _routes(routes: tuple[Route, ...], channels: set[str]) -> Iterator[Mistake]:
    catches_all = -1
    for index, route in enumerate(routes):
        pointer = f"/notifications/routes/{index}"
        for number, name in enumerate(route.channels):
            if name not in channels:
                similar = get_close_matches(name, channels, n=1)
                hint = f"did you mean {similar[0]}?" if similar else "define it under notifications.channels"
                yield _mistake(f"{pointer}/channels/{number}", f"there is no channel {name}; {hint}")
        if catches_all >= 0:
            earlier = f"route {catches_all + 1} matches every incident and has no continue: true"
            yield _mistake(pointer, f"this route is never used: {earlier}")
        elif route.match == type(route.match)() and not route.continue_:
            catches_all = index
        if route.quiet_hours is not None:
            yield from _quiet_hours(route.quiet_hours, f"{pointer}/quietHours")


def _quiet_hours(quiet: QuietHours, pointer: str) -> Iterator[Mistake]:
    if quiet.from_ == quiet.to:
        yield _mistake(f"{pointer}/to", "from and to are equal, so no time is quiet")
    try:
        ZoneInfo(quiet.timezone)
    except (KeyError, ValueError, OSError):
        example = "a name such as Europe/Berlin"
        yield _mistake(f"{pointer}/timezone", f"unknown time zone; it must be {example}")


def _address(url: str, pointer: str) -> Iterator[Mistake]:
    try:
        parts = urlsplit(url)
        has_host, _ = bool(parts.hostname), parts.port
    except ValueError:
        has_host, parts = False, urlsplit("")
    if not has_host:
        yield _mistake(pointer, "the URL is invalid")
    elif parts.username is not None or parts.password is not None:
        yield _mistake(pointer, "a URL with a password is a secret; use urlFrom or tokenFrom")


def _url_secret(source: SecretSource | None, pointer: str, environ: Mapping[str, str]) -> Iterator[Mistake]:
    mistakes = list(_secret(source, pointer, environ))
    yield from mistakes
    if source is not None and not mistakes and not re.match("https?://", read_secret(source, environ)):
        yield _mistake(pointer, "the secret is not an http or https URL")


def _secret(source: SecretSource | None, pointer: str, environ: Mapping[str, str]) -> Iterator[Mistake]:
    if source is None:
        return
    if bool(source.file) is bool(source.env):
        yield _mistake(pointer, "it needs either file or env")
        return
    try:
        read_secret(source, environ)
    except Unreadable as problem:
        yield _mistake(pointer, problem.what)
