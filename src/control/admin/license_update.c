/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/admin/license_update.h"
#include "cluster/job/license_tied.h"

#include <string.h>

#include "base/pb.h"
#include "cluster/job/license_layer.h"
#include "control/core/reply.h"
#include "control/internal.h"
#include "control/life/start.h"

/* What became of a count that an operator has set. */
#define COUNT_EDITED "its count was edited in resources.yaml, which now holds"
#define LAYER_GONE "the count that an operator has set is dropped with the layer"

/* The layer of just these nodes, as they are written; NULL: there is none. */
static struct license *find_layer(const struct cluster *c, const char *name, const char *nodes)
{
    vec_foreach (&c->licenses.list, l)
        if (l->conf && str_eq(l->name, name) && str_eq(l->conf->nodes, nodes))
            return l;
    return NULL;
}

static bool is_changed(const struct license *l)
{
    return l->conf && l->count != l->conf->count;
}

static void store_count(struct control *c, const struct license *l)
{
    Pb__LicenseCount m = PB__LICENSE_COUNT__INIT;
    _cleanup_str_ struct str key = STR_INIT, packed = STR_INIT;
    license_format_pool(l, &key);
    if (!is_changed(l)) {
        c->env->del(c->env->ctx, RECORD_LICENSE, 0, str_cstr(&key));
        return;
    }
    m.name = l->name;
    m.nodes = (char *)l->conf->nodes;
    m.count = l->count;
    m.file_count = l->conf->count;
    pb_pack(&m.base, &packed);
    c->env->put(c->env->ctx, RECORD_LICENSE, 0, str_cstr(&key), packed.data, packed.len);
}

int license_update_restore(struct control *c, const void *data, size_t len, struct err *err)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__LicenseCount *m = arena_unpack(&arena, &pb__license_count__descriptor, data, len);
    if (!m)
        return err_set(err, -ERR_STORE_DAMAGED, "the count of a layer: its record does not decode");
    struct license *l = find_layer(c->cluster, m->name, m->nodes);
    if (l && l->conf->count == m->file_count) {
        license_change_count(c->cluster, l, m->count);
    } else {
        _cleanup_str_ struct str key = STR_INIT;
        str_printf(&key, "%s(%s)", m->name, m->nodes);
        control_log(c, LOG_LVL_INFO, "%s: %s", str_cstr(&key), l ? COUNT_EDITED : LAYER_GONE);
        c->env->del(c->env->ctx, RECORD_LICENSE, 0, str_cstr(&key));
    }
    return 0;
}

void license_update_carry(struct control *c, const struct cluster *from, struct str *report)
{
    vec_foreach (&from->licenses.list, old) {
        if (!is_changed(old))
            continue;
        struct license *l = find_layer(c->cluster, old->name, old->conf->nodes);
        if (l && l->conf->count == old->conf->count) {
            license_change_count(c->cluster, l, old->count);
            continue;
        }
        _cleanup_str_ struct str key = STR_INIT;
        license_format_pool(old, &key);
        str_printf(report, "%s: %s\n", str_cstr(&key), l ? COUNT_EDITED : LAYER_GONE);
        if (!c->preview)
            c->env->del(c->env->ctx, RECORD_LICENSE, 0, str_cstr(&key));
    }
}

static int change_count(struct control *c, const Pb__LicenseUpdate *r, struct license **out,
                        struct err *err)
{
    int32_t at = -1;
    int rc = license_read_layer(c->cluster, r->name, r->nodes, &at, err);
    if (rc == 0 && r->has_count && r->count != LICENSE_UNLIMITED && r->count > CONF_HRES_COUNT_MAX)
        rc = err_set(err, -ERR_LICENSE, "%s: Count=%llu: at most %llu", err_text(ERR_LICENSE),
                     (unsigned long long)r->count, (unsigned long long)CONF_HRES_COUNT_MAX);
    if (rc == 0) {
        struct license *l = &c->cluster->licenses.list.data[at];
        license_change_count(c->cluster, l, r->has_count ? r->count : l->conf->count);
        *out = l;
    }
    return rc;
}

void control_license_update(struct control *c, uint64_t call, const struct caller *who,
                            const Pb__LicenseUpdate *r)
{
    struct err err = {0};
    struct license *l;
    if (change_count(c, r, &l, &err) != 0) {
        control_refuse(c, call, &err);
        return;
    }
    store_count(c, l);
    start_drop_plan(c);
    plan_notes_clear(&c->plan_notes);
    c->cluster->pool.freed++;
    c->plan_wanted = true;
    control_log(c, LOG_LVL_INFO, "%s(%s): count set to %lld by uid %u", l->name, l->conf->nodes,
                l->count == LICENSE_UNLIMITED ? -1 : (long long)l->count, who->uid);
    control_done(c, call);
}
