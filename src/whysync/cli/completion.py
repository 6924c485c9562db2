"""`whysync completion`: a script for the completion of bash, zsh or fish. It asks `whysync __complete`."""

from __future__ import annotations

import argparse

from whysync.cli.complete import FILES
from whysync.cli.exits import Exit
from whysync.reports.output import out

# Words from whysync are never expanded: `compgen -W` would run `$(…)` in them.
_BASH = """\
_whysync() {
  local line="${COMP_LINE:0:COMP_POINT}" current="${COMP_WORDS[COMP_CWORD]}" typed prefix word file
  local -a words=()
  read -ra words <<< "$line"
  if [[ $line == *[[:space:]] ]]; then words+=(""); fi
  typed="${words[${#words[@]}-1]}"
  case "$current" in =|:) current="";; esac
  prefix="${typed%"$current"}"
  COMPREPLY=()
  while IFS= read -r word; do
    if [[ $word == FILES ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -f -- "$current")
    else
      COMPREPLY+=("${word#"$prefix"}")
    fi
  done < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
}
complete -F _whysync whysync
"""
_ZSH = """\
#compdef whysync
_whysync() {
  local -a candidates
  candidates=("${(@f)$(${words[1]} __complete "${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
  if [[ ${candidates[1]} == FILES ]]; then
    _files
  elif [[ -n ${candidates[1]} ]]; then
    compadd -a candidates
  fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _whysync whysync
"""
_FISH = """\
function __whysync_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l program $words[1]
  set -e words[1]
  set -l candidates ($program __complete $words "$current" 2>/dev/null)
  if test "$candidates[1]" = FILES
    __fish_complete_path "$current"
  else if set -q candidates[1]
    printf '%s\\n' $candidates
  end
end
complete -c whysync -f -a '(__whysync_complete)'
"""
_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def add_flags(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("shell", choices=tuple(_SCRIPTS), help="source <(whysync completion bash)")
    verb.epilog = """\
bash  source <(whysync completion bash)
zsh   source <(whysync completion zsh)
fish  whysync completion fish | source

Names of apps come from the source in use; they are cached for 30 seconds."""


def run(options: argparse.Namespace) -> int:
    script = _SCRIPTS[options.shell].replace("FILES", FILES)
    out().say(*script.removesuffix("\n").split("\n"))
    return Exit.OK
