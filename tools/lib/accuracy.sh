# How the scripts that compare accuracies train. To be sourced after common.sh.
# shellcheck shell=bash

# begin_comparison EPOCHS: builds the program and makes the folder $results with the job that all runs start from: mlp
# [500, 500] on Fashion-MNIST, 4 workers, global batch 256, momentum 0.9, a constant learning rate.
begin_comparison() {
  heading "Build"
  build release tandem || fail "the build failed; its messages are above"
  results=$(mktemp -d)
  trap 'rm -rf "$results"' EXIT
  cat >"$results/job.toml" <<END
[model]
hidden = [500, 500]
[training]
workers = 4
batch = 64
epochs = $1
[optimizer]
momentum = 0.9
END
}

# accuracy OVERRIDE...: trains and prints the test accuracy, 0 if training diverged.
accuracy() {
  local overrides=() override folder
  folder=$(mktemp -d -p "$results")
  for override in "$@"; do overrides+=(--set "$override"); done
  if ! build/release/bin/tandem train "$results/job.toml" --set run.folder="$folder" "${overrides[@]}" \
    >"$results/log" 2>&1; then
    # Training that diverges is a result here; anything else is a fault.
    grep -q "not finite" "$results/log" || { cat "$results/log" >&2; exit 1; }
    echo 0
    return
  fi
  figure accuracy <"$(echo "$folder"/*/summary.json)"
}

# mean_accuracy SEEDS OVERRIDE...: over the seeds 1 to SEEDS, or "diverged".
mean_accuracy() {
  local seeds=$1 seed
  shift
  for ((seed = 1; seed <= seeds; seed++)); do accuracy training.seed="$seed" "$@"; done |
    awk '{sum += $1; if ($1 == 0) diverged = 1} END {print diverged ? "diverged" : sprintf("%.4f", sum / NR)}'
}
