#!/bin/bash
# A SLURM cluster of this machine alone, from Debian's slurm-wlm and munge: `cluster.sh start FOLDER` and
# `cluster.sh stop FOLDER`, as root. Everything it writes is in the folder; its clients need SLURM_CONF=FOLDER/slurm.conf.
set -euo pipefail
action=$1
folder=$(realpath "$2")
PATH=$PATH:/usr/sbin

free_port() {
    python3 -c 'import socket; it = socket.socket(); it.bind(("", 0)); print(it.getsockname()[1])'
}

start() {
    mkdir -p "$folder"/{state,spool,munge}
    chmod 700 "$folder/munge"
    head -c 64 /dev/urandom >"$folder/munge/key"
    chmod 400 "$folder/munge/key"
    munged --force --key-file="$folder/munge/key" --socket="$folder/munge/socket" \
        --pid-file="$folder/munge/pid" --log-file="$folder/munge/log" --seed-file="$folder/munge/seed"
    local host
    host=$(hostname -s)
    # A requeued job waits until its credential has expired, two minutes by default.
    cat >"$folder/slurm.conf" <<END
ClusterName=alone
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket,cred_expire=5
CredType=cred/munge
SlurmUser=root
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
MinJobAge=86400
KillWait=2
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$host Default=YES State=UP
END
    export SLURM_CONF=$folder/slurm.conf
    slurmctld
    slurmd
    for _ in $(seq 100); do
        if [ "$(sinfo --noheader --format=%t 2>/dev/null)" = idle ]; then
            return
        fi
        sleep 0.2
    done
    echo 'error: the node is not idle' >&2
    cat "$folder"/*.log >&2
    exit 1
}

stop() {
    for file in slurmd.pid slurmctld.pid munge/pid; do
        if [ -f "$folder/$file" ]; then
            kill "$(cat "$folder/$file")" || true
        fi
    done
}

"$action"
