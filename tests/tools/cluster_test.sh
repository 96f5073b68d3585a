#!/usr/bin/env bash
# Emulated hosts: what tools/cluster does, and runs of the program over them. Exits 77 where there can be none.
# usage: cluster_test.sh TANDEM, the program
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"

tandem=$(realpath "$1")
readonly tandem name=test$$ other=other$$
cluster() { "$repository/tools/cluster" --name "$name" "$@"; }
clusters_down() {
  cluster down
  "$repository/tools/cluster" --name "$other" down
}

if [[ $(id -u) != 0 ]] || ! command -v ip tc >/dev/null || ! ip netns add "$name" 2>/dev/null; then
  echo "skipped: emulated hosts need root, iproute2 and the right to make network namespaces"
  exit 77
fi
ip netns delete "$name"
trap 'clusters_down; rm -rf "$scratch"' EXIT
cd "$scratch"

# Hosts

# reaches HOST HOST: over the network, whether or not anything listens there. The file says more than the exit status.
reaches() {
  cluster exec "$1" timeout 2 bash -c "exec 3<>/dev/tcp/$(cluster addr "$2")/9" 2>reached || true
  grep -q refused reached
}
does_not_reach() { ! reaches "$@"; }
no_job_runs() { [[ -z $(jobs -r) ]]; }
namespaces() { ip netns list | grep -c "^tandem-$1-" || true; }
has_rate() { [[ $(cluster exec "$1" tc qdisc show dev eth0) == *"rate $2 "* ]]; }

run cluster up 2 200mbit
expect "hosts come up" exits_with 0
run cluster exec 2 uname -n
expect "a host has a name" test "$output" = host2
expect "a host has a loopback" cluster exec 1 bash -c '! (exec 3<>/dev/tcp/127.0.0.1/9) 2>&1 | grep -v refused'
expect "hosts reach each other" reaches 1 2
expect "links have the rate" has_rate 2 200Mbit
run cluster rate 1gbit
expect "links change their rate" has_rate 1 1Gbit
run cluster exec 1 sh -c 'exit 7'
expect "exec has the command's status" exits_with 7

run cluster up 2
expect "a cluster that is up is not replaced" prints "cluster $name is up already"
run "$repository/tools/cluster" --name "$other" up 1
expect "another cluster stands beside it" exits_with 0
expect "a cluster does not see another" test "$(namespaces "$name") $(namespaces "$other")" = "3 2"
run cluster addr 3
expect "a host that is not there is named" prints "cluster $name has no host 3, but 2"
run cluster up 2 5bit
expect "a wrong rate is a wrong usage" exits_with 2
run cluster exec 1 "$repository/tools/cluster" --name "$name" down
expect "a cluster is not ended from within" prints "call it from outside"

cluster cut 2
expect "a host that is cut is not reached" does_not_reach 1 2
cluster heal 2
expect "a host that is healed is reached" within 10 reaches 1 2

cluster exec 1 sleep 1000 &
cluster exec 2 sh -c 'trap "" TERM; touch started; while :; do sleep 1000; done' &
within 10 test -e started
run cluster down
expect "hosts go down" exits_with 0
expect "no process is left" within 10 no_job_runs
expect "no host is left" test "$(namespaces "$name")" = 0
expect "another cluster is left alone" test "$(namespaces "$other")" = 2
run cluster down
expect "there need not be any to go down" exits_with 0

ip netns add "tandem-$name-host1"
run cluster up 1
expect "a namespace of somebody else is not taken" exits_with 1
expect "a namespace of somebody else is left alone, the rest is undone" test "$(namespaces "$name")" = 1
ip netns delete "tandem-$name-host1"

# Runs

# write_job NAME LINE: a job with another line of [training].
write_job() {
  cat >"$1.toml" <<END
[data]
kind = "synthetic"
samples = 2000
test_samples = 200
[model]
kind = "softmax"
[optimizer]
lr = 0.001
[topology]
name = "allreduce"
[run]
report_seconds = 0.1
[cluster]
silence_seconds = 5
[training]
workers = 2
batch = 10
threads = 1
$2
END
}

# start_run JOB: a driver and two nodes; their output goes to driver, node1 and node2.
start_run() {
  local endpoint host
  endpoint=tcp://$(cluster addr 1):7070
  cluster exec 1 timeout 150 "$tandem" train "$1" --nodes 2 --listen "$endpoint" --insecure >driver 2>&1 &
  driver=$!
  nodes=()
  for host in 1 2; do
    cluster exec $host timeout 150 "$tandem" node "$endpoint" >"node$host" 2>&1 &
    nodes+=($!)
  done
}

# ends_with STATUS PID NAME: shows what it wrote if not.
ends_with() {
  status=0
  wait "$2" || status=$?
  output=$(<"$3")
  exits_with "$1"
}

summary() { sed -n 's/^ *"\(accuracy\|test_loss\|loss\)": //p' "runs/$1/summary.json"; }

cluster up 2 200mbit
write_job short 'steps = 50'
start_run short.toml
expect "a run over two hosts ends well" ends_with 0 "$driver" driver
expect "its first node does" ends_with 0 "${nodes[0]}" node1
expect "its second node does" ends_with 0 "${nodes[1]}" node2
run "$tandem" train short.toml --set run.name=here
expect "a run over hosts learns the same as one in a process" test "$(summary short)" = "$(summary here)"

write_job long 'epochs = 1000000'
start_run long.toml
expect "a run over two hosts begins" within 120 test -s runs/long/metrics.jsonl
cluster cut 2
cut_at=$SECONDS
expect "a run that loses a host fails" ends_with 1 "$driver" driver
expect "the driver names the host that is lost" prints "node host2"
expect "the other node fails with it" ends_with 1 "${nodes[0]}" node1
expect "the other node names the host that is lost" prints "node host2"
expect "the host's silence decides when, give or take some seconds" test $((SECONDS - cut_at)) -lt 20
expect "the node that is cut off ends too" ends_with 1 "${nodes[1]}" node2
expect "it says that the driver is gone" prints "the driver at"
for host in 1 2; do
  expect "nothing is left on host $host" test -z "$(ip netns pids "tandem-$name-host$host")"
done

finish
