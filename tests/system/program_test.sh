#!/usr/bin/env bash
# The tandem program as a process: exit statuses, what it says and leaves, Ctrl-C, failures.
# usage: program_test.sh TANDEM
set -euo pipefail

tandem=$(realpath "$1")
readonly tandem
source "$(dirname "${BASH_SOURCE[0]}")/program.sh"

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
  kill -INT "$driver"
  check_end "Ctrl-C" 130 5
  check "the summary says interrupted" says runs/once/summary.json '"status": "interrupted"'
  start_endless twice
  kill -INT "$driver"
  kill -INT "$driver"
  check_end "Ctrl-C twice" 130 5
  start_endless terminated
  kill -TERM "$driver"
  check_end "SIGTERM" 130 5
}

lines_of() { wc -l <"runs/$1/metrics.jsonl"; }
# has_lines NAME MORE_THAN
has_lines() { (($(lines_of "$1") > $2)); }

# goes_on NAME: and is interrupted as any other.
goes_on() {
  local lines
  lines=$(lines_of "$1")
  check "a run of $1 goes on" within 30 has_lines "$1" $((lines + 2))
  kill -INT "$driver"
  check_end "Ctrl-C in a run of $1" 130 5
}

test_signals_that_mean_nothing() {
  trap '' HUP
  start_endless nohup
  trap - HUP
  kill -HUP "$driver"
  goes_on nohup
  # As Slurm sends it to all that it runs, if asked to.
  start_endless signalled
  kill -USR1 "$driver"
  goes_on signalled
}

test_lock() {
  start_endless locked
  run 1 train locked.toml
  check "a second run into the same folder is refused" says err "another run is writing into runs/locked"
  kill -INT "$driver"
  check_end "Ctrl-C in the first" 130 5
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

test_done
test_bad_usage
test_missing_data
test_failing_run
test_unwritable
test_interrupts
test_signals_that_mean_nothing
test_lock
test_bench_step
test_bench_exchange
test_topologies
finish
