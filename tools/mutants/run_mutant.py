"""A mutant takes its module's place in a forked child, and the module's tests run there.

Everything is imported once, before the fork: a child costs milliseconds, and the files on disk stay as they
are. What has already imported the module is forgotten in the child and imported anew.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import resource
import signal
import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from types import ModuleType


class Fate(StrEnum):
    NOTICED = "noticed"
    TOO_SLOW = "too slow"  # noticed as well: it ran in circles
    SURVIVED = "survived"


class _Stand(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives one module another source."""

    def __init__(self, name: str, source: str) -> None:
        self.name, self.source = name, source

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        del path, target
        return importlib.util.spec_from_loader(fullname, self) if fullname == self.name else None

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.source, f"<mutant of {self.name}>", "exec"), module.__dict__)


def fate(name: str, source: str, *, forget: Sequence[str], passes: Callable[[], bool], seconds: int) -> Fate:
    """What becomes of this source of the module; `forget` are the packages that know it."""
    child = os.fork()
    if not child:
        _live(name, source, forget=forget, passes=passes, seconds=seconds)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return Fate.TOO_SLOW if os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGALRM) else Fate.NOTICED
    return Fate.NOTICED if os.WEXITSTATUS(status) else Fate.SURVIVED


def _live(name: str, source: str, *, forget: Sequence[str], passes: Callable[[], bool], seconds: int) -> None:
    code = 1
    try:
        # Seconds of work: on a busy machine the clock says little. The alarm is for one that sleeps.
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        signal.alarm(seconds * 20)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        for known in tuple(sys.modules):
            if any(known == one or known.startswith(f"{one}.") for one in forget):
                del sys.modules[known]
        sys.meta_path.insert(0, _Stand(name, source))
        importlib.import_module(name)
        code = 0 if passes() else 1
    except BaseException:  # whatever it is, it was noticed
        code = 1
    finally:
        os._exit(code)
