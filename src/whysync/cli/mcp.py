"""`whysync mcp`: answer an assistant's questions over the Model Context Protocol. It only reads."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from whysync.cli.exits import Exit
from whysync.cli.flag_types import Append, seconds
from whysync.cli.source_flags import add_source_flags
from whysync.deadline import Deadline
from whysync.errors import NotFound, Unreadable, UsageError
from whysync.reports.output import err

if TYPE_CHECKING:  # --help does not load what a run needs
    from whysync.app import FactSource
    from whysync.history.history import History
    from whysync.mcp.server import Address
    from whysync.mcp.tools import Toolbox

_DEFAULT_ADDRESS = "127.0.0.1:8401"
_TIMEOUT = 120.0
_MOST_TOKEN_BYTES = 4_096
_EPILOG = """\
examples:
  whysync mcp --bundle bundle.tar.gz                answer from a bundle, over standard input and output
  whysync mcp --server argocd.example.com           answer from Argo CD
  whysync mcp --core --http                         serve http://127.0.0.1:8401/mcp
  whysync mcp --core --db whysync.db                with the incidents that whysync serve recorded

Tools: list_apps, diagnose, get_diff, explain, plan, list_incidents. See docs/mcp.md for the configuration of
assistants. Needs: pip install 'whysync[mcp]'.
"""


def add_flags(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--http",
        metavar="HOST:PORT",
        nargs="?",
        const=_DEFAULT_ADDRESS,
        default="",
        help=f"serve HTTP instead of standard input and output (default address {_DEFAULT_ADDRESS})",
    )
    verb.add_argument(
        "--http-token-file",
        metavar="FILE",
        default="",
        help="file with the bearer token of HTTP clients; required unless HOST is a loopback address",
    )
    verb.add_argument(
        "--checkout",
        metavar="DIR",
        action=Append,
        default=[],
        help="checkout that the tool plan may read (repeatable)",
    )
    verb.add_argument(
        "--max-age",
        metavar="TIME",
        type=seconds,
        default=30.0,
        help="read a live source again if the facts are older (default 30s)",
    )
    verb.add_argument(
        "--db",
        metavar="DB",
        default="",
        help="history of whysync serve: FILE.db or postgresql://…, for the tool list_incidents",
    )
    add_source_flags(verb, takes_local=False, takes_git=False)
    verb.epilog = _EPILOG


def run(options: argparse.Namespace) -> int:
    from whysync.mcp.server import check_installed, serve_http, serve_stdio

    check_installed()
    address = _address(options.http) if options.http else None
    token = _token(options.http_token_file)
    if address is not None and not address.is_loopback and not token:
        raise UsageError(
            what=f"--http {options.http}: clients of other machines need a token",
            why="whoever can reach this address could read the state of the clusters",
            next="pass --http-token-file FILE, or listen on 127.0.0.1",
        )
    toolbox = _toolbox(options)
    if address is None:
        serve_stdio(toolbox)
    else:
        serve_http(toolbox, address, token=token, started=_print_address)
    return Exit.OK


def _toolbox(options: argparse.Namespace) -> Toolbox:
    """The tools on the source of the flags, which is checked now and opened again for each reading."""
    from whysync.cli.sources import source_of
    from whysync.mcp.facts import Facts
    from whysync.mcp.tools import Toolbox

    timeout: float = options.timeout or _TIMEOUT

    def open_source(deadline: Deadline) -> FactSource:
        options.deadline = deadline
        return source_of(options)

    _check(open_source(Deadline()), has_history=bool(options.db))
    return Toolbox(
        Facts(open_source, max_age=options.max_age),
        timeout=timeout,
        checkouts=tuple(map(_checkout, options.checkout)),
        history=_history(options.db) if options.db else None,
    )


def _history(url: str) -> History:
    from whysync.history.history import History

    if "://" not in url and not Path(url).expanduser().is_file():
        raise NotFound(
            what=f"--db {url} does not exist", next="pass the database of whysync serve, or leave --db out"
        )
    return History.open(url if "://" in url else str(Path(url).expanduser()))


def _check(source: FactSource, *, has_history: bool) -> None:
    """Report a missing source at once, instead of on the first question."""
    from whysync.app import no_source

    if "-" in source.bundles:
        raise UsageError(
            what="--bundle - is not possible here",
            why="the protocol uses standard input",
            next="write the bundle to a file and pass its path",
        )
    for path in source.bundles:
        if not Path(path).exists():
            raise NotFound(what=f"{path} does not exist", next="pass the path of a bundle with --bundle")
    if not source.bundles and source.server is None and source.kube is None and not has_history:
        raise no_source()


def _checkout(folder: str) -> Path:
    path = Path(folder).expanduser()
    if not path.is_dir():
        raise NotFound(what=f"--checkout {folder}: no such folder", next="pass the folder of a Git checkout")
    return path


def _address(text: str) -> Address:
    from whysync.mcp.server import Address

    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise UsageError(
            what=f"invalid --http {text!r}", why="it must be HOST:PORT", next=f"such as {_DEFAULT_ADDRESS}"
        )
    return Address(host=host, port=int(port))


def _token(file: str) -> str:
    """The token, which is never printed."""
    if not file:
        return ""
    try:
        with Path(file).expanduser().open("rb") as stream:
            token = stream.read(_MOST_TOKEN_BYTES + 1).decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as problem:
        raise Unreadable(
            what=f"--http-token-file {file} cannot be read", why=type(problem).__name__, next="check the file"
        ) from None
    if not token or len(token) > _MOST_TOKEN_BYTES:
        raise Unreadable(
            what=f"--http-token-file {file} has no token",
            why="it must contain one line of 1 to 4096 characters",
            next="create one: openssl rand -hex 32 > FILE",
        )
    return token


def _print_address(address: Address) -> None:
    err().say(f"whysync mcp: listening on {address.url}")
