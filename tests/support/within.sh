# To be sourced, from bash.
# shellcheck shell=bash

# within SECONDS CONDITION...: waits until the condition holds; fails if it does not by then.
within() {
  local deadline=$((SECONDS + $1))
  until "${@:2}"; do
    ((SECONDS < deadline)) || return
    sleep 0.05
  done
}
