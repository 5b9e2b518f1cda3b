/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who leads, as far as triggers ask for it. A controller that is gone cannot tell of its own end:
 * the next one that leads does, by what the records say of the one before. Backups say now and
 * again that they are there.
 */
#include "base/pb.h"
#include "control/internal.h"

#define RANKS 32

void control_set_rank(struct control *c, uint32_t rank)
{
    c->triggers.lead.rank = rank;
}

void trigger_lead_restore(struct control *c, const Pb__StoreMeta *m)
{
    struct trigger_lead *l = &c->triggers.lead;
    l->known = m->has_lead_rank;
    l->last = m->lead_rank;
    l->ended = m->lead_ended;
    l->primary_failed = m->primary_failed;
    l->silent = m->silent_backups;
    c->triggers.last_id =
        m->last_trigger > c->triggers.last_id ? m->last_trigger : c->triggers.last_id;
}

void trigger_lead_fill(const struct control *c, Pb__StoreMeta *m)
{
    const struct trigger_lead *l = &c->triggers.lead;
    SET(m, lead_rank, l->rank);
    SET(m, lead_ended, l->stopped);
    SET(m, primary_failed, l->primary_failed);
    SET(m, silent_backups, l->silent);
    SET(m, last_trigger, c->triggers.last_id);
}

static void tell(struct control *c, uint32_t type)
{
    vec_foreach (&c->triggers.all, t)
        if ((*t)->types & type)
            trigger_hit(c, *t, type, NULL);
}

/* Of the lead before this one. */
static void tell_failure(struct control *c, struct trigger_lead *l)
{
    if (!l->known || l->ended)
        return;
    tell(c, l->last == 0 ? TRIGGER_PRI_CTLD_FAIL : TRIGGER_BU_CTLD_FAIL);
    if (l->last == 0)
        l->primary_failed = true;
    else if (l->last < RANKS)
        l->silent |= 1u << l->last;
}

static bool answers_again(struct trigger_lead *l, uint32_t rank)
{
    bool was_silent = rank < RANKS && l->silent >> rank & 1;
    if (was_silent)
        l->silent &= ~(1u << rank);
    return was_silent;
}

void trigger_lead_await(struct control *c)
{
    for (uint32_t i = 0; i < RANKS; i++)
        c->triggers.lead.heard_ms[i] = control_mono(c);
}

void trigger_lead_start(struct control *c)
{
    struct trigger_lead *l = &c->triggers.lead;
    tell_failure(c, l);
    if (l->rank == 0 && l->known && l->last != 0)
        tell(c, TRIGGER_PRI_CTLD_RES_CTRL);
    if (l->rank == 0 && l->primary_failed)
        tell(c, TRIGGER_PRI_CTLD_RES_OP);
    if (l->rank == 0)
        l->primary_failed = false;
    if (l->rank != 0 && answers_again(l, l->rank))
        tell(c, TRIGGER_BU_CTLD_RES_OP);
    if (l->rank != 0 && (!l->known || l->last != l->rank))
        tell(c, TRIGGER_BU_CTLD_AS_CTRL);
    trigger_lead_await(c);
    l->last = l->rank;
    l->known = true;
    l->ended = false;
}

/* --- backups -----------------------------------------------------------------------------------
 */

static bool is_awaited(const struct control *c, uint32_t rank)
{
    const struct trigger_lead *l = &c->triggers.lead;
    return rank != 0 && rank != l->rank && rank < RANKS && rank < c->conf->controllers.len &&
           !(l->silent >> rank & 1);
}

static int64_t patience_ms(const struct control *c)
{
    return c->conf->slurmctld_timeout_sec * 1000;
}

int64_t trigger_lead_due_ms(const struct control *c)
{
    int64_t first = INT64_MAX;
    for (uint32_t i = 1; i < c->conf->controllers.len && i < RANKS; i++) {
        int64_t at = c->triggers.lead.heard_ms[i] + patience_ms(c);
        if (is_awaited(c, i) && at < first)
            first = at;
    }
    return first;
}

void trigger_lead_tick(struct control *c)
{
    struct trigger_lead *l = &c->triggers.lead;
    for (uint32_t i = 1; i < c->conf->controllers.len && i < RANKS; i++) {
        if (!is_awaited(c, i) || control_mono(c) < l->heard_ms[i] + patience_ms(c))
            continue;
        l->silent |= 1u << i;
        control_log(c, LOG_LVL_ERROR, "backup controller %s does not answer",
                    c->conf->controllers.data[i].name);
        tell(c, TRIGGER_BU_CTLD_FAIL);
        control_save_meta(c);
    }
}

void control_backup_heard(struct control *c, const char *name)
{
    struct trigger_lead *l = &c->triggers.lead;
    const struct conf_host *h = conf_find_controller(c->conf, name);
    if (!h || h->rank >= RANKS)
        return;
    l->heard_ms[h->rank] = control_mono(c);
    if (h->rank == 0 || !answers_again(l, h->rank))
        return;
    control_log(c, LOG_LVL_INFO, "backup controller %s answers again", h->name);
    tell(c, TRIGGER_BU_CTLD_RES_OP);
    control_save_meta(c);
}
