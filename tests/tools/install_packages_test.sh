#!/usr/bin/env bash
# tools/install-packages installs what is missing and nothing else, against stubs of Debian's commands.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"

readonly calls=$scratch/calls
export calls scratch
export PATH=$scratch/bin:$PATH

# Installed is what the file `installed` lists; `apt-get install` fails as often as `failures` says.
stub dpkg-query <<'EOS'
sed 's/^/ii /' "$scratch/installed"
exit 1
EOS
stub apt-get <<'EOS'
echo "apt-get $*" >>"$calls"
[[ " $* " != *" install "* ]] && exit
left=$(cat "$scratch/failures")
echo $((left - 1)) >"$scratch/failures"
((left <= 0))
EOS
stub update-alternatives <<'EOS'
if [[ $1 == --get-selections ]]; then cat "$scratch/alternatives"; else echo "update-alternatives $*" >>"$calls"; fi
EOS
stub id <<'EOS'
cat "$scratch/user_id"
EOS
stub sudo <<'EOS'
echo "sudo" >>"$calls"
exec "$@"
EOS
stub sleep </dev/null

# What the script itself lists.
all_packages() {
  sed -n '/_packages=(/,/)/p' "$repository/tools/install-packages" | sed -e 's/.*(//' -e 's/)//' | xargs printf '%s\n'
}

# machine USER_ID: everything is installed on it, and its apt-get works.
machine() {
  all_packages >"$scratch/installed"
  echo "$1" >"$scratch/user_id"
  echo 0 >"$scratch/failures"
  : >"$calls"
  : >"$scratch/alternatives"
}

lacks() { sed -i "/^$1\$/d" "$scratch/installed"; }
install_packages() { run "$repository/tools/install-packages" "$@"; }
calls_made() { [[ $(grep -c "$1" "$calls") == "$2" ]]; }

machine 1000
install_packages --lint
expect "where nothing is missing it succeeds" exits_with 0
expect "where nothing is missing it asks for no rights and calls no apt-get" test ! -s "$calls"

machine 0
lacks libcaf-dev
lacks clang-format
install_packages
expect "root can install" exits_with 0
expect "exactly what is missing is installed" calls_made 'install --yes --no-install-recommends libcaf-dev$' 1
expect "the package lists are fetched first" calls_made 'update$' 1
expect "root needs no sudo" calls_made sudo 0
install_packages --lint
expect "--lint adds clang-format" calls_made 'install .* clang-format libcaf-dev$' 1

machine 1000
lacks libcaf-dev
install_packages
expect "a user installs with sudo" calls_made sudo 2

machine 0
lacks libcaf-dev
echo 2 >"$scratch/failures"
install_packages
expect "an installation that fails is tried again" exits_with 0
echo 3 >"$scratch/failures"
install_packages
expect "an installation that keeps failing is an error" exits_with 1
expect "the error names the packages" prints 'could not install: libcaf-dev'

machine 0
cat >"$scratch/alternatives" <<'END'
editor                      auto /bin/nano
libblas.so-some-triplet     auto /usr/lib/some-triplet/blas/libblas.so
libblas.so.3-some-triplet   auto /usr/lib/some-triplet/openblas-pthread/libblas.so.3
liblapack.so.3-some-triplet auto /usr/lib/some-triplet/openblas-openmp/liblapack.so.3
END
install_packages
expect "OpenBLAS with threads of its own is replaced by the OpenMP one" calls_made \
  'update-alternatives --set libblas.so.3-some-triplet /usr/lib/some-triplet/openblas-openmp/libblas.so.3$' 1
expect "no other alternative is touched" calls_made 'update-alternatives' 1

install_packages --unknown
expect "an unknown option is a wrong usage" exits_with 2

# Without Debian's or sudo's commands: only these are found.
mkdir "$scratch/few"
for command in bash env dirname cat sed sort comm grep; do ln -s "$(type -P "$command")" "$scratch/few/"; done
machine 1000
lacks libcaf-dev
PATH=$scratch/few install_packages
expect "elsewhere than on Debian it fails" exits_with 1
expect "elsewhere than on Debian it names the packages" prints libtomlplusplus-dev
for command in dpkg-query apt-get update-alternatives id; do ln -s "$scratch/bin/$command" "$scratch/few/"; done
PATH=$scratch/few install_packages
expect "a user without sudo gets an error" exits_with 1
expect "a user without sudo is told the command" prints 'this needs root'

finish
