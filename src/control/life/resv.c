/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scontrol create, update, delete and show reservation; how reservations survive. */
#include <stdlib.h>
#include <string.h>

#include "base/pb.h"
#include "control/admin/resv_ask.h"
#include "control/core/filter.h"
#include "control/core/private.h"
#include "sched/resv/resv_pick.h"

#define RESVS_MOST 1000

static void save(struct control *c, const struct resv *r)
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
    save(c, r);
    control_debug(c, reservation, "reservation %s has changed", r->name);
    c->cluster->pool.freed++;
    c->plan_wanted = true;
}

/* --- stored ------------------------------------------------------------------------------------
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

void resv_follow(struct control *c)
{
    vec_foreach (&c->cluster->resvs, r)
        if (resv_follow_part(c->cluster, *r))
            resv_changed(c, *r);
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
        if (to && resv_follow_part(c->cluster, to))
            save(c, to);
    }
    str_done(&packed);
}

/* --- asked for ---------------------------------------------------------------------------------
 */

static struct resv *draft_of(const struct control *c, const struct resv *r)
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

/* The draft takes the place of what jobs point to. */
static void become(const struct cluster *c, struct resv *r, struct resv *draft)
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

static bool name_is_good(const char *name)
{
    size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:-");
    return len > 0 && len < 128 && !name[len] && *name != '-';
}

static int create(struct control *c, const Pb__ResvUpdate *m, struct resv **out, struct err *err)
{
    uint32_t top = 0;
    struct resv_pick pick = {c->cluster, NULL, control_wall(c)};
    if (c->cluster->resvs.len >= RESVS_MOST)
        return err_set(err, -ERR_LIMIT, "%s: there are %d reservations: delete some first",
                       err_text(ERR_LIMIT), RESVS_MOST);
    if (*m->set->name && resv_find(c->cluster, m->set->name))
        return err_set(err, -ERR_RESV_EXISTS, "%s: %s", err_text(ERR_RESV_EXISTS), m->set->name);
    if (*m->set->name && !name_is_good(m->set->name))
        return err_set(err, -ERR_RESV_INVALID, "%s: ReservationName=%s: letters, digits and _.:-",
                       err_text(ERR_RESV_INVALID), m->set->name);
    vec_foreach (&c->cluster->resvs, r)
        top = (*r)->number > top ? (*r)->number : top;
    top = top > c->resv_number ? top : c->resv_number;
    struct resv *r = resv_new(m->set->name);
    r->number = top + 1;
    r->nodes = bitset_new(c->cluster->nodes.len);
    int rc = resv_ask(c, m, NULL, r, err);
    if (rc == 0 && !*r->name) {
        free(r->name);
        r->name = resv_ask_name(r);
        if (resv_find(c->cluster, r->name))
            rc = err_set(err, -ERR_RESV_EXISTS, "%s: %s", err_text(ERR_RESV_EXISTS), r->name);
    }
    if (rc == 0)
        rc = resv_pick(&pick, r, NULL, err);
    if (rc != 0) {
        resv_free(r);
        return rc;
    }
    c->resv_number = r->number;
    resv_add(c->cluster, r);
    *out = r;
    return 0;
}

/* Of its nodes those that it keeps when their number changes: the first ones. */
static struct bitset *keepers(const struct resv *r, const struct resv *draft)
{
    struct bitset *keep = bitset_dup(r->nodes);
    size_t left = draft->node_count;
    bitset_foreach (keep, i)
        if (left)
            left--;
        else
            bitset_unset(keep, (size_t)i);
    return keep;
}

static int change(struct control *c, const Pb__ResvUpdate *m, struct resv *r, struct err *err)
{
    struct resv_pick pick = {c->cluster, r, control_wall(c)};
    struct resv *draft = draft_of(c, r);
    _cleanup_bitset_ struct bitset *keep = NULL;
    if (!draft)
        return err_set(err, -ERR_INTERNAL, "%s", err_text(ERR_INTERNAL));
    int rc = resv_ask(c, m, r, draft, err);
    if (rc == 0)
        rc = resv_pick_licenses(&pick, draft, err);
    bool again = m->set->nodes || m->set->has_node_count || m->set->core_count ||
                 m->set->partition || m->set->features;
    bool moves =
        m->set->has_start_at || m->set->has_end_at || m->set->has_duration_sec || m->set->flags;
    if (m->set->has_node_count && !m->set->nodes && !m->set->features && !draft->core_count)
        keep = keepers(r, draft);
    if (rc == 0 && moves && !again && !(draft->flags & RESV_ANY_NODES)) { /* others may have them */
        draft->flags |= RESV_SPEC_NODES;
        rc = resv_pick(&pick, draft, NULL, err);
        if (!(r->flags & RESV_SPEC_NODES))
            draft->flags &= ~(uint32_t)RESV_SPEC_NODES;
    } else if (rc == 0 && again) {
        rc = resv_pick(&pick, draft, keep, err);
    }
    if (rc != 0) {
        resv_free(draft);
        return rc;
    }
    become(c->cluster, r, draft);
    return 0;
}

static int skip(struct control *c, struct resv *r, struct err *err)
{
    if (!(r->flags & RESV_REPEATS))
        return err_set(err, -ERR_RESV_INVALID, "%s: %s does not repeat", err_text(ERR_RESV_INVALID),
                       r->name);
    if (r->running)
        return err_set(err, -ERR_RESV_BUSY, "%s: %s", err_text(ERR_RESV_BUSY), r->name);
    resv_hook_end(c, r);
    resv_advance(r, r->end_at);
    r->active = resv_is_now(r, control_wall(c));
    return 0;
}

static int update(struct control *c, const Pb__ResvUpdate *m, struct resv **r, struct err *err)
{
    if (m->has_create && m->create)
        return create(c, m, r, err);
    *r = resv_find(c->cluster, m->set->name);
    if (!*r)
        return err_set(err, -ERR_RESV_INVALID, "%s: %s", err_text(ERR_RESV_INVALID), m->set->name);
    return m->has_skip && m->skip ? skip(c, *r, err) : change(c, m, *r, err);
}

void control_resv_update(struct control *c, uint64_t call, const struct caller *who,
                         const Pb__ResvUpdate *m)
{
    struct err err = {0};
    struct resv *r = NULL;
    start_drop_plan(c);
    if (update(c, m, &r, &err) != 0) {
        control_refuse(c, call, &err);
        return;
    }
    Pb__ResvReply reply = PB__RESV_REPLY__INIT;
    reply.name = r->name;
    control_log(c, LOG_LVL_INFO, "reservation %s %s by uid %u", r->name,
                m->has_create && m->create ? "created" : "changed", who->uid);
    resv_changed(c, r);
    resv_tell_jobs(c, r);
    c->env->reply(c->env->ctx, call, &reply.base);
    resv_tick(c); /* it may be over by this */
}

static bool may_delete(struct control *c, const struct caller *who, const struct resv *r)
{
    return who->is_operator || (r->flags & RESV_USER_DELETE && resv_is_for(c, who, r));
}

void control_resv_delete(struct control *c, uint64_t call, const struct caller *who,
                         const Pb__ResvDelete *m)
{
    struct resv *r = resv_find(c->cluster, m->name);
    if (!r || !private_shows_resv(c, who, r)) {
        control_refuse_code(c, call, ERR_RESV_INVALID, m->name);
    } else if (!may_delete(c, who, r)) {
        control_refuse_code(c, call, ERR_ACCESS, NULL);
    } else if (r->running) {
        control_refuse_code(c, call, ERR_RESV_BUSY, m->name);
    } else {
        Pb__ResvReply reply = PB__RESV_REPLY__INIT;
        reply.name = m->name;
        start_drop_plan(c);
        control_log(c, LOG_LVL_INFO, "reservation %s deleted by uid %u", m->name, who->uid);
        resv_drop(c, r);
        c->env->reply(c->env->ctx, call, &reply.base);
    }
}

bool control_list_resvs(struct control *c, const struct caller *who, const Pb__ResvFilter *f,
                        uint64_t *cursor, size_t budget, struct str *out)
{
    struct str packed = STR_INIT;
    size_t start = out->len;
    int64_t now = control_wall(c);
    for (; *cursor < c->cluster->resvs.len && out->len - start <= budget; ++*cursor) {
        const struct resv *r = c->cluster->resvs.data[*cursor];
        if (!filter_has_word(f->name, f->n_name, r->name) || !private_shows_resv(c, who, r))
            continue;
        str_clear(&packed);
        resv_pack_shown(c->cluster, r, now, &packed);
        pb_pack_field(1, packed.data, packed.len, out);
    }
    str_done(&packed);
    if (*cursor < c->cluster->resvs.len)
        return true;
    Pb__ResvList last = PB__RESV_LIST__INIT;
    last.has_now = true;
    last.now = now;
    pb_pack(&last.base, out);
    return false;
}

/* --- nodes that are replaced -------------------------------------------------------------------
 */

void resv_refill(struct control *c)
{
    vec_foreach (&c->cluster->resvs, at) {
        struct resv *r = *at;
        struct resv_pick pick = {c->cluster, r, control_wall(c)};
        struct err err = {0};
        if (r->refill_stamp == c->cluster->pool.freed)
            continue;
        _cleanup_bitset_ struct bitset *keep = resv_keepers(c->cluster, r);
        if (!keep)
            continue;
        r->refill_stamp = c->cluster->pool.freed;
        struct resv *draft = draft_of(c, r);
        if (draft && resv_pick(&pick, draft, keep, &err) == 0) {
            control_log(c, LOG_LVL_INFO, "reservation %s now has %s", r->name, draft->node_names);
            become(c->cluster, r, draft);
            resv_changed(c, r);
        } else {
            resv_free(draft);
        }
    }
}
