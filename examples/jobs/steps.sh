#!/bin/sh
#SBATCH --job-name=steps
#SBATCH --nodes=2 --ntasks=4 --time=5
#SBATCH --output=%x-%j.txt

echo "the script runs on $SLURMD_NODENAME of $SLURM_JOB_NODELIST"
srun -l sh -c 'echo "task $SLURM_PROCID of $SLURM_NTASKS on $SLURMD_NODENAME"' | sort
srun -N1 -n1 false
echo "the step before ended with $?"
