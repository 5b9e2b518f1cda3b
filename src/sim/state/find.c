/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Look-ups in the state of a world; they change nothing. */
#include "sim/state/find.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t sim_store_key(char key[static SIM_KEY], enum record_kind kind, uint64_t number,
                     const char *name)
{
    memset(key, 0, 16);
    key[0] = (char)kind;
    memcpy(key + 1, &number, sizeof number);
    int len = name ? snprintf(key + 9, SIM_KEY - 9, "%s", name) : 0;
    return 9 + (size_t)len;
}

const struct sim_record *sim_store_find(const struct sim *s, enum record_kind kind, uint64_t number,
                                        const char *name)
{
    char key[SIM_KEY];
    struct sim_stored *found;
    size_t len = sim_store_key(key, kind, number, name);
    HASH_FIND(hh, s->store, key, len, found);
    return found ? &found->record : NULL;
}

struct sim_watch *sim_watch_find(const struct sim *s, uint32_t job_id)
{
    struct sim_watch *w;
    HASH_FIND(hh, s->watches, &job_id, sizeof job_id, w);
    return w;
}

long sim_client_find(const struct sim *s, int64_t id)
{
    size_t at = vec_lower(&s->clients, c, c->item->id < id);
    return at < s->clients.len && s->clients.data[at].item->id == id ? (long)at : -1;
}

long sim_node_index(const struct sim *s, const char *name)
{
    unsigned long number = name && name[0] == 'n' ? strtoul(name + 1, NULL, 10) : 0;
    return number >= 1 && number <= s->nodes.len ? (long)number - 1 : -1;
}

bool sim_node_runs(const struct sim_node_job *j)
{
    bool runs = j->batch_running || j->prolog_running;
    vec_foreach (&j->steps, step)
        runs = runs || step->running;
    return runs;
}

bool sim_give_holds(const struct sim_watch *w)
{
    return w->view.there && (w->view.state == PB__JOB_STATE__RUNNING ||
                             w->view.state == PB__JOB_STATE__SUSPENDED || w->view.completing);
}

const struct sim_share *sim_give_share(const struct sim_watch *w, unsigned node)
{
    vec_foreach (&w->shares, share)
        if (share->node == node && !share->released)
            return share;
    return NULL;
}

uint64_t sim_count_of_list(const char *list, const char *name, const char *type)
{
    uint64_t sum = 0;
    while (*list) {
        size_t len = strcspn(list, ","), own = strcspn(list, ":,");
        const char *second = own < len ? list + own + 1 : list + len;
        size_t second_len = strcspn(second, ":,");
        bool typed = second + second_len < list + len;
        bool same = strlen(name) == own && strncmp(list, name, own) == 0;
        if (same && (!*type || (typed && strlen(type) == second_len &&
                                strncmp(second, type, second_len) == 0)))
            sum += strtoull(typed ? second + second_len + 1 : second, NULL, 10);
        list += len + (list[len] == ',');
    }
    return sum;
}

bool sim_give_is_held(const struct sim *s, unsigned node)
{
    for (const struct sim_watch *w = s->watches; w; w = w->hh.next)
        if (sim_give_holds(w) && sim_give_share(w, node))
            return true;
    return false;
}

struct sim_client *sim_set_component(struct sim *s, const struct sim_client *leader, size_t offset)
{
    size_t at = 0;
    vec_foreach (&s->clients, c)
        if (c->item->component_of == leader->item->id && ++at == offset && offset < SIM_SET_MOST)
            return c;
    return NULL;
}

size_t sim_set_count(struct sim *s, const struct sim_client *leader)
{
    size_t n = 1;
    vec_foreach (&s->clients, c)
        n += n < SIM_SET_MOST && c->item->component_of == leader->item->id;
    return n;
}

bool sim_lead_is_cut(const struct sim *s, const struct sim_ctl *c, unsigned from)
{
    return c->cut_until_ms > s->now_ms && c->cut & from;
}

bool sim_lead_are_apart(const struct sim *s, const struct sim_ctl *a, const struct sim_ctl *b)
{
    return sim_lead_is_cut(s, a, SIM_CUT_PEERS) || sim_lead_is_cut(s, b, SIM_CUT_PEERS);
}

bool sim_lead_is_paused(const struct sim *s, const struct sim_ctl *c)
{
    return c->paused_until_ms > s->now_ms;
}

bool sim_lead_serves_node(const struct sim *s, const struct sim_ctl *c)
{
    return c->control && !c->stopping && !sim_lead_is_paused(s, c) &&
           !sim_lead_is_cut(s, c, SIM_CUT_NODES);
}
