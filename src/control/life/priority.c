/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The priorities of pending jobs under priority/multifactor. They are computed for a time that all
 * jobs have in common. Every PriorityCalcPeriod this time advances, and the queues are recomputed
 * from their first job to their last, a part in each turn (docs/adr/0012).
 */
#include <math.h>
#include <string.h>

#include "base/pb.h"
#include "control/core/filter.h"
#include "control/core/reply.h"
#include "control/event/job_event.h"
#include "control/internal.h"
#include "control/life/priority.h"
#include "control/life/set.h"

#define JOBS_A_TURN 500

static struct prio_rule *find_rule(struct control *c)
{
    struct ranking *r = c->ranking;
    if (!r->known) {
        prio_rule_done(&r->rule);
        prio_rule_init(&r->rule, c->cluster);
        r->known = true;
    }
    return &r->rule;
}

/* Advances the common time for ages to now. */
static void schedule_ranking(struct control *c)
{
    const struct prio_rule *r = find_rule(c);
    c->ranking->at_sec = control_wall(c);
    c->ranking->due_ms = r->multifactor ? control_mono(c) + r->period_sec * 1000 : INT64_MAX;
}

void priority_start(struct control *c)
{
    schedule_ranking(c);
}

void priority_done(struct control *c)
{
    prio_rule_done(&c->ranking->rule);
}

static void begin_ranking(struct control *c)
{
    c->ranking->moving = true;
    c->ranking->looked = false;
    c->ranking->part = 0;
}

void priority_forget(struct control *c)
{
    c->ranking->known = false;
    if (!c->started)
        return;
    if (find_rule(c)->multifactor != (c->ranking->due_ms != INT64_MAX))
        schedule_ranking(c);
    begin_ranking(c);
}

int64_t priority_due_ms(const struct control *c)
{
    return c->ranking->due_ms;
}

int priority_check(const struct caller *who, const Pb__JobSpec *spec, struct err *err)
{
    if (spec->has_site_factor && !who->is_operator)
        return err_set(err, -ERR_ACCESS, "%s: SiteFactor", err_text(ERR_ACCESS));
    if (spec->has_site_factor &&
        (spec->site_factor > PRIO_NICE_MOST || spec->site_factor < -PRIO_NICE_MOST))
        return err_set(err, -ERR_RANGE, "SiteFactor=%d: it is from -%d to %d", spec->site_factor,
                       PRIO_NICE_MOST, PRIO_NICE_MOST);
    if (spec->has_nice && (spec->nice > PRIO_NICE_MOST || spec->nice < -PRIO_NICE_MOST))
        return err_set(err, -ERR_RANGE, "Nice=%d: it is from -%d to %d", spec->nice, PRIO_NICE_MOST,
                       PRIO_NICE_MOST);
    return 0;
}

/* --- one job -------------------------------------------------------------------------------------
 */

void priority_set(struct control *c, struct job *j)
{
    const struct prio_rule *r = find_rule(c);
    struct prio_factors f;
    if (!r->multifactor || j->rank.given) {
        j->priority = j->rank.given && j->priority ? j->priority : prio_by_id(j);
        return;
    }
    prio_find(r, j, c->ranking->at_sec, &f);
    j->priority = r->incr_only && f.priority < j->priority ? j->priority : f.priority;
    control_debug(c, priority, "job %u: priority %u", j->id, j->priority);
}

void priority_set_all(struct control *c, struct job *j)
{
    uint32_t given = j->priority;
    bool one = !find_rule(c)->multifactor || j->rank.given; /* the same in all partitions */
    for (uint32_t i = 0; i < job_partitions_count(j); i++) {
        job_partitions_select(j, i);
        j->priority = one ? given : j->priority;
        priority_set(c, j);
    }
    job_partitions_select_first(j);
}

int64_t priority_unbounded(struct control *c, const struct job *j)
{
    struct prio_factors f;
    if (!find_rule(c)->multifactor)
        return prio_unbounded_by_id(j);
    prio_find(find_rule(c), j, c->ranking->at_sec, &f);
    return (int64_t)floor(f.sum);
}

void priority_give(struct job *j, uint32_t priority)
{
    j->priority = priority;
    j->rank.given = true;
}

static uint32_t shift_priority(uint32_t priority, int64_t by)
{
    int64_t p = (int64_t)priority + by;
    return p < 1 ? 1 : p > UINT32_MAX ? UINT32_MAX : (uint32_t)p;
}

void priority_set_nice(struct job *j, int32_t nice)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    if (j->nice == nice)
        return;
    Pb__JobSpec *spec = job_unpack_spec(j, &arena);
    SET(spec, nice, nice);
    job_repack(&j->spec, &spec->base);
    j->nice = nice;
}

void priority_nice(struct control *c, struct job *j, int32_t before)
{
    if (find_rule(c)->multifactor) /* priorities set by an administrator stay */
        return;
    int64_t room = j->priority ? (int64_t)j->priority - 1 : 0;
    if ((int64_t)j->nice - before > room) /* the unused part is not returned later */
        priority_set_nice(j, (int32_t)(before + room));
    j->priority = shift_priority(j->priority, (int64_t)before - j->nice);
}

/* Returns the lowest priority of the job over its partitions. */
static uint32_t find_least_priority(const struct job *j)
{
    const struct job_partitions *s = j->partitions;
    uint32_t least = j->priority;
    for (uint32_t i = 0; s && i < s->count; i++)
        if (i != s->at && s->of[i].priority < least)
            least = s->of[i].priority;
    return least;
}

bool priority_would_rise(struct control *c, const struct job *j, uint32_t priority, int32_t nice)
{
    uint32_t has = find_least_priority(j);
    int64_t returns = nice > 0 ? nice : 0, may_return = j->nice > 0 ? j->nice : 0;
    if (find_rule(c)->multifactor) /* an explicit priority does not include the nice value */
        return priority > has;
    return priority > has || priority + returns > has + may_return;
}

void priority_released(struct control *c, struct job *j)
{
    if (find_rule(c)->multifactor)
        j->rank.given = false;
}

void priority_accrue(struct control *c, struct job *j, bool counts)
{
    int64_t now = control_wall(c);
    counts = counts || find_rule(c)->accrue_always;
    if (counts == (j->rank.accrue_at != 0))
        return;
    if (counts) {
        j->rank.accrue_at = now;
    } else {
        j->rank.accrued_sec += now > j->rank.accrue_at ? now - j->rank.accrue_at : 0;
        j->rank.accrue_at = 0;
    }
    job_touch(c->cluster, j);
}

/* --- recomputation ------------------------------------------------------------------------------
 */

void priority_tick(struct control *c)
{
    struct ranking *r = c->ranking;
    if (r->due_ms > control_mono(c))
        return;
    r->known = false; /* nodes may have changed */
    schedule_ranking(c);
    begin_ranking(c);
}

/* Returns the next link of the queues, which may have changed since the last step. */
static struct order_link *next_link(struct control *c)
{
    struct ranking *r = c->ranking;
    for (; r->part < c->cluster->parts.len; r->part++, r->looked = false) {
        const struct order *queue = &c->cluster->parts.data[r->part]->queue;
        struct order_link *l = r->looked ? order_after(queue, r->key, r->tie) : order_first(queue);
        if (!l)
            continue;
        r->looked = true;
        r->key = l->key;
        r->tie = l->tie;
        return l;
    }
    return NULL;
}

/* The priority is visible to all and recomputed after a restart: it is not written. */
static bool move_job(struct control *c, struct order_link *link)
{
    struct job *j = job_partitions_job_of(link);
    job_partitions_select_part(j, c->cluster->parts.data[c->ranking->part]);
    uint32_t before = j->priority;
    priority_set(c, j);
    bool moves = j->priority != before;
    if (moves) {
        order_remove(&j->part->queue, link);
        job_partitions_queue(j);
    }
    job_partitions_select_first(j);
    if (!moves)
        return false;
    set_ranked(c, j);
    j->stamp = ++c->cluster->stamp;
    if (!j->dirty)
        job_pack_live(c->cluster, j);
    return true;
}

void priority_turn(struct control *c)
{
    struct ranking *r = c->ranking;
    for (unsigned i = 0; r->moving && i < JOBS_A_TURN; i++) {
        struct order_link *l = next_link(c);
        if (l) {
            r->moved |= move_job(c, l);
            continue;
        }
        r->moving = false;
        c->plan_wanted = c->plan_wanted || r->moved; /* another job may be first now */
        r->moved = false;
    }
}

/* --- sprio ---------------------------------------------------------------------------------------
 */

static void put_rule(struct control *c, struct str *out)
{
    const struct prio_rule *r = find_rule(c);
    const struct conf *conf = c->conf;
    Pb__PrioList m = PB__PRIO_LIST__INIT;
    Pb__PrioWeights w = PB__PRIO_WEIGHTS__INIT;
    char *names[CONF_TRES_MAX];
    m.weights = &w;
    w.type = (char *)conf->priority_type;
    SET(&w, age, conf->priority_weight_age);
    SET(&w, assoc, conf->priority_weight_assoc);
    SET(&w, fairshare, conf->priority_weight_fairshare);
    SET(&w, size, conf->priority_weight_job_size);
    SET(&w, part, conf->priority_weight_partition);
    SET(&w, qos, conf->priority_weight_qos);
    w.tres = (char *)conf->priority_weight_tres;
    for (size_t i = 0; i < r->n_tres; i++)
        names[i] = (char *)r->tres[i].of.name;
    double weights[CONF_TRES_MAX];
    for (size_t i = 0; i < r->n_tres; i++)
        weights[i] = r->tres[i].of.weight;
    w.tres_name = names;
    w.n_tres_name = r->n_tres;
    w.tres_weight = weights;
    w.n_tres_weight = r->n_tres;
    pb_pack(&m.base, out);
}

/* Whether it could start, or only the state or the limits of its partition block it. */
static bool is_ranked(struct control *c, const struct job *j)
{
    if (j->state != PB__JOB_STATE__PENDING || j->held || j->admin_hold || control_is_on_trial(j))
        return false;
    return job_partitions_is_queued(j) ||
           (j->begin_at <= control_wall(c) && j->reason != REASON_DEPENDENCY &&
            j->reason != REASON_DEPENDENCY_NEVER_SATISFIED);
}

static bool is_asked(const struct job *j, const Pb__PrioFilter *f)
{
    bool found = f->n_uid == 0;
    for (size_t i = 0; i < f->n_uid; i++)
        found = found || f->uid[i] == j->uid;
    if (!found || !filter_has_part(f->partition, f->n_partition, j))
        return false;
    return filter_has_id(f, j);
}

/* Writes the job as it is in one of its partitions. */
static void put_partition_priority(struct control *c, const struct job *j, struct str *packed,
                                   struct str *out)
{
    const struct prio_rule *r = find_rule(c);
    struct prio_factors f;
    Pb__PrioJob m = PB__PRIO_JOB__INIT;
    prio_find(r, j, c->ranking->at_sec, &f);
    m.job_id = j->id;
    m.partition = j->part ? (char *)j->part->conf.name : j->part_name;
    m.uid = j->uid;
    m.priority = j->priority;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobSpec *spec = job_unpack_spec(j, &arena);
    m.account = spec->account;
    m.qos_name = spec->qos;
    SET(&m, submit_at, j->submit_at);
    if (!f.given) {
        SET(&m, nice, f.nice);
        SET(&m, sum, f.sum);
        SET(&m, site, f.site);
        SET(&m, age, f.age);
        SET(&m, assoc, f.assoc);
        SET(&m, fairshare, f.fairshare);
        SET(&m, size, f.size);
        SET(&m, part, f.part);
        SET(&m, qos, f.qos);
        m.tres = f.tres;
        m.n_tres = r->n_tres;
    }
    str_clear(packed);
    pb_pack(&m.base, packed);
    pb_pack_field(2, packed->data, packed->len, out);
}

static void put_job_priority(struct control *c, struct job *j, const Pb__PrioFilter *f,
                             struct str *packed, struct str *out)
{
    for (uint32_t i = 0; i < job_partitions_count(j); i++) {
        job_partitions_select(j, i);
        if (!j->partitions || filter_has_word(f->partition, f->n_partition, j->part->conf.name))
            put_partition_priority(c, j, packed, out);
    }
    job_partitions_select_first(j);
}

bool control_list_prio(struct control *c, const struct caller *who, const Pb__PrioFilter *f,
                       uint64_t *cursor, size_t budget, struct str *out)
{
    _cleanup_str_ struct str packed = STR_INIT;
    if (!*cursor)
        put_rule(c, out);
    size_t start = out->len, i = filter_first_job(c->cluster, *cursor);
    for (; i < c->cluster->jobs.len && out->len - start <= budget; i++) {
        struct job *j = c->cluster->jobs.data[i];
        if (control_shows_job(c, who, j) && is_ranked(c, j) && is_asked(j, f))
            put_job_priority(c, j, f, &packed, out);
        *cursor = (uint64_t)j->id + 1;
    }
    return i < c->cluster->jobs.len;
}
