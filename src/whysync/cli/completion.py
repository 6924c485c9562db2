"""`whysync completion`: shell completion scripts, generated from the parser."""

from __future__ import annotations

import argparse
from pathlib import Path

import whysync
from whysync.cli.exits import Exit
from whysync.cli.parser import parser
from whysync.reports.output import out


def add_flags(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("shell", choices=("bash", "zsh", "fish"), help="source <(whysync completion bash)")


def run(options: argparse.Namespace) -> int:
    out().say(*_script(options.shell).removesuffix("\n").split("\n"))
    return Exit.OK


def _words() -> dict[str, list[str]]:
    """The flags of each verb, and the rules for `explain`."""
    verbs: dict[str, list[str]] = {}
    for name, verb in parser().verbs().items():
        flags = [flag for known in verb._actions for flag in known.option_strings]  # pyright: ignore[reportPrivateUsage]  (no public way)
        verbs[name] = sorted(flag for flag in flags if flag.startswith("--"))
    verbs["explain"] += _rules()
    return verbs


def _rules() -> list[str]:
    """The ids of the rules, from their file names, without importing them."""
    files = (Path(whysync.__file__).parent / "rules").glob("*/*.py")
    return sorted({file.stem for file in files if file.stem != "__init__"})


def _script(shell: str) -> str:
    verbs = _words()
    if shell == "fish":
        lines = ["complete -c whysync -f"]
        for verb, words in verbs.items():
            lines.append(f"complete -c whysync -n __fish_use_subcommand -a {verb}")
            lines += [
                f"complete -c whysync -n '__fish_seen_subcommand_from {verb}' {_fish(word)}" for word in words
            ]
        return "\n".join(lines) + "\n"
    cases = "\n".join(f"    {verb}) words='{' '.join(flags)}';;" for verb, flags in verbs.items())
    body = f"""\
_whysync() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" words
  case "${{COMP_WORDS[1]}}" in
{cases}
    *) words='{" ".join(verbs)}';;
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words='{" ".join(verbs)}'; fi
  case "${{COMP_WORDS[COMP_CWORD-1]}}" in
    --bundle|--checkout|--local|--file|--kubeconfig|--config|--ca-file|--auth-token-file)
      COMPREPLY=( $(compgen -f -- "$current") ); return;;
  esac
  COMPREPLY=( $(compgen -W "$words" -- "$current") )
}}
complete -F _whysync whysync
"""
    return f"autoload -U +X bashcompinit && bashcompinit\n{body}" if shell == "zsh" else body


def _fish(word: str) -> str:
    return f"-l {word[2:]}" if word.startswith("--") else f"-a {word}"
