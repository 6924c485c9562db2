#!/usr/bin/env bash
# The step of action.yml: annotations on the screen, a summary of the job, a comment on the pull request, and
# files where they are asked for. Exits as whysync does: 2 before 1 before 3, of what ran.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
report="${MARKDOWN:-$work/whysync.md}"
mkdir -p "$(dirname "$report")"
: >"$report"
read -r -a lint_more <<<"${LINT_ARGUMENTS:-}"
read -r -a plan_more <<<"${PLAN_ARGUMENTS:-}"
lint='' plan=''

base_of_change() {
  if [ -n "${PLAN_BASE:-}" ]; then
    echo "$PLAN_BASE"
  elif [ -n "${GITHUB_EVENT_PATH:-}" ]; then
    python "$here/pull_request.py" base
  fi
}

if [ "${WANT_PLAN:-false}" = true ]; then
  plan=0
  flags=(-o github -o "markdown=$work/plan.md")
  if [ -n "${PLAN_HTML:-}" ]; then flags+=(-o "html=$PLAN_HTML"); fi
  base=$(base_of_change) || base=""
  if [ -n "$base" ]; then
    # A checkout of CI often has one commit alone. If it cannot be had, whysync says what is missing.
    git cat-file -e "$base^{commit}" 2>/dev/null || git fetch --quiet --depth=1 origin "$base" || true
    flags+=(--base "$base")
  fi
  whysync plan "${flags[@]}" ${plan_more[@]+"${plan_more[@]}"} || plan=$?
  if [ -f "$work/plan.md" ]; then cat "$work/plan.md" >>"$report"; fi
fi

if [ "${WANT_LINT:-true}" = true ]; then
  lint=0
  read -r -a paths <<<"${LINT_PATHS:-.}"
  flags=(-o github --fail-on "${LINT_FAIL_ON:-warning}" -o "markdown=$work/lint.md")
  if [ -n "${LINT_SARIF:-}" ]; then flags+=(-o "sarif=$LINT_SARIF"); fi
  whysync lint "${flags[@]}" ${lint_more[@]+"${lint_more[@]}"} -- "${paths[@]}" || lint=$?
  if [ -s "$report" ]; then printf '\n' >>"$report"; fi
  if [ -f "$work/lint.md" ]; then cat "$work/lint.md" >>"$report"; fi
fi

if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then cat "$report" >>"$GITHUB_STEP_SUMMARY"; fi
if [ -n "${GITHUB_OUTPUT:-}" ]; then
  printf 'lint=%s\nplan=%s\nmarkdown=%s\n' "$lint" "$plan" "$report" >>"$GITHUB_OUTPUT"
fi
if [ "${WANT_COMMENT:-false}" = true ] && [ -s "$report" ] && [ -n "${GITHUB_EVENT_PATH:-}" ]; then
  python "$here/pull_request.py" comment "$report" || echo "::warning::whysync could not comment on the pull request"
fi
for code in 2 1 3; do
  if [ "$lint" = "$code" ] || [ "$plan" = "$code" ]; then exit "$code"; fi
done
