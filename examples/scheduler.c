/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * scheduler: an external scheduler by the C API. It looks at the jobs that wait and puts those with
 * the shortest time limit first; with -n NODES it then starts the first of them on these nodes at
 * once, or says why it cannot; with -p PARTITION it looks at that partition only. For operators.
 *
 *     scheduler [-p PARTITION] [-n NODES]
 *     cc -o scheduler scheduler.c $(pkg-config --cflags --libs sluice)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sluice/sluice.h>

enum { MOST = 10000, FIRST = 1000000 }; /* jobs looked at; the priority of the first one */

struct waiting {
    uint32_t id;
    int64_t time_limit_sec;
};
struct queue {
    const char *partition;
    struct waiting jobs[MOST];
    size_t count;
};

static int failed(const char *what, const struct sluice_error *e)
{
    fprintf(stderr, "scheduler: %s: %s\n", what, e->text);
    return 1;
}

static void look(void *ctx, const struct sluice_job *j)
{
    struct queue *q = ctx;
    if (strcmp(j->state, "PENDING") || j->held || q->count == MOST)
        return;
    if (!q->partition || !strcmp(q->partition, j->partition))
        q->jobs[q->count++] = (struct waiting){j->id, j->time_limit_sec};
}

static int shorter(const void *a, const void *b)
{
    const struct waiting *x = a, *y = b;
    if (x->time_limit_sec != y->time_limit_sec)
        return x->time_limit_sec < y->time_limit_sec ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

static void refused(void *ctx, uint32_t id, int code, const char *text)
{
    fprintf(stderr, "scheduler: job %u stays where it is: %s\n", id, text);
}

static int order(struct sluice *s, struct queue *q)
{
    static struct sluice_place places[MOST];
    struct sluice_error e;
    qsort(q->jobs, q->count, sizeof(q->jobs[0]), shorter);
    for (size_t i = 0; i < q->count; i++) {
        places[i] = (struct sluice_place){q->jobs[i].id, (uint32_t)(FIRST - i), NULL};
        printf("%zu. job %u\n", i + 1, q->jobs[i].id);
    }
    return sluice_order(s, places, q->count, refused, NULL, &e) ? failed("the order", &e) : 0;
}

int main(int argc, char **argv)
{
    static struct queue queue;
    const char *nodes = NULL;
    struct sluice_error e;
    int opt;
    while ((opt = getopt(argc, argv, "n:p:")) != -1) {
        if (opt == 'n')
            nodes = optarg;
        else if (opt == 'p')
            queue.partition = optarg;
        else
            return 2;
    }
    struct sluice *s = sluice_open(NULL, &e);
    if (!s)
        return failed("the cluster", &e);
    int status = 0;
    if (sluice_jobs(s, 0, NULL, look, &queue, &e))
        status = failed("jobs", &e);
    if (status == 0)
        status = order(s, &queue);
    if (status == 0 && nodes && queue.count && sluice_start(s, queue.jobs[0].id, nodes, &e))
        status = failed(nodes, &e);
    sluice_close(s);
    return status;
}
