/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Licences and layers of hierarchical resources: by the records and the plan alone, no more of them
 * are held than there are, and each job holds what it requests. Looked at when a job has just
 * started, or has been given others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/rule/rule.h"

bool sim_license_holds(const struct sim_watch *w)
{
    return w->view.there &&
           (w->view.state == PB__JOB_STATE__RUNNING || w->view.state == PB__JOB_STATE__SUSPENDED);
}

/* The item of the name in "a:2,b", "b|a:2" or "h(n[1-4]):2,b:1"; NULL: there is none. */
static const char *find_item(const char *list, char name)
{
    bool begins = true;
    int depth = 0;
    for (; *list; list++) {
        if (begins && *list == name)
            return list;
        depth += (*list == '(' || *list == '[') - (*list == ')' || *list == ']');
        begins = !depth && (*list == ',' || *list == '|');
    }
    return NULL;
}

static uint64_t count_of(const char *list, char name)
{
    const char *item = find_item(list, name);
    return !item ? 0 : item[1] == ':' ? strtoull(item + 2, NULL, 10) : 1;
}

/* Of alternatives its record names the one that it has. */
static uint64_t count_held(const struct sim_watch *w, char name)
{
    const struct sim_view *v = &w->view;
    bool chosen = !strchr(v->asked_licenses, '|') || find_item(v->licenses, name);
    return chosen ? count_of(v->asked_licenses, name) : 0;
}

static void check_alternative(struct sim *s, const struct sim_watch *w)
{
    const struct sim_view *v = &w->view;
    unsigned held = 0;
    if (!strchr(v->asked_licenses, '|'))
        return;
    for (const char *one = v->asked_licenses; *one; one += strcspn(one, "|"), one += *one == '|') {
        const char *item = find_item(v->licenses, *one);
        const char *count = item ? strrchr(item, ':') : NULL;
        held += item != NULL;
        if (item && (!count || strtoull(count + 1, NULL, 10) < count_of(one, *one)))
            sim_break(s, "a job has less than its alternative", "job %u: %s, and it has %s",
                      w->job_id, v->asked_licenses, v->licenses);
    }
    if (held != 1)
        sim_break(s, "a job has none of its alternative licences, or several",
                  "job %u: %s, and it has %s", w->job_id, v->asked_licenses, v->licenses);
}

static void check_licenses(struct sim *s, const struct sim_watch *by)
{
    static const char key[] = "Licenses=";
    const char *configured = "";
    vec_foreach (&s->plan->items, item)
        if (item->kind == SIM_ITEM_CONF && strncmp(item->text, key, sizeof key - 1) == 0)
            configured = item->text + sizeof key - 1;
    for (const char *name = "ab"; *name; name++) {
        uint64_t used = 0;
        for (const struct sim_watch *w = s->watches; w; w = w->hh.next)
            used += sim_license_holds(w) ? count_held(w, *name) : 0;
        if (count_held(by, *name) && used > count_of(configured, *name))
            sim_break(s, "a licence is given away twice", "job %u: %c %llu", by->job_id, *name,
                      (unsigned long long)used);
    }
}

/* --- hierarchical resources ---------------------------------------------------------------------
 */

struct layer {
    char name;
    int mode;
    unsigned first, last;
    unsigned long long count; /* for jobs */
};

/* In mode 1 the record names the layer that pays. */
static uint64_t count_paid(const struct layer *l, const struct sim_watch *w)
{
    char pool[SIM_NAME * 2];
    if (l->first == l->last)
        snprintf(pool, sizeof pool, "%c(n%u):", l->name, l->first);
    else
        snprintf(pool, sizeof pool, "%c(n[%u-%u]):", l->name, l->first, l->last);
    const char *item = strstr(w->view.licenses, pool);
    return item ? strtoull(item + strlen(pool), NULL, 10) : 0;
}

static uint64_t count_in_layer(const struct layer *l, const struct sim_watch *w)
{
    uint64_t count = count_held(w, l->name), nodes = 0;
    if (!count || l->mode == 1)
        return count ? count_paid(l, w) : 0;
    vec_foreach (&w->shares, share)
        nodes += !share->released && share->node + 1 >= l->first && share->node + 1 <= l->last;
    return l->mode == 3 ? count * nodes : nodes ? count : 0;
}

/* No layer is used over its count, less what is always in use. */
static void check_layer(struct sim *s, const struct sim_watch *by, const struct layer *l)
{
    uint64_t used = 0;
    for (const struct sim_watch *w = s->watches; w; w = w->hh.next)
        used += sim_license_holds(w) ? count_in_layer(l, w) : 0;
    if (used > l->count && count_in_layer(l, by))
        sim_break(s, "a layer is used over its count", "%c(n[%u-%u]): %llu of %llu, job %u",
                  l->name, l->first, l->last, (unsigned long long)used, l->count, by->job_id);
}

static void check_layers(struct sim *s, const struct sim_watch *by)
{
    static const char key[] = "HresConf=";
    struct layer l = {0};
    vec_foreach (&s->plan->items, item) {
        if (item->kind != SIM_ITEM_CONF || strncmp(item->text, key, sizeof key - 1) != 0)
            continue;
        const char *word = strstr(item->text, "Mode=MODE_");
        l.name = item->text[sizeof key - 1];
        l.mode = word ? word[10] - '0' : l.mode;
        if (word || !count_held(by, l.name) ||
            sscanf(item->text + strlen("HresConf=x;"), "Nodes=n[%u-%u];Count=%llu", &l.first,
                   &l.last, &l.count) != 3)
            continue;
        l.count -= strstr(item->text, "Base=") != NULL;
        check_layer(s, by, &l);
    }
}

void sim_license_check(struct sim *s, const struct sim_watch *w)
{
    if (!w || !sim_license_holds(w) || !*w->view.asked_licenses)
        return;
    check_alternative(s, w);
    check_licenses(s, w);
    check_layers(s, w);
}
