#!/bin/bash
#SBATCH --job-name=@NAME@-merge
#SBATCH --chdir="@FOLDER@"
#SBATCH --output=logs/merge.log
#SBATCH --ntasks=1
#SBATCH --time=60

@MERGE@
