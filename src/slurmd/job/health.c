/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/job/health.h"

#include <string.h>

#include "base/crc32c.h"
#include "base/mem.h"
#include "slurmd/attempt/attempt.h"
#include "slurmd/node/script.h"
#include "slurmd/node/scriptenv.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

struct health {
    struct loop_timer *timer; /* NULL: no interval is configured */
    bool running;
    health_fn *first; /* called when the first run has ended; then NULL */
};

bool health_wants(const char *states, size_t jobs, uint32_t used, uint32_t cpus)
{
    bool some = false;

    if (!states || conf_list_has(states, "ANY"))
        return true;
    if (conf_list_has(states, "START_ONLY"))
        return false;
    if (conf_list_has(states, "IDLE") || conf_list_has(states, "NONDRAINED_IDLE") ||
        conf_list_has(states, "DRAINED_IDLE")) {
        some = true;
        if (!jobs)
            return true;
    }
    if (conf_list_has(states, "ALLOC")) {
        some = true;
        if (jobs && used >= cpus)
            return true;
    }
    if (conf_list_has(states, "MIXED")) {
        some = true;
        if (jobs && used < cpus)
            return true;
    }
    return !some; /* CYCLE is the only word */
}

int64_t health_wait_ms(int64_t wall_ms, int64_t interval_sec, const char *states, const char *node)
{
    int64_t interval_ms = interval_sec * 1000, phase_ms = 0;

    if (states && conf_list_has(states, "CYCLE"))
        phase_ms = (int64_t)crc32c(0, node, strlen(node)) % interval_ms;
    return interval_ms - ((wall_ms - phase_ms) % interval_ms + interval_ms) % interval_ms;
}

static bool is_health_check_wanted(const struct slurmd *d)
{
    const struct conf_node_row *row = &d->conf->node_rows.data[d->node->row];
    uint32_t used = 0;
    size_t jobs = 0;

    for (const struct attempt *a = d->attempts; a; a = a->hh.next) {
        if (a->phase == ATTEMPT_GONE)
            continue;
        jobs++;
        used += a->note.about->cpus;
    }
    return health_wants(d->conf->health_check_node_state, jobs, used, row->cpus);
}

static void on_end(void *ctx, uint32_t job_id, uint32_t restarts, int wait_status, const char *text)
{
    struct slurmd *d = ctx;
    health_fn *first = d->health->first;

    d->health->running = false;
    d->health->first = NULL;
    if (text)
        log_error("%s", text);
    if (first)
        first(d);
}

static void run_check(struct slurmd *d)
{
    struct script script = {.what = "HealthCheckProgram",
                            .path = d->conf->health_check_program,
                            .limit_sec = d->conf->health_check_timeout_sec};

    d->health->running = true;
    script_run(d, &script, scriptenv_health(d), on_end, d);
}

static void on_health_timer(void *ctx)
{
    struct slurmd *d = ctx;

    if (!d->health->running && is_health_check_wanted(d))
        run_check(d);
    health_rearm(d);
}

void health_rearm(struct slurmd *d)
{
    const struct conf *c = d->conf;
    bool wanted = c->health_check_program && c->health_check_interval_sec > 0 &&
                  !conf_list_has(c->health_check_node_state, "START_ONLY");

    if (!wanted) {
        loop_timer_free(take_ptr(d->health->timer));
        return;
    }
    if (!d->health->timer)
        d->health->timer = loop_timer_new(d->loop, on_health_timer, d);
    loop_timer_set(d->health->timer, health_wait_ms(loop_wall_ms(), c->health_check_interval_sec,
                                                    c->health_check_node_state, d->name));
}

void health_begin(struct slurmd *d, health_fn *done)
{
    d->health = mem_new(struct health);
    health_rearm(d);
    if (d->conf->health_check_program) {
        d->health->first = done;
        run_check(d);
    } else {
        done(d);
    }
}

void health_done(struct slurmd *d)
{
    if (d->health)
        loop_timer_free(d->health->timer);
    free(take_ptr(d->health));
}
