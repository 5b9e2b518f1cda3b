/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A backup whose StateSaveLocation is a separate directory would start with an old state or none,
 * and acknowledged jobs would be lost. While another controller says that it leads, the store must
 * show a lead. The store is considered a different one after it has shown no lead twice, because
 * the lead may have been given back between the two answers.
 */
#define LOG_ROOM "slurmctld"
#include <stdlib.h>

#include "base/mem.h"
#include "slurmctld/core/ctld.h"
#include "slurmctld/lead/lead.h"
#include "slurmctld/lead/shared.h"

#define LANE 3
#define EVERY_MS 60000
#define REEXEC_MS 1000

struct shared {
    struct ctld *c;
    struct look *look; /* the running check */
    char *leader;
    int64_t next_ms;
    unsigned denied;
    bool good;
    char *fault;
    uint64_t sign; /* the last sign of the leader's work */
    int64_t sign_ms;
    enum shared_sign seen; /* result since the last query */
};

struct look {
    struct shared *s; /* NULL: the result is not wanted */
    char *at, *cluster;
    bool for_sign;
    uint64_t epoch, sign;
    char *holder;
    int rc;
    struct err err;
};

struct shared *shared_open(struct ctld *c)
{
    struct shared *s = mem_new(struct shared);
    s->c = c;
    return s;
}

void shared_close(struct shared *s)
{
    if (!s)
        return;
    if (s->look)
        s->look->s = NULL;
    free(s->leader);
    free(s->fault);
    free(s);
}

const char *shared_fault(const struct shared *s)
{
    return s->fault;
}

bool shared_is_good(const struct shared *s)
{
    return s->good;
}

static void on_run(void *arg)
{
    struct look *l = arg;
    struct store_where where = {.at = l->at, .cluster = l->cluster};
    l->rc = l->for_sign ? store_lead_sign(&where, &l->sign, &l->err)
                        : store_lead(&where, &l->epoch, &l->holder, &l->err);
}

static void check_look(struct shared *s, const struct look *l)
{
    s->next_ms = loop_mono_ms() + EVERY_MS;
    if (l->rc) {
        log_error("the state cannot be looked at, which a takeover would need: %s", l->err.text);
        return;
    }
    if (l->holder) {
        s->denied = 0;
        s->good = true;
        if (s->fault)
            log_info("the state is the one that %s leads with", s->leader);
        free(take_ptr(s->fault));
        return;
    }
    if (s->denied++ == 0)
        s->next_ms = loop_mono_ms() + REEXEC_MS;
    if (s->denied < 2)
        return;
    free(s->fault);
    s->good = false;
    s->fault = mem_printf("%s leads, but by %s nobody does: it is not the same one here, or its "
                          "file system does not pass on locks; all controllers need the same",
                          s->leader, s->c->conf->state_save_store ? "StateSaveStore" : l->at);
    log_error("this backup could not take over: %s", s->fault);
}

static void check_sign(struct shared *s, const struct look *l)
{
    if (l->rc)
        return;
    if (s->seen != SHARED_CHANGED)
        s->seen = l->sign == s->sign ? SHARED_SAME : SHARED_CHANGED;
    s->sign = l->sign;
}

static void on_done(void *arg)
{
    struct look *l = arg;
    if (l->s) {
        l->s->look = NULL;
        l->for_sign ? check_sign(l->s, l) : check_look(l->s, l);
    }
    free(l->at);
    free(l->cluster);
    free(l->holder);
    free(l);
}

static void begin_look(struct shared *s, bool for_sign)
{
    struct store_where where = lead_where(s->c->conf);
    struct look *l = mem_new(struct look);
    l->s = s;
    l->for_sign = for_sign;
    l->at = mem_strdup(where.at);
    l->cluster = mem_strdup(where.cluster);
    s->look = l;
    loop_work_post(s->c->loop, LANE, on_run, on_done, l);
}

void shared_look(struct shared *s, const char *leader)
{
    if (s->look || loop_mono_ms() < s->next_ms)
        return;
    free(s->leader);
    s->leader = mem_strdup(leader);
    begin_look(s, false);
}

enum shared_sign shared_sign(struct shared *s, int64_t every_ms)
{
    int64_t now_ms = loop_mono_ms();
    enum shared_sign seen = s->seen;
    s->seen = SHARED_UNSEEN;
    if (!s->look && now_ms >= s->sign_ms) {
        s->sign_ms = now_ms + every_ms;
        begin_look(s, true);
    }
    return seen;
}
