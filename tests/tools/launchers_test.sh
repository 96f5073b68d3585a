#!/usr/bin/env bash
# tools/launch-ssh and tools/launch-slurm, with the program, ssh and Slurm played by stubs on this machine.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"

export calls=$scratch/calls end=$scratch/end running=$scratch/nodes writing=$scratch/writing written=$scratch/written
mkdir "$scratch/a folder" "$running"
cd "$scratch"

# A driver that runs until $end holds its status, or it is told to end, and then writes for as many seconds as $writing
# holds; nodes that end with the same status, but before that. A node named "broken" fails, and one named "stubborn" does
# not end when told.
stub tandem <<'EOS'
echo "$*" >>"$calls"
case $1 in
  train) trap 'sleep 0.2; exit 130' TERM ;;
  node)
    echo "$3 joins $TANDEM_DRIVER"
    [[ $3 != broken ]] || exit 1
    if [[ $3 == stubborn ]]; then trap '' TERM; else trap 'exit 130' TERM; fi
    touch "$running/$$"
    trap 'rm "$running/$$"' EXIT
    ;;
esac
until [[ -e $end ]]; do sleep 0.05; done
if [[ $1 == train && -s $writing ]]; then
  trap '' TERM
  sleep "$(<"$writing")"
  touch "$written"
fi
exit "$(<"$end")"
EOS
stub ssh <<'EOS'
echo "ssh ${*:1:$#-1}" >>"$calls"
[[ " $* " != *' nowhere '* ]] || { echo 'no route to host' && exit 255; }
exec sh -c "${*: -1}"
EOS
stub scontrol <<'EOS'
[[ $* == 'show hostnames c[1-2]' ]] && printf '%s\n' c1 c2
EOS
stub getent <<'EOS'
echo "127.0.1.1 STREAM $2"
echo "10.9.8.7 STREAM $2"
EOS
stub srun <<'EOS'
echo "srun $*" >>"$calls"
while [[ $1 == --* ]]; do shift; done
for SLURM_LOCALID in 0 1; do
  SLURMD_NODENAME=c1 SLURM_LOCALID=$SLURM_LOCALID "$@" &
done
wait %1 || status=$?
wait %2 || status=$?
exit "${status-0}"
EOS
export PATH=$scratch/bin:$PATH TANDEM_SSH=$scratch/bin/ssh

# fresh [STATUS [SECONDS]]: nothing has been called; a driver ends with STATUS, or not by itself, and writes for SECONDS.
fresh() {
  : >"$calls"
  rm -f "$end" "$written"
  printf %s "${2-}" >"$writing"
  [[ -z ${1-} ]] || (sleep 1 && echo "$1" >"$end") &
}

ssh_launch() { run timeout 60 "$repository/tools/launch-ssh" --tandem "$scratch/bin/tandem" "$@"; }
slurm_launch() { run timeout 60 "$repository/tools/launch-slurm" --tandem "$scratch/bin/tandem" "$@"; }
called() { grep -qF -- "$1" "$calls"; }
nodes_stopped() {
  local node
  for node in "$running"/*; do
    ! kill -0 "${node##*/}" 2>/dev/null || return
  done
  rm -f "$running"/*
}
nodes_run() { [[ $(ls "$running" | wc -l) == "$1" ]]; }

# Over ssh

fresh 0
ssh_launch --hosts h1,me@h2 --address 10.0.0.1 --port 7171 --insecure 'a folder/job.toml' --set "run.name=it's"
expect "a run over ssh succeeds" exits_with 0
expect "the driver gets job and arguments" called \
  "train a folder/job.toml --set run.name=it's --nodes 2 --listen tcp://10.0.0.1:7171 --insecure"
expect "a node is told of its driver, and shown with its host" prints '[h1] h1 joins tcp://10.0.0.1:7171'
expect "a user is no part of a node's name" prints '[me@h2] h2 joins'
expect "ssh asks for nothing" called 'ssh -o BatchMode=yes'
expect "no node is left" nodes_run 0
fresh 3
ssh_launch --hosts h1 --user me --node-options '--cores 3' --address 10.0.0.1 --insecure job.toml
expect "the exit status is the driver's" exits_with 3
expect "ssh is told the user" called ' -l me h1'
expect "a node gets its options" called 'node --name h1 --cores 3'

fresh 1 18
ssh_launch --hosts h1,h2 --address 10.0.0.1 --insecure job.toml
expect "a run that fails exits with 1" exits_with 1
expect "a driver that takes long to write what it has is let" test -e "$written"

fresh
ssh_launch --hosts h1,nowhere --address 10.0.0.1 --insecure job.toml
expect "a host that cannot be reached ends the run" exits_with 1
expect "it is named" prints 'nowhere cannot be reached over ssh'
expect "what ssh says of it is shown" prints '[nowhere] no route to host'
expect "no node is left then" within 60 nodes_run 0
fresh
ssh_launch --hosts h1,broken --address 10.0.0.1 --insecure job.toml
expect "a node that fails before its driver knows it ends the run" exits_with 1
expect "its host is named" prints 'the node on broken ended with status 1'

# interrupted SIGNAL HOSTS: the launcher gets the signal when all nodes run.
interrupted() {
  local launcher
  fresh
  "$repository/tools/launch-ssh" --tandem "$scratch/bin/tandem" --hosts "$2" --address 10.0.0.1 --insecure \
    job.toml >"$scratch/out" 2>&1 &
  launcher=$!
  within 60 nodes_run 2 && kill "-$1" $launcher
  status=0
  wait $launcher || status=$?
  output=$(<"$scratch/out")
}
interrupted TERM h1,h2
expect "an interrupted run ends in order" exits_with 130
expect "no node is left of an interrupted run" within 60 nodes_run 0
interrupted TERM h1,stubborn
expect "a node that does not end when told is ended" within 60 nodes_stopped
interrupted KILL h1,h2
expect "nodes end even if the launcher is killed" within 60 nodes_run 0

fresh
ssh_launch --hosts h1 --address 10.0.0.1 job.toml
expect "without keys it must be said that the network is trusted" exits_with 2
ssh_launch --hosts h1,h1 --insecure job.toml
expect "a host given twice is a wrong usage" exits_with 2
ssh_launch --insecure job.toml
expect "no hosts are a wrong usage" exits_with 2
ssh_launch --hosts h1,h2 --address 10.0.0.1 --key-folder "$scratch/keys" job.toml
expect "where keys are missing it says how they are made" prints "cat h1.key.pub h2.key.pub >nodes.pub"
expect "nothing has been started" test ! -s "$calls"
mkdir keys && touch keys/driver.key keys/nodes.pub
fresh 0
ssh_launch --hosts h1 --address 10.0.0.1 --key-folder "$scratch/keys" job.toml
expect "the driver gets its keys" called "--key $scratch/keys/driver.key --accept $scratch/keys/nodes.pub"
expect "a node gets its keys" called "node --name h1 --key $scratch/keys/node.key --driver-key $scratch/keys/driver.key.pub"

# By Slurm

run "$repository/tools/launch-slurm" --tandem "$scratch/bin/tandem" --insecure job.toml
expect "outside of Slurm it says how it is called" prints 'sbatch --nodes=N'
export SLURM_JOB_ID=654321 SLURM_JOB_NODELIST='c[1-2]' SLURM_NTASKS=2 SLURM_CPUS_PER_TASK=6
fresh 0
slurm_launch --insecure 'a folder/job.toml' --set training.steps=3
expect "a run by Slurm succeeds" exits_with 0
expect "the driver listens where its host is reached, at the job's port" called \
  'train a folder/job.toml --set training.steps=3 --nodes 2 --listen tcp://10.9.8.7:24321 --insecure'
expect "the nodes are told of it" prints 'c1 joins tcp://10.9.8.7:24321'
expect "each task is a node" called 'srun --ntasks=2'
expect "a node has the cores that Slurm grants" called 'node --name c1 --cores 6'
expect "a host's second node has another name" called 'node --name c1-1 --cores 6'
fresh 1
slurm_launch --key-folder keys job.toml
expect "the exit status is the driver's" exits_with 1
expect "Slurm's nodes get their keys" called '--key keys/node.key --driver-key keys/driver.key.pub'
fresh 1 22
slurm_launch --insecure job.toml
expect "Slurm's driver, too, is let write for long" exits_with 1
fresh
slurm_launch job.toml
expect "Slurm's hosts are no trusted network unless it is said" exits_with 2

finish
