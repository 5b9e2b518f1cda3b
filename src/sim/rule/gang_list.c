/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What "scontrol show gang" lists is what the records say, after each turn of the controller: who
 * runs in the present slot, who waits for which one, and nobody else. A job set is listed as one
 * job.
 */
#include "control/query/gang_list.h"
#include "control/control.h"
#include "sim/rule/rule.h"

#define LISTED_MOST 256 /* with more jobs the list is not looked at in each turn */

struct standing { /* of all components of a job, by their records */
    bool runs, waits, ends, is_known;
};

static uint32_t set_of(const struct sim_watch *w)
{
    return w->set_id ? w->set_id : w->job_id;
}

static struct standing find_standing(const struct sim *s, uint32_t job_id)
{
    struct standing found = {0};
    for (const struct sim_watch *w = s->watches; w; w = w->hh.next) {
        if (!w->view.there || set_of(w) != job_id)
            continue;
        found.is_known = true;
        found.runs = found.runs || w->view.state == PB__JOB_STATE__RUNNING;
        found.waits = found.waits || sim_turn_awaited(w);
        found.ends = found.ends || w->view.completing;
    }
    return found;
}

static size_t count_listed(const Pb__GangReply *list, uint32_t job_id)
{
    size_t count = 0;
    for (size_t i = 0; i < list->n_members; i++)
        count += list->members[i]->job_id == job_id;
    return count;
}

static bool is_in_slot(const Pb__GangSlot *slot, uint32_t job_id)
{
    for (size_t i = 0; i < slot->n_job_id; i++)
        if (slot->job_id[i] == job_id)
            return true;
    return false;
}

static void check_member(struct sim *s, const Pb__GangReply *list, const Pb__GangMember *m)
{
    struct standing is = find_standing(s, m->job_id);
    bool turns = false;
    for (size_t i = 1; i < list->n_slots; i++)
        turns = turns || is_in_slot(list->slots[i], m->job_id);
    if (m->runs ? !is.runs && !is.ends : !is.waits)
        sim_break(s, "gang scheduling lists a job with another state", "job %u is listed as %s%s",
                  m->job_id, m->runs ? "running" : "suspended",
                  is.is_known ? "" : ", and there is no such job");
    if (is_in_slot(list->slots[0], m->job_id) != m->runs)
        sim_break(s, "gang scheduling lists a wrong slot", "job %u, which is listed as %s, is %s",
                  m->job_id, m->runs ? "running" : "suspended",
                  m->runs ? "not in the present slot" : "in the present slot");
    if (!m->runs && !turns)
        sim_break(s, "gang scheduling lists no turn of a job that waits", "job %u in %zu slots",
                  m->job_id, list->n_slots);
}

void sim_turn_check_list(struct sim *s)
{
    static const struct caller root = {.is_operator = true, .is_admin = true};
    struct arena arena;
    Pb__GangReply list;
    if (!s->gang.is_on || HASH_COUNT(s->watches) > LISTED_MOST)
        return;
    arena_init(&arena, 0);
    gang_list_describe(s->c->control, &root, &list, &arena);
    for (size_t i = 0; i < list.n_members; i++)
        check_member(s, &list, list.members[i]);
    for (const struct sim_watch *w = s->watches; w; w = w->hh.next) {
        size_t count = sim_turn_awaited(w) ? count_listed(&list, set_of(w)) : 1;
        if (count != 1)
            sim_break(s, "gang scheduling lists a job that waits not once", "job %u, %zu times",
                      w->job_id, count);
    }
    arena_done(&arena);
}
