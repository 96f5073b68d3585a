# For tests of the program as a process: jobs, runs in the background, and what is checked of them. To be sourced, from
# bash with `set -euo pipefail` and $tandem set; the test ends with `finish`. Works in a folder of its own, where out and
# err are the output of the last `run` or `start_driver`.
# shellcheck shell=bash
source "$(dirname "${BASH_SOURCE[0]}")/../support/within.sh"

folder=$(mktemp -d)
readonly folder
# By process, what was started and not waited for.
declare -A background=()
cd "$folder" || exit
failures=0

# Their working directory is this test's.
nodes_of_this_test() {
  local pid
  for pid in $(pgrep -f 'tandem node|node tcp://' || true); do
    [[ $(readlink "/proc/$pid/cwd" || true) != "$folder" ]] || echo "$pid"
  done
}
none_left() { [[ -z $(nodes_of_this_test) ]]; }

end_all() {
  local pid
  for pid in "${!background[@]}" $(nodes_of_this_test); do kill -KILL "$pid" 2>/dev/null || true; done
  rm -rf "$folder"
}
trap end_all EXIT

check() { # WHAT CONDITION...
  local what=$1 file
  shift
  if "$@"; then
    printf 'passed: %s\n' "$what"
    return
  fi
  printf 'FAILED: %s\n' "$what"
  failures=$((failures + 1))
  for file in out err node*.out node*.err; do [[ ! -s $file ]] || tail -n 30 "$file" | sed "s/^/  $file: /"; done
}

finish() {
  ((failures == 0)) || printf '%d checks failed\n' "$failures"
  exit $((failures > 0))
}

# says FILE TEXT
says() { grep -qF -- "$2" "$1"; }
# matches FILE PATTERN
matches() { grep -qE -- "$2" "$1"; }
first_error_matches() { grep -m 1 '^error: ' "$1" | grep -qE -- "$2"; }
not() { ! "$@"; }

milliseconds() { date +%s%3N; }

job() { # NAME LINES: writes NAME.toml, a small job with more lines
  cat >"$1.toml" <<END
[data]
kind = "synthetic"
samples = 2000
test_samples = 200
[model]
kind = "softmax"
[training]
workers = 4
batch = 5
$2
END
}

# run STATUS ARGUMENT...: runs the program, and checks its exit status.
run() {
  local wanted=$1 status=0
  shift
  # shellcheck disable=SC2154  # It is the test's.
  "$tandem" "$@" >out 2>err </dev/null || status=$?
  check "exit status $wanted of: tandem $*" test "$status" = "$wanted"
}

# start_driver ARGUMENT...: trains in the background; its pid is in `driver`.
start_driver() {
  # In a process group of its own, or it would ignore SIGINT as background jobs of scripts do.
  set -m
  "$tandem" train "$@" >out 2>err </dev/null &
  set +m
  driver=$!
  background[$driver]=yes
}

has_ended() { ! kill -0 "$1" 2>/dev/null || [[ $(awk '{ print $3 }' "/proc/$1/stat" 2>/dev/null) == Z ]]; }
reports() { [[ -s runs/$1/metrics.jsonl ]]; }
reports_or_has_ended() { reports "$1" || has_ended "$driver"; }

# start_endless NAME ARGUMENT...: a run that does not end by itself; waits for its first report.
start_endless() {
  job "$1" 'epochs = 1000000
[run]
report_seconds = 0.05
evaluate_epochs = false'
  rm -rf "runs/$1"
  start_driver "$1.toml" "${@:2}"
  within 60 reports_or_has_ended "$1" || true
  check "a run of $1 begins" reports "$1"
}

# await_end PID: sets `status` to its exit status, or to "late" if it has not ended in 30 s.
await_end() {
  status=late
  within 30 has_ended "$1" || return 0
  status=0
  wait "$1" || status=$?
  unset "background[$1]"
}

# ends_with STATUS PID
ends_with() {
  await_end "$2"
  [[ $status == "$1" ]]
}

# check_end WHAT STATUS SECONDS: of the driver, from now on.
check_end() {
  local began took
  began=$(milliseconds)
  await_end "$driver"
  took=$(($(milliseconds) - began))
  check "$1: exit status $2 ($status)" test "$status" = "$2"
  check "$1: within $3 s ($took ms)" test $took -le $((1000 * $3))
}
