/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/query/gang_list.h"

#include "base/hostlist.h"
#include "base/pb.h"
#include "control/core/named.h"
#include "control/core/reply.h"
#include "control/internal.h"
#include "control/life/gang.h"
#include "control/life/gang_members.h"
#include "control/life/schedule.h"

#define SLOTS_MAX 64 /* that are foreseen */

/* Of all components of a job set that have not ended. */
static char *format_nodes(const struct control *c, const struct job *j, struct arena *arena)
{
    _cleanup_hostlist_ struct hostlist *names = hostlist_new();
    _cleanup_str_ struct str text = STR_INIT;
    for (uint32_t i = 0; i < job_set_count(j); i++) {
        const struct job *component = job_set_component(j, i);
        if (component && !job_is_final(component))
            vec_foreach (&attempt_of(component)->alloc, a)
                hostlist_push(names, c->cluster->nodes.data[a->node]->name);
    }
    hostlist_uniq(names);
    hostlist_format(names, &text);
    return arena_strdup(arena, str_cstr(&text));
}

static Pb__GangMember *describe_member(struct control *c, const struct rotation_member *m,
                                       struct arena *arena)
{
    const struct job *j = cluster_find_job(c->cluster, m->id);
    Pb__GangMember *out = arena_alloc(arena, sizeof(*out));
    pb__gang_member__init(out);
    out->job_id = job_set_id(j);
    out->name = arena_strdup(arena, NAMED_SET_TEXT(j));
    out->partition = j->part ? (char *)j->part->conf.name : NULL;
    int64_t since_sec = control_wall(c) - attempt_of(j)->start_at;
    bool stands = j->state == PB__JOB_STATE__SUSPENDED;
    int64_t run_sec =
        stands ? control_ran_ms(c, j) / 1000 : since_sec - attempt_of(j)->suspended_sec;
    run_sec = run_sec > 0 ? run_sec : 0; /* the clock may have been set back */
    if (m->runs)
        SET(out, runs, true);
    SET(out, run_sec, run_sec);
    SET(out, suspended_sec, since_sec > run_sec ? since_sec - run_sec : 0);
    out->nodes = format_nodes(c, j, arena);
    return out;
}

/* One that shares with nobody and has not ended speaks for all of its set. */
static bool has_earlier_component(const struct conf *conf, const struct job *j)
{
    for (uint32_t i = 0; i < j->set_offset; i++) {
        const struct job *component = job_set_component(j, i);
        if (component && !job_is_final(component) && job_unshared_reason(conf, component))
            return true;
    }
    return false;
}

/* Jobs that share with nobody, and why. */
static void list_alone(struct control *c, const struct caller *who, Pb__GangReply *reply,
                       struct arena *arena)
{
    VEC(Pb__GangAlone *) found = {0};
    for (struct order_link *l = order_first(&c->cluster->ends); l; l = order_next(l)) {
        const struct job *j = job_of_end(l);
        const char *why = job_is_final(j) ? NULL : job_unshared_reason(c->conf, j);
        if (!why || !control_shows_job(c, who, j) || has_earlier_component(c->conf, j))
            continue;
        Pb__GangAlone *out = arena_alloc(arena, sizeof(*out));
        pb__gang_alone__init(out);
        out->job_id = job_set_id(j);
        out->name = arena_strdup(arena, NAMED_SET_TEXT(j));
        out->partition = (char *)j->part->conf.name;
        out->nodes = format_nodes(c, j, arena);
        out->reason = (char *)why;
        vec_push(&found, out);
    }
    reply->n_alone = found.len;
    reply->alone = arena_alloc(arena, sizeof(*reply->alone) * (found.len + 1));
    for (size_t i = 0; i < found.len; i++)
        reply->alone[i] = found.data[i];
    vec_done(&found);
}

static bool is_member_shown(struct control *c, const struct caller *who,
                            const struct rotation_member *m)
{
    return control_shows_job(c, who, cluster_find_job(c->cluster, m->id));
}

/* --- rotations and slots ------------------------------------------------------------------------
 */

struct rotations {
    VEC(struct rotation) all;
    size_t members;
};

/* Without the members that are ending or stopping: a job that waits for these has its turn without
 * them. */
static void drop_pinned(struct rotation *r)
{
    for (size_t i = r->members.len; i-- > 0;)
        if (r->members.data[i].pinned) {
            vec_done(&r->members.data[i].uses);
            vec_remove(&r->members, i);
        }
}

static void rotations_open(const struct control *c, struct rotations *rotations)
{
    struct rotation r;
    *rotations = (struct rotations){0};
    for (size_t number = 0; gang_next_rotation(c, &number, &r);) {
        drop_pinned(&r);
        rotation_sort(&r);
        rotations->members += r.members.len;
        vec_push(&rotations->all, r);
    }
}

static void rotations_close(struct rotations *rotations)
{
    vec_foreach (&rotations->all, r)
        rotation_done(r);
    vec_done(&rotations->all);
}

static void list_members(struct control *c, const struct caller *who,
                         const struct rotations *rotations, Pb__GangReply *reply,
                         struct arena *arena)
{
    reply->members = arena_alloc(arena, sizeof(*reply->members) * (rotations->members + 1));
    vec_foreach (&rotations->all, r)
        vec_foreach (&r->members, m)
            if (is_member_shown(c, who, m))
                reply->members[reply->n_members++] = describe_member(c, m, arena);
}

/* All rotations switch at the same time. */
static Pb__GangSlot *describe_slot(struct control *c, const struct caller *who,
                                   const struct rotations *rotations, struct arena *arena)
{
    Pb__GangSlot *slot = arena_alloc(arena, sizeof(*slot));
    pb__gang_slot__init(slot);
    slot->job_id = arena_alloc(arena, sizeof(*slot->job_id) * (rotations->members + 1));
    vec_foreach (&rotations->all, r)
        vec_foreach (&r->members, m)
            if (m->runs && is_member_shown(c, who, m))
                slot->job_id[slot->n_job_id++] = job_set_id(cluster_find_job(c->cluster, m->id));
    return slot;
}

static uint32_t find_last_id(const struct rotations *rotations)
{
    uint32_t last = 0;
    vec_foreach (&rotations->all, r)
        vec_foreach (&r->members, m)
            last = m->id > last ? m->id : last;
    return last;
}

/* The slots until each member has had one, if they are not too many. */
static void foresee_slots(struct control *c, const struct caller *who, struct rotations *rotations,
                          Pb__GangReply *reply, struct arena *arena)
{
    size_t left = rotations->members;
    _cleanup_bitset_ struct bitset *had = bitset_new((size_t)find_last_id(rotations) + 1);
    reply->slots = arena_alloc(arena, sizeof(*reply->slots) * SLOTS_MAX);
    while (left && reply->n_slots < SLOTS_MAX) {
        reply->slots[reply->n_slots++] = describe_slot(c, who, rotations, arena);
        vec_foreach (&rotations->all, r) {
            vec_foreach (&r->members, m)
                if (m->runs && !bitset_test(had, m->id)) {
                    bitset_set(had, m->id);
                    left--;
                }
            rotation_turn(r);
        }
    }
    if (left)
        SET(reply, more_slots, true);
}

/* PrivateData=partitions: a user sees those of the jobs in the reply. */
static bool is_partition_shown(const struct control *c, const struct caller *who,
                               const Pb__GangReply *reply, const char *name)
{
    bool shown = !control_hides(c, who, "partitions");
    for (size_t i = 0; i < reply->n_members; i++)
        shown = shown || str_eq(reply->members[i]->partition, name);
    for (size_t i = 0; i < reply->n_alone; i++)
        shown = shown || str_eq(reply->alone[i]->partition, name);
    return shown;
}

static void list_partitions(const struct control *c, const struct caller *who, Pb__GangReply *reply,
                            struct arena *arena)
{
    reply->partitions =
        arena_alloc(arena, sizeof(*reply->partitions) * (c->cluster->parts.len + 1));
    vec_foreach (&c->cluster->parts, part)
        if (is_partition_shown(c, who, reply, (*part)->conf.name))
            reply->partitions[reply->n_partitions++] = arena_strdup(arena, (*part)->conf.name);
}

void gang_list_describe(struct control *c, const struct caller *who, Pb__GangReply *reply,
                        struct arena *arena)
{
    struct rotations rotations;
    pb__gang_reply__init(reply);
    rotations_open(c, &rotations);
    SET(reply, on, c->conf->gang);
    SET(reply, slice_sec, c->conf->scheduler_time_slice_sec);
    int64_t left_ms = c->gang->switch_ms - control_mono(c);
    if (c->gang->switch_ms)
        SET(reply, switch_ms, left_ms > 0 ? left_ms : 0);
    list_members(c, who, &rotations, reply, arena);
    foresee_slots(c, who, &rotations, reply, arena);
    rotations_close(&rotations);
    list_alone(c, who, reply, arena);
    list_partitions(c, who, reply, arena);
}

void control_list_gang(struct control *c, uint64_t call, const struct caller *who,
                       const Pb__Empty *r)
{
    _cleanup_arena_ struct arena arena;
    Pb__GangReply reply;
    arena_init(&arena, 0);
    gang_list_describe(c, who, &reply, &arena);
    c->env->reply(c->env->ctx, call, &reply.base);
}
