#!/usr/bin/env bash
# What README.md and docs/ say, as far as a machine can check it: commands, links, paths, quoted code, and the files and
# keys of results, against those of real runs.
# usage: readme_test.sh TANDEM, the program
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"

tandem=$(realpath "$1")
readonly tandem
cd "$repository"
readonly documents=(README.md CHANGELOG.md docs/*.md)

# fenced LANGUAGE FILE...: the lines of the fenced code blocks in that language.
fenced() {
  awk -v fence="\`\`\`$1" '/^```/ { inside = $0 == fence; next } inside' "${@:2}"
}

# prose FILE: all but the fenced code blocks.
prose() { awk '/^```/ { inside = !inside; next } !inside' "$1"; }

# section HEADING FILE: what stands between this heading and the next.
section() { awk -v heading="$1" '/^#/ { inside = $0 == heading } inside' "$2"; }

# column N: the words in backticks that column N of a table consists of, sorted.
column() { awk -F ' *[|] *' -v column="$(($1 + 1))" '$column ~ /^`[a-z0-9_.]+`$/ { print $column }' | tr -d '`' | sort; }

equal() { [[ -n $1 ]] && diff <(echo "$1") <(echo "$2"); }

# Commands

# knows_words TEXT WORD...: the usage TEXT has each of the words.
knows_words() {
  local word
  for word in "${@:2}"; do grep -qE -- "(^|[^[:alnum:]-])$word([^[:alnum:]-]|\$)" <<<"$1" || return; done
}

# A command's job and overrides are right if `tandem check` takes them.
tandem_would_run() {
  local subcommand=() options=() job=() help
  while (($# > 0)) && [[ $1 =~ ^[a-z]+$ ]]; do subcommand+=("$1") && shift; done
  while (($# > 0)); do
    case $1 in
      --set) job+=("$1" "$2") && shift ;;
      --*) options+=("$1") && shift ;;
      *) job+=("$1") ;;
    esac
    shift
  done
  help=$("$tandem" "${subcommand[@]}" --help) && [[ $help == *" ${subcommand[*]} [OPTIONS]"* ]] &&
    knows_words "$help" "${options[@]}" && "$tandem" check "${job[@]}" >/dev/null
}

script_would_run() {
  [[ -x $1 ]] || return
  case $1 in
    tools/quickstart) tandem_would_run train config/examples/fashion-mnist.toml "${@:2}" ;;
    *) knows_words "$("./$1" -h)" "${@:2}" ;;
  esac
}

# preset_exists WORD...: the word after --preset is one, and the one after -R a test.
preset_exists() {
  while (($# > 0)); do
    case $1 in
      --preset) shift && grep -q "\"name\": \"$1\"" CMakePresets.json || return ;;
      -R) shift && grep -q "tandem_test($1\$" tests/*/tests.cmake || return ;;
      --build) ;;
      *) return 1 ;;
    esac
    shift
  done
}

would_run() {
  local words
  mapfile -t words < <(xargs printf '%s\n' <<<"$1")
  case ${words[0]} in
    tools/*) script_would_run "${words[@]}" ;;
    tandem) tandem_would_run "${words[@]:1}" ;;
    cmake | ctest) preset_exists "${words[@]:1}" ;;
    *) false ;;
  esac
}

while IFS= read -r command; do
  run would_run "$command"
  expect "a command of the documentation exists: $command" exits_with 0
done < <(fenced sh "${documents[@]}")
expect "README has both commands" equal "$(fenced sh README.md | grep '^tools/')" $'tools/quickstart\ntools/test'
run would_run 'tandem train config/examples/softmax.toml --set topology.widht=3'
expect "this test finds a wrong --set" exits_with 2
run would_run 'tandem bench steps config/examples/softmax.toml'
expect "this test finds a wrong subcommand" test "$status" != 0

# Links and paths

# anchors FILE: those of its headings.
anchors() { sed -n 's/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' | sed -e 's/[^a-z0-9 _-]//g' -e 's/ /-/g'; }

# link_leads_somewhere FILE TARGET
link_leads_somewhere() {
  local file=${2%%#*} anchor=
  file=${file:+$(dirname "$1")/$file}
  file=${file:-$1}
  [[ $2 != *'#'* ]] || anchor=${2#*#}
  [[ -e $file ]] && { [[ -z $anchor ]] || anchors "$file" | grep -qxF "$anchor"; }
}

for document in "${documents[@]}"; do
  while IFS= read -r target; do
    run link_leads_somewhere "$document" "$target"
    expect "a link of $document leads somewhere: $target" exits_with 0
  done < <(prose "$document" | grep -oE '\]\([^)]+\)' | sed -e 's/^](//' -e 's/)$//' | grep -v '^https://' || true)
  while IFS= read -r path; do
    run compgen -G "$path"
    expect "a path in $document exists: $path" exits_with 0
  done < <(prose "$document" | grep -oE '`(config|models|comm|scheduler|actors|tools|tests|docs|cmake)/[^` ]*' | tr -d '`')
done

# Quoted code

example=$(<docs/examples/own_replica.cpp)
expect "the C++ in README is part of the example" test "$example" != "${example/"$(fenced cpp README.md)"/}"
expect "the job in README is the main one" equal "$(fenced toml README.md | grep .)" \
  "$(sed 's/ *#.*//' config/examples/fashion-mnist.toml | grep .)"

# Results

# train OVERRIDE...: a few steps; the results are in `folder`.
train() {
  local override overrides=()
  for override in run.folder="$scratch" data.kind=synthetic training.steps=20 "$@"; do overrides+=(--set "$override"); done
  run "$tandem" train config/examples/softmax.toml "${overrides[@]}"
}
readonly folder=$scratch/softmax

# keys: those of JSON objects that lie in one line each, the objects' in turn.
keys() { grep -oE '"[a-z0-9_]+":' | tr -d '":' | sort; }
summary_keys() { sed -n 's/^  "\([a-z_]*\)":.*/\1/p' "$folder/summary.json" | sort; }
documented_summary=$(section '## `summary.json`' docs/results.md | column 1)

train
expect "a run exits with 0" exits_with 0
expect "the files of a run's folder are documented" equal \
  "$(sed -n 's/^## `\(.*\)`$/\1/p' docs/results.md | sort)" "$(cd "$folder" && printf '%s\n' *)"
expect "the table of files has all of them" equal \
  "$(section '# The results of a run' docs/results.md | column 1)" "$(cd "$folder" && printf '%s\n' *)"
expect "the keys of a line of progress are documented" equal \
  "$(section '### A line of progress' docs/results.md | column 1)" \
  "$(grep train_accuracy "$folder/metrics.jsonl" | tail -n 1 | keys)"
expect "the keys of a line of an evaluation are documented" equal \
  "$(section '### A line of an evaluation' docs/results.md | column 1)" \
  "$(grep test_loss "$folder/metrics.jsonl" | tail -n 1 | keys)"
expect "there are no other lines of metrics" test -z "$(grep -vE 'train_accuracy|test_loss' "$folder/metrics.jsonl")"
expect "the keys of a summary are documented" equal "$(grep -vx error <<<"$documented_summary")" "$(summary_keys)"
expect "the pairs of a summary are documented" equal \
  "$(section '## `summary.json`' docs/results.md | grep 'median` and `p95' | column 1)" \
  "$(grep -B 1 '^    "median"' "$folder/summary.json" | sed -n 's/^  "\([a-z_]*\)".*/\1/p' | sort)"
expect "the rows of the closing table are documented" equal \
  "$(section '## Reading the result' README.md | column 1)" \
  "$(sed -n 's/^  \([a-z]*\) .* %.*/\1/p' <<<"$output" | sort)"

# spans: of the timeline, each with the kind of its row.
spans() {
  awk -F '"' '
    { tid = $0; sub(/.*"tid":/, "", tid); sub(/,.*/, "", tid) }
    /"thread_name"/ { row[tid] = $(NF - 1); sub(/ [0-9]+$/, "", row[tid]) }
    /"ph":"X"/ { sub(/.*"name":"/, ""); sub(/".*/, ""); print row[tid], $0 }' "$folder/timeline.json" | sort -u
}
documented_spans() {
  section '## `timeline.json`' docs/results.md | awk -F ' *[|] *' '$3 ~ /^`/ { print $2, $3 }' | tr -d '`' | sort
}
train topology.codec=int8
reduced=$(spans)
train topology.name=ps-sync topology.codec=int8
expect "the spans of a timeline are documented" equal "$(documented_spans)" "$(sort -u <<<"$reduced"$'\n'"$(spans)")"

# A net of some depth overflows at this rate.
train model.kind=mlp 'model.hidden=[50, 50, 50, 50]' optimizer.lr=1e6
expect "a run that fails exits with 1" exits_with 1
expect "the keys of a failed run's summary are documented" equal "$documented_summary" "$(summary_keys)"
expect "an earlier run is kept as documented" test -d "$folder.1"
train training.stepz=3
expect "a wrong job exits with 2" exits_with 2

run "$tandem" bench step config/examples/softmax.toml --set data.kind=synthetic --rounds 1 --seconds 0.01
expect "the keys of bench step are documented" equal "$(section '## Bench step' docs/results.md | column 1)" \
  "$(keys <<<"$output")"

# of_each_line HEADING: each line of `output` has the keys documented there, and there is more than one line.
of_each_line() {
  local line lines=0
  while IFS= read -r line; do
    equal "$(section "$1" docs/results.md | column 1)" "$(keys <<<"$line")" || return
    lines=$((lines + 1))
  done <<<"$output"
  ((lines > 1))
}

run "$tandem" bench allreduce --sizes 100 --ranks 2 --rounds 1
expect "the keys of bench allreduce are documented" of_each_line '## Bench allreduce'

# A process a rank, both on this host.
between_processes() {
  "$tandem" bench allreduce --rank "$1" --ranks 2 --meet "$meeting" --interface lo --sizes 1000 --rounds 1 --rate-gbit 1
}
meeting=$(mktemp -d)
between_processes 1 &
run between_processes 0
wait $!
rm -r "$meeting"
section_between_processes() {
  section '## Bench allreduce' docs/results.md
  section '## Bench allreduce between processes' docs/results.md
}
expect "the keys of bench allreduce between processes are documented" \
  equal "$(section_between_processes | column 1)" "$(keys <<<"${output%%$'\n'*}")"
run "$tandem" bench codec --values 3000 --rounds 1
expect "the keys of bench codec are documented" of_each_line '## Bench codec'

finish
