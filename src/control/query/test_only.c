/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/query/test_only.h"

#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/pb.h"
#include "control/core/reply.h"
#include "control/internal.h"
#include "control/life/depend.h"
#include "control/life/gate.h"
#include "control/life/priority.h"
#include "control/life/resv.h"
#include "control/life/schedule.h"
#include "control/life/start.h"
#include "control/query/why.h"
#include "control/submit/submit.h"
#include "control/submit/submit_set.h"
#include "sched/why/relax.h"

#define PARTS_MOST 32 /* partitions that are examined for one job */
#define NAMES_MOST 60 /* bytes of node names in an error; longer lists are left out */
/* Later starts are not reported: they depend on jobs without a limit. */
#define FAR_SEC (CLUSTER_NO_LIMIT_SEC / 2)

struct trial {
    uint32_t number; /* the id that it would get */
    uint32_t uid, gid;
    struct job_packed spec; /* the spec as it would be stored, with the partitions that accept it */
    char *said;             /* messages of the site's job_submit; NULL: none */
    char *waits;            /* what it waits for besides its turn; NULL: nothing */
    VEC(char *) parts;      /* names of the partitions that accept it */
    size_t next;            /* index into 'parts' */
    unsigned looked_at;     /* number of existing partitions that were examined */
    struct parsed_request parsed; /* equal for all partitions */
    bool is_parsed;               /* valid for the present cluster */
    struct job_copy guest;        /* in the previous partition */
    bool is_guest;
    /* The best start over the partitions so far; at_sec 0: none. */
    struct why_start best;
    struct part *part;
    int64_t needed_sec;     /* to end before its deadline */
    struct err refusal;     /* the reason why it never starts in the first partition, */
    const char *unforeseen; /* or what blocks it there for an unknown time; NULL: neither */
};

static void drop_guest(struct trial *t)
{
    if (t->is_guest)
        relax_done(&t->guest);
    t->is_guest = false;
}

void test_only_begin_anew(struct trial *t)
{
    drop_guest(t);
    select_done(&t->best.where);
    t->best = (struct why_start){0};
    t->refusal.code = 0;
    t->unforeseen = NULL;
    t->next = t->looked_at = 0;
    if (t->is_parsed)
        request_parsed_done(&t->parsed);
    t->is_parsed = false;
}

void test_only_free(struct trial *t)
{
    if (!t)
        return;
    test_only_begin_anew(t);
    job_packed_done(&t->spec);
    vec_foreach (&t->parts, name)
        free(*name);
    vec_done(&t->parts);
    free(t->said);
    free(t->waits);
    free(t);
}

/* --- the request --------------------------------------------------------------------------------
 */

static char *describe_wait(struct control *c, struct job *j, const Pb__JobSpec *spec)
{
    if (j->held)
        return mem_strdup("it would be held until it is released (scontrol release)");
    depend_place_name(c->cluster, j);
    depend_update_tested(c, j);
    enum reason reason = depend_reason(c, j);
    if (!reason)
        return NULL;
    const char *never =
        reason == REASON_DEPENDENCY ? "" : ", which have ended in another way: it never starts";
    return mem_printf("it would wait for other jobs (%s)%s", spec->dependency, never);
}

static void begin_trial(struct control *c, uint64_t call, const struct caller *who, struct job *j)
{
    struct trial *t = mem_new(struct trial);
    _cleanup_arena_ struct arena arena;
    struct str names = STR_INIT;
    arena_init(&arena, 0);
    Pb__JobSpec *spec = job_unpack_spec(j, &arena);
    t->number = j->id;
    t->uid = j->uid;
    t->gid = j->gid;
    t->said = c->said.len ? mem_strdup(str_cstr(&c->said)) : NULL;
    t->waits = describe_wait(c, j, spec);
    for (uint32_t i = 0; i < job_partitions_count(j); i++) {
        job_partitions_select(j, i);
        vec_push(&t->parts, mem_strdup(j->part->conf.name));
    }
    job_partitions_select_first(j);
    job_partitions_format(j, &names);
    spec->partition = names.len ? (char *)str_cstr(&names) : (char *)j->part->conf.name;
    job_repack(&t->spec, &spec->base);
    str_done(&names);
    submit_forget(c, j);
    why_enter(c, &(struct why_call){.call = call, .trial = t, .uid = who->uid, .gid = who->gid});
}

/* Reports one start for all components, regardless of pending jobs. */
static void put_set_start(struct control *c, const struct job *leader, Pb__SubmitReply *r,
                          struct arena *arena)
{
    const struct cluster *cl = c->cluster;
    _cleanup_bitset_ struct bitset *set = bitset_new(cl->nodes.len);
    _cleanup_hostlist_ struct hostlist *names = hostlist_new();
    _cleanup_str_ struct str nodes = STR_INIT;
    uint32_t cpus = 0;
    int64_t at = why_find_set_start(cl, leader, control_wall(c), set, &cpus);
    if (!at || at - control_wall(c) > FAR_SEC) {
        r->start_note = (char *)"no time is known when all components fit beside what runs";
        return;
    }
    bitset_foreach (set, i)
        hostlist_push(names, cl->nodes.data[i]->name);
    hostlist_format(names, &nodes);
    r->nodes = arena_strdup(arena, str_cstr(&nodes));
    SET(r, num_cpus, cpus);
    SET(r, start_at, at);
    if (cl->pending == job_set_count(leader))
        return;
    SET(r, start_not_before, true);
    r->start_note =
        (char *)"not before that; how much later depends on the jobs that wait before it";
}

/* Appends the partitions of the components, each once. */
static void put_set_partitions(const struct job *leader, struct str *out)
{
    for (uint32_t i = 0; i < job_set_count(leader); i++) {
        const struct part *part = job_set_component(leader, i)->part;
        bool is_new = true;
        for (uint32_t k = 0; k < i; k++)
            is_new = is_new && job_set_component(leader, k)->part != part;
        if (is_new)
            str_printf(out, "%s%s", out->len ? "," : "", part->conf.name);
    }
}

/* For a job set. */
static void check_set(struct control *c, uint64_t call, const struct caller *who,
                      const Pb__SubmitRequest *r)
{
    struct err err = {0};
    struct job *leader;
    char *waits;
    _cleanup_str_ struct str names = STR_INIT;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__SubmitReply reply = PB__SUBMIT_REPLY__INIT;
    Pb__JobSpec spec = *r->spec;
    spec.has_batch = spec.batch = true;
    const struct set_request set = {.leader = &spec,
                                    .components = r->components,
                                    .n_components = r->n_components,
                                    .payload = r->payload};
    int rc = spec.array_inx ? submit_check_array(c, &set, &err) : 0;
    if (rc == 0)
        rc = submit_make_set(c, who, &set, &leader, &err);
    if (rc < 0)
        control_refuse(c, call, &err);
    if (rc != 0)
        return;
    reply.has_job_id = true;
    reply.job_id = leader->id;
    put_set_partitions(leader, &names);
    reply.partition = (char *)str_cstr(&names);
    reply.message = c->said.len ? (char *)str_cstr(&c->said) : NULL;
    reply.start_note = describe_wait(c, leader, &spec);
    waits = reply.start_note;
    if (!waits)
        put_set_start(c, leader, &reply, &arena);
    c->env->reply(c->env->ctx, call, &reply.base);
    free(waits);
    submit_forget_set(c, leader);
}

void test_only_submit(struct control *c, uint64_t call, const struct caller *who,
                      const Pb__SubmitRequest *r)
{
    struct err err = {0};
    struct job *j;
    Pb__JobSpec spec = *r->spec;
    spec.has_batch = spec.batch = true;
    if (r->n_components) {
        check_set(c, call, who, r);
        return;
    }
    int rc = submit_make_job(c, who, &spec, r->payload, false, &j, &err);
    if (rc < 0)
        control_refuse(c, call, &err);
    if (rc == 0)
        begin_trial(c, call, who, j);
}

/* --- in one partition ----------------------------------------------------------------------------
 */

static void refuse_first(struct trial *t, const struct err *err)
{
    if (!t->refusal.code)
        t->refusal = *err;
}

/* Returns the next partition of the list that still exists; NULL: no more. */
static struct part *find_next_part(struct control *c, struct trial *t)
{
    struct part *p = NULL;
    while (t->next < t->parts.len && !p && t->looked_at < PARTS_MOST)
        p = cluster_find_part(c->cluster, t->parts.data[t->next++]);
    return p;
}

/* Runs the stages of a submission from 'parse' on, in this partition only. */
static int make_guest(struct control *c, struct trial *t, struct part *p, const Pb__JobSpec *spec,
                      struct err *err)
{
    struct job *j = &t->guest.job;
    int64_t now = control_wall(c);
    *j = (struct job){.id = t->number,
                      .uid = t->uid,
                      .gid = t->gid,
                      .part = p,
                      .spec = t->spec,
                      .submit_at = now,
                      .eligible_at = now};
    t->is_guest = true;
    int rc = t->is_parsed ? 0 : request_parse(c->cluster, spec, &t->parsed, err);
    if (rc != 0)
        return rc;
    t->is_parsed = true;
    submit_complete_job(c, j, spec, &t->parsed, true);
    if (gate_refuse(c, j, GATE_ENFORCED, err))
        return err->code;
    rc = resv_check_job(c, NULL, j, spec, err);
    if (rc != 0)
        return rc;
    priority_set(c, j);
    j->id = 0; /* another job may get its id */
    j->reason = resv_bind_guest(c, j);
    if (j->begin_at > now)
        j->reason = REASON_BEGIN_TIME;
    return 0;
}

static void begin_search(struct control *c, struct trial *t)
{
    struct why_question q = {.guest = &t->guest.job,
                             .key = job_partitions_queue_key(&t->guest.job),
                             .notes = &c->plan_notes,
                             .backfill = start_backfills(c),
                             .announced = c->announced};
    c->why->now = why_new(c->cluster, &q);
}

/* Returns false if there are no more partitions. */
static bool begin_next(struct control *c, struct trial *t)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobSpec *spec =
        arena_unpack(&arena, &pb__job_spec__descriptor, t->spec.data, t->spec.len);
    for (;;) {
        struct err err = {0};
        struct part *p = find_next_part(c, t);
        if (!p)
            return false;
        drop_guest(t);
        if (p->conf.state == CONF_PART_DOWN || p->conf.state == CONF_PART_INACTIVE)
            t->unforeseen = why_sentence(WHY_PARTITION_DOWN);
        else if (make_guest(c, t, p, spec, &err) != 0)
            refuse_first(t, &err);
        else
            break;
    }
    begin_search(c, t);
    t->looked_at++;
    return true;
}

/* Names the unusable nodes that could serve it; if it requires nodes, those of them. */
static void explain_unusable_nodes(struct control *c, const struct job *j, struct err *err)
{
    _cleanup_hostlist_ struct hostlist *list = hostlist_new();
    _cleanup_bitset_ struct bitset *set =
        j->want.req ? bitset_dup(j->want.req) : select_candidates(c->cluster, j);
    _cleanup_str_ struct str names = STR_INIT;
    bitset_andnot(set, c->cluster->pool.usable);
    bitset_foreach (set, i)
        hostlist_push(list, c->cluster->nodes.data[i]->name);
    hostlist_format(list, &names);
    bool lists_names = names.len && names.len <= NAMES_MOST;
    err_set(err, -ERR_NODES_DOWN, "%s%s%s", err_text(ERR_NODES_DOWN), lists_names ? ": " : "",
            lists_names ? str_cstr(&names) : "");
}

/* The planner examines the queue of 'a' first. */
static bool is_before(const struct control *c, const struct part *a, const struct part *b)
{
    if (a->conf.priority_tier != b->conf.priority_tier)
        return a->conf.priority_tier > b->conf.priority_tier;
    for (size_t i = 0; i < c->cluster->parts.len; i++)
        if (c->cluster->parts.data[i] == a || c->cluster->parts.data[i] == b)
            return c->cluster->parts.data[i] == a;
    return false;
}

static bool is_better_answer(const struct control *c, const struct trial *t,
                             const struct why_start *s)
{
    if (!t->best.at_sec || s->at_sec != t->best.at_sec)
        return !t->best.at_sec || s->at_sec < t->best.at_sec;
    return is_before(c, t->guest.job.part, t->part);
}

static void keep_result(struct control *c, struct trial *t)
{
    const struct why_start *s = why_start(c->why->now);
    struct err err = {0};
    if (s->at_sec && !is_better_answer(c, t, s))
        return;
    if (s->at_sec) {
        select_done(&t->best.where);
        t->best = *s;
        why_take_where(c->why->now, &t->best.where);
        t->part = t->guest.job.part;
        t->needed_sec = deadline_needed_sec(&t->guest.job);
    } else if (s->rule == WHY_UNUSABLE || s->rule == WHY_REQ_NODE_NOT_AVAIL) {
        explain_unusable_nodes(c, &t->guest.job, &err);
        refuse_first(t, &err);
    } else if (s->rule != WHY_BAD_CONSTRAINTS) {
        t->unforeseen = why_sentence(s->rule);
    } else if (select_possible(c->cluster, &t->guest.job, &err) != 0) {
        refuse_first(t, &err);
    }
}

/* --- the reply ----------------------------------------------------------------------------------
 */

static const char *choose_note(const struct control *c, const struct trial *t,
                               const Pb__JobSpec *spec)
{
    int64_t at = t->best.at_sec, deadline = spec->deadline_at_sec;
    if (spec->has_deadline_at_sec && deadline > 0 && t->needed_sec > deadline - at)
        return "that is too late for its deadline: it would be ended without a start";
    if (t->best.bound)
        return "not before that; how much later depends on the jobs that wait before it";
    if (t->best.makes_room)
        return "as soon as jobs of a lower tier have made room for it";
    if (t->next < t->parts.len && at > control_wall(c))
        return "or sooner, in another of its partitions";
    if (at - control_wall(c) > FAR_SEC && !(spec->has_begin_at_sec && at <= spec->begin_at_sec))
        return "or sooner: jobs before it have no time limit";
    return NULL;
}

static void put_allocation(struct control *c, const struct trial *t, Pb__SubmitReply *r,
                           struct arena *arena)
{
    _cleanup_hostlist_ struct hostlist *names = hostlist_new();
    _cleanup_str_ struct str nodes = STR_INIT;
    vec_foreach (&t->best.where.shares, s) {
        const struct node *n = c->cluster->nodes.data[s->node];
        hostlist_push(names, n->name);
        r->num_cpus += s->units * n->cpus_per_unit;
    }
    hostlist_format(names, &nodes);
    r->nodes = arena_strdup(arena, str_cstr(&nodes));
    r->has_num_cpus = r->has_start_at = true;
    r->start_at = t->best.at_sec;
    r->partition = (char *)t->part->conf.name;
    r->has_start_not_before = r->start_not_before = t->best.bound;
}

static void send_reply(struct control *c, uint64_t call, const struct trial *t)
{
    Pb__SubmitReply r = PB__SUBMIT_REPLY__INIT;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobSpec *spec =
        arena_unpack(&arena, &pb__job_spec__descriptor, t->spec.data, t->spec.len);
    const char *note = t->waits ? t->waits : t->unforeseen;
    if (!t->waits && t->best.at_sec) {
        put_allocation(c, t, &r, &arena);
        note = choose_note(c, t, spec);
    } else if (!note && t->refusal.code) {
        control_refuse(c, call, &t->refusal);
        return;
    } else if (!note) { /* none of its partitions exists */
        control_refuse_code(c, call, ERR_NO_PARTITION, spec->partition);
        return;
    }
    r.has_job_id = true;
    r.job_id = t->number;
    r.start_note = (char *)note;
    r.message = t->said;
    r.partition = r.partition ? r.partition : spec->partition;
    c->env->reply(c->env->ctx, call, &r.base);
}

bool test_only_step(struct control *c, const struct why_call *call)
{
    struct trial *t = call->trial;
    if (t->waits || (!c->why->now && !begin_next(c, t))) {
        send_reply(c, call->call, t);
        return false;
    }
    if (why_step(c->why->now, control_wall(c)))
        return true;
    keep_result(c, t);
    why_free(take_ptr(c->why->now));
    return true;
}
