#!/usr/bin/env bash
# The tandem program as a process: exit statuses, what it says and leaves, Ctrl-C, failures.
# usage: program_test.sh TANDEM
set -euo pipefail

readonly tandem=$1
folder=$(mktemp -d)
pid=
trap '[[ -z $pid ]] || kill -KILL "$pid"; rm -rf "$folder"' EXIT
cd "$folder"
failures=0

check() { # WHAT CONDITION...
  local what=$1
  shift
  if "$@"; then
    printf 'passed: %s\n' "$what"
  else
    printf 'FAILED: %s\n' "$what"
    failures=$((failures + 1))
    for file in out err; do [[ -s $file ]] && sed "s/^/  $file: /" "$file"; done
  fi
}

# run STATUS ARGUMENT...: runs the program, checks its exit status, keeps its output in out and err.
run() {
  local wanted=$1 status=0
  shift
  "$tandem" "$@" >out 2>err </dev/null || status=$?
  check "exit status $wanted of: tandem $*" test "$status" = "$wanted"
}

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

says() { grep -qF -- "$2" "$1"; }
reports() { [[ -s runs/$1/metrics.jsonl ]]; }

# start_endless NAME: starts a run that does not end by itself and waits for its first report.
start_endless() {
  job "$1" 'epochs = 1000000
[run]
report_seconds = 0.05'
  "$tandem" train "$1.toml" >out 2>err </dev/null &
  pid=$!
  until reports "$1"; do
    kill -0 $pid || return 1
    sleep 0.05
  done
}

# await_end STATUS SECONDS: waits for the run of start_endless; its status, and that it took no longer.
await_end() {
  local status=0 begin=$SECONDS
  wait "$pid" || status=$?
  pid=
  check "exit status $1" test "$status" = "$1"
  check "ends within $2 s" test $((SECONDS - begin)) -le "$2"
}

test_done() {
  job fine 'epochs = 2'
  run 0 train fine.toml
  for file in job.toml metrics.jsonl timeline.json summary.json; do check "writes $file" test -s "runs/fine/$file"; done
  check "the summary says done" says runs/fine/summary.json '"status": "done"'
  check "shows where the time went" says out "of a step"
  check "the timeline has exchange spans" says runs/fine/timeline.json '"name":"exchange"'
  run 0 check runs/fine/job.toml
  check "the effective job gives itself again" diff -q out runs/fine/job.toml
  run 0 train fine.toml
  check "an earlier run is kept" test -s runs/fine.1/summary.json
  check "and said to be" says out "runs/fine.1"
}

test_bad_usage() {
  job wrong 'batchsize = 3'
  run 2 train wrong.toml
  check "names file, line and nearest key" grep -q 'wrong.toml:10.*batchsize' err
  check "trains nothing" test ! -e runs/wrong
  run 2 train nothing.toml
  run 2 train
  run 2 sing
  run 2 train fine.toml --set topology.width=9
  run 0 --version
  run 0 train --help
}

test_missing_data() {
  printf '[data]\nfolder = "/usr/share/datasets/no-such"\n' >missing.toml
  run 1 train missing.toml
  check "names the folder" says err "/usr/share/datasets/no-such"
  check "names what provides it" grep -qE 'dataset-fashion-mnist|train-images-idx3-ubyte' err
}

test_failing_run() {
  job diverges 'epochs = 5
[optimizer]
lr = 1e6
momentum = 0.99
[topology]
name = "allreduce"'
  run 1 train diverges.toml --set model.kind=mlp
  check "the last lines name rank and step" grep -qE '^error: worker [0-3] at step [0-9]+: the update was not finite' err
  check "the summary says failed, and why" grep -q '"error": "worker' runs/diverges/summary.json
  check "the timeline is there" says runs/diverges/timeline.json '"name":"forward"'
}

test_unwritable() {
  touch not-a-folder
  run 1 train fine.toml --set run.folder=not-a-folder
  check "names what cannot be written" says err "not-a-folder"
}

test_interrupts() {
  start_endless once
  kill -INT $pid
  await_end 130 5
  check "the summary says interrupted" says runs/once/summary.json '"status": "interrupted"'
  start_endless twice
  kill -INT $pid
  kill -INT $pid
  await_end 130 5
  start_endless terminated
  kill -TERM $pid
  await_end 130 5
}

test_ignored_signal() {
  trap '' HUP
  start_endless nohup
  trap - HUP
  kill -HUP $pid
  local line
  line=$(wc -l <runs/nohup/metrics.jsonl)
  # It goes on reporting, or this waits until the test's time is over.
  until (($(wc -l <runs/nohup/metrics.jsonl) > line + 2)); do sleep 0.05; done
  kill -INT $pid
  await_end 130 5
}

test_lock() {
  start_endless locked
  run 1 train locked.toml
  check "a second run into the same folder is refused" says err "another run is writing into runs/locked"
  kill -INT $pid
  await_end 130 5
}

test_bench_step() {
  run 0 bench step fine.toml --rounds 1 --seconds 0.1
  check "prints a step's time beside compute alone" grep -q '"step_seconds":.*"compute_only_seconds":.*"ratio":' out
  run 2 bench step fine.toml --slow-worker 0 --slow-factor nan
  check "a factor that is no number is refused" says err "nan is no number from 1 to 100"
  run 2 bench step fine.toml --slow-worker 4
  check "a slow worker that there is not is refused" says err "workers 0 to 3"
  run 0 bench step fine.toml --rounds 1 --seconds 0.1 --slow-worker 3 --slow-factor 2
  check "names the slow worker" says out '"slow_worker":3'
}

test_bench_exchange() {
  run 0 bench allreduce --ranks 3,4 --sizes 0,1,5000 --rounds 3 --segment 1000
  # native without a codec, and two algorithms with three, for two groups and three sizes.
  check "measures every combination that there is" test "$(wc -l <out)" = 42
  run 2 bench allreduce --algorithms native --codecs int8
  check "native has no codec" says err "nothing to measure"
  run 2 bench allreduce --algorithms rings
  run 0 bench codec --values 5000 --rounds 3
  check "measures every operation of every codec, and a copy" test "$(wc -l <out)" = 13
}

# keys FILE: the keys of a summary, of its objects too.
keys() { grep -oE '"[a-z_0-9]+":' "$1"; }

test_topologies() {
  job topologies 'epochs = 2
[run]
report_seconds = 0.01
[topology]
width = 2
correction = "local"
staleness = 2
name = "pipeline"'
  run 2 train topologies.toml
  sed -i /staleness/d topologies.toml
  local topology
  for topology in ps-sync ps-async allreduce pipeline; do
    run 0 train topologies.toml --set topology.name=$topology --set run.name=$topology
    check "$topology trains" grep -qE '"accuracy": [01]\.[0-9]+' runs/$topology/summary.json
    check "the summary of $topology has the fields of every other" \
      diff <(keys runs/ps-sync/summary.json) <(keys runs/$topology/summary.json)
  done
  check "ps-sync trains as allreduce does" \
    diff <(grep accuracy runs/ps-sync/summary.json) <(grep accuracy runs/allreduce/summary.json)
  check "asynchronous training without a bound is warned of" \
    grep -q "topology.staleness is unset" <("$tandem" check topologies.toml --set topology.name=ps-async 2>&1)
  run 0 train topologies.toml --set topology.name=ps-async --set topology.staleness=1 --set run.name=bounded
  check "the staleness that was seen is shown" says out "largest staleness seen 1"
  run 0 train topologies.toml --set topology.codec=int8 --set run.name=coded
  check "a codec in shared memory is said to save nothing" says err "saves nothing"
}

# Signals reach background jobs of a script only with job control.
set -m
test_done
test_bad_usage
test_missing_data
test_failing_run
test_unwritable
test_interrupts
test_ignored_signal
test_lock
test_bench_step
test_bench_exchange
test_topologies
((failures == 0)) || { printf '%d FAILED\n' "$failures"; exit 1; }
