/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * jobs: a job's life by the C API. Prints the nodes of the cluster, submits a job and follows it to
 * its end, asking only for what has changed; with -k SECONDS it is cancelled when it has run so
 * long, with -d NODE that node is drained first and resumed at the end (for operators).
 *
 *     jobs [-d NODE] [-k SECONDS] SCRIPT [ARGUMENT...]
 *     cc -o jobs jobs.c $(pkg-config --cflags --libs sluice)
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sluice/sluice.h>

enum { LOOK_USEC = 100000 };

struct seen {
    char state[32];
    int64_t start_time;
    int over, changed;
};

static int failed(const char *what, const struct sluice_error *e)
{
    fprintf(stderr, "jobs: %s: %s\n", what, e->text);
    return 1;
}

static void print_node(void *ctx, const struct sluice_node *n)
{
    printf("node %s %s%s cpus %u/%u memory %llu/%llu MiB weight %u %s\n", n->name, n->state,
           n->flags & SLUICE_DRAIN ? "+DRAIN" : "", n->cpus_in_use, n->cpus,
           (unsigned long long)n->memory_in_use_mib, (unsigned long long)n->memory_mib, n->weight,
           n->reason);
}

static void look(void *ctx, const struct sluice_job *j)
{
    struct seen *seen = ctx;
    seen->changed = strcmp(seen->state, j->state) != 0;
    if (seen->changed)
        printf("job %s %s on %s, reason %s\n", j->full_id, j->state,
               *j->node_list ? j->node_list : "-", j->reason);
    snprintf(seen->state, sizeof(seen->state), "%s", j->state);
    seen->start_time = j->start_time;
    seen->over = strcmp(j->state, "PENDING") && strcmp(j->state, "CONFIGURING") &&
                 strcmp(j->state, "RUNNING") && !j->completing;
}

static void print_step(void *ctx, const struct sluice_step *t)
{
    printf("step %u.%s %s on %s\n", t->job_id, t->step_id == SLUICE_BATCH ? "batch" : "srun",
           t->name, t->node_list);
}

static int follow(struct sluice *s, uint32_t id, int kill_sec)
{
    struct seen seen = {.state = ""};
    struct sluice_error e;
    int64_t stamp = 0;
    int looks = 0, spared = 0, stepped = 0;
    while (!seen.over) {
        int rc = sluice_jobs(s, id, &stamp, look, &seen, &e);
        if (rc && rc != SLUICE_NO_CHANGE)
            return failed("the job", &e);
        looks++;
        spared += rc == SLUICE_NO_CHANGE;
        int runs = !strcmp(seen.state, "RUNNING");
        if (runs && !stepped++ && sluice_steps(s, id, print_step, NULL, &e))
            return failed("its steps", &e);
        if (runs && kill_sec >= 0 && time(NULL) >= seen.start_time + kill_sec) {
            if (sluice_signal(s, id, SLUICE_WHOLE_JOB, 0, &e))
                return failed("the end of it", &e);
            kill_sec = -1;
        }
        usleep(LOOK_USEC);
    }
    printf("looked %d times, nothing had changed %d times\n", looks, spared);
    return 0;
}

static char *read_script(const char *path)
{
    static char text[1 << 20];
    FILE *file = fopen(path, "r");
    size_t len = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file)
        fclose(file);
    text[len] = '\0';
    return len ? text : NULL;
}

static int run(struct sluice *s, int kill_sec, char **argv)
{
    struct sluice_submit r = {.script = read_script(argv[0]),
                              .name = argv[0],
                              .tasks = 1,
                              .time_limit_sec = 600,
                              .output = "jobs-%j.out",
                              .args = (const char *const *)argv + 1};
    struct sluice_error e;
    uint32_t id;
    if (sluice_submit(s, &r, &id, &e))
        return failed("submit", &e);
    printf("submitted %u\n", id);
    return follow(s, id, kill_sec);
}

int main(int argc, char **argv)
{
    const char *drain = NULL;
    int kill_sec = -1, opt;
    struct sluice_error e;
    while ((opt = getopt(argc, argv, "+d:k:")) != -1) {
        if (opt == 'd')
            drain = optarg;
        else if (opt == 'k')
            kill_sec = atoi(optarg);
        else
            return 2;
    }
    if (optind == argc) {
        fprintf(stderr, "usage: jobs [-d NODE] [-k SECONDS] SCRIPT [ARGUMENT...]\n");
        return 2;
    }
    struct sluice *s = sluice_open(NULL, &e);
    if (!s)
        return failed("the cluster", &e);
    int status = 0;
    if (drain && sluice_node_state(s, drain, "DRAIN", "by the example", &e))
        status = failed(drain, &e);
    if (status == 0 && sluice_nodes(s, NULL, NULL, print_node, NULL, &e))
        status = failed("nodes", &e);
    if (status == 0)
        status = run(s, kill_sec, argv + optind);
    if (drain && status == 0 && sluice_node_state(s, drain, "RESUME", NULL, &e))
        status = failed(drain, &e);
    sluice_close(s);
    return status;
}
