#!/usr/bin/env bash
# tandem keygen as a process: what it writes, and what it refuses.
# usage: keygen_test.sh TANDEM
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../tools/checks.sh"

readonly tandem=$1
cd "$scratch"
umask 000

mode() { stat --format %a "$1"; }
matches() { grep -qxE "$2" "$1"; }

run "$tandem" keygen driver
expect "it succeeds" exits_with 0
expect "the secret is its owner's alone" test "$(mode driver)" = 600
expect "the secret key is in its file" matches driver 'tandem-secret-key .{40}'
expect "the public key is in its file" matches driver.pub 'tandem-public-key .{40}'
expect "it prints the public key" prints "$(sed 's/^tandem-public-key //' driver.pub)"
expect "it does not print the secret key" prints_not "$(sed 's/^tandem-secret-key //' driver)"

cp driver before
run "$tandem" keygen driver
expect "it refuses to overwrite" exits_with 1
expect "it says what is in the way" prints 'driver: cannot be made: File exists'
expect "the file in the way is as it was" cmp driver before

run "$tandem" keygen none/driver
expect "a folder that does not exist is an error" exits_with 1
run "$tandem" keygen
expect "to say no file is a wrong usage" exits_with 2

finish
