/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One line of each task: where it runs, and the sum of all ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size, sum;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("task %d of %d on %s: sum %d\n", rank, size, getenv("SLURMD_NODENAME"), sum);
    MPI_Finalize();
    return 0;
}
