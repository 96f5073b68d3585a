# Assertions for the tests of scripts. To be sourced, from bash with `set -euo pipefail`; the test ends with `finish`.
# shellcheck shell=bash
source "$(dirname "${BASH_SOURCE[0]}")/../support/within.sh"

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# shellcheck disable=SC2034  # The tests use it.
readonly repository
readonly scratch
passed=0
failed=0

# run COMMAND...: puts its output into `output` and its exit status into `status`.
run() {
  status=0
  output=$("$@" 2>&1 </dev/null) || status=$?
}

# expect WHAT CONDITION...: counts, and shows the last `output` if the condition, a command, does not hold.
expect() {
  if "${@:2}"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: %s\n  exit status %s, output:\n%s\n' "$1" "$status" "${output//$'\n'/$'\n'  }"
  fi
}

exits_with() { [[ $status == "$1" ]]; }
prints() { [[ $output == *"$1"* ]]; }
prints_not() { [[ $output != *"$1"* ]]; }

# stub NAME: makes NAME, found before the machine's own, a script that is read from standard input.
stub() {
  mkdir -p "$scratch/bin"
  { echo '#!/usr/bin/env bash' && cat; } >"$scratch/bin/$1"
  chmod +x "$scratch/bin/$1"
}

finish() {
  echo "$passed passed, $failed failed"
  ((passed > 0 && failed == 0))
}
