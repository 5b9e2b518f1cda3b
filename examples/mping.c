/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mping: an MPI ping-pong. Rank 0 sends a message to each other rank in turn and waits for it to
 * come back, over sizes from FIRST bytes, doubling, to LAST bytes, and prints half the round trip
 * and the bandwidth.
 *
 *     mping [FIRST [LAST]]           mpicc -O2 -o mping mping.c
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { TAG = 1, MOST = 1 << 28 };

/* Microseconds for one way, the mean of 'rounds' round trips. */
static double ping(char *buffer, int size, int peer, int rounds)
{
    double start = MPI_Wtime();
    for (int i = 0; i < rounds; i++) {
        MPI_Send(buffer, size, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
        MPI_Recv(buffer, size, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return (MPI_Wtime() - start) * 1e6 / rounds / 2;
}

static void pong(char *buffer, int size, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        MPI_Recv(buffer, size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(buffer, size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    }
}

static long size_argument(int argc, char **argv, int i, long otherwise)
{
    if (i >= argc)
        return otherwise;
    char *end;
    long n = strtol(argv[i], &end, 10);
    return *end || end == argv[i] || n < 1 || n > MOST ? -1 : n;
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    long first = size_argument(argc, argv, 1, 1), last = size_argument(argc, argv, 2, 1 << 20);
    if (first < 0 || last < 0 || argc > 3 || ranks < 2) {
        if (rank == 0)
            fprintf(stderr, ranks < 2 ? "mping: needs at least two tasks\n"
                                      : "usage: mping [FIRST [LAST]]   bytes, at most 268435456\n");
        MPI_Finalize();
        return 2;
    }
    char *buffer = calloc(1, (size_t)last);
    for (int peer = 1; buffer && peer < ranks; peer++)
        for (long size = first; size <= last; size *= 2) {
            int rounds = size <= 4096 ? 20 : 4;
            if (rank == 0) {
                double usec = ping(buffer, (int)size, peer, rounds);
                printf("%d pinged 0: %8ld bytes %10.2f uSec %9.2f MB/s\n", peer, size, usec,
                       (double)size / usec);
            } else if (rank == peer) {
                pong(buffer, (int)size, rounds);
            }
        }
    free(buffer);
    MPI_Finalize();
    return buffer ? 0 : 1;
}
