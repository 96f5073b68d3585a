#!/usr/bin/env bash
# Runs over several processes of this machine: what they compute, and what is said and left when one of them dies.
# usage: nodes_test.sh TANDEM [ROUNDS]      ROUNDS: how often a node is killed, and stopped, at a random moment (3)
set -euo pipefail

readonly tandem=$1 rounds=${2-3}
folder=$(mktemp -d)
declare -A background=()
# end_all: kills what is left of the processes that were started here, and their nodes.
end_all() {
  local pid
  for pid in "${!background[@]}" $(nodes_of_this_test); do kill -KILL "$pid" 2>/dev/null || true; done
}
trap 'end_all; rm -rf "$folder"' EXIT
cd "$folder"
failures=0

check() { # WHAT CONDITION...
  local what=$1 file
  shift
  if "$@"; then
    printf 'passed: %s\n' "$what"
  else
    printf 'FAILED: %s\n' "$what"
    failures=$((failures + 1))
    for file in out err node*.out node*.err; do [[ -s $file ]] && tail -n 30 "$file" | sed "s/^/  $file: /"; done
  fi
}

says() { grep -qE -- "$2" "$1"; }
first_error_says() { grep -m 1 '^error: ' "$1" | grep -qE -- "$2"; }
not() { ! "$@"; }

# Their working directory is this test's.
nodes_of_this_test() {
  local pid
  for pid in $(pgrep -f 'tandem node|node tcp://' || true); do
    [[ $(readlink "/proc/$pid/cwd" || true) == "$folder" ]] && echo "$pid"
  done
  return 0
}
none_left() { [[ -z $(nodes_of_this_test) ]]; }

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

endless() { # NAME [LINES]
  job "$1" "epochs = 1000000
[run]
report_seconds = 0.05
evaluate_epochs = false
${2-}"
}

# await_end PID: sets `status` to its exit status, or "late" if it has not ended in 30 s.
await_end() {
  local pid=$1 tries
  status=late
  for ((tries = 0; tries < 600; ++tries)); do
    if ! kill -0 "$pid" 2>/dev/null || [[ $(awk '{print $3}' "/proc/$pid/stat" 2>/dev/null) == Z ]]; then
      status=0
      wait "$pid" || status=$?
      unset "background[$pid]"
      return
    fi
    sleep 0.05
  done
}

# ends_with STATUS PID
ends_with() {
  await_end "$2"
  [[ $status == "$1" ]]
}

milliseconds() { date +%s%3N; }

# start_driver ARGUMENT...: sets `driver`, its pid; its output is in out and err.
start_driver() {
  # In a process group of its own, or it would ignore SIGINT as background jobs of scripts do.
  set -m
  "$tandem" train "$@" >out 2>err </dev/null &
  set +m
  driver=$!
  background[$driver]=yes
}

# start_endless NAME ARGUMENT...: a run that does not end by itself; waits for its first report.
start_endless() {
  rm -rf "runs/${1%.toml}"
  start_driver "$@"
  until [[ -s runs/${1%.toml}/metrics.jsonl ]]; do
    kill -0 "$driver" || return 1
    sleep 0.05
  done
}

node_named() { pgrep -f -- "node tcp://.* --name $1 " | while read -r pid; do
  [[ $(readlink "/proc/$pid/cwd") == "$folder" ]] && echo "$pid"
done; }

accuracy() { sed -n 's/.*"accuracy": *\([0-9.]*\).*/\1/p' "runs/$1/summary.json" | tail -n 1; }

test_same_as_here() {
  job here 'epochs = 2'
  check 'a run here' "$tandem" train here.toml >out 2>err
  local accuracy_here topology
  accuracy_here=$(accuracy here)
  for topology in allreduce pipeline ps-sync; do
    job here 'epochs = 2'
    "$tandem" train here.toml --set topology.name=$topology >out 2>err || true
    accuracy_here=$(accuracy here)
    for nodes in 2 4; do
      job nodes 'epochs = 2'
      check "$topology on $nodes local nodes" \
        "$tandem" train nodes.toml --local-nodes $nodes --set topology.name=$topology >out 2>err
      check "$topology on $nodes nodes trains as here" test "$(accuracy nodes)" = "$accuracy_here"
    done
  done
  job encrypted 'epochs = 2
[cluster]
encrypt_data = true'
  check 'with encrypted data' "$tandem" train encrypted.toml --local-nodes 2 --set topology.codec=int8 >out 2>err
  job async 'epochs = 2
[topology]
name = "ps-async"
staleness = 2
servers = 2
server_node = "local1"'
  check 'ps-async with its servers on one node' "$tandem" train async.toml --local-nodes 2 >out 2>err
  check 'no node is left' none_left
}

# F1
test_node_dies() { # SIGNAL MILLISECONDS WHY
  local round victim began status took
  endless f1
  for ((round = 0; round < rounds; ++round)); do
    start_endless f1.toml --local-nodes 4 --set cluster.silence_seconds=2
    sleep "0.$((RANDOM % 10))"
    victim=local$((RANDOM % 4))
    pid=$(node_named $victim)
    began=$(milliseconds)
    kill "-$1" "$pid"
    await_end "$driver"
    took=$(($(milliseconds) - began))
    check "$1: the run fails" test "$status" = 1
    check "$1: within $2 ms ($took)" test "$took" -le "$2"
    check "$1: the node is named, with rank and step" \
      first_error_says err "node $victim \(host .*, pid $pid\) with rank ${victim#local} at step [0-9]+ is lost: it $3"
    check "$1: what others saw is marked as such" not says err '^  (worker|reducer)'
    check "$1: no node is left" none_left
    check "$1: the run folder is complete" grep -q '"status": "failed"' runs/f1/summary.json
  done
}

# F3
test_interrupts() {
  local presses status began took
  endless f3
  for presses in 1 2; do
    start_endless f3.toml --local-nodes 3
    began=$(milliseconds)
    kill -INT "$driver"
    ((presses == 1)) || { sleep 0.1 && kill -INT "$driver"; }
    await_end "$driver"
    took=$(($(milliseconds) - began))
    check "Ctrl-C $presses times ends with status 130" test "$status" = 130
    check "Ctrl-C $presses times ends within 5 s ($took ms)" test "$took" -le 5000
    check 'no node is left' none_left
  done
}

test_driver_killed() {
  local began took
  endless killed
  start_endless killed.toml --local-nodes 3
  began=$(milliseconds)
  kill -KILL "$driver"
  await_end "$driver"
  until none_left || (($(milliseconds) - began > 20000)); do sleep 0.05; done
  took=$(($(milliseconds) - began))
  check "the nodes end by themselves within 5 s when the driver is killed ($took ms)" test "$took" -le 5000
}

# F4, and two runs at once
test_bad_data() {
  job bad 'epochs = 1'
  "$tandem" train bad.toml --local-nodes 2 --set data.kind=idx --set data.folder=nowhere >out 2>err && status=0 || status=$?
  check 'missing data fails the run' test "$status" = 1
  check 'missing data is the first error, with worker and node' first_error_says err 'worker [0-3] on node local[01].*nowhere'
  job first 'epochs = 3'
  job second 'epochs = 3'
  "$tandem" train first.toml --local-nodes 2 >first.out 2>&1 &
  local first=$!
  check 'one of two runs at once' "$tandem" train second.toml --local-nodes 2 >out 2>err
  check 'the other of two runs at once' wait $first
}

# start_node NAME ARGUMENT...
start_node() {
  local name=$1
  shift
  "$tandem" node --name "$name" "$@" >"node-$name.out" 2>"node-$name.err" </dev/null &
  background[$!]=yes
  node=$!
}

# port_of_driver: waits until it listens.
endpoint_of_driver() {
  until grep -qo 'waiting for nodes at tcp://[^ ]*' out; do sleep 0.05; done
  sed -n 's/^waiting for nodes at //p' out
}

test_keys() {
  local name endpoint first second stranger key
  for name in driver a b stranger; do "$tandem" keygen "$name.key" >/dev/null; done
  cat a.key.pub b.key.pub >accepted.pub
  check 'the secret key is for its owner alone' test "$(stat -c %a driver.key)" = 600
  job keys 'epochs = 10'
  start_driver keys.toml --nodes 2 --listen 'tcp://127.0.0.1:*' --key driver.key --accept accepted.pub
  endpoint=$(endpoint_of_driver)
  start_node stranger "$endpoint" --key stranger.key --driver-key driver.key.pub --wait 2
  stranger=$node
  check 'a node with a key that is not accepted ends with 1' ends_with 1 "$stranger"
  check 'it is told why' says node-stranger.err 'not accepted'
  start_node keyless "$endpoint" --wait 2
  check 'a node without key ends with 1' ends_with 1 "$node"
  start_node deceived "$endpoint" --key a.key --driver-key b.key.pub --wait 2
  check 'a node that expects another driver ends with 1' ends_with 1 "$node"
  start_node a "$endpoint" --key a.key --driver-key driver.key.pub
  first=$node
  # Garbage.
  printf 'GET / HTTP/1.1\r\n\r\n' >"/dev/tcp/127.0.0.1/${endpoint##*:}" || true
  head -c 4096 /dev/urandom >"/dev/tcp/127.0.0.1/${endpoint##*:}" || true
  start_node b "$endpoint" --key b.key --driver-key driver.key.pub
  second=$node
  check 'the run goes on with the nodes that may join' ends_with 0 "$driver"
  check 'a node of a run that is done ends with 0' ends_with 0 "$first"
  check 'the other too' ends_with 0 "$second"
  key=$(sed -n 's/^tandem-public-key //p' stranger.key.pub)
  check 'the stranger is logged once' test "$(grep -cF -- "$key" out)" = 1
}

test_garbage() {
  local endpoint port
  job garbage 'epochs = 20'
  start_driver garbage.toml --nodes 2 --listen 'tcp://127.0.0.1:*'
  endpoint=$(endpoint_of_driver)
  port=${endpoint##*:}
  start_node a "$endpoint"
  local first=$node
  printf 'GET / HTTP/1.1\r\n\r\n' >"/dev/tcp/127.0.0.1/$port" || true
  head -c 65536 /dev/urandom 2>/dev/null >"/dev/tcp/127.0.0.1/$port" || true
  start_node b "$endpoint"
  check 'garbage on the control port does not disturb the run' ends_with 0 "$driver"
  check 'it is logged' says out 'refused|dropped'
  check 'nor the first node' ends_with 0 "$first"
  check 'nor the second' ends_with 0 "$node"
}

test_usage() {
  local status=0
  job usage 'epochs = 1'
  "$tandem" train usage.toml --nodes 2 --listen tcp://0.0.0.0:7070 >out 2>err || status=$?
  check 'to listen beyond loopback without keys is an error' test $status = 2
  check 'it says how to make keys' says err 'tandem keygen'
  check 'and names the way without' says err '--insecure'
  status=0
  "$tandem" train usage.toml --nodes 2 >out 2>err || status=$?
  check '--nodes needs --listen' test $status = 2
  status=0
  "$tandem" node nonsense >out 2>err || status=$?
  check 'an endpoint that is none is an error' test $status = 2
  status=0
  TANDEM_DRIVER=tcp://127.0.0.1:9 "$tandem" node --wait 0.2 >out 2>err || status=$?
  check 'a node takes its driver from the environment, and ends if it is not there' test $status = 1
  check 'it says whom it looked for' says err '127.0.0.1:9'
  status=0
  "$tandem" train usage.toml --local-nodes 2 --set cluster.silence_seconds=90 >out 2>err || status=$?
  check 'deadlines in the wrong order are an error' test $status = 2
  check 'it says which order' says err 'exchange_timeout_seconds'
  status=0
  "$tandem" train usage.toml --local-nodes 2 --set cluster.interface=eth77 >out 2>err || status=$?
  check 'an interface that there is not fails the run' test $status = 1
  check 'those that there are are listed' says err 'eth77.*lo'
}

test_usage
test_same_as_here
test_node_dies KILL 3000 'was ended by signal 9'
test_node_dies STOP 6000 'was silent for'
test_interrupts
test_driver_killed
test_bad_data
test_keys
test_garbage
((failures == 0)) || printf '%s checks failed\n' "$failures"
exit $((failures > 0))
