/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Licences and layers of hierarchical resources, by the records and the plan alone: jobs hold no
 * more than the total, and each job holds what it requests. The check runs when a job has just
 * started or its licences have changed.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/rule/rule.h"
#include "sim/state/hres.h"

bool sim_license_holds(const struct sim_watch *w)
{
    return w->view.there &&
           (w->view.state == PB__JOB_STATE__RUNNING || w->view.state == PB__JOB_STATE__SUSPENDED);
}

/* Finds the item of the name in "a:2,b", "b|a:2" or "h(n[1-4]):2,b:1"; NULL: there is none. */
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

static uint64_t read_listed_count(const char *list, char name)
{
    const char *item = find_item(list, name);
    return !item ? 0 : item[1] == ':' ? strtoull(item + 2, NULL, 10) : 1;
}

/* If the request has alternatives, the record names the chosen one. */
static uint64_t count_held(const struct sim_view *v, char name)
{
    bool chosen = !strchr(v->asked_licenses, '|') || find_item(v->licenses, name);
    return chosen ? read_listed_count(v->asked_licenses, name) : 0;
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
        if (item && (!count || strtoull(count + 1, NULL, 10) < read_listed_count(one, *one)))
            sim_break(s, "a job has less than its alternative", "job %u: %s, and it has %s",
                      w->job_id, v->asked_licenses, v->licenses);
    }
    if (held != 1)
        sim_break(s, "a job has none of its alternative licences, or several",
                  "job %u: %s, and it has %s", w->job_id, v->asked_licenses, v->licenses);
}

/* --- totals --------------------------------------------------------------------------------------
 * The arithmetic of the three modes, from the file and the nodes of jobs. A licence is treated as a
 * layer of mode 0 around all nodes. */

#define LAYERS_MOST 32 /* maximum number of layers of all resources in a plan */

struct layer {
    struct sim_layer of;
    int mode;
    uint64_t file_count, count; /* UINT64_MAX: unlimited */
    uint64_t own_base, base;    /* base: including the layers within */
};

struct layers { /* by the active version of the file, and by operators */
    struct layer list[LAYERS_MOST];
    size_t len;
};

static void read_layer_line(struct layers *all, const char *line, int *mode)
{
    const char *word = strstr(line, "Mode=MODE_"), *nodes = strstr(line, ";Nodes=");
    const char *count = strstr(line, ";Count=");
    struct layer l = {.mode = *mode};
    if (word)
        *mode = word[10] - '0';
    if (word || !nodes || !count || all->len == LAYERS_MOST ||
        !sim_layer_read(line, nodes + strlen(";Nodes="), &l.of))
        return;
    long long number = strtoll(count + strlen(";Count="), NULL, 10);
    l.file_count = l.count = number < 0 ? UINT64_MAX : (uint64_t)number;
    l.own_base = strstr(line, ";Base=") != NULL;
    all->list[all->len++] = l;
}

static void read_layers(const struct sim *s, struct layers *all)
{
    static const char key[] = "HresConf=";
    int mode = 0;
    all->len = 0;
    vec_foreach (&s->plan->items, item)
        if (item->kind == SIM_ITEM_CONF && item->files >> s->c->file & 1 &&
            strncmp(item->text, key, sizeof key - 1) == 0)
            read_layer_line(all, item->text + sizeof key - 1, &mode);
    for (size_t i = 0; i < all->len; i++) {
        struct layer *l = &all->list[i];
        for (size_t k = 0; k < all->len; k++) {
            const struct layer *in = &all->list[k];
            bool within = in->of.name == l->of.name && in->of.first >= l->of.first &&
                          in->of.last <= l->of.last && l->mode != 1;
            l->base += k == i || within ? in->own_base : 0;
        }
        vec_foreach (&s->counts, set)
            if (sim_layer_same(&set->layer, &l->of) && set->file_count == l->file_count)
                l->count = set->count;
    }
}

static struct layer *find_layer(struct layers *all, const struct sim_layer *of)
{
    for (size_t i = 0; i < all->len; i++)
        if (sim_layer_same(&all->list[i].of, of))
            return &all->list[i];
    return NULL;
}

bool sim_layer_file_count(const struct sim *s, const struct sim_layer *layer, uint64_t *count)
{
    struct layers all;
    read_layers(s, &all);
    const struct layer *l = find_layer(&all, layer);
    *count = l ? l->file_count : 0;
    return l != NULL;
}

static uint64_t count_for_jobs(const struct layer *l)
{
    return l->count == UINT64_MAX ? l->count : l->count > l->base ? l->count - l->base : 0;
}

static uint64_t count_layer_nodes(const struct layer *l, const struct sim_watch *w)
{
    uint64_t nodes = 0;
    vec_foreach (&w->shares, share)
        nodes +=
            !share->released && share->node + 1 >= l->of.first && share->node + 1 <= l->of.last;
    return nodes;
}

/* In mode 1 the record names the layer that pays. */
static uint64_t count_paid(const struct layer *l, const struct sim_watch *w)
{
    char pool[SIM_NAME * 2];
    if (l->of.first == l->of.last)
        snprintf(pool, sizeof pool, "%c(n%u):", l->of.name, l->of.first);
    else
        snprintf(pool, sizeof pool, "%c(n[%u-%u]):", l->of.name, l->of.first, l->of.last);
    const char *item = strstr(w->view.licenses, pool);
    return item ? strtoull(item + strlen(pool), NULL, 10) : 0;
}

static uint64_t count_in_layer(const struct layer *l, const struct sim_watch *w)
{
    uint64_t count = sim_license_holds(w) ? count_held(&w->view, l->of.name) : 0;
    if (!count || l->mode == 0)
        return count;
    if (l->mode == 1)
        return count_paid(l, w);
    uint64_t nodes = count_layer_nodes(l, w);
    return l->mode == 3 ? count * nodes : nodes ? count : 0;
}

/* The units used by running jobs whose limits end after that time (0: now). 'resv': only jobs of
 * that reservation; NULL: all. */
static uint64_t count_used(const struct sim *s, const struct layer *l, const char *resv, int64_t at)
{
    uint64_t used = 0;
    for (const struct sim_watch *w = s->watches; w; w = w->hh.next)
        if ((!resv || strcmp(w->view.resv, resv) == 0) &&
            (at <= sim_wall_ms(s) / 1000 || sim_resv_end_of_job(w) > at))
            used += count_in_layer(l, w);
    return used;
}

static bool is_in_layer(const struct sim *s, const struct sim_layer *nodes,
                        const struct sim_layer *within)
{
    for (unsigned i = nodes->first; i <= nodes->last && i <= s->nodes.len; i++)
        if (s->nodes.data[i - 1].configured && (i < within->first || i > within->last))
            return false;
    return true;
}

static unsigned count_configured(const struct sim *s, const struct sim_layer *nodes)
{
    unsigned count = 0;
    for (unsigned i = nodes->first; i <= nodes->last && i <= s->nodes.len; i++)
        count += s->nodes.data[i - 1].configured;
    return count;
}

/* Of layers that have the same configured nodes the one of fewer names is the lower one. */
static bool is_lower(const struct layer *a, const struct layer *b)
{
    unsigned names_of_a = a->of.last - a->of.first, names_of_b = b->of.last - b->of.first;
    return names_of_a != names_of_b ? names_of_a < names_of_b : a->of.first < b->of.first;
}

/* The layer contains no other layer with nodes. */
static bool is_lowest(const struct sim *s, const struct layers *all, const struct layer *l)
{
    for (size_t i = 0; i < all->len; i++) {
        const struct layer *other = &all->list[i];
        if (other != l && other->of.name == l->of.name && count_configured(s, &other->of) &&
            is_in_layer(s, &other->of, &l->of) &&
            (!is_in_layer(s, &l->of, &other->of) || is_lower(other, l)))
            return false;
    }
    return true;
}

/* The layer that a reservation means by "h(n[1-2])": the lowest layer of exactly these nodes,
 * otherwise the only lowest layer that has all of them. NULL: there is none, or a node is not
 * configured. */
static const struct layer *find_meant(const struct sim *s, const struct layers *all,
                                      const struct sim_layer *named)
{
    const struct layer *found = NULL, *same = NULL;
    unsigned count = count_configured(s, named), lowest = 0;
    for (size_t i = 0; i < all->len; i++)
        if (sim_layer_same(&all->list[i].of, named))
            return &all->list[i];
    if (count != named->last - named->first + 1)
        return NULL;
    for (size_t i = 0; i < all->len; i++) {
        const struct layer *l = &all->list[i];
        if (l->of.name != named->name || !is_in_layer(s, named, &l->of))
            continue;
        if (count_configured(s, &l->of) == count && (!same || is_lower(l, same)))
            same = l;
        if (is_lowest(s, all, l)) {
            found = l;
            lowest++;
        }
    }
    return same ? same : lowest == 1 ? found : NULL;
}

/* The units of the layer in the text of a reservation. */
static uint64_t count_reserved(const struct sim *s, const struct layers *all,
                               const Pb__ResvRecord *r, const struct layer *l)
{
    uint64_t sum = 0;
    assert(r);
    if (l->mode == 0)
        return r->licenses ? read_listed_count(r->licenses, l->of.name) : 0;
    for (const char *item = r->licenses; item && *item;) {
        struct sim_layer named;
        const char *end = item + strcspn(item, "(,"), *count = end;
        if (*end == '(' && (count = strchr(end, ')')) && sim_layer_read(item, end + 1, &named) &&
            find_meant(s, all, &named) == l)
            sum += count[1] == ':' ? strtoull(count + 2, NULL, 10) : 1;
        end = *end == '(' && count ? count : end;
        item = end + strcspn(end, ",");
        item += *item == ',';
    }
    return sum;
}

/* The start of the job, or now if that is later. */
static int64_t find_begin(const struct sim *s, const struct sim_watch *w)
{
    int64_t now = sim_wall_ms(s) / 1000;
    return now > w->view.start_at ? now : w->view.start_at;
}

/* The first time, from 'since' on, at which the job runs during the reservation. 0: it does not, or
 * it is a job of that reservation. */
static int64_t find_meeting(const struct sim *s, const Pb__ResvRecord *r, const struct sim_watch *w,
                            int64_t since)
{
    int64_t at;
    bool meets = strcmp(r->name, w->view.resv) != 0 && r->licenses && *r->licenses &&
                 sim_resv_meets_since(r, find_begin(s, w), since, sim_resv_end_of_job(w), &at);
    return meets ? at : 0;
}

/* The units that all active reservations other than the job's keep of the layer, beyond those that
 * their own jobs use. */
static uint64_t count_kept(const struct sim *s, const struct layers *all, const struct layer *l,
                           const struct sim_watch *from, int64_t at, struct arena *arena)
{
    uint64_t kept = 0;
    vec_foreach (&s->resvs, r) {
        const Pb__ResvRecord *record = sim_resv_read(r, arena);
        if (!record || find_meeting(s, record, from, at) != at)
            continue;
        uint64_t count = count_reserved(s, all, record, l);
        uint64_t used = count_used(s, l, record->name, at);
        kept += count > used ? count - used : 0;
    }
    return kept;
}

/* Checks that reservations have the units that they keep of the layer at that time, if all jobs end
 * at their limits. */
static void check_kept_at(struct sim *s, const struct layers *all, const struct layer *l,
                          const struct sim_watch *by, int64_t at, struct arena *arena)
{
    uint64_t kept = count_kept(s, all, l, by, at, arena), used;
    if (kept && (used = count_used(s, l, NULL, at)) + kept > count_for_jobs(l))
        sim_break(s, "a job has of a licence what is reserved",
                  "job %u: %c(n[%u-%u]): %llu, and %llu kept of %llu", by->job_id, l->of.name,
                  l->of.first, l->of.last, (unsigned long long)used, (unsigned long long)kept,
                  (unsigned long long)count_for_jobs(l));
}

/* The same check at 'since', and at each later time at which an hourly reservation starts. Only the
 * first start of each reservation is checked: jobs end later, and so do other reservations. */
static void check_kept_since(struct sim *s, const struct layers *all, const struct layer *l,
                             const struct sim_watch *by, int64_t since, struct arena *arena)
{
    check_kept_at(s, all, l, by, since, arena);
    vec_foreach (&s->resvs, r) {
        const Pb__ResvRecord *record = sim_resv_read(r, arena);
        int64_t at = record ? sim_resv_begins(record, since) : 0;
        if (at && find_meeting(s, record, by, at) == at)
            check_kept_at(s, all, l, by, at, arena);
    }
}

/* Checks from the start of the job, and from each time at which a reservation starts during the
 * job. */
static void check_kept(struct sim *s, const struct layers *all, const struct layer *l,
                       const struct sim_watch *by)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    int64_t begin = find_begin(s, by);
    check_kept_since(s, all, l, by, begin, &arena);
    vec_foreach (&s->resvs, r) {
        const Pb__ResvRecord *record = sim_resv_read(r, &arena);
        int64_t at = record ? find_meeting(s, record, by, begin) : 0;
        if (at > begin && count_reserved(s, all, record, l))
            check_kept_since(s, all, l, by, at, &arena);
    }
}

static void check_licenses(struct sim *s, const struct sim_watch *by, const char *names)
{
    static const char key[] = "Licenses=";
    const char *configured = "";
    struct layers all;
    read_layers(s, &all);
    vec_foreach (&s->plan->items, item)
        if (item->kind == SIM_ITEM_CONF && strncmp(item->text, key, sizeof key - 1) == 0)
            configured = item->text + sizeof key - 1;
    for (const char *name = "ab"; *name; name++) {
        struct layer l = {.of = {.name = *name}, .count = read_listed_count(configured, *name)};
        if (!strchr(names, *name) || !count_in_layer(&l, by))
            continue;
        uint64_t used = count_used(s, &l, NULL, 0);
        if (used > l.count)
            sim_break(s, "a licence is given away twice", "job %u: %c %llu", by->job_id, *name,
                      (unsigned long long)used);
        check_kept(s, &all, &l, by);
    }
}

/* The start of a job must not use more of a layer than its count, less the units that are always in
 * use and those that reservations keep. */
static void check_layers(struct sim *s, const struct sim_watch *by, const char *names)
{
    struct layers all;
    read_layers(s, &all);
    for (size_t i = 0; i < all.len; i++) {
        const struct layer *l = &all.list[i];
        bool counts = strchr(names, l->of.name) && count_in_layer(l, by);
        uint64_t used = counts ? count_used(s, l, NULL, 0) : 0;
        if (used > count_for_jobs(l))
            sim_break(s, "a layer is used over its count", "%c(n[%u-%u]): %llu of %llu, job %u",
                      l->of.name, l->of.first, l->of.last, (unsigned long long)used,
                      (unsigned long long)count_for_jobs(l), by->job_id);
        if (counts)
            check_kept(s, &all, l, by);
    }
}

/* In mode 1 one layer pays for the whole job, if a layer has a node of the job. */
static void check_payer(struct sim *s, const struct layers *all, const struct sim_watch *w,
                        char name)
{
    uint64_t count = sim_license_holds(w) ? count_held(&w->view, name) : 0, paid = 0;
    unsigned payers = 0;
    bool may_pay = false;
    for (size_t i = 0; i < all->len && count; i++) {
        const struct layer *l = &all->list[i];
        if (l->of.name != name || l->mode != 1)
            continue;
        may_pay = may_pay || count_layer_nodes(l, w);
        payers += count_paid(l, w) > 0;
        paid += count_paid(l, w);
    }
    if (payers > 1 || (may_pay && paid != count))
        sim_break(s, "a job is not paid for by one layer", "job %u, %c: %llu of %llu by %u",
                  w->job_id, name, (unsigned long long)paid, (unsigned long long)count, payers);
}

/* Units of reservations that are active now. */
static uint64_t count_reserved_now(const struct sim *s, const struct layers *all,
                                   const struct layer *l)
{
    uint64_t sum = 0;
    vec_foreach (&s->resvs, r) {
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        const Pb__ResvRecord *record = sim_resv_read(r, &arena);
        int64_t now = sim_wall_ms(s) / 1000;
        if (record && record->start_at <= now && now < record->end_at &&
            !(record->flags && strstr(record->flags, "TIME_FLOAT")))
            sum += count_reserved(s, all, record, l);
    }
    return sum;
}

/* Compares with the controller's own sums. */
static void check_sums(struct sim *s, struct layers *all)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__LicenseList list = PB__LICENSE_LIST__INIT;
    control_fill_licenses(s->c->control, &arena, &list);
    size_t found = 0;
    for (size_t i = 0; i < list.n_licenses; i++) {
        const Pb__LicenseRecord *r = list.licenses[i];
        struct sim_layer of;
        const struct layer *l =
            r->nodes && sim_layer_read(r->name, r->nodes, &of) ? find_layer(all, &of) : NULL;
        if (!l)
            continue;
        found++;
        uint64_t used = count_used(s, l, NULL, 0);
        uint64_t reserved = count_reserved_now(s, all, l);
        if (r->reserved != reserved)
            sim_break(s, "a layer is not reserved as reservations say", "%s(%s): %llu, not %llu",
                      r->name, r->nodes, (unsigned long long)r->reserved,
                      (unsigned long long)reserved);
        if (r->used != used || r->total != count_for_jobs(l))
            sim_break(s, "a layer is not used as its jobs pay",
                      "%s(%s): %llu of %llu, not %llu of %llu", r->name, r->nodes,
                      (unsigned long long)r->used, (unsigned long long)r->total,
                      (unsigned long long)used, (unsigned long long)count_for_jobs(l));
    }
    if (found != all->len)
        sim_break(s, "a layer of the file is missing", "%zu of %zu are there", found, all->len);
}

void sim_license_check_all(struct sim *s)
{
    struct layers all;
    read_layers(s, &all);
    if (all.len)
        check_sums(s, &all);
    for (const struct sim_watch *w = s->watches; w && all.len; w = w->hh.next)
        for (const char *name = "hop"; *name; name++)
            check_payer(s, &all, w, *name);
    vec_foreach (&s->counts, set) {
        const struct layer *l = find_layer(&all, &set->layer);
        if (!l || l->file_count != set->file_count)
            sim_break(s, "a count is stored that does not hold", "%c(n[%u-%u]): %llu",
                      set->layer.name, set->layer.first, set->layer.last,
                      (unsigned long long)set->count);
    }
}

/* A record without data is deleted; its name is "h(n[1-4])". */
void sim_license_put(struct sim *s, const struct sim_record *r)
{
    struct sim_count count = {0};
    const char *nodes = strchr(r->name, '(');
    bool known = r->data ? sim_layer_count(r, &count)
                         : nodes && sim_layer_read(r->name, nodes + 1, &count.layer);
    for (size_t i = s->counts.len; i-- > 0 && known;)
        if (sim_layer_same(&s->counts.data[i].layer, &count.layer))
            vec_remove(&s->counts, i);
    if (known && r->data)
        vec_push(&s->counts, count);
}

void sim_license_note_raised(struct sim *s, struct sim_watch *w, const struct sim_view *before)
{
    char *at = w->raised;
    if (!before->there || !sim_license_holds(w) ||
        strcmp(before->asked_licenses, w->view.asked_licenses) == 0)
        return;
    for (const char *name = SIM_LICENSES; *name; name++)
        if (count_held(&w->view, *name) > count_held(before, *name))
            *at++ = *name;
    *at = 0;
    vec_push(&s->relicensed, w->job_id);
}

void sim_license_check(struct sim *s, const struct sim_watch *w, const char *names)
{
    if (!w || !sim_license_holds(w) || !*w->view.asked_licenses)
        return;
    check_alternative(s, w);
    check_licenses(s, w, names);
    check_layers(s, w, names);
}
