#!/usr/bin/env bash
# Runs over several processes of this machine: what they compute, and what is said and left when one of them dies.
# usage: nodes_test.sh TANDEM [ROUNDS]      ROUNDS: how often a node is killed, and stopped, at a random moment (3)
set -euo pipefail

tandem=$(realpath "$1")
readonly tandem rounds=${2-3}
source "$(dirname "${BASH_SOURCE[0]}")/program.sh"

node_named() { pgrep -f -- "node tcp://.* --name $1 " | while read -r pid; do
  [[ $(readlink "/proc/$pid/cwd") == "$folder" ]] && echo "$pid"
done; }

accuracy() { sed -n 's/.*"accuracy": *\([0-9.]*\).*/\1/p' "runs/$1/summary.json" | tail -n 1; }

test_same_as_here() {
  local topology nodes accuracy_here
  job here 'epochs = 2'
  job nodes 'epochs = 2'
  for topology in allreduce pipeline ps-sync; do
    run 0 train here.toml --set topology.name=$topology
    accuracy_here=$(accuracy here)
    for nodes in 2 4; do
      run 0 train nodes.toml --local-nodes $nodes --set topology.name=$topology
      check "$topology on $nodes nodes trains as here" test "$(accuracy nodes)" = "$accuracy_here"
    done
  done
  job encrypted 'epochs = 2
[cluster]
encrypt_data = true'
  run 0 train encrypted.toml --local-nodes 2 --set topology.codec=int8
  job async 'epochs = 2
[topology]
name = "ps-async"
staleness = 2
servers = 2
server_node = "local1"'
  run 0 train async.toml --local-nodes 2
  check 'no node is left' none_left
}

# F1
test_node_dies() { # SIGNAL SECONDS WHY
  local round victim pid
  for ((round = 0; round < rounds; ++round)); do
    start_endless f1 --local-nodes 4 --set cluster.silence_seconds=2
    sleep "0.$((RANDOM % 10))"
    victim=local$((RANDOM % 4))
    pid=$(node_named $victim)
    kill "-$1" "$pid"
    check_end "$1: the run fails" 1 "$2"
    check "$1: the node is named, with rank and step" \
      first_error_matches err "node $victim \(host .*, pid $pid\) with rank ${victim#local} at step [0-9]+ is lost: it $3"
    check "$1: all other actors have ended" not says err "has not ended"
    check "$1: no node is left" none_left
    check "$1: the run folder is complete" says runs/f1/summary.json '"status": "failed"'
  done
}

# F3
test_interrupts() {
  local presses
  for presses in 1 2; do
    start_endless f3 --local-nodes 3
    kill -INT "$driver"
    ((presses == 1)) || { sleep 0.1 && kill -INT "$driver"; }
    check_end "Ctrl-C $presses times" 130 5
    check 'no node is left' none_left
  done
}

test_interrupts_while_a_node_hangs() {
  start_endless hangs --local-nodes 3 --set cluster.silence_seconds=20
  kill -STOP "$(node_named local1)"
  kill -INT "$driver"
  sleep 0.3
  kill -INT "$driver"
  check_end 'Ctrl-C twice while a node hangs' 130 10
  check 'the summary is written' says runs/hangs/summary.json '"status": "interrupted"'
  check 'so is the timeline' test -s runs/hangs/timeline.json
  check 'the node that hangs is not left' none_left
}

test_driver_killed() {
  local node
  start_endless killed --local-nodes 3
  kill -STOP "$(node_named local1)"
  kill -KILL "$driver"
  check 'local nodes end when their driver is killed, hanging or not' within 5 none_left
  await_end "$driver"
  job young 'epochs = 1'
  start_driver young.toml --local-nodes 2
  within 60 node_starts_or_driver_has_ended || true
  kill -KILL "$driver"
  check 'so do those that have not joined yet' within 5 none_left
  await_end "$driver"
  start_remote_driver killed
  for node in a b; do start_node "$node" "$endpoint"; done
  within 60 reports killed || true
  check 'a run on nodes that were started by hand begins' reports killed
  kill -KILL "$driver"
  check 'nodes that nobody started end by themselves' within 5 none_left
  check 'they say why' says node-a.err "the driver at $endpoint"
}

node_starts_or_driver_has_ended() { ! none_left || has_ended "$driver"; }

# F4, and two runs at once
test_bad_data() {
  local first
  job bad 'epochs = 1'
  run 1 train bad.toml --local-nodes 2 --set data.kind=idx --set data.folder=nowhere
  check 'missing data is the first error, with worker and node' \
    first_error_matches err 'worker [0-3] on node local[01].*nowhere'
  job first 'epochs = 3'
  job second 'epochs = 3'
  "$tandem" train first.toml --local-nodes 2 >first.out 2>&1 &
  first=$!
  background[$first]=yes
  run 0 train second.toml --local-nodes 2
  check 'the other of two runs at once is done too' wait $first
}

# start_node NAME ARGUMENT...: its pid is in `node`.
start_node() {
  local name=$1
  shift
  "$tandem" node --name "$name" "$@" >"node-$name.out" 2>"node-$name.err" </dev/null &
  node=$!
  background[$node]=yes
}

driver_listens() { says out 'waiting for nodes at tcp://'; }
driver_listens_or_has_ended() { driver_listens || has_ended "$driver"; }

# start_remote_driver NAME ARGUMENT...: waits until it listens for two nodes; where is in `endpoint`.
start_remote_driver() {
  start_driver "$1.toml" --nodes 2 --listen 'tcp://127.0.0.1:*' "${@:2}"
  within 60 driver_listens_or_has_ended || true
  check "a driver of $1 listens" driver_listens
  endpoint=$(sed -n 's/^waiting for nodes at //p' out)
}

test_keys() {
  local name first second key
  for name in driver a b stranger; do "$tandem" keygen "$name.key" >/dev/null; done
  cat a.key.pub b.key.pub >accepted.pub
  check 'the secret key is for its owner alone' test "$(stat -c %a driver.key)" = 600
  job keys 'epochs = 10'
  start_remote_driver keys --key driver.key --accept accepted.pub
  start_node stranger "$endpoint" --key stranger.key --driver-key driver.key.pub --wait 2
  check 'a node with a key that is not accepted ends with 1' ends_with 1 "$node"
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
  local port first
  job garbage 'epochs = 20'
  start_remote_driver garbage
  port=${endpoint##*:}
  start_node a "$endpoint"
  first=$node
  printf 'GET / HTTP/1.1\r\n\r\n' >"/dev/tcp/127.0.0.1/$port" || true
  head -c 65536 /dev/urandom 2>/dev/null >"/dev/tcp/127.0.0.1/$port" || true
  start_node b "$endpoint"
  check 'garbage on the control port does not disturb the run' ends_with 0 "$driver"
  check 'it is logged' matches out 'refused|dropped'
  check 'nor the first node' ends_with 0 "$first"
  check 'nor the second' ends_with 0 "$node"
}

test_usage() {
  local host where name
  job usage 'epochs = 1'
  run 2 train usage.toml --nodes 2 --listen tcp://0.0.0.0:7070
  check 'to listen beyond loopback without keys: it says how to make them' says err 'tandem keygen'
  check 'and names the way without' says err '--insecure'
  for host in localhost host.example; do
    run 2 train usage.toml --nodes 2 --listen tcp://$host:7070 --insecure
    check 'to listen at a name: it says what is allowed' says err 'an address or an interface of this host'
  done
  run 2 train usage.toml --nodes 2
  for where in nonsense tcp://127.0.0.1 tcp://127.0.0.1:0 tcp://127.0.0.1:65536 tcp://127.0.0.1:70a tcp://:7070; do
    run 2 node $where
    check 'an endpoint that is none: it says what is allowed' says err 'allowed: tcp://HOST:PORT'
  done
  for name in '' $'two\nlines'; do
    run 2 node tcp://127.0.0.1:9 --name "$name"
    check 'a name that is none: it says what is allowed' says err 'without control characters'
  done
  TANDEM_DRIVER=tcp://127.0.0.1:9 run 1 node --wait 0.2
  check 'a node takes its driver from the environment' says err '127.0.0.1:9'
  run 2 train usage.toml --local-nodes 2 --set cluster.silence_seconds=90
  check 'deadlines in the wrong order: it says which order' says err 'exchange_timeout_seconds'
  run 1 train usage.toml --local-nodes 2 --set cluster.interface=eth77
  check 'of an interface that there is not, those that there are are listed' matches err 'eth77.*lo'
}

# What cannot become a run leaves an earlier one where it is.
test_nothing_is_renamed() {
  job early 'epochs = 1'
  run 0 train early.toml
  run 2 train early.toml --local-nodes 5
  check 'too many nodes: it says for how many there is work' says err 'training.workers is 4'
  run 2 train early.toml --nodes 5 --listen 'tcp://127.0.0.1:*'
  run 2 train early.toml --set topology.name=ps-sync --set topology.server_node=big
  check 'a node for the servers in a run without nodes: it says so' says err 'this run has no nodes'
  run 2 train early.toml --local-nodes 2 --set topology.name=ps-sync --set topology.server_node=big
  check 'a local node for the servers that there is not: it lists those that there are' says err 'local0 and local1'
  job first 'epochs = 1'
  start_remote_driver first
  run 1 train early.toml --nodes 2 --listen "$endpoint"
  check 'a port in use: it is named' says err "$endpoint"
  kill -INT "$driver"
  check_end 'a driver that waits for nodes is interrupted' 130 5
  check 'the earlier run is where it was' test -s runs/early/summary.json
  check 'nothing is where it would have been moved to' test ! -e runs/early.1
}

test_usage
test_nothing_is_renamed
test_same_as_here
test_node_dies KILL 3 'was ended by signal 9'
test_node_dies STOP 6 'was silent for'
test_interrupts
test_interrupts_while_a_node_hangs
test_driver_killed
test_bad_data
test_keys
test_garbage
finish
