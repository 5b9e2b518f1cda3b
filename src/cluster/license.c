/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/license.h"

#include <stdlib.h>
#include <string.h>

#include "cluster/cluster.h"
#include "conf/conf_license.h"

void license_init(struct cluster *c)
{
    struct conf_licenses l;
    if (conf_licenses_parse(c->conf->licenses, &l, NULL) != 0) /* refused when it was read */
        return;
    vec_foreach (&l.list, one)
        vec_push(&c->licenses.list,
                 ((struct license){.name = take_ptr(one->name), .total = one->count, .layers = 1}));
    conf_licenses_done(&l);
}

void license_done(struct licenses *l)
{
    vec_foreach (&l->list, one) {
        free(one->name);
        bitset_free(one->nodes);
    }
    vec_done(&l->list);
}

static int32_t find(const struct cluster *c, const char *name)
{
    for (size_t i = 0; i < c->licenses.list.len; i++)
        if (strcmp(c->licenses.list.data[i].name, name) == 0)
            return (int32_t)i;
    return -1;
}

int license_read(const struct cluster *c, const char *text, struct license_needs *out,
                 struct err *err)
{
    struct conf_licenses l;
    *out = (struct license_needs){0};
    int rc = conf_licenses_parse(text, &l, err);
    if (rc != 0)
        return rc;
    vec_foreach (&l.list, one) {
        int32_t at = find(c, one->name);
        vec_push(&out->list, ((struct license_need){take_ptr(one->name), one->count, at}));
    }
    conf_licenses_done(&l);
    return 0;
}

void license_needs_done(struct license_needs *n)
{
    vec_foreach (&n->list, need)
        free(need->name);
    vec_done(&n->list);
}

void license_needs_copy(const struct license_needs *from, struct license_needs *to)
{
    *to = (struct license_needs){0};
    vec_foreach (&from->list, need)
        vec_push(&to->list, ((struct license_need){mem_strdup(need->name), need->count, need->at}));
}

int license_possible(const struct cluster *c, const struct job *j, struct err *err)
{
    int rc = license_needs_possible(c, &j->want.licenses, err);
    vec_foreach (&j->want.licenses.list, need)
        if (rc == 0 && license_is_layered(c, need))
            rc = license_layers_possible(c, need, j->want.min_nodes, err);
    return rc;
}

int license_needs_possible(const struct cluster *c, const struct license_needs *n, struct err *err)
{
    vec_foreach (&n->list, need) {
        if (need->at < 0)
            return err_set(err, -ERR_LICENSE, "%s: the cluster has none of %s",
                           err_text(ERR_LICENSE), need->name);
        if (license_is_layered(c, need)) {
            int rc = license_layers_possible(c, need, 1, err);
            if (rc != 0)
                return rc;
        } else if (need->count > c->licenses.list.data[need->at].total)
            return err_set(err, -ERR_LICENSE, "%s: %u of %s asked, the cluster has %llu",
                           err_text(ERR_LICENSE), need->count, need->name,
                           (unsigned long long)c->licenses.list.data[need->at].total);
    }
    return 0;
}

uint64_t license_kept(const struct cluster *c, int32_t at, const struct resv *in, int64_t from,
                      int64_t until)
{
    uint64_t sum = 0;
    vec_foreach (&c->resvs, r) {
        if (*r == in || !(*r)->stock.len)
            continue;
        vec_foreach (&(*r)->stock, s)
            if (s->at == at && s->used < s->count && resv_overlaps(*r, from, until))
                sum += s->count - s->used;
    }
    return sum;
}

uint64_t license_beyond(int32_t at, uint64_t count, const struct resv *in)
{
    if (in)
        vec_foreach (&in->stock, s)
            if (s->at == at && s->used < s->count)
                return count > s->count - s->used ? count - (s->count - s->used) : 0;
    return count;
}

bool license_fits(const struct cluster *c, const struct job *j, const struct resv *in,
                  int64_t now_sec)
{
    bool fits = true;
    vec_foreach (&j->want.licenses.list, need) {
        const struct license *l = need->at < 0 ? NULL : &c->licenses.list.data[need->at];
        if (l && l->nodes)
            continue;
        fits = fits && l &&
               l->used + need->count +
                       license_kept(c, need->at, in, now_sec, job_ends_at(j, now_sec)) <=
                   l->total;
    }
    return fits;
}

bool license_held(const struct job *j)
{
    return j->state == PB__JOB_STATE__RUNNING || j->state == PB__JOB_STATE__SUSPENDED;
}

void license_take(struct cluster *c, struct job *j)
{
    vec_foreach (&j->want.licenses.list, need)
        if (need->at >= 0 && !license_is_layered(c, need))
            c->licenses.list.data[need->at].used += need->count;
}

void license_give_back(struct cluster *c, struct job *j)
{
    vec_foreach (&j->want.licenses.list, need)
        if (need->at >= 0 && !license_is_layered(c, need))
            c->licenses.list.data[need->at].used -= need->count;
    if (j->want.licenses.list.len)
        c->pool.freed++;
}

int license_check(const struct cluster *c, struct err *err)
{
    size_t n = c->licenses.list.len;
    _cleanup_free_ uint64_t *used = mem_new_array(uint64_t, n + 1);
    vec_foreach (&c->jobs, at) {
        const struct job *j = *at;
        if (!license_held(j))
            continue;
        vec_foreach (&j->want.licenses.list, need)
            if (need->at >= 0 && !license_is_layered(c, need))
                used[need->at] += need->count;
        int rc = license_check_layers(c, j, used, err);
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
