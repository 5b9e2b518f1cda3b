/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "sched/depth.h"
#include "sched/select.h"
#include "sched/why_state.h"

#define SET(m, field, value) ((m)->has_##field = true, (m)->field = (value))
#define STEP_JOBS 100   /* looks at jobs in a step */
#define FILL_NODES 1000 /* of running jobs, put on the timeline in a step */
#define LAY_MOST 50     /* jobs before it that get a place on the timeline; more: none is told */
#define PARTS_MOST 8    /* other partitions that are tried */
#define TRIES 3         /* to find the cluster the same at the end as at the begin */
#define ANYTHING (RELAX_OF_REQUEST | RELAX_BIT(PARTITION) | RELAX_BIT(PRIORITY))

static const struct {
    const char *word, *slurm;
    uint32_t kinds;
} rules[WHY_RULES] = {
#define WHY(id, word_, slurm_, kinds_, sentence) [WHY_##id] = {word_, slurm_, kinds_},
#include "sched/why.def"
#undef WHY
};

const char *why_word(enum why_rule rule)
{
    return rules[rule].word;
}

/* --- a question begins, perhaps anew
 * --------------------------------------------------------------
 */

static void forget_place(struct why *w)
{
    if (w->walking)
        plan_end(&w->plan);
    w->walking = false;
    if (w->ahead) {
        timeline_done(w->ahead);
        resv_plan_done(&w->resv);
    }
    free(take_ptr(w->ahead));
    vec_clear(&w->lay);
    w->laid = 0;
    w->not_before = 0;
    w->too_many = w->searching = w->filling = false;
    select_done(&w->where);
}

static void forget(struct why *w)
{
    forget_place(w);
    why_nodes_done(&w->nodes);
    vec_clear(&w->places);
    vec_clear(&w->trials);
    arena_done(&w->arena);
    arena_init(&w->arena, 0);
    w->answer = NULL;
    w->place = w->at = 0;
    w->head = 0;
    w->now = w->begun = false;
    w->phase = WALK;
}

struct why *why_new(const struct cluster *c, const struct why_question *q)
{
    struct why *w = mem_new(struct why);
    *w = (struct why){.cluster = c, .q = *q};
    arena_init(&w->arena, 0);
    return w;
}

void why_free(struct why *w)
{
    if (!w)
        return;
    forget(w);
    arena_done(&w->arena);
    vec_done(&w->places);
    vec_done(&w->trials);
    vec_done(&w->lay);
    vec_done(&w->q.may);
    free(w);
}

static struct job *job_of(const struct why *w)
{
    struct job *j = cluster_find_job(w->cluster, w->q.job_id);
    return j && j->state == PB__JOB_STATE__PENDING ? j : NULL;
}

static void begin(struct why *w, const struct job *j)
{
    w->begun = true;
    w->stamp = w->cluster->stamp;
    w->answer = arena_alloc(&w->arena, sizeof(*w->answer));
    pb__why_reply__init(w->answer);
    w->spec = job_unpack_spec(j, &w->arena);
    const struct order_link *queued =
        j->several ? &j->several->of[j->several->at].queued : &j->queued;
    vec_push(&w->places, ((struct why_place){j->part, queued->in ? queued->key : w->q.key}));
    if (!j->part)
        w->phase = ARRIVE;
}

/* --- the walk to a place in a queue
 * ----------------------------------------------------------------
 */

static void note_head(struct why *w, const struct decision *d, const struct part *part)
{
    if (w->place != 0 || w->head || d->job->part != part)
        return;
    w->head = d->job->id;
    w->head_priority = d->job->priority;
}

/* One that would start takes what it needs, too: it has a place, from now on. What was found about
 * a job's start is not told to it, so that the planner is to look for itself. */
static void pass_by(struct why *w, struct decision *d)
{
    if (!d->job->several && d->start_at != d->job->expected_at)
        d->job->ahead_stamp = 0;
    several_leave(d->job);
    if (d->kind == PLAN_START)
        plan_suppose(&w->plan, d);
    select_done(&d->where);
    free(d->detail);
}

static bool walk_on(struct why *w)
{
    const struct why_place *to = &w->places.data[w->place];
    struct decision d;
    if (!w->walking)
        plan_begin(&w->plan, w->cluster, w->now_sec, w->q.backfill);
    else
        plan_resume(&w->plan, w->now_sec);
    w->walking = true;
    for (int i = 0; i < STEP_JOBS; i++) {
        if (!plan_is_before(&w->plan, to->part, to->key, w->q.job_id))
            return false;
        bool blocked = w->plan.blocked;
        uint64_t work = w->plan.work;
        if (!plan_next(&w->plan, &d))
            return false;
        if (!blocked && w->plan.blocked)
            note_head(w, &d, to->part);
        pass_by(w, &d);
        if (w->plan.work - work >= w->cluster->nodes.len) /* it looked at nodes */
            return true;
    }
    return true;
}

/* The job itself is out of the way: at its own place it is asked about, and elsewhere it leaves its
 * own to those behind it. */
static bool walk(struct why *w, struct job *j)
{
    struct order_link own = j->queued;
    VEC(struct order_link) links = {0};
    for (uint32_t i = 0; j->several && i < j->several->count; i++)
        vec_push(&links, j->several->of[i].queued);
    several_unqueue(j);
    bool more = walk_on(w);
    if (own.in)
        order_insert(&j->part->queue, &j->queued, own.key, own.tie);
    for (uint32_t i = 0; i < links.len; i++)
        if (links.data[i].in)
            order_insert(&j->several->of[i].part->queue, &j->several->of[i].queued,
                         links.data[i].key, links.data[i].tie);
    vec_done(&links);
    return more;
}

/* --- which rule
 * ------------------------------------------------------------------------------------
 */

static bool rule_of_word(const char *word, enum why_rule *rule)
{
    for (int i = 0; word && i < WHY_RULES; i++)
        if (rules[i].slurm && str_eq(rules[i].slurm, word)) {
            *rule = (enum why_rule)i;
            return true;
        }
    return false;
}

static struct bitset *allowed_nodes(const struct why *w, const struct job *j)
{
    struct bitset *set = select_candidates(w->cluster, j);
    bitset_and(set, w->cluster->pool.usable);
    resv_restrict(resv_home(j), set);
    return set;
}

/* It fits on these nodes. What keeps it are reservations, or it is something else. */
static enum why_rule rule_of_reservations(const struct why *w, const struct job *j,
                                          struct bitset *allowed, enum why_rule otherwise)
{
    struct selection where = {0};
    const struct resv *in = resv_home(j);
    struct resv_plan *r = w->plan.resv;
    if (!resv_narrow(r, j, in, w->now_sec, allowed))
        return WHY_RESERVATION;
    const struct free_view *view = resv_view(r, j, in, w->now_sec, &w->cluster->pool.now);
    bool fits = select_nodes(w->cluster, j, allowed, view, &where) == 0;
    select_done(&where);
    return fits ? otherwise : WHY_RESERVED;
}

/* Of one that waits for what it needs, and for nothing else. */
static enum why_rule rule_of_needs(const struct why *w, struct job *j)
{
    const struct plan *p = &w->plan;
    struct selection where = {0};
    _cleanup_bitset_ struct bitset *allowed = allowed_nodes(w, j);
    if (p->blocked && !p->backfill)
        return WHY_ORDER;
    if (p->backfill && depth_is_reached(p))
        return WHY_DEPTH;
    if (!select_fits_idle(w->cluster, j, allowed))
        return select_possible(w->cluster, j, NULL) != 0 ? WHY_BAD : WHY_UNUSABLE;
    bool fits = select_nodes(w->cluster, j, allowed, NULL, &where) == 0;
    bool waived = j->switches_waived;
    j->switches_waived = true;
    select_clear(&where);
    bool otherwise =
        !fits && j->want.switches && select_nodes(w->cluster, j, allowed, NULL, &where) == 0;
    j->switches_waived = waived;
    select_done(&where);
    if (fits)
        return rule_of_reservations(w, j, allowed, WHY_KEPT);
    return otherwise ? WHY_SWITCHES : w->head ? WHY_BEHIND : WHY_RESOURCES;
}

static enum why_rule find_rule(struct why *w, const struct job *j)
{
    enum why_rule rule;
    struct job same;
    struct decision d;
    if (rule_of_word(j->reason, &rule) && !several_is_queued(j))
        return rule;
    if (w->q.announced)
        return WHY_SHUTDOWN;
    if (!several_is_queued(j) || relax_make(w->cluster, j, w->spec, NULL, 0, &same) != 0)
        return j->want.req_gone ? WHY_REQUIRED : WHY_OTHER;
    same.want.req_gone = j->want.req_gone;
    plan_ask(&w->plan, &same, &d);
    bool starts = d.kind == PLAN_START;
    const struct request *r = &same.want;
    if (starts)
        rule = WHY_NOW;
    else if (r->req && !bitset_contains(w->cluster->pool.usable, r->req))
        rule = WHY_REQUIRED;
    else if (!rule_of_word(d.reason, &rule))
        rule = rule_of_needs(w, &same);
    select_done(&d.where);
    free(d.detail);
    relax_done(&same);
    return rule;
}

/* --- what is tried
 * ---------------------------------------------------------------------------------
 */

static void try_place(struct why *w, const struct relax *r, struct part *part, int64_t key)
{
    vec_push(&w->trials, ((struct why_trial){.r = *r, .place = w->places.len}));
    vec_push(&w->places, ((struct why_place){part, key}));
}

static void find_trials(struct why *w, const struct job *j)
{
    uint32_t kinds = rules[w->rule].kinds;
    const struct why_place own = w->places.data[0];
    struct relax_list found = {0};
    if (j->part)
        relax_find(w->cluster, j, w->spec, kinds, &found);
    vec_foreach (&found.list, r)
        vec_push(&w->trials, ((struct why_trial){.r = *r}));
    vec_done(&found.list);
    if (kinds & RELAX_BIT(PRIORITY) && w->head) {
        uint64_t most = (uint64_t)w->head_priority + 1;
        struct relax r = {RELAX_PRIORITY, most, most, most, NULL};
        if (most < UINT32_MAX)
            try_place(w, &r, own.part, -(int64_t)most);
    }
    if (kinds & RELAX_BIT(PARTITION))
        for (size_t i = 0; i < w->q.may.len && i < PARTS_MOST; i++) {
            struct relax r = {.kind = RELAX_PARTITION, .part = w->q.may.data[i]};
            try_place(w, &r, r.part, own.key);
        }
}

/* It has come to the job's own place: all that is to be seen there without a look at nodes. */
static void arrive(struct why *w, const struct job *j)
{
    w->rule = find_rule(w, j);
    why_put_need(w, j);
    why_put_before(w, j);
    find_trials(w, j);
    if (j->part)
        why_nodes_init(&w->nodes, w->cluster, j);
    SET(w->answer, could_ever, w->nodes.could_ever);
}

static bool starts(struct why *w, const struct job *j, const struct why_trial *t, uint64_t number)
{
    struct job as;
    struct decision d;
    if (relax_make(w->cluster, j, w->spec, &t->r, number, &as) != 0)
        return false;
    if (t->r.kind == RELAX_TIME_LIMIT)
        as.limit_sec += RELAX_SLACK_SEC;
    plan_ask(&w->plan, &as, &d);
    bool yes = d.kind == PLAN_START;
    select_done(&d.where);
    free(d.detail);
    relax_done(&as);
    return yes;
}

/* One look: at what asks for least first, then between that and what was asked for. */
static void ask(struct why *w, const struct job *j, struct why_trial *t)
{
    if (!t->begun) {
        t->begun = true;
        t->number = t->r.least;
        t->now = starts(w, j, t, t->number);
        t->low = t->r.least + 1;
        t->high = t->r.most;
        t->done = !t->now || t->low > t->high;
        if (!t->now)
            t->number = t->r.guess;
        return;
    }
    uint64_t middle = t->low + (t->high - t->low) / 2;
    if (starts(w, j, t, middle)) {
        t->number = middle;
        t->low = middle + 1;
    } else {
        t->high = middle - 1;
    }
    t->done = t->low > t->high;
}

/* The next trial at this place, from w->at on; NULL: no more. */
static struct why_trial *next_trial(struct why *w)
{
    while (w->at < w->trials.len && w->trials.data[w->at].place != w->place)
        w->at++;
    return w->at < w->trials.len ? &w->trials.data[w->at] : NULL;
}

/* --- when it would start, if not now
 * -----------------------------------------------------------------
 */

/* Its own start can be foreseen as it is. */
static bool is_foreseeable(const struct why *w)
{
    return w->rule <= WHY_SWITCHES || w->rule == WHY_LICENSES || w->rule == WHY_BEGIN;
}

static void list_before(struct why *w)
{
    const struct why_place *at = &w->places.data[w->place];
    vec_foreach (&w->plan.heads, head)
        vec_push(&w->lay, ((struct why_laid){head->id, head->part}));
    size_t heads = w->lay.len;
    if (!w->plan.blocked) /* it is the first there, and those that wait otherwise block nobody */
        return;
    for (struct order_link *l = order_first(&at->part->queue); l; l = order_next(l)) {
        const struct job *j = several_job_of(l);
        bool known = false;
        if (l->key > at->key || (l->key == at->key && l->tie >= w->q.job_id))
            break;
        for (size_t i = 0; i < heads && !known; i++)
            known = w->lay.data[i].id == j->id;
        if (known || j->id == w->q.job_id || !array_has_room(j->array) || j->want.req_gone)
            continue;
        w->too_many = w->lay.len >= LAY_MOST;
        if (w->too_many)
            break;
        vec_push(&w->lay, ((struct why_laid){j->id, at->part}));
    }
}

static bool needs_timeline(const struct why *w)
{
    bool needs = w->place == 0 && w->rule != WHY_NOW && is_foreseeable(w);
    vec_foreach (&w->trials, t)
        needs = needs || (t->place == w->place && !t->now);
    return needs && w->places.data[w->place].part;
}

static void put_ahead(struct why *w, const struct job *j, int64_t start_at)
{
    Pb__WhyReply *m = w->answer;
    Pb__WhyAhead *a = arena_alloc(&w->arena, sizeof *a);
    pb__why_ahead__init(a);
    if (!m->ahead)
        m->ahead = arena_alloc(&w->arena, (w->lay.len + 1) * sizeof(*m->ahead));
    a->job_id = j->id;
    a->partition = (char *)j->part->conf.name;
    SET(a, priority, j->priority);
    SET(a, nodes, j->want.min_nodes);
    a->has_start_at = start_at > 0;
    a->start_at = start_at;
    m->ahead[m->n_ahead++] = a;
}

static bool begin_search(struct why *w, const struct job *j)
{
    const struct license_claims *claims = &w->plan.claims;
    uint64_t work = 0;
    int64_t due = license_earliest(claims, w->cluster, j, w->now_sec, &work);
    timeline_set_licenses(w->ahead, claims, due);
    w->search = (struct timeline_search){0};
    select_clear(&w->where);
    return due;
}

/* One look for its place, as the planner lays it. True: there are more to come; else it has
 * w->where from *at on. */
static bool search(struct why *w, const struct job *j, int64_t *at)
{
    _cleanup_bitset_ struct bitset *allowed = allowed_nodes(w, j);
    *at = 0;
    w->ahead->in = resv_home(j);
    if (!w->searching && !begin_search(w, j))
        return false;
    w->searching = timeline_search_step(w->ahead, j, allowed, &w->search, &w->where);
    *at = w->searching ? 0 : timeline_search_found(w->ahead, &w->search);
    *at = w->not_before > *at ? w->not_before : *at;
    return w->searching;
}

static bool lay_job(struct why *w, const struct job *j)
{
    int64_t at;
    uint64_t work = 0;
    if (search(w, j, &at))
        return true;
    if (!w->where.shares.len)
        at = 0;
    else
        timeline_reserve(w->ahead, j, &w->where, at);
    if (at)
        license_keep(&w->plan.claims, w->cluster, j, at, &work);
    if (!w->q.backfill)
        w->not_before = at > w->not_before ? at : w->not_before;
    if (w->place == 0)
        put_ahead(w, j, at);
    return false;
}

/* True: there are more to be laid. */
static bool lay_one(struct why *w)
{
    if (!w->ahead) {
        list_before(w);
        w->ahead = mem_new(struct timeline);
        timeline_begin(w->ahead, w->cluster, w->now_sec);
        resv_plan_init(&w->resv, w->cluster, w->now_sec);
        w->filling = true;
        return true;
    }
    if (w->filling) {
        w->filling = timeline_fill(w->ahead, FILL_NODES);
        if (!w->filling)
            timeline_set_resv(w->ahead, &w->resv);
        return true;
    }
    if (w->laid == w->lay.len)
        return false;
    const struct why_laid *next = &w->lay.data[w->laid];
    struct job *j = cluster_find_job(w->cluster, next->id);
    bool more = false;
    if (j && j->state == PB__JOB_STATE__PENDING && j->part && several_enter_part(j, next->part))
        more = lay_job(w, j);
    if (j)
        several_leave(j);
    w->searching = more;
    w->laid += !more;
    return true;
}

/* True: there is more to be done for it. */
static bool estimate(struct why *w, const struct job *j, const struct relax *r, uint64_t number,
                     int64_t *at)
{
    struct job as;
    *at = 0;
    if (relax_make(w->cluster, j, w->spec, r, number, &as) != 0)
        return w->searching = false;
    bool more = search(w, &as, at);
    if (more || !w->where.shares.len)
        *at = 0;
    relax_done(&as);
    if (*at <= w->now_sec) /* what keeps it now is nothing that a timeline knows */
        *at = 0;
    return more;
}

static bool estimate_own(struct why *w, const struct job *j)
{
    Pb__WhyReply *m = w->answer;
    bool told = j->ahead_stamp == w->cluster->pool.freed && j->expected_at > w->now_sec;
    int64_t at = j->expected_at;
    if ((!told || w->rule == WHY_BEGIN) && estimate(w, j, NULL, 0, &at))
        return true;
    if (w->rule == WHY_BEGIN && j->begin_at > at)
        at = j->begin_at;
    m->has_start_at = at > 0 && !w->too_many;
    m->start_at = m->has_start_at ? at : 0;
    return false;
}

/* --- step by step
 * ------------------------------------------------------------------------------------
 */

static enum why_phase step_estimate(struct why *w, const struct job *j)
{
    struct why_trial *t = next_trial(w);
    if (!t)
        return LEAVE;
    bool wanted = !t->now && !w->too_many;
    w->at += !wanted || !estimate(w, j, &t->r, t->number, &t->start_at);
    return ESTIMATE;
}

static enum why_phase step_ask(struct why *w, const struct job *j)
{
    struct why_trial *t = next_trial(w);
    if (!t) {
        w->at = 0;
        return needs_timeline(w) ? LAY : LEAVE;
    }
    ask(w, j, t);
    w->at += t->done;
    return ASK;
}

static enum why_phase step_lay(struct why *w, const struct job *j)
{
    if (lay_one(w))
        return LAY;
    w->at = 0;
    return w->place == 0 && is_foreseeable(w) ? OWN : ESTIMATE;
}

static enum why_phase leave(struct why *w)
{
    forget_place(w);
    w->at = 0;
    return ++w->place < w->places.len ? WALK : OVER;
}

static enum why_phase step(struct why *w, struct job *j)
{
    switch (w->phase) {
    case WALK:
        return walk(w, j) ? WALK : w->place == 0 ? ARRIVE : ASK;
    case ARRIVE:
        arrive(w, j);
        return j->part ? LOOK : LEAVE;
    case LOOK:
        return why_nodes_step(&w->nodes, w->cluster, j) ? LOOK : ASK;
    case ASK:
        return step_ask(w, j);
    case LAY:
        return step_lay(w, j);
    case OWN:
        return estimate_own(w, j) ? OWN : ESTIMATE;
    case ESTIMATE:
        return step_estimate(w, j);
    case LEAVE:
        return leave(w);
    case OVER:
        break;
    }
    return OVER;
}

/* Of a job of several partitions the first one in whose queue it is speaks for all. */
static void enter_queued(struct job *j)
{
    uint32_t i = 0;
    while (j->several && i < j->several->count && !j->several->of[i].queued.in)
        i++;
    if (j->several && i < j->several->count)
        several_enter(j, i);
}

static bool go_on(struct why *w, struct job *j)
{
    if (!w->begun)
        begin(w, j);
    w->phase = step(w, j);
    if (w->phase != OVER)
        return true;
    if (w->stamp != w->cluster->stamp && ++w->tries < TRIES) {
        forget(w);
        return true;
    }
    why_finish(w, j);
    return false;
}

bool why_step(struct why *w, int64_t now_sec)
{
    struct job *j = job_of(w);
    w->gone = !j;
    if (!j)
        return false;
    w->now_sec = now_sec;
    enter_queued(j);
    bool more = go_on(w, j);
    several_leave(j);
    return more;
}

const Pb__WhyReply *why_answer(const struct why *w)
{
    return w->gone ? NULL : w->answer;
}
