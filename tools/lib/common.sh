# What the scripts of this folder share. To be sourced, from bash with `set -euo pipefail`.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck disable=SC2034  # The scripts use it.
readonly root

# heading TEXT...: names the next stage of a script.
heading() { printf '\n== %s\n' "$*"; }

# fail TEXT...: the script's last words.
fail() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# figure KEY: its values in lines of JSON, whether or not there is a blank before them.
figure() { sed -n "s/.*\"$1\": *\([0-9][0-9.e+-]*\).*/\1/p"; }

# median [COLUMN]: of the lines on standard input.
median() {
  awk -v column="${1:-1}" '{ print $column }' | sort -g | awk '{ v[NR] = $1 } END {
    print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

# on_ranks COUNT NAME COMMAND...: runs the command so many times at once, with RANK in its environment, from 0 on. Each
# one's output is in $results/NAME.RANK; shown where one of them fails.
on_ranks() {
  local rank pids=() status=0
  for ((rank = 0; rank < $1; ++rank)); do
    # shellcheck disable=SC2154  # The script sets it.
    RANK=$rank "${@:3}" >"$results/$2.$rank" 2>&1 &
    pids+=($!)
  done
  for rank in "${!pids[@]}"; do wait "${pids[$rank]}" || status=$?; done
  ((status == 0)) || { tail -n 5 "$results/$2".* >&2 && fail "failed: ${*:3}"; }
}

# Memory, not only cores, bounds a build: compiling one file that includes LibTorch takes up to 2 GB.
parallel_jobs() {
  local cores memory_gb
  cores=$(nproc)
  memory_gb=$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo)
  local by_memory=$((memory_gb / 2))
  echo $((by_memory < 1 ? 1 : by_memory < cores ? by_memory : cores))
}

# build PRESET [TARGET]: configures where needed, then builds TARGET or everything into build/PRESET. To be called in `root`.
build() {
  local preset=$1 ninja_file=build/$1/build.ninja
  # Ninja itself reruns CMake when a CMakeLists.txt has changed, but does not know of the presets.
  if [[ ! $ninja_file -nt CMakePresets.json ]]; then
    cmake --preset "$preset" || return
  fi
  cmake --build --preset "$preset" --parallel "${CMAKE_BUILD_PARALLEL_LEVEL:-$(parallel_jobs)}" ${2:+--target "$2"}
}
