#!/bin/bash
#SBATCH --job-name=@NAME@
#SBATCH --chdir="@FOLDER@"
#SBATCH --output=logs/%a.log
#SBATCH --open-mode=append
#SBATCH --array=@ARRAY@
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH @RESOURCES@
#SBATCH --time=@LIMIT@
#SBATCH --requeue

shard=$SLURM_ARRAY_TASK_ID
@RUN@
code=$?
# @RETRY@: something was killed, lost or full. A shard that runs again keeps what it has measured.
if [ "$code" -eq @RETRY@ ] && [ "${SLURM_RESTART_COUNT:-0}" -lt 3 ]; then
    scontrol requeue "${SLURM_ARRAY_JOB_ID}_$shard"
fi
exit "$code"
