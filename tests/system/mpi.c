/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An MPI program for tests, one thing for each operand: sum, where, names, kill, exit, abort;
 * 'write FIFO' and 'read FIFO': the sum, when another world has opened the other end.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

/* The sum of the ranks before and this one, once around. */
static int ring(void)
{
    int sum = 0;

    if (rank > 0)
        MPI_Recv(&sum, 1, MPI_INT, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sum += rank;
    MPI_Send(&sum, 1, MPI_INT, (rank + 1) % size, 1, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Recv(&sum, 1, MPI_INT, size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast(&sum, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return sum;
}

static void names(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int again;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 0)
        MPI_Publish_name("service", MPI_INFO_NULL, "port 4711");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Lookup_name("service", MPI_INFO_NULL, port);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Unpublish_name("service", MPI_INFO_NULL, "port 4711");
    MPI_Barrier(MPI_COMM_WORLD);
    again = MPI_Lookup_name("service", MPI_INFO_NULL, port);
    printf("%d found %s, then %s\n", rank, port, again == MPI_SUCCESS ? "it again" : "nothing");
}

/* Opening a FIFO waits for the other world, which is there at the same time. */
static void meet(const char *fifo, const char *mode)
{
    FILE *file = rank == 0 ? fopen(fifo, mode) : NULL;

    MPI_Barrier(MPI_COMM_WORLD);
    printf("%s: %d of %d\n", *mode == 'w' ? "server" : "client", rank, size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (file)
        fclose(file);
}

/* Never comes back: the others wait until they are ended. */
static void end_badly(const char *how)
{
    if (rank == 1 && !strcmp(how, "kill"))
        raise(SIGKILL);
    if (rank == 1 && !strcmp(how, "exit"))
        _exit(3);
    if (rank == 1 && !strcmp(how, "abort"))
        MPI_Abort(MPI_COMM_WORLD, 9);
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "sum";
    int sum, length;
    char name[MPI_MAX_PROCESSOR_NAME];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(name, &length);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (!strcmp(what, "sum"))
        printf("%d of %d: sum %d ring %d\n", rank, size, sum, ring());
    else if (!strcmp(what, "where"))
        printf("%d on %s: sum %d\n", rank, name, sum);
    else if (!strcmp(what, "names"))
        names();
    else if (!strcmp(what, "write") || !strcmp(what, "read"))
        meet(argv[2], *what == 'w' ? "w" : "r");
    else
        end_badly(what);
    MPI_Finalize();
    return 0;
}
