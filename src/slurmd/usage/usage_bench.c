/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measures the cost of a look at a machine with this number of additional processes (default 500),
 * all of which belong to a step; two looks are taken. Usage: usage_bench [PROCESSES]. Prints
 * milliseconds of CPU time. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "slurmd/usage/tally.h"

#define ROUNDS 50

enum { READ, COUNT, SAVE, PARTS };

static double cpu_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void round_of(struct tally *t, struct snapshot *s, const char *path, double out[PARTS])
{
    _cleanup_str_ struct str bytes = STR_INIT;
    pid_t root = getpid();
    double begin = cpu_ms(), read, counted;

    snapshot_read(s, &root, 1);
    read = cpu_ms();
    tally_take(t, s);
    counted = cpu_ms();
    tally_pack(t, "boot", 0, &bytes);
    path_write_file(path, bytes.data, bytes.len, 0600, NULL);
    out[SAVE] = cpu_ms() - counted;
    out[COUNT] = counted - read;
    out[READ] = read - begin;
}

static void measure_rounds(const char *path)
{
    static const char *const names[PARTS] = {"read", "count", "save"};
    double ms[PARTS][ROUNDS], one[PARTS];
    struct tally *t = tally_new(0);
    struct snapshot s = {0};

    tally_set_step(t, 1, 0, 0, getpid(), NULL, NULL, 0);
    for (int i = 0; i < ROUNDS; i++) {
        round_of(t, &s, path, one);
        for (int k = 0; k < PARTS; k++)
            ms[k][i] = one[k];
    }
    printf("%zu processes:", s.procs.len);
    for (int k = 0; k < PARTS; k++) {
        qsort(ms[k], ROUNDS, sizeof(double), by_value);
        printf(" %s %.2f", names[k], ms[k][ROUNDS / 2]);
    }
    printf(" ms of CPU (medians of %d looks)\n", ROUNDS);
    snapshot_done(&s);
    tally_free(t);
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 500;
    pid_t *pids = mem_new_array(pid_t, count + 1);
    char path[] = "/tmp/usage-bench-XXXXXX";
    int fd = mkstemp(path);

    if (fd < 0)
        return 1;
    close(fd);
    for (size_t i = 0; i < count; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
            for (;;)
                pause();
        }
    }
    measure_rounds(path);
    for (size_t i = 0; i < count; i++) {
        if (pids[i] > 0)
            kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
    unlink(path);
    free(pids);
    return 0;
}
