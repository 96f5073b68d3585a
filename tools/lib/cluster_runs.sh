# How the scripts that measure runs over a network start them, on the hosts of an emulated cluster. To be sourced after
# common.sh, and called in `root`.
# shellcheck shell=bash

readonly hosts=4 limit_seconds=1800

cluster() { tools/cluster --name "$cluster_name" "$@"; }

# begin_cluster: brings the hosts up, and makes the folder $results; both go when the script ends.
begin_cluster() {
  cluster_name=speed$$
  results=$(mktemp -d)
  trap 'cluster down; rm -rf "$results"' EXIT
  cluster up $hosts || exit
  address=$(cluster addr 1)
  readonly cluster_name results address
}

on_own_host() { cluster exec $((RANK + 1)) timeout $limit_seconds "$@"; }

# on_each_host NAME COMMAND...: as on_ranks, a rank on each host.
on_each_host() { on_ranks $hosts "$1" on_own_host "${@:2}"; }

# train_on_hosts OVERRIDE...: trains $results/job.toml, a node on each host, and prints the folder of its results.
train_on_hosts() {
  local endpoint=tcp://$address:7070 folder overrides=() override nodes
  folder=$(mktemp -d -p "$results")
  for override in run.folder="$folder" "$@"; do overrides+=(--set "$override"); done
  on_each_host node "$tandem" node "$endpoint" --quiet --wait 60 >&2 &
  nodes=$!
  cluster exec 1 timeout $limit_seconds "$tandem" train "$results/job.toml" --nodes $hosts --listen "$endpoint" \
    --insecure "${overrides[@]}" >"$results/driver" 2>&1 || { cat "$results/driver" >&2 && fail "a run failed"; }
  wait $nodes || exit
  echo "$folder/job"
}

# ddp_on_hosts ARGUMENT...: trains with the script $ddp, a process on each host, and prints what it prints on rank 0.
ddp_on_hosts() {
  on_each_host ddp env MASTER_ADDR="$address" MASTER_PORT=29500 WORLD_SIZE=$hosts GLOO_SOCKET_IFNAME=eth0 \
    OMP_NUM_THREADS=1 "$python" "$ddp" --threads 1 "$@"
  cat "$results/ddp.0"
}

# median_step FOLDER: of a run, in seconds.
median_step() { grep -A 1 '"step_seconds"' "$1/summary.json" | figure median; }

misses=()

# target WHAT FIGURE at-least|at-most LIMIT: prints it, and adds it to `misses` if it is missed.
target() {
  local verdict=met
  awk -v figure="$2" -v limit="$4" -v how="$3" \
    'BEGIN { exit !(how == "at-least" ? figure >= limit : figure <= limit) }' || verdict=MISSED
  [[ $verdict == met ]] || misses+=("$1: $2, $3 $4 is wanted")
  printf '  %-66s %8.2f  %-8s %5s  %s\n' "$1" "$2" "$3" "$4" "$verdict"
}
