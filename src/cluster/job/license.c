/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/job/license.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/cluster.h"
#include "cluster/job/license_tied.h"
#include "conf/conf_license.h"

void license_init(struct cluster *c)
{
    struct conf_licenses l;
    if (conf_licenses_parse(c->conf->licenses, &l, NULL) != 0) /* refused when it was read */
        return;
    vec_foreach (&l.list, one)
        vec_push(&c->licenses.list,
                 ((struct license){.name = take_ptr(one->name), .total = one->count, .pools = 1}));
    conf_licenses_done(&l);
    license_add_tied(c);
}

void license_done(struct licenses *l)
{
    vec_foreach (&l->list, one) {
        free(one->name);
        bitset_free(one->nodes);
        bitset_free(one->scope);
    }
    license_free_mosts(l->mosts);
    vec_done(&l->list);
}

static int32_t find_pool(const struct cluster *c, const char *name)
{
    for (size_t i = 0; i < c->licenses.list.len; i++)
        if (strcmp(c->licenses.list.data[i].name, name) == 0)
            return (int32_t)i;
    return -1;
}

/* Of a variable, -1 with the name as written when the resource has no such variable. */
struct license_need license_resolve_item(const struct cluster *c, const struct conf_license *one)
{
    struct license_need need = {NULL, one->count, find_pool(c, one->name)};
    uint64_t value = 0;
    if (one->variable && license_find_variable(c, one->name, one->variable, &value) &&
        value <= CONF_LICENSE_COUNT_MAX)
        need = (struct license_need){NULL, (uint32_t)value, need.at, true};
    else if (one->variable)
        need.at = -1;
    need.name = one->variable && need.at < 0 ? mem_printf("%s:%s", one->name, one->variable)
                                             : mem_strdup(one->name);
    return need;
}

int license_add_need(struct license_needs *out, struct license_need *new, struct err *err)
{
    vec_foreach (&out->list, need) {
        if (need->at != new->at || !str_eq(need->name, new->name))
            continue;
        uint64_t sum = (uint64_t)need->count + new->count;
        need->count = sum < CONF_LICENSE_COUNT_MAX ? (uint32_t)sum : CONF_LICENSE_COUNT_MAX;
        need->by_variable = need->by_variable || new->by_variable;
        free(take_ptr(new->name));
        if (sum <= CONF_LICENSE_COUNT_MAX)
            return 0;
        return err_set(err, -ERR_LICENSE, "%s: %llu of %s in all, at most %u can be counted",
                       err_text(ERR_LICENSE), (unsigned long long)sum, need->name,
                       CONF_LICENSE_COUNT_MAX);
    }
    vec_push(&out->list, *new);
    return 0;
}

int license_read(const struct cluster *c, const char *text, struct license_needs *out,
                 struct err *err)
{
    struct conf_licenses l;
    *out = (struct license_needs){0};
    int rc = conf_license_items_parse(text, &l, err);
    if (rc != 0)
        return rc;
    if (l.list.len > LICENSE_NAMES_MAX) {
        rc = err_set(err, -ERR_LICENSE, "%s: %zu names, a request has at most %d",
                     err_text(ERR_LICENSE), (size_t)l.list.len, LICENSE_NAMES_MAX);
        conf_licenses_done(&l);
        return rc;
    }
    vec_foreach (&l.list, one) {
        if (one->nodes && rc == 0)
            rc = license_refuse_nodes(one, err);
        struct license_need need = license_resolve_item(c, one);
        if (l.any) {
            vec_push(&out->list, need);
            continue;
        }
        int failed = license_add_need(out, &need, rc ? NULL : err);
        rc = rc ? rc : failed;
    }
    out->any = l.any;
    conf_licenses_done(&l);
    if (rc != 0) {
        license_needs_done(out);
        *out = (struct license_needs){0};
    }
    return rc;
}

void license_needs_done(struct license_needs *n)
{
    vec_foreach (&n->list, need)
        free(need->name);
    vec_done(&n->list);
}

void license_needs_copy(const struct license_needs *from, struct license_needs *to)
{
    *to = (struct license_needs){.any = from->any, .chosen = from->chosen};
    vec_foreach (&from->list, need)
        vec_push(&to->list, ((struct license_need){mem_strdup(need->name), need->count, need->at,
                                                   need->by_variable}));
}

uint32_t license_count_alternatives(const struct job *j)
{
    return j->want.licenses.any ? j->want.licenses.list.len : 1;
}

const struct job *license_view_alternative(const struct job *j, uint32_t n, struct job_copy *room)
{
    const struct license_needs *all = &j->want.licenses;
    if (!all->any)
        return j;
    assert(n < all->list.len);
    struct license_needs one = {.list = {.data = all->list.data + n, .len = 1}};
    if (j != &room->job)
        room->job = *j;
    room->job.want.licenses = one;
    return &room->job;
}

void license_choose_alternative(struct job *j, uint32_t n)
{
    struct license_needs *all = &j->want.licenses;
    if (!all->any)
        return;
    assert(n < all->list.len);
    struct license_need one = all->list.data[n];
    all->list.data[n].name = NULL;
    license_needs_done(all);
    *all = (struct license_needs){.chosen = true};
    vec_push(&all->list, one);
}

void license_reopen_request(const struct cluster *c, struct job *j, const char *text)
{
    struct license_needs all;
    bool differs = j->want.licenses.chosen;
    vec_foreach (&j->want.licenses.list, need)
        differs = differs || need->by_variable;
    if (!differs || license_read(c, text, &all, NULL) != 0)
        return;
    license_needs_done(&j->want.licenses);
    j->want.licenses = all;
}

bool license_held(const struct job *j)
{
    return j->state == PB__JOB_STATE__RUNNING || j->state == PB__JOB_STATE__SUSPENDED;
}

static void take_licenses(struct cluster *c, struct job *j)
{
    vec_foreach (&j->want.licenses.list, need)
        if (need->at >= 0 && !license_is_tied(c, need))
            c->licenses.list.data[need->at].used += need->count;
}

static void give_back_licenses(struct cluster *c, struct job *j)
{
    vec_foreach (&j->want.licenses.list, need)
        if (need->at >= 0 && !license_is_tied(c, need))
            c->licenses.list.data[need->at].used -= need->count;
    if (j->want.licenses.list.len)
        c->pool.freed++;
}

static int check_sums(const struct cluster *c, struct err *err)
{
    size_t n = c->licenses.list.len;
    _cleanup_free_ uint64_t *used = mem_new_array(uint64_t, n + 1);
    vec_foreach (&c->jobs, at) {
        const struct job *j = *at;
        if (!license_held(j))
            continue;
        vec_foreach (&j->want.licenses.list, need)
            if (need->at >= 0 && !license_is_tied(c, need))
                used[need->at] += need->count;
        int rc = license_check_tied(c, j, used, err);
        if (rc != 0)
            return rc;
    }
    for (size_t i = 0; i < n; i++)
        if (used[i] != c->licenses.list.data[i].used)
            return err_set(err, -ERR_INTERNAL, "%llu of licence %s are counted, jobs have %llu",
                           (unsigned long long)c->licenses.list.data[i].used,
                           c->licenses.list.data[i].name, (unsigned long long)used[i]);
    return 0;
}

/* --- in a reservation, and in a record ---------------------------------------------------------
 */

static void use_reserved(const struct cluster *c, struct resv *r, const struct job *j, int by)
{
    vec_foreach (&r->stock, s)
        s->used += (uint64_t)(by * (int64_t)license_of_job(c, j, s->at));
}

/* "power:1000": a request with variables as it is counted; false: it has none. */
static bool format_counted(const struct job *j, struct str *out)
{
    bool differs = j->want.licenses.chosen;
    vec_foreach (&j->want.licenses.list, need) {
        differs = differs || need->by_variable;
        str_printf(out, "%s%s:%u", out->len ? "," : "", need->name, need->count);
    }
    return differs;
}

/* Sets the request of a job that runs by such a text, whatever its variables are now. */
static void restore_counted(const struct cluster *c, struct job *j, const char *text)
{
    struct license_needs needs;
    if (!text || license_read(c, text, &needs, NULL) != 0)
        return;
    vec_foreach (&needs.list, need)
        need->by_variable = true;
    needs.chosen = j->want.licenses.any;
    license_needs_done(&j->want.licenses);
    j->want.licenses = needs;
}

/* "flat(n[1-8]):2,x:1": what a job that runs holds. */
static void format_held(const struct cluster *c, const struct job *j, struct str *out)
{
    vec_foreach (&j->want.licenses.list, need)
        if (need->at >= 0 && !license_is_tied(c, need))
            str_printf(out, "%s%s:%u", out->len ? "," : "", need->name, need->count);
    vec_foreach (&attempt_of(j)->holds, hold) {
        if (!hold->count)
            continue;
        str_puts(out, out->len ? "," : "");
        license_format_pool(&c->licenses.list.data[hold->at], out);
        str_printf(out, ":%llu", (unsigned long long)hold->count);
    }
}

/* LicensesAlloc: the alternative and the tied pools that a running job holds, where that is not
 * what it requests. A restart reads from it which pool pays. */
static void pack_held(const struct cluster *c, const struct job *j, Pb__JobLive *m,
                      struct arena *arena)
{
    _cleanup_str_ struct str text = STR_INIT;
    bool differs = j->want.licenses.chosen || license_needs_tied(c, j);
    vec_foreach (&j->want.licenses.list, need)
        differs = differs || need->at < 0; /* it is gone from the configuration */
    if (!differs || !license_held(j))
        return;
    format_held(c, j, &text);
    m->licenses_alloc = arena_strdup(arena, str_cstr(&text));
}

/* What a restart could not tell from --licenses: the values that variables had at the start, and
 * the alternative that was chosen. */
static void pack_counted(const struct job *j, Pb__JobLive *m, struct arena *arena)
{
    _cleanup_str_ struct str text = STR_INIT;
    if (!license_held(j) || !format_counted(j, &text))
        return;
    m->licenses_counted = arena_strdup(arena, str_cstr(&text));
}

static void pack_record(const struct cluster *c, const struct job *j, Pb__JobLive *m,
                        struct arena *arena)
{
    pack_held(c, j, m, arena);
    pack_counted(j, m, arena);
}

static void restore_record(const struct cluster *c, struct job *j, const Pb__JobLive *m)
{
    restore_counted(c, j, m->licenses_counted);
    license_restore_payers(c, j, m->licenses_alloc);
}

/* By another configuration a running job may hold other pools than its record names: it is to hold
 * the same after the next restart. */
static bool differs_from_record(const struct cluster *c, const struct job *j, const Pb__JobLive *m)
{
    _cleanup_str_ struct str held = STR_INIT;
    if (!license_held(j) || (!m->licenses_alloc && !license_needs_tied(c, j)))
        return false;
    format_held(c, j, &held);
    return !str_eq(str_cstr(&held), m->licenses_alloc ? m->licenses_alloc : "");
}

const struct resource_ops resource_license = {
    .possible = license_possible,
    .take = take_licenses,
    .give_back = give_back_licenses,
    .use_reserved = use_reserved,
    .check = check_sums,
    .pack = pack_record,
    .restore = restore_record,
    .differs = differs_from_record,
};
