#!/usr/bin/env bash
# The step of action.yml: annotations on the screen, a summary of the job, and files where they are asked for.
set -euo pipefail
read -r -a paths <<<"${LINT_PATHS:-.}"
read -r -a more <<<"${LINT_ARGUMENTS:-}"
flags=(-o github --fail-on "${LINT_FAIL_ON:-warning}")
if [ -n "${LINT_SARIF:-}" ]; then flags+=(-o "sarif=$LINT_SARIF"); fi
if [ -n "${LINT_MARKDOWN:-}" ]; then flags+=(-o "markdown=$LINT_MARKDOWN"); fi
summary=$(mktemp)
code=0
whysync lint "${flags[@]}" -o "markdown=$summary" ${more[@]+"${more[@]}"} -- "${paths[@]}" || code=$?
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then cat "$summary" >>"$GITHUB_STEP_SUMMARY"; fi
rm -f "$summary"
exit "$code"
