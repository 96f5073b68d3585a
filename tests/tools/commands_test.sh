#!/usr/bin/env bash
# The two commands, tools/quickstart and tools/test: what they do, and how they fail, with a build played by stubs.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"

readonly checkout="$scratch/a checkout" calls=$scratch/calls
export checkout calls
export PATH=$scratch/bin:$PATH

# A command NAME with a SUBJECT, a preset if it has one, is recorded, and fails if `failing` lists "NAME SUBJECT".
stub step <<'EOS'
echo "$*" >>"$calls"
! grep -qxF "$1 $2" "$checkout/failing"
EOS
stub cmake <<'EOS'
if [[ $1 == --preset ]]; then
  step configure "$2" && mkdir -p "build/$2/bin" && touch "build/$2/build.ninja"
else
  step build "$3" "$@" && printf '#!/bin/sh\necho "tandem here: $*"\n' >"build/$3/bin/tandem" &&
    chmod +x "build/$3/bin/tandem"
fi
EOS
stub ctest <<'EOS'
echo 'Start 1: a_test'
if step ctest "$2" "$@"; then
  echo "100% tests passed, 0 tests failed out of 7 ($2)"
else
  printf '%s\n' '86% tests passed, 1 tests failed out of 7' 'The following tests FAILED:' "  3 - $2_case (Failed)"
  exit 8
fi
EOS

mkdir -p "$checkout/.ci"
cp -r "$repository/tools" "$repository/CMakePresets.json" "$checkout/"
cp "$repository/.ci/run" "$checkout/.ci/"
ln -sf "$scratch/bin/install-packages" "$scratch/bin/lint" "$checkout/tools/"
stub install-packages <<'EOS'
step install packages
EOS
stub lint <<'EOS'
step lint checkout
EOS

# failing [STEP]...: these steps fail from now on, all others work; nothing has been called.
failing() {
  printf '%s\n' "$@" >"$checkout/failing"
  : >"$calls"
}

called() { grep -q "^$1" "$calls"; }
not_called() { ! called "$1"; }
ends_with_summaries() { [[ ${output##*== summary} == *"$1"* ]]; }

# Both work from any directory.
cd "$scratch"

failing
run "$checkout/tools/quickstart" --set 'name=two words'
expect "quickstart succeeds" exits_with 0
expect "quickstart builds the program and nothing else" called 'build release .*--target tandem$'
expect "quickstart runs the main job with its arguments" prints \
  'tandem here: train config/examples/fashion-mnist.toml --set name=two words'
failing
run "$checkout/tools/quickstart"
expect "the second time nothing is configured" not_called configure
sleep 0.01 && touch "$checkout/CMakePresets.json"
run "$checkout/tools/quickstart"
expect "changed presets are configured again" called 'configure release'
failing 'install packages'
run "$checkout/tools/quickstart"
expect "quickstart fails where the packages do" exits_with 1
expect "quickstart says that the packages failed" prints 'quickstart: the packages could not be installed'
failing 'build release'
run "$checkout/tools/quickstart"
expect "quickstart fails where the build does" exits_with 1
expect "quickstart says that the build failed" prints 'quickstart: the build failed'
expect "quickstart runs nothing after a failed build" prints_not 'tandem here'

failing
run bash "$checkout/.ci/run"
expect "CI passes where all parts pass" exits_with 0
for part in release asan tsan; do
  expect "CI ends with ctest's summary of $part" ends_with_summaries \
    "100% tests passed, 0 tests failed out of 7 ($part)"
done
expect "CI lints" called 'lint checkout'
expect "every test is run as shipped" not_called 'ctest release .*--label-exclude'
expect "slow tests are not run with a sanitizer" called 'ctest asan .*--label-exclude ^slow\$$'

failing 'lint checkout' 'ctest release' 'build asan'
run "$checkout/tools/test"
expect "any failing part fails the whole" exits_with 1
expect "a failing lint is named at the end" ends_with_summaries 'lint: FAILED'
expect "a failing test is named at the end" ends_with_summaries 'release_case (Failed)'
expect "a failing build is named at the end" ends_with_summaries 'asan: the build FAILED'
expect "the parts after a failing one are run" called 'ctest tsan'

failing
run "$checkout/tools/test" tsan lint
expect "only the parts named are run" not_called 'ctest release'
expect "the parts named are run" called 'ctest tsan'
run "$checkout/tools/test" realease
expect "an unknown part is a wrong usage" exits_with 2

finish
