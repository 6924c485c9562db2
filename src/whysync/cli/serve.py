"""`whysync serve`: watch a fleet and show it on a web page, with history and metrics."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from whysync.cli.exits import Exit
from whysync.cli.flag_types import Append, seconds
from whysync.cli.source_flags import add_source_flags
from whysync.errors import UsageError

if TYPE_CHECKING:  # --help does not load what a run needs
    from whysync.app import FactSource
    from whysync.history.history import History
    from whysync.notifications.argocd_hook import HookRequest
    from whysync.notifications.config import Config, InstanceSettings
    from whysync.watch.fleet import Clock
    from whysync.watch.sources import Source
    from whysync.watch.watcher import Watcher
    from whysync.web.access import Access
    from whysync.web.listen import Worker
    from whysync.web.site import Hook

_DEFAULT_ADDRESS = "127.0.0.1:8400"
_REQUESTS = 200
"""Requests to an Argo CD server in a second, at most."""
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def add_flags(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--listen",
        metavar="HOST:PORT",
        default=_DEFAULT_ADDRESS,
        help=f"address of the page; port 0: any (default {_DEFAULT_ADDRESS})",
    )
    verb.add_argument(
        "--db",
        metavar="FILE|URL",
        default="whysync.db",
        help="history: an SQLite file (default whysync.db), postgresql://…, or :memory:",
    )
    verb.add_argument(
        "--interval", metavar="TIME", type=seconds, default=5.0, help="polling interval (default 5s)"
    )
    verb.add_argument(
        "--keep",
        metavar="TIME",
        type=seconds,
        default=365.0 * 86400,
        help="how long closed incidents are kept (default 365 days, as 8760h)",
    )
    verb.add_argument("--no-proof", action="store_true", help="do not simulate the fixes")
    verb.add_argument(
        "--demo",
        metavar="SPEED",
        nargs="?",
        const=60.0,
        type=float,
        help="serve scenarios of the lab on a clock that runs SPEED times as fast (default 60)",
    )
    verb.add_argument(
        "--config",
        dest="settings_file",
        metavar="FILE",
        default="",
        help="configuration file: instances, notifications, hook for Argo CD, retention (overrides --keep)",
    )
    verb.add_argument(
        "--instance",
        metavar="NAME",
        default="",
        help="name of the Argo CD instance (default argocd)",
    )
    verb.add_argument(
        "--check-config",
        metavar="FILE",
        default="",
        help="check a configuration file, print its mistakes with their lines, and exit",
    )
    access = verb.add_argument_group("access", "without these, only this machine may look")
    access.add_argument(
        "--access-token-file", metavar="FILE", default="", help="file with the token that viewers need"
    )
    access.add_argument(
        "--user-header",
        metavar="NAME",
        default="",
        help="header in which a proxy names the user, such as X-Forwarded-User",
    )
    access.add_argument(
        "--projects-header",
        metavar="NAME",
        default="",
        help="header in which the proxy lists the user's AppProjects; * means all",
    )
    access.add_argument(
        "--trusted-proxy",
        metavar="ADDRESS",
        action=Append,
        default=[],
        help="address of the proxy whose headers count (repeatable; default 127.0.0.1 and ::1)",
    )
    add_source_flags(verb, takes_local=False, takes_git=False, argocd_config="--argocd-config")


def run(options: argparse.Namespace) -> int:
    from datetime import UTC, datetime

    from whysync.history.history import History
    from whysync.notifications.sender import Sender
    from whysync.reports.output import err
    from whysync.watch.fleet import Fleet
    from whysync.watch.watcher import Recorder, Watcher
    from whysync.web.listen import serve
    from whysync.web.site import Site

    if options.check_config:
        return _check_config(options.check_config)
    config = _config(options)
    host, port = _address(options.listen)
    access = _access(options, host)
    clock: Clock = lambda: datetime.now(UTC)  # noqa: E731  (one of two clocks)
    sources: Sequence[Source]
    if options.demo is not None:
        sources, clock = _demo(options.demo)
    else:
        sources = _sources(options, config)
    fleet = Fleet(clock, proves=not options.no_proof)
    history = History.open(options.db if options.demo is None else ":memory:")
    watchers = [
        Watcher(
            source,
            fleet,
            Recorder(history, fleet, config.kept, source=source.name),
            prove=not options.no_proof,
        )
        for source in sources
    ]
    streams = [
        stream
        for source, watcher in zip(sources, watchers, strict=True)
        for stream in _streams(source, watcher)
    ]
    sender = Sender(history, config, clock=fleet.now)
    try:
        serve(
            Site(fleet, history, access, _hook(config, *watchers)),
            (*watchers, sender, *streams),
            host=host,
            port=port,
            started=lambda name, number: err().say(f"whysync: http://{_in_url(name)}:{number}"),
        )
    finally:
        _end(history)
    return 0


def _end(history: History) -> None:
    """Let another process record at once; without the database, it does so when the leases expire."""
    from contextlib import suppress

    from whysync.errors import WhysyncError

    with suppress(WhysyncError):
        history.release()
    history.close()


def _config(options: argparse.Namespace) -> Config:
    """The configuration file; without one, nobody is notified."""
    from whysync.notifications.check_config import read_config
    from whysync.notifications.config import Config, RetentionSettings

    if options.settings_file:
        return read_config(options.settings_file)
    days = max(round(options.keep / 86_400), 1)
    return Config(version=1, retention=RetentionSettings(incident_days=days))


def _check_config(path: str) -> int:
    from whysync.notifications.check_config import check_file
    from whysync.reports.output import out

    mistakes = check_file(path).mistakes
    lines = [f"{path}: {mistake}" for mistake in mistakes] or [f"{path}: no mistakes"]
    out().say(*lines)
    return Exit.ERROR if mistakes else Exit.OK


def _hook(config: Config, *watchers: Watcher) -> Hook | None:
    """The hook that Argo CD's notifications call, if it is configured."""
    from whysync.notifications.secrets import read_secret
    from whysync.web.site import Hook

    settings = config.hooks.argocd
    if settings is None:
        return None

    def look_at(request: HookRequest) -> None:
        for watcher in watchers:
            if request.instance in ("", watcher.instance):
                watcher.look_at(request.namespace, request.app)

    return Hook(secret=lambda: read_secret(settings.secret_from), look_at=look_at)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise UsageError(
            what=f"invalid --listen {text!r}", next=f"pass HOST:PORT, such as {_DEFAULT_ADDRESS}"
        )
    return host.strip("[]") or "127.0.0.1", int(port)


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _access(options: argparse.Namespace, host: str) -> Access:
    from whysync.web.access import Access, token_of

    proxies = frozenset(options.trusted_proxy) or frozenset(("127.0.0.1", "::1"))
    access = Access(
        token=token_of(options.access_token_file) if options.access_token_file else "",
        user_header=options.user_header,
        projects_header=options.projects_header,
        proxies=proxies,
    )
    if access.is_open and host not in _LOOPBACK:
        raise UsageError(
            what=f"{host} can be reached by others, but nothing says who may look",
            next="pass --access-token-file, or --user-header with the proxy's header, or listen on 127.0.0.1",
        )
    if options.projects_header and not options.user_header:
        raise UsageError(what="--projects-header needs --user-header")
    return access


def _demo(speed: float) -> tuple[Sequence[Source], Clock]:
    from whysync.watch.demo import SCENARIOS, LabSource, VirtualClock

    if not 0 < speed <= 3600:
        raise UsageError(what=f"invalid --demo {speed:g}", next="pass a speed from 1 to 3600")
    clock = VirtualClock(speed)
    return (LabSource(SCENARIOS, clock),), clock


def _streams(source: Source, watcher: Watcher) -> Sequence[Worker]:
    """Follow the changes of a live source. A forwarded port is opened for each read, so it is polled."""
    from whysync.app import follow_applications
    from whysync.watch.sources import LiveSource
    from whysync.watch.stream import ApplicationStream

    if not isinstance(source, LiveSource):
        return ()
    facts = source.facts
    if facts.server is not None and facts.server.forward is not None:
        return ()
    return (ApplicationStream(source, lambda: follow_applications(facts), watcher.wake),)


def _sources(options: argparse.Namespace, config: Config) -> Sequence[Source]:
    """The instances of the configuration file; without them, the source that the flags name."""
    from whysync.cli.sources import names_live_source, source_of

    if not config.instances:
        return (_watched(source_of(options), options.instance, options),)
    if options.bundle or options.instance or names_live_source(options):
        raise UsageError(
            what="the configuration file lists the instances to watch, and flags name another source",
            next=f"add it to instances in {options.settings_file}, or leave out the flags",
        )
    return [_configured(instance, options) for instance in config.instances]


def _configured(instance: InstanceSettings, options: argparse.Namespace) -> Source:
    """A source from the configuration file. Variables for one server, such as a token, are not for all."""
    import os

    from whysync.app import FactSource
    from whysync.cli.sources import live_source
    from whysync.notifications.secrets import read_secret

    if instance.bundle:
        return _watched(FactSource(bundles=(instance.bundle,)), instance.name, options)
    token = instance.token_from
    settings = argparse.Namespace(**vars(options))
    settings.server = instance.server
    settings.auth_token_file = token.file if token is not None else ""
    settings.auth_token = read_secret(token) if token is not None and token.env else ""
    settings.ca_file, settings.root_path = instance.ca_file, instance.root_path
    settings.insecure, settings.plaintext = instance.insecure, instance.plaintext
    settings.kubeconfig, settings.context = instance.kubeconfig, instance.context
    settings.core = instance.in_cluster or bool(instance.kubeconfig or instance.context)
    settings.argocd_namespace = instance.argocd_namespace
    settings.app_namespace = list(instance.app_namespaces)
    settings.use_cluster_secrets = instance.use_cluster_secrets
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ARGOCD_")}
    return _watched(live_source(settings, environ), instance.name, options)


def _watched(source: FactSource, name: str, options: argparse.Namespace) -> Source:
    from msgspec.structs import replace

    from whysync.app import no_source
    from whysync.watch.sources import INSTANCE, BundleSource, LiveSource

    if source.bundles:
        return BundleSource(source, name=name)
    if source.server is not None:
        description = f"Argo CD at {source.server.base_url}"
        # a fleet that changes all the time needs more requests than one command may send
        limits = replace(source.server.limits, per_second=_REQUESTS, burst=2 * _REQUESTS)
        source = replace(source, server=replace(source.server, limits=limits))
    elif source.kube is not None:
        description = f"Kubernetes, context {source.kube.context or 'of the kubeconfig'}"
    else:
        raise no_source()
    return LiveSource(source, name=name or INSTANCE, description=description, interval=options.interval)
