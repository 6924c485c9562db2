"""Passwords in command lines, in a text or a list: `redis-cli -a X`, `mysql -pX`, `vault login X`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Final

from whysync.facts.masking.secret_names import Secrecy, secrecy_of
from whysync.facts.masking.values import is_literal_value, is_reference, looks_secret
from whysync.lazy_pattern import lazy_pattern

# Short flags that take a password, by program.
_MONGO: Final = dict.fromkeys(("mongo", "mongosh", "mongodump", "mongorestore", "mongoexport"), "p")
_LDAP: Final = dict.fromkeys(
    ("ldapsearch", "ldapadd", "ldapmodify", "ldapdelete", "ldapwhoami", "ldappasswd"), "ws"
)
_REDIS: Final = dict.fromkeys(("redis-cli", "valkey-cli", "keydb-cli"), "a")
_MYSQL: Final = dict.fromkeys(
    ("mysql", "mysqldump", "mysqladmin", "mysqlimport", "mariadb", "mariadb-dump", "mariadb-admin"), "p"
)
_LOGIN: Final = frozenset(
    [
        "docker",
        "podman",
        "nerdctl",
        "buildah",
        "skopeo",
        "crane",
        "oras",
        "helm",
        "az",
        "oc",
        "regctl",
        "kubelogin",
    ]
)
_FLAGS: Final[dict[str, str]] = {
    **_MONGO,
    **_LDAP,
    **_REDIS,
    **_MYSQL,
    "sshpass": "p",
    "cqlsh": "p",
    "rabbitmqadmin": "p",
    "influx": "p",
    "sqlcmd": "P",
    "bcp": "P",
    "tsql": "P",
    "ipmitool": "P",
    "7z": "p",
    "zip": "P",
    "unzip": "P",
    "snmpget": "AX",
    "snmpwalk": "AX",
}
USER_AND_PASSWORD: Final = frozenset(("-u", "--user", "--basic-auth", "--proxy-user"))
_PROGRAMS: Final = sorted({*_FLAGS, *_LOGIN, "vault", "login"}, key=len, reverse=True)
_PROGRAM = lazy_pattern(rf"(?<![\w.-])(?:{'|'.join(_PROGRAMS)})(?![\w.-])")
_END = lazy_pattern(r"[\n;|&]|[\"'][\]}]")  # the latter where a list in JSON ends
_ARGUMENT = lazy_pattern(r"[\"']?((?![,:\[\]{}]+(?:[\s\"'`]|$))[^\s\"'`]+)")
_MAX_LENGTH: Final = 2_000


def in_text(text: str) -> Iterator[tuple[int, int]]:
    """Positions of passwords in the command lines of a text."""
    line_end = 0
    for program in _PROGRAM.finditer(text):
        if program.start() < line_end:
            continue
        end = _END.search(text, program.end(), program.end() + _MAX_LENGTH)
        line_end = end.start() if end else min(len(text), program.end() + _MAX_LENGTH)
        arguments = [
            (match_.start(1), match_[1]) for match_ in _ARGUMENT.finditer(text, program.start(), line_end)
        ]
        for at, offset in secret_arguments([argument for _, argument in arguments]):
            start, argument = arguments[at]
            yield start + offset, start + len(argument)


def secret_arguments(arguments: Sequence[str], program: str = "") -> Iterator[tuple[int, int]]:
    """Arguments that contain a password, and its offset; without `program`, the first one is the program."""
    name = program or (arguments[0] if arguments else "")
    name = name.rpartition("/")[2]
    letters, is_login = _FLAGS.get(name, ""), name == "login"
    skip = -1
    for at, argument in enumerate(arguments):
        if at == skip:
            continue
        following = arguments[at + 1] if at + 1 < len(arguments) else ""
        if argument == "login" and name in _LOGIN:
            is_login = True
        elif argument == "login" and name == "vault":
            if looks_secret(following.rstrip(":,.")) and _is_value(following) and "=" not in following:
                yield at + 1, 0
                skip = at + 1
        elif argument in USER_AND_PASSWORD and ":" in following:
            _, colon, password = following.partition(":")
            if colon and _is_value(password) and not password.isdecimal() and "/" not in following[:2]:
                yield at + 1, len(following) - len(password)
        elif (
            len(argument) >= 2
            and argument[0] == "-"
            and argument[1] in (letters or ("p" if is_login else ""))
        ):
            if len(argument) > 2:
                offset = 3 if argument[2] == "=" else 2
                if _is_value(argument[offset:]):
                    yield at, offset
            elif name not in _MYSQL and _is_value(following):  # there a blank means: prompt for it
                yield at + 1, 0
                skip = at + 1


def secret_items(arguments: Sequence[str], program: str = "") -> Iterator[tuple[int, int]]:
    """As `secret_arguments` for a list, where flags and values are separate: `["--token", "X"]`."""
    positions = list(secret_arguments(arguments, program))
    yield from positions
    masked = {at for at, _ in positions}
    for at, (flag, value) in enumerate(itertools.pairwise(arguments), 1):
        if at in masked or flag[:1] != "-" or "=" in flag or not _is_value(value):
            continue
        secrecy = secrecy_of(flag)
        if secrecy is Secrecy.SURE or (
            (secrecy is not Secrecy.NONE or flag == "-p") and looks_secret(value) and ":" not in value[:6]
        ):
            yield at, 0


def _is_value(argument: str) -> bool:
    return (
        bool(argument)
        and argument[0] not in "-$*"
        and is_literal_value(argument)
        and not is_reference(argument)
        and not argument.startswith("<masked")
    )
