/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stored records of reservations, drafts for changes, and their programs. */
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/pb.h"
#include "control/core/reply.h"
#include "control/event/job_event.h"
#include "control/internal.h"
#include "control/life/resv.h"
#include "sched/select/resv_pick.h"

#define UNLIMITED_SEC 65534 /* the value in slurm.conf */

static void save_reservation(struct control *c, const struct resv *r)
{
    struct str packed = STR_INIT;
    c->cluster->stamp++;
    if (c->preview)
        return;
    resv_pack(r, &packed);
    c->env->put(c->env->ctx, RECORD_RESV, 0, r->name, packed.data, packed.len);
    str_done(&packed);
}

void resv_changed(struct control *c, const struct resv *r)
{
    save_reservation(c, r);
    control_debug(c, reservation, "reservation %s has changed", r->name);
    c->cluster->pool.freed++;
    c->plan_wanted = true;
}

/* --- records ------------------------------------------------------------------------------------
 */

int resv_take_record(struct control *c, const void *data, size_t len, struct err *err)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__ResvRecord *m = arena_unpack(&arena, &pb__resv_record__descriptor, data, len);
    if (!m)
        return err_set(err, -ERR_STORE_DAMAGED, "a reservation's record does not decode");
    if (resv_find(c->cluster, m->name))
        return err_set(err, -ERR_STORE_DAMAGED, "reservation %s: there are two records", m->name);
    struct resv *r = resv_restore(c->cluster, m, err);
    if (!r)
        return err->code;
    resv_add(c->cluster, r);
    return 0;
}

/* Whether the cluster has all licences of the reservation and its generic resources on nodes;
 * unconfigured nodes have none. */
static int check_alone(const struct cluster *c, const struct resv *r, struct err *err)
{
    _cleanup_hostlist_ struct hostlist *names = NULL;
    char name[HOSTLIST_NAME_MAX + 1];
    struct license_needs pools = {0};
    int rc = r->licenses ? license_read_pools(c, r->licenses, &pools, err) : 0;
    license_needs_done(&pools);
    if (rc != 0 || !r->node_gres.len || hostlist_parse(r->node_names, &names, NULL) != 0)
        return rc;
    vec_foreach (&r->node_gres, g) {
        if (g->at >= hostlist_count(names))
            continue;
        const struct node *n = cluster_find_node(c, hostlist_nth(names, g->at, name));
        long kind = gres_kind_find(c, g->name, g->type);
        const struct gres_stock *stock = n && kind >= 0 ? gres_find(n, (uint32_t)kind) : NULL;
        if (!n || (stock && stock->count >= g->count && !gres_parts_has(n, (uint32_t)kind)))
            continue;
        return err_set(err, -ERR_GRES, "node %s does not have gres/%s%s%s=%llu", name, g->name,
                       g->type ? ":" : "", g->type ? g->type : "", (unsigned long long)g->count);
    }
    return 0;
}

/* Whether it also fits beside all reservations that are active at the same time. */
static int check_kept(const struct cluster *c, const struct resv *r, int64_t now, struct err *err)
{
    struct resv_pick pick = {c, r, now, false};
    struct resv_excess x;
    int rc = check_alone(c, r, err);
    if (rc != 0 || !resv_pick_exceeds(&pick, &x))
        return rc;
    const struct gres_kind *k = &c->gres_kinds.data[x.kind];
    return err_set(err, -ERR_GRES,
                   "node %s has gres/%s%s%s=%llu, of which reservations keep %llu at one time",
                   c->nodes.data[x.node]->name, k->name, k->type ? ":" : "", k->type ? k->type : "",
                   (unsigned long long)x.stock, (unsigned long long)x.kept);
}

/* Reserves the requested amounts on nodes that were added to its partition. */
static bool follow_part(struct control *c, struct resv *r)
{
    if (!resv_follow_part(c->cluster, r))
        return false;
    resv_pick_added(&(struct resv_pick){c->cluster, r, control_wall(c), false}, r);
    return true;
}

void resv_follow(struct control *c)
{
    vec_foreach (&c->cluster->resvs, at) {
        struct err err = {0};
        struct resv *r = *at;
        if (!follow_part(c, r))
            continue;
        resv_changed(c, r);
        if (check_kept(c->cluster, r, control_wall(c), &err) != 0)
            control_log(c, LOG_LVL_ERROR, "reservation %s keeps less: %s", r->name, err.text);
    }
}

void resv_carry(struct control *c, const struct cluster *from)
{
    struct str packed = STR_INIT;
    struct err err = {0};
    vec_foreach (&from->resvs, r) {
        str_clear(&packed);
        resv_pack(*r, &packed);
        if (resv_take_record(c, packed.data, packed.len, &err) != 0)
            control_log(c, LOG_LVL_ERROR, "reservation %s: %s", (*r)->name, err.text);
        struct resv *to = resv_find(c->cluster, (*r)->name);
        if (to)
            to->active = (*r)->active;
    }
    /* All reservations exist now: none gets resources of another one. */
    vec_foreach (&c->cluster->resvs, r)
        if (follow_part(c, *r))
            save_reservation(c, *r);
    str_done(&packed);
}

void resv_report_losses(struct control *c, const struct cluster *old, struct str *report)
{
    int64_t now = control_wall(c);
    vec_foreach (&c->cluster->resvs, at) {
        const struct resv *r = *at;
        const struct resv *before = old ? resv_find(old, r->name) : NULL;
        struct err err = {0};
        if (check_kept(c->cluster, r, now, &err) == 0 ||
            (before && check_kept(old, before, now, NULL) != 0))
            continue;
        if (report)
            str_printf(report, "reservation %s keeps less: %s\n", r->name, err.text);
        if (!c->preview)
            control_log(c, LOG_LVL_ERROR, "reservation %s keeps less: %s", r->name, err.text);
    }
}

/* --- drafts -----------------------------------------------------------------------------------
 */

struct resv *resv_draft_of(const struct control *c, const struct resv *r)
{
    _cleanup_arena_ struct arena arena;
    struct str packed = STR_INIT;
    struct err err = {0};
    arena_init(&arena, 0);
    resv_pack(r, &packed);
    const Pb__ResvRecord *m =
        arena_unpack(&arena, &pb__resv_record__descriptor, packed.data, packed.len);
    struct resv *draft = resv_restore(c->cluster, m, &err);
    str_done(&packed);
    return draft;
}

void resv_become(const struct cluster *c, struct resv *r, struct resv *draft)
{
    struct resv old = *r;
    *r = *draft;
    r->pending = old.pending;
    r->running = old.running;
    r->active = old.active;
    *draft = old;
    resv_free(draft);
    resv_count_licenses(c, r);
}

/* --- replacement of nodes -----------------------------------------------------------------------
 */

void resv_refill(struct control *c)
{
    vec_foreach (&c->cluster->resvs, at) {
        struct resv *r = *at;
        struct resv_pick pick = {c->cluster, r, control_wall(c), false};
        struct err err = {0};
        if (r->refill_stamp == c->cluster->pool.freed)
            continue;
        _cleanup_bitset_ struct bitset *keep = resv_keepers(c->cluster, r);
        if (!keep)
            continue;
        r->refill_stamp = c->cluster->pool.freed;
        struct resv *draft = resv_draft_of(c, r);
        if (draft && resv_pick(&pick, draft, keep, &err) == 0) {
            control_log(c, LOG_LVL_INFO, "reservation %s now has %s", r->name, draft->node_names);
            resv_become(c->cluster, r, draft);
            resv_changed(c, r);
        } else {
            resv_free(draft);
        }
    }
}

/* --- programs ------------------------------------------------------------------------------------
 * ResvProlog and ResvEpilog: programs of the site that run when a reservation begins and ends, with
 * its name as the argument. Nothing waits for them. Running programs are noted in the reservation's
 * record, so that each is run to its end at least once despite restarts; a deleted reservation has
 * no record, so its epilog runs at most once. */

static const char *path_of(const struct control *c, enum resv_hook hook)
{
    const char *path = hook == RESV_HOOK_PROLOG ? c->conf->resv_prolog : c->conf->resv_epilog;
    return c->env->run && path && *path ? path : NULL;
}

static void run_program(struct control *c, const struct resv *r, enum resv_hook hook)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__ScriptRun m = PB__SCRIPT_RUN__INIT;
    char *env[] = {(char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                   arena_printf(&arena, "SLURM_CONF=%s", c->conf->path),
                   arena_printf(&arena, "SLURM_CLUSTER_NAME=%s", c->conf->cluster_name)};
    bool prolog = hook == RESV_HOOK_PROLOG;
    m.kind = prolog ? PB__SCRIPT_KIND__SCRIPT_RESV_PROLOG : PB__SCRIPT_KIND__SCRIPT_RESV_EPILOG;
    m.job_id = r->number;
    m.path = (char *)path_of(c, hook);
    m.argv = (char **)&r->name;
    m.n_argv = 1;
    m.env = env;
    m.n_env = sizeof env / sizeof env[0];
    if (c->conf->prolog_epilog_timeout_sec < UNLIMITED_SEC) {
        m.has_limit_sec = true;
        m.limit_sec = c->conf->prolog_epilog_timeout_sec;
    }
    c->env->run(c->env->ctx, &m);
}

static void begin_program(struct control *c, struct resv *r, enum resv_hook hook)
{
    if (!path_of(c, hook))
        return;
    r->hooks_due |= hook;
    run_program(c, r, hook);
}

void resv_hook_begin(struct control *c, struct resv *r)
{
    if (r->begun_at == r->start_at) /* it began before a restart */
        return;
    r->begun_at = r->start_at;
    begin_program(c, r, RESV_HOOK_PROLOG);
}

void resv_hook_end(struct control *c, struct resv *r)
{
    if (!r->begun_at)
        return;
    r->begun_at = 0;
    begin_program(c, r, RESV_HOOK_EPILOG);
}

void resv_hook_resume(struct control *c)
{
    static const enum resv_hook hooks[] = {RESV_HOOK_PROLOG, RESV_HOOK_EPILOG};
    vec_foreach (&c->cluster->resvs, at)
        for (size_t i = 0; i < 2; i++) {
            struct resv *r = *at;
            if (!(r->hooks_due & hooks[i]))
                continue;
            r->hooks_due &= ~(uint32_t)hooks[i];
            begin_program(c, r, hooks[i]);
            resv_changed(c, r);
        }
}

void resv_hook_ended(struct control *c, const Pb__ScriptEnded *m)
{
    bool prolog = m->kind == PB__SCRIPT_KIND__SCRIPT_RESV_PROLOG;
    struct resv *r = NULL;
    vec_foreach (&c->cluster->resvs, at)
        if ((*at)->number == m->job_id)
            r = *at;
    if (m->wait_status)
        control_log(c, LOG_LVL_ERROR, "reservation %s: %s", r ? r->name : "that is over",
                    m->text  ? m->text
                    : prolog ? "ResvProlog failed"
                             : "ResvEpilog failed");
    if (!r)
        return;
    r->hooks_due &= ~(uint32_t)(prolog ? RESV_HOOK_PROLOG : RESV_HOOK_EPILOG);
    resv_changed(c, r);
}
