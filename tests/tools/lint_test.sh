#!/usr/bin/env bash
# Each rule of tools/lint catches a violation, and nothing is reported of a tree without any.
# shellcheck disable=SC2016  # What is written into files is not to be expanded here.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"

readonly clean=$scratch/clean tree=$scratch/tree

# put FILE LINE...: writes a file of the tree.
put() {
  mkdir -p "$(dirname "$tree/$1")"
  printf '%s\n' "${@:2}" >"$tree/$1"
}

make_clean_tree() {
  mkdir -p "$tree"
  cp "$repository/.clang-format" "$tree/"
  put README.md 'Try config/examples/tiny.toml.'
  put config/examples/tiny.toml 'name = "tiny"'
  put config/job.h '#pragma once'
  put config/job.cpp '#include "config/job.h"' '' '#include <toml++/toml.h>'
  put models/replica.h '#pragma once' '#include "config/job.h"'
  put models/net.h '#pragma once' '#include <torch/torch.h>' '#include "models/replica.h"'
  put comm/communicator.h '// Who reduces with whom.' '#pragma once'
  put comm/gloo.cpp '#include <gloo/context.h>' '' '#include "comm/communicator.h"'
  put scheduler/window.h '#pragma once'
  put actors/run.h '#pragma once' '#include "models/replica.h"'
  put actors/driver.h '#pragma once' '#include <caf/all.hpp>' '#include "comm/communicator.h"'
  put tools/main.cpp '#include "actors/run.h"' '' 'int main() {}'
  put tools/hello '#!/bin/sh' 'echo "usage: hello [-h]"'
  chmod +x "$tree/tools/hello"
  put tests/comm/tests.cmake 'tandem_test(gloo SOURCES comm/gloo_test.cpp)'
  put tests/comm/gloo_test.cpp '#include "comm/communicator.h"'
  put tests/tools/tests.cmake 'add_test(NAME hello_test COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tools/hello_test.sh)'
  put tests/tools/hello_test.sh '#!/bin/sh'
  put tests/actors/tests.cmake 'tandem_test(driver SOURCES actors/driver_test.cpp)'
  put tests/actors/driver_test.cpp '#include "actors/driver.h"'
  put build/release/generated.h 'int  not_ours;'
  mv "$tree" "$clean"
}

fresh_tree() {
  rm -rf "$tree"
  cp -r "$clean" "$tree"
}

lint() { run "$repository/tools/lint" "$tree"; }

# expect_fault PLACE REASON: that lint finds exactly this in the tree, which is then made clean again.
expect_fault() {
  lint
  expect "lint fails for: $1: $2" exits_with 1
  expect "lint reports: $1: $2" prints "$1: $2"
  expect "lint reports nothing but: $1: $2" prints 'lint: faults: 1'
  fresh_tree
}

make_clean_tree
fresh_tree
lint
expect "a tree without faults passes" exits_with 0
expect "a tree without faults is passed in silence" test -z "$output"

put scheduler/window.h '#pragma once' 'int  steps();'
expect_fault scheduler/window.h:2:4 'not as clang-format lays it out'
put README.md 'config/examples/tiny.toml' $'a\tb'
expect_fault README.md:2 'a tab'
put README.md 'config/examples/tiny.toml '
expect_fault README.md:1 'a blank at the end of the line'
mapfile -t lines < <(seq 601)
put docs/long.md "${lines[@]}"
expect_fault docs/long.md '601 lines'
put README.md 'config/examples/tiny.toml is in /wo''rk/tandem/ here'
expect_fault README.md:1 'a path of one machine'

put scheduler/window.h '#include <vector>' '#pragma once'
expect_fault scheduler/window.h 'does not begin with #pragma once'

put config/job.h '#pragma once' '#include "scheduler/window.h"'
expect_fault config/job.h:2 'config/ may not include scheduler/'
put models/replica.h '#pragma once' '#include "comm/communicator.h"'
expect_fault models/replica.h:2 'models/ may not include comm/'
put scheduler/window.h '#pragma once' '#include "models/replica.h"'
expect_fault scheduler/window.h:2 'scheduler/ may not include models/'
put actors/run.h '#pragma once' '#include "tools/progress.h"'
expect_fault actors/run.h:2 'actors/ may not include tools/'

put tools/main.cpp '#include <torch/torch.h>'
expect_fault tools/main.cpp:1 'reaches what only models/ may include (torch/torch.h)'
put tests/comm/gloo_test.cpp '#include <ATen/ATen.h>'
expect_fault tests/comm/gloo_test.cpp:1 'reaches what only models/ may include (ATen/ATen.h)'
put scheduler/window.h '#pragma once' '#include <c10/util/Half.h>'
expect_fault scheduler/window.h:2 'reaches what only models/ may include (c10/util/Half.h)'
put comm/gloo.cpp '#include <caf/all.hpp>'
expect_fault comm/gloo.cpp:1 'reaches what only actors/ may include (caf/all.hpp)'
put tests/actors/driver_test.cpp '#include <caf/all.hpp>'
expect_fault tests/actors/driver_test.cpp:1 'reaches what only actors/ may include (caf/all.hpp)'
put actors/bridge.cpp '#include <zmq.hpp>'
expect_fault actors/bridge.cpp:1 'reaches what only comm/ may include (zmq.hpp)'
put actors/bridge.cpp '#include <nccl.h>'
expect_fault actors/bridge.cpp:1 'reaches what only comm/ may include (nccl.h)'
put tools/main.cpp '#include <toml++/toml.h>'
expect_fault tools/main.cpp:1 'reaches what only config/ may include (toml++/toml.h)'

put tools/main.cpp '#include "actors/driver.h"'
expect_fault tools/main.cpp:1 'reaches what only actors/ may include (actors/driver.h)'
put actors/run.h '#pragma once' '#include "actors/driver.h"'
lint
expect "a library is found behind two headers" prints 'tools/main.cpp:1: reaches what only actors/ may include'
fresh_tree

put tests/comm/ring_test.cpp '#include "comm/communicator.h"'
expect_fault tests/comm/ring_test.cpp 'not named in a tests.cmake'
put tests/tools/cli_test.sh '#!/bin/sh'
expect_fault tests/tools/cli_test.sh 'not named in a tests.cmake'
put tests/comm/oo_test.cpp '#include "comm/communicator.h"'
put tests/comm/tests.cmake 'tandem_test(gloo SOURCES comm/gloo_test.cpp comm/foo_test.cpp)'
expect_fault tests/comm/oo_test.cpp 'not named in a tests.cmake'

put tools/hello '#!/bin/sh' 'echo hello'
expect_fault tools/hello 'prints no usage when called with -h'
put tools/hello '#!/bin/sh' 'exit 1  # Mentions -h.'
expect_fault tools/hello 'prints no usage when called with -h'
put config/examples/other.toml 'name = "other"'
expect_fault config/examples/other.toml 'not mentioned in README.md or docs/'

finish
