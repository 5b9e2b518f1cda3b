/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A job's request, read from its spec, and its record, made from its state. */
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/pb.h"
#include "base/signame.h"
#include "cluster/cluster.h"

#define LIVE_USAGE 25 /* numbers of fields */
#define STEP_USAGE 26
#define BEGIN_MAX_SEC INT64_C(253402300799) /* the end of the year 9999 */
#define OR(m, field, otherwise) ((m)->has_##field ? (m)->field : (otherwise))

static uint64_t divide_up(uint64_t what, uint64_t by)
{
    return what / by + (what % by != 0); /* adding first would wrap for what a client may send */
}

static void read_counts(struct request *r, const Pb__JobSpec *s)
{
    r->cpus_per_task = OR(s, cpus_per_task, 1) ? OR(s, cpus_per_task, 1) : 1;
    r->ntasks_per_node = OR(s, ntasks_per_node, 0);
    r->tasks_given = s->has_num_tasks && s->num_tasks > 0;
    r->min_nodes = OR(s, min_nodes, 1) ? OR(s, min_nodes, 1) : 1;
    r->max_nodes = OR(s, max_nodes, 0);
    size_t asked = r->req ? bitset_count(r->req) : 0;
    if (asked > r->min_nodes)
        r->min_nodes = (uint32_t)asked;
    uint32_t counted = constraint_least_nodes(r->constraint);
    r->min_nodes = counted > r->min_nodes ? counted : r->min_nodes;
    uint32_t per_node = r->ntasks_per_node ? r->ntasks_per_node : 1;
    uint64_t tasks = (uint64_t)r->min_nodes * per_node;
    r->tasks = r->tasks_given ? s->num_tasks : tasks < UINT32_MAX ? (uint32_t)tasks : UINT32_MAX;
    if (r->tasks_given && r->ntasks_per_node) {
        uint32_t needed = (uint32_t)divide_up(r->tasks, r->ntasks_per_node);
        r->min_nodes = needed > r->min_nodes ? needed : r->min_nodes;
    }
    if (r->max_nodes < r->min_nodes)
        r->max_nodes = s->has_max_nodes && s->has_min_nodes ? r->min_nodes : UINT32_MAX;
    bool few = r->use_min_nodes || (r->max_nodes == UINT32_MAX && !(r->spread && r->tasks_given));
    r->good_nodes = few ? r->min_nodes : r->max_nodes;
    if (r->tasks_given && r->good_nodes > r->tasks) /* a node without a task is of no use */
        r->good_nodes = r->tasks > r->min_nodes ? r->tasks : r->min_nodes;
}

static int read_sets(const struct cluster *c, struct request *r, const Pb__JobSpec *s,
                     struct err *err)
{
    int rc = 0;
    if (s->req_nodes && *s->req_nodes)
        rc = cluster_node_set(c, s->req_nodes, &r->req, err);
    if (rc == 0 && s->exc_nodes && *s->exc_nodes)
        rc = cluster_node_set(c, s->exc_nodes, &r->exc, err);
    return rc;
}

#define MEM_TOP (UINT64_C(1) << 44) /* MiB: more than any node has, and products do not wrap */

static uint64_t bounded(uint64_t mib)
{
    return mib < MEM_TOP ? mib : MEM_TOP;
}

static void read_memory(const struct cluster *c, const struct job *j, struct request *r,
                        const Pb__JobSpec *s)
{
    const struct conf_part *p = j->part ? &j->part->conf : NULL;
    if (!(c->conf->cr & CONF_CR_MEMORY))
        return;
    if (s->has_mem_per_node_mib)
        r->mem_node_mib =
            s->mem_per_node_mib ? bounded(s->mem_per_node_mib) : UINT64_MAX; /* --mem=0: all */
    else if (s->has_mem_per_cpu_mib)
        r->mem_cpu_mib = bounded(s->mem_per_cpu_mib);
    else if (p && p->def_mem_per_cpu_mib)
        r->mem_cpu_mib = p->def_mem_per_cpu_mib;
    else if (p && p->def_mem_per_node_mib)
        r->mem_node_mib = p->def_mem_per_node_mib;
    else if (c->conf->def_mem_per_cpu_mib)
        r->mem_cpu_mib = c->conf->def_mem_per_cpu_mib;
    else if (c->conf->def_mem_per_node_mib)
        r->mem_node_mib = c->conf->def_mem_per_node_mib;
}

/* The partition's limit on memory per CPU, or the cluster's; 0: none. */
static uint64_t max_mem_per_cpu(const struct cluster *c, const struct conf_part *p)
{
    if (p && (p->max_mem_per_cpu_mib || p->max_mem_per_node_mib))
        return p->max_mem_per_cpu_mib;
    return c->conf->max_mem_per_cpu_mib;
}

/* Who wants more memory than its CPUs may have gets the CPUs that go with it. */
static void pay_memory_in_cpus(const struct cluster *c, const struct job *j, struct request *r)
{
    uint64_t most = max_mem_per_cpu(c, j->part ? &j->part->conf : NULL);
    if (!most || r->mem_node_mib == UINT64_MAX)
        return;
    if (r->mem_cpu_mib > most) {
        uint64_t times = divide_up(r->mem_cpu_mib, most);
        if (times > UINT32_MAX / r->cpus_per_task)
            times = 1; /* beyond any node: refused as it is */
        r->cpus_per_task *= (uint32_t)times;
        r->mem_cpu_mib = divide_up(r->mem_cpu_mib, times);
    }
    uint64_t cpus = divide_up(r->mem_node_mib, most);
    if (cpus > r->min_cpus)
        r->min_cpus = cpus > UINT32_MAX ? UINT32_MAX : (uint32_t)cpus;
}

/* "[R][B:]NAME[@SECONDS]", checked by the command; what does not parse here warns of nothing. */
static void read_warning(struct job *j, const char *text)
{
    char name[32];
    j->warn_signal = 0;
    j->warn_batch = false;
    j->warn_sec = 60;
    if (!text)
        return;
    const char *colon = strchr(text, ':');
    if (colon) {
        j->warn_batch = memchr(text, 'B', (size_t)(colon - text)) != NULL;
        text = colon + 1;
    }
    size_t len = strcspn(text, "@");
    if (len >= sizeof name)
        return;
    memcpy(name, text, len);
    name[len] = 0;
    int number = signame_parse(name);
    j->warn_signal = number > 0 ? (uint32_t)number : 0;
    if (text[len] == '@')
        j->warn_sec = (uint32_t)strtoul(text + len + 1, NULL, 10);
}

static void set_sharing(const struct cluster *c, struct job *j)
{
    enum conf_oversubscribe share = j->part ? j->part->conf.share : CONF_SHARE_NO;
    struct request *r = &j->want;
    if (j->alloc.len) /* what it holds stays as it got it */
        return;
    bool alone = share == CONF_SHARE_EXCLUSIVE || (r->ask_exclusive && share != CONF_SHARE_FORCE);
    r->exclusive = alone || c->conf->select == CONF_SELECT_LINEAR;
    r->user_alone = r->ask_user_alone || (j->part && j->part->conf.exclusive_user);
    r->shared = !alone && (share == CONF_SHARE_FORCE || (share == CONF_SHARE_YES && r->ask_shared));
}

void job_set_sharing(const struct cluster *c, struct job *j)
{
    set_sharing(c, j);
    for (uint32_t i = 1; j->several && i < j->several->count; i++) {
        several_enter(j, i);
        set_sharing(c, j);
        j->several->of[i].judged = false;
    }
    several_leave(j);
    if (j->several)
        j->several->of[0].judged = false;
}

/* As a job of the partition it has. */
static int read_request(const struct cluster *c, struct job *j, const Pb__JobSpec *s,
                        struct err *err)
{
    struct request r = {0};
    int rc = read_sets(c, &r, s, err);
    if (rc == 0)
        rc = request_read_place(&r, s, err);
    if (rc != 0) {
        request_done(&r);
        return rc;
    }
    read_counts(&r, s);
    if (s->has_max_nodes && s->max_nodes && s->max_nodes < r.min_nodes) {
        request_done(&r);
        return err_set(err, -ERR_NODE_COUNT, "%s", err_text(ERR_NODE_COUNT));
    }
    read_memory(c, j, &r, s);
    r.min_cpus = OR(s, min_cpus_per_node, 0);
    request_read_cores(c, &r, s);
    rc = request_read_gres(c, j, &r, s, err);
    if (rc == 0)
        rc = license_read(c, s->licenses, &r.licenses, err);
    if (rc != 0) {
        request_done(&r);
        return rc;
    }
    pay_memory_in_cpus(c, j, &r);
    r.tmp_mib = OR(s, tmp_per_node_mib, 0);
    r.overcommit = OR(s, overcommit, 0);
    r.contiguous = OR(s, contiguous, 0);
    r.ask_exclusive = OR(s, exclusive, 0) || r.spec_cores;
    r.ask_shared = OR(s, oversubscribe, 0);
    r.shared = j->want.shared;
    r.exclusive = j->want.exclusive;
    r.user_alone = j->want.user_alone;
    request_done(&j->want);
    j->want = r;
    set_sharing(c, j);
    j->unfit_stamp = j->ahead_stamp = 0;
    return 0;
}

/* What each partition gives to jobs that state no time is theirs there. */
static void read_faces(struct job *j, const Pb__JobSpec *s, int64_t limit_sec)
{
    struct several *of = j->several;
    for (uint32_t i = 0; of && i < of->count; i++) {
        struct face *f = &of->of[i];
        const struct conf_part *p = &f->part->conf;
        int64_t fallback = p->default_time_sec > 0 ? p->default_time_sec : p->max_time_sec;
        f->judged = f->never = false;
        f->expected_at = 0;
        bool given = s->has_time_limit_sec && (s->time_limit_sec > 0 || limit_sec == INT64_MAX);
        f->limit_sec = given ? limit_sec : fallback;
        j->limit_sec = i == 0 ? f->limit_sec : j->limit_sec;
    }
}

int job_read_spec(const struct cluster *c, struct job *j, const Pb__JobSpec *s, struct err *err)
{
    several_leave(j);
    int rc = read_request(c, j, s, err);
    for (uint32_t i = 1; j->several && i < j->several->count && rc == 0; i++) {
        several_enter(j, i);
        rc = read_request(c, j, s, err);
    }
    several_leave(j);
    if (rc != 0)
        return rc;
    read_faces(j, s, j->limit_sec);
    j->switches_since = 0;
    j->switches_waived = false;
    j->no_kill = OR(s, no_kill, 0);
    j->batch = OR(s, batch, 0);
    j->may_requeue = j->batch && OR(s, requeue, (protobuf_c_boolean)(c->conf->job_requeue != 0));
    j->nice = OR(s, nice, 0);
    j->waits.kill_given = s->has_kill_invalid_dep;
    j->waits.kill = OR(s, kill_invalid_dep, 0);
    j->rank.site_factor = OR(s, site_factor, 0);
    read_warning(j, s->signal);
    j->deadline_at = OR(s, deadline_at_sec, 0) > 0 ? s->deadline_at_sec : 0;
    j->time_min_sec = OR(s, time_min_sec, 0) > 0 ? s->time_min_sec : 0;
    j->resv_asked = s->reservation && *s->reservation;
    j->begin_at = OR(s, begin_at_sec, 0);
    if (j->begin_at < 0) /* long ago is now; sums with the clock must not overflow */
        j->begin_at = 0;
    if (j->begin_at > BEGIN_MAX_SEC)
        j->begin_at = BEGIN_MAX_SEC;
    unsigned mail = 0;
    j->mail = s->mail_type && job_mail_parse(s->mail_type, &mail) ? (uint16_t)mail : 0;
    return 0;
}

bool job_mail_parse(const char *list, unsigned *mail)
{
    static const struct {
        const char *word;
        unsigned mail;
    } words[] = {
        {"NONE", 0},
        {"BEGIN", JOB_MAIL_BEGIN},
        {"END", JOB_MAIL_END},
        {"FAIL", JOB_MAIL_FAIL},
        {"REQUEUE", JOB_MAIL_REQUEUE},
        {"ALL", JOB_MAIL_BEGIN | JOB_MAIL_END | JOB_MAIL_FAIL | JOB_MAIL_REQUEUE},
        {"TIME_LIMIT", JOB_MAIL_LIMIT},
        {"TIME_LIMIT_90", JOB_MAIL_LIMIT_90},
        {"TIME_LIMIT_80", JOB_MAIL_LIMIT_80},
        {"TIME_LIMIT_50", JOB_MAIL_LIMIT_50},
        {"INVALID_DEPEND", 0},
        {"STAGE_OUT", 0},
        {"ARRAY_TASKS", JOB_MAIL_TASKS},
    };
    *mail = 0;
    for (const char *s = list; *s;) {
        size_t len = strcspn(s, ","), i = 0, count = sizeof words / sizeof words[0];
        for (; i < count; i++)
            if (strlen(words[i].word) == len && strncasecmp(words[i].word, s, len) == 0)
                break;
        if (i == count && len)
            return false;
        *mail |= len ? words[i].mail : 0;
        s += len + (s[len] == ',');
    }
    return true;
}

Pb__JobSpec *job_unpack_spec(const struct job *j, struct arena *arena)
{
    return arena_unpack(arena, &pb__job_spec__descriptor, j->spec.data, j->spec.len);
}

void job_format_nodes(const struct cluster *c, const struct job *j, struct str *out)
{
    _cleanup_hostlist_ struct hostlist *list = hostlist_new();
    vec_foreach (&j->alloc, a)
        hostlist_push(list, c->nodes.data[a->node]->name);
    hostlist_format(list, out);
}

uint32_t job_alloc_cpus(const struct job *j)
{
    uint32_t sum = 0;
    vec_foreach (&j->alloc, a)
        sum += a->cpus;
    return sum;
}

uint32_t job_nodes_left(const struct job *j)
{
    uint32_t left = 0;
    vec_foreach (&j->alloc, a)
        left += !a->released;
    return left;
}

#define SET(m, field, value) ((m)->has_##field = true, (m)->field = (value))

static void pack_alloc(const struct cluster *c, const struct job *j, Pb__JobLive *m,
                       struct arena *arena)
{
    m->alloc = arena_alloc(arena, sizeof(*m->alloc) * (j->alloc.len + 1));
    uint64_t mem = 0;
    vec_foreach (&j->alloc, a) {
        const struct node *n = c->nodes.data[a->node];
        Pb__NodeAlloc *p = arena_alloc(arena, sizeof(*p));
        pb__node_alloc__init(p);
        p->node = (char *)n->name;
        p->cpus = a->cpus;
        size_t bytes = (a->busy->size + 7) / 8;
        uint8_t *bits = arena_alloc(arena, bytes + 1);
        bitset_foreach (a->busy, i)
            bits[i / 8] |= (uint8_t)(1u << (i % 8));
        SET(p, cores, ((ProtobufCBinaryData){bytes, bits}));
        SET(p, mem_mib, a->mem_mib);
        if (a->released)
            SET(p, released, true);
        if (a->parked)
            SET(p, parked, true);
        p->incarnation = a->incarnation;
        if (a->usage_seq)
            SET(p, usage_seq, a->usage_seq);
        p->n_gres = a->gres.len;
        p->gres = gres_held_pack(c, a->gres.data, a->gres.len, arena);
        m->alloc[m->n_alloc++] = p;
        mem += a->mem_mib;
    }
    if (mem)
        SET(m, mem_mib, mem);
}

/* Of what it holds: it stays so, whatever its partition says later. */
static void pack_sharing(const struct job *j, Pb__JobLive *m)
{
    if (!j->alloc.len)
        return;
    SET(m, shares, j->want.shared);
    SET(m, alone, j->want.exclusive);
    if (j->want.user_alone)
        SET(m, user_alone, true);
}

static void pack_where(const struct cluster *c, const struct job *j, Pb__JobLive *m,
                       struct arena *arena)
{
    if (j->past) {
        m->nodes = j->past->nodes;
        m->batch_host = j->past->batch_host;
        SET(m, num_nodes, j->past->num_nodes);
        SET(m, num_cpus, j->past->num_cpus);
        pack_alloc(c, j, m, arena);
    } else if (j->alloc.len) {
        struct str nodes = STR_INIT;
        job_format_nodes(c, j, &nodes);
        m->nodes = arena_strdup(arena, str_cstr(&nodes));
        str_done(&nodes);
        m->batch_host = (char *)c->nodes.data[j->alloc.data[0].node]->name;
        SET(m, num_nodes, (uint32_t)j->alloc.len);
        SET(m, num_cpus, job_alloc_cpus(j));
        pack_alloc(c, j, m, arena);
    } else {
        SET(m, num_nodes, j->want.min_nodes);
        uint32_t cpus = j->want.tasks * j->want.cpus_per_task;
        SET(m, num_cpus, cpus > j->want.min_nodes ? cpus : j->want.min_nodes);
    }
    SET(m, num_tasks, j->want.tasks);
}

static void pack_failed(const struct depend *d, Pb__JobLive *m, struct arena *arena)
{
    bool any = false;
    vec_foreach (&d->items, item)
        any = any || item->bad.count;
    if (!any)
        return;
    m->depend_failed = arena_alloc(arena, sizeof(*m->depend_failed) * d->items.len);
    vec_foreach (&d->items, item) {
        _cleanup_str_ struct str text = STR_INIT;
        idset_format(&item->bad, &text);
        m->depend_failed[m->n_depend_failed++] = arena_strdup(arena, str_cstr(&text));
    }
}

static void pack_depend(const struct job *j, Pb__JobLive *m, struct arena *arena)
{
    _cleanup_str_ struct str states = STR_INIT;
    m->dependency = j->waits.shown;
    if (!j->waits.on)
        return;
    depend_pack(j->waits.on, &states);
    m->depend_states = arena_strdup(arena, str_cstr(&states));
    pack_failed(j->waits.on, m, arena);
    m->depend_from_at =
        arena_alloc(arena, sizeof(*m->depend_from_at) * (j->waits.on->items.len + 1));
    vec_foreach (&j->waits.on->items, item)
        if (item->from_at)
            m->n_depend_from_at = j->waits.on->items.len;
    vec_foreach (&j->waits.on->items, item)
        m->depend_from_at[item - j->waits.on->items.data] = item->from_at;
}

static void pack_times(const struct job *j, Pb__JobLive *m)
{
    SET(m, submit_at, j->submit_at);
    SET(m, eligible_at, j->eligible_at);
    int64_t expected = j->expected_at ? j->expected_at : j->begin_at;
    int64_t start = j->state == PB__JOB_STATE__PENDING ? expected : j->start_at;
    if (start)
        SET(m, start_at, start);
    if (j->end_at)
        SET(m, end_at, j->end_at);
    else if (j->state == PB__JOB_STATE__RUNNING && j->limit_sec != INT64_MAX)
        SET(m, end_at, j->start_at + j->limit_sec + j->suspended_sec);
    if (j->suspended_sec)
        SET(m, suspended_sec, j->suspended_sec);
    if (j->halts) {
        SET(m, halts, j->halts);
        SET(m, suspended_at, j->suspended_at);
        SET(m, ran_ms, j->ran_ms);
    }
    if (j->yielded)
        SET(m, yielded, true);
    if (j->preempted_at)
        SET(m, preempted_at, j->preempted_at);
    if (j->start_mono_ms)
        SET(m, start_mono_ms, j->start_mono_ms);
    if (j->end_mono_ms)
        SET(m, end_mono_ms, j->end_mono_ms);
    if (j->boot && (j->start_mono_ms || j->end_mono_ms))
        SET(m, boot, j->boot);
    if (j->sched_at)
        SET(m, last_sched_at, j->sched_at);
    SET(m, time_limit_sec, j->limit_sec);
}

static void pack_array(const struct job *j, Pb__JobLive *m, struct str *tasks)
{
    if (!j->array)
        return;
    SET(m, array_job_id, j->array->id);
    if (j->array->throttle)
        SET(m, array_throttle, j->array->throttle);
    idset_format(&j->tasks, tasks);
    if (j->tasks.count)
        m->array_tasks = (char *)str_cstr(tasks);
    else
        SET(m, array_task_id, j->task);
}

static void pack_parts(const struct job *j, Pb__JobLive *m, struct arena *arena)
{
    const struct several *s = j->several;
    m->partition = j->part ? (char *)j->part->conf.name : j->part_name;
    if (!s)
        return;
    struct str names = STR_INIT;
    several_format(j, &names);
    m->partition = arena_strdup(arena, str_cstr(&names));
    str_done(&names);
    m->part_priority = arena_alloc(arena, s->count * sizeof(*m->part_priority));
    m->n_part_priority = s->count;
    for (uint32_t i = 0; i < s->count; i++)
        m->part_priority[i] = i == s->at ? j->priority : s->of[i].priority;
}

void job_pack_live(const struct cluster *c, struct job *j)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__JobLive m = PB__JOB_LIVE__INIT;
    m.job_id = j->id;
    m.state = j->state;
    if (j->completing)
        SET(&m, completing, true);
    if (j->restarts)
        SET(&m, restarts, j->restarts);
    m.reason = (char *)j->reason;
    m.reason_detail = j->reason_detail;
    SET(&m, priority, j->held || j->admin_hold ? 0 : j->priority);
    if (j->held)
        SET(&m, user_hold, true);
    if (j->admin_hold)
        SET(&m, admin_hold, true);
    if (j->rank.given)
        SET(&m, priority_given, true);
    if (j->rank.accrue_at)
        SET(&m, accrue_at, j->rank.accrue_at);
    if (j->rank.accrued_sec)
        SET(&m, accrued_sec, j->rank.accrued_sec);
    pack_parts(j, &m, &arena);
    m.reservation = j->resv_name;
    if (j->resv_gone)
        SET(&m, resv_gone, true);
    if (j->resv_end_at)
        SET(&m, resv_end_at, j->resv_end_at);
    pack_times(j, &m);
    pack_where(c, j, &m, &arena);
    pack_sharing(j, &m);
    pack_depend(j, &m, &arena);
    SET(&m, exit_status, j->exit_status);
    SET(&m, derived_status, j->derived_status);
    SET(&m, next_step, j->next_step);
    if (j->launched)
        SET(&m, launched, true);
    if (j->cancelled_by)
        SET(&m, cancelled_by, j->cancelled_by);
    if (j->backfilled)
        SET(&m, scheduled_by_backfill, true);
    if (j->interactive_step)
        SET(&m, interactive_step, true);
    if (j->requeue_after)
        SET(&m, requeue_after, true);
    if (j->special_exit)
        SET(&m, special_exit, true);
    if (j->warned)
        SET(&m, warned, true);
    if (j->configuring)
        SET(&m, configuring, true);
    if (j->epilog_due)
        SET(&m, epilog_due, true);
    struct str tasks = STR_INIT;
    pack_array(j, &m, &tasks);
    j->shown_sched_at = j->sched_at;
    size_t len = protobuf_c_message_get_packed_size(&m.base);
    str_clear(&j->live);
    str_reserve(&j->live, len);
    pb_pack(&m.base, &j->live);
    str_done(&tasks);
    if (j->usage)
        pb_pack_field(LIVE_USAGE, j->usage->data, j->usage->len, &j->live);
    if (j->newer)
        str_append(&j->live, j->newer->live.data, j->newer->live.len);
}

void job_pack_step(const struct step *s, struct str *out)
{
    str_append(out, s->record.data, s->record.len);
    if (s->usage.len)
        pb_pack_field(STEP_USAGE, s->usage.data, s->usage.len, out);
}

void job_pack_record(const struct job *j, struct str *out)
{
    pb_pack_field(1, j->spec.data, j->spec.len, out);
    pb_pack_field(2, j->live.data, j->live.len, out);
    vec_foreach (&j->steps, s) {
        _cleanup_str_ struct str step = STR_INIT;

        job_pack_step(s, &step);
        pb_pack_field(3, step.data, step.len, out);
    }
    if (j->newer)
        str_append(out, j->newer->record.data, j->newer->record.len);
}

void job_step_done(struct step *s)
{
    vec_foreach (&s->nodes, n) {
        vec_foreach (&n->gres, held)
            gres_held_done(held);
        vec_done(&n->gres);
    }
    vec_done(&s->nodes);
    str_done(&s->record);
    str_done(&s->usage);
}

static void restore_step_gres(const struct cluster *c, const struct node *n, struct alloc_node *a,
                              struct step_node *to, const Pb__StepNode *stored, bool overlap)
{
    for (size_t i = 0; i < stored->n_gres; i++) {
        struct gres_held step;
        if (!gres_held_unpack(c, n, stored->gres[i], &step))
            continue;
        struct gres_held *job = gres_held_find(a, step.kind);
        if (job && !overlap)
            gres_held_step(job, &step);
        vec_push(&to->gres, step);
    }
}

static void restore_step(struct cluster *c, struct job *j, const Pb__StepRecord *r)
{
    struct step s = {
        .id = r->step_id, .overlap = OR(r, overlap, 0), .exit_status = OR(r, exit_status, 0)};
    if (r->request_id.len == sizeof s.request_id)
        memcpy(s.request_id, r->request_id.data, sizeof s.request_id);
    for (size_t i = 0; i < r->n_layout; i++) {
        struct node *n = cluster_find_node(c, r->layout[i]->node);
        struct alloc_node *a = n ? alloc_find(j, n->index) : NULL;
        if (!a)
            continue;
        struct step_node sn = {.at = (uint32_t)(a - j->alloc.data),
                               .cpus = r->layout[i]->cpus,
                               .tasks = (uint32_t)r->layout[i]->n_task_ids};
        bool own = OR(r, own_memory, 0) && OR(r->layout[i], mem_mib, 0) < a->mem_mib;
        sn.mem_mib = own ? r->layout[i]->mem_mib : 0;
        if (OR(r, own_gres, 0))
            restore_step_gres(c, n, a, &sn, r->layout[i], s.overlap);
        vec_push(&s.nodes, sn);
        a->step_cpus += s.overlap ? 0 : sn.cpus;
        a->step_mem_mib += s.overlap ? 0 : sn.mem_mib;
    }
    Pb__StepRecord record = *r;
    if (r->usage)
        pb_pack(&r->usage->base, &s.usage);
    record.usage = NULL;
    pb_pack(&record.base, &s.record);
    vec_push(&j->steps, s);
}

/* Sums of two of them do not overflow. */
static int64_t bounded_time(int64_t sec)
{
    return sec < 0 ? 0 : sec > BEGIN_MAX_SEC ? BEGIN_MAX_SEC : sec;
}

static void restore_live(struct job *j, const Pb__JobLive *m)
{
    j->completing = OR(m, completing, 0);
    j->restarts = OR(m, restarts, 0);
    j->priority = OR(m, priority, 0);
    j->rank.given = OR(m, priority_given, 0);
    j->rank.accrue_at = bounded_time(OR(m, accrue_at, 0));
    j->rank.accrued_sec = bounded_time(OR(m, accrued_sec, 0));
    j->held = OR(m, user_hold, 0);
    j->admin_hold = OR(m, admin_hold, 0);
    j->submit_at = OR(m, submit_at, 0);
    j->eligible_at = OR(m, eligible_at, 0);
    j->start_at = m->state == PB__JOB_STATE__PENDING ? 0 : OR(m, start_at, 0);
    bool runs = m->state == PB__JOB_STATE__RUNNING || m->state == PB__JOB_STATE__SUSPENDED;
    j->end_at = runs || m->state == PB__JOB_STATE__PENDING ? 0 : OR(m, end_at, 0);
    j->suspended_sec = bounded_time(OR(m, suspended_sec, 0));
    j->suspended_at = bounded_time(OR(m, suspended_at, 0));
    j->ran_ms = bounded_time(OR(m, ran_ms, 0));
    j->halts = OR(m, halts, 0);
    j->preempted_at = bounded_time(OR(m, preempted_at, 0));
    j->start_mono_ms = OR(m, start_mono_ms, 0);
    j->end_mono_ms = OR(m, end_mono_ms, 0);
    j->boot = OR(m, boot, 0);
    j->sched_at = OR(m, last_sched_at, 0);
    j->limit_sec = OR(m, time_limit_sec, INT64_MAX);
    j->exit_status = OR(m, exit_status, 0);
    j->derived_status = OR(m, derived_status, 0);
    j->next_step = OR(m, next_step, 0);
    j->launched = OR(m, launched, 0);
    j->cancelled_by = OR(m, cancelled_by, 0);
    j->backfilled = OR(m, scheduled_by_backfill, 0);
    j->interactive_step = OR(m, interactive_step, 0);
    j->requeue_after = OR(m, requeue_after, 0);
    j->special_exit = OR(m, special_exit, 0);
    j->warned = OR(m, warned, 0);
    j->configuring = OR(m, configuring, 0);
    j->epilog_due = OR(m, epilog_due, 0);
    j->resv_name = mem_strdup(m->reservation);
    j->resv_gone = OR(m, resv_gone, 0);
    j->resv_end_at = bounded_time(OR(m, resv_end_at, 0));
    j->reason = j->stored_reason = mem_strdup(m->reason);
    j->reason_detail = mem_strdup(m->reason_detail);
    if (m->usage) {
        j->usage = mem_new(struct str);
        pb_pack(&m->usage->base, j->usage);
    }
}

/* Leaves out of an expression the nodes that the configuration has no more. True: there were some.
 */
static bool drop_gone_nodes(const struct cluster *c, char **expr, struct arena *arena)
{
    _cleanup_hostlist_ struct hostlist *named = NULL, *known = NULL;
    char name[HOSTLIST_NAME_MAX + 1];
    struct str out = STR_INIT;
    if (!*expr || hostlist_parse(*expr, &named, NULL) != 0)
        return false;
    known = hostlist_new();
    for (size_t i = 0; i < hostlist_count(named); i++)
        if (cluster_find_node(c, hostlist_nth(named, i, name)))
            hostlist_push(known, name);
    bool gone = hostlist_count(known) < hostlist_count(named);
    hostlist_format(known, &out);
    if (gone)
        *expr = arena_strdup(arena, str_cstr(&out));
    str_done(&out);
    return gone;
}

/* A job outlives the nodes it names: it goes on where it runs, and waits when it needs them. */
static int read_stored_spec(const struct cluster *c, struct job *j, const Pb__JobSpec *stored,
                            struct err *err)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__JobSpec spec = *stored;
    drop_gone_nodes(c, &spec.exc_nodes, &arena);
    bool gone = drop_gone_nodes(c, &spec.req_nodes, &arena);
    int rc = job_read_spec(c, j, &spec, err);
    j->want.req_gone = gone;
    return rc;
}

/* Where it ran is said as long as it is known. */
static void keep_past(struct job *j, const Pb__JobLive *m)
{
    if (!m->nodes)
        return;
    job_forget_past(j);
    j->past = mem_new(struct job_past);
    j->past->nodes = mem_strdup(m->nodes);
    j->past->batch_host = mem_strdup(m->batch_host);
    j->past->num_nodes = m->num_nodes;
    j->past->num_cpus = m->num_cpus;
}

void job_forget_past(struct job *j)
{
    if (!j->past)
        return;
    free(j->past->nodes);
    free(j->past->batch_host);
    free(take_ptr(j->past));
}

/* What it waits for, as far as that was known: control/ looks at the jobs it names again. */
static void restore_depend(struct cluster *c, struct job *j, const Pb__JobSpec *spec,
                           const Pb__JobLive *m)
{
    if (!m->depend_states || !spec->dependency)
        return;
    struct depend *d = mem_new(struct depend);
    if (depend_parse(spec->dependency, d, NULL) != 0 || !depend_unpack(d, m->depend_states)) {
        depend_free(d);
        return;
    }
    for (size_t i = 0; i < m->n_depend_from_at && i < d->items.len; i++)
        d->items.data[i].from_at = m->depend_from_at[i];
    for (size_t i = 0; i < m->n_depend_failed && i < d->items.len; i++)
        idset_parse(m->depend_failed[i], ARRAY_SIZE_MAX, &d->items.data[i].bad, NULL);
    j->waits.shown = mem_strdup(m->dependency);
    depend_set(c, j, d);
}

static void keep_newer(struct job *j, const Pb__JobRecord *record)
{
    if (!record->base.n_unknown_fields && !record->live->base.n_unknown_fields)
        return;
    j->newer = mem_new(struct job_newer);
    pb_pick_unknown(&record->base, &j->newer->record);
    pb_pick_unknown(&record->live->base, &j->newer->live);
}

static int restore_array(struct cluster *c, struct job *j, const Pb__JobRecord *record,
                         struct err *err)
{
    const Pb__JobLive *m = record->live;
    if (!m->has_array_job_id)
        return 0;
    j->task = OR(m, array_task_id, ARRAY_NO_TASK);
    if (m->array_tasks && idset_parse(m->array_tasks, ARRAY_SIZE_MAX, &j->tasks, NULL) != 0)
        return err_set(err, -ERR_STORE_DAMAGED, "job %u: its record has no elements of its array",
                       j->id);
    if (m->array_tasks)
        j->task = ARRAY_NO_TASK;
    array_settle(j);
    return array_join(c, j, m->array_job_id, record->spec->array_inx, err);
}

/* One that waits may run in all that were asked for and are there; a record knows no others. */
static void find_parts(struct cluster *c, struct job *j, const Pb__JobRecord *record)
{
    const char *asked = record->spec->partition, *has = record->live->partition;
    bool several = record->live->state == PB__JOB_STATE__PENDING && asked && strchr(asked, ',');
    j->limit_sec = OR(record->live, time_limit_sec, INT64_MAX);
    if (several && several_resolve(c, j, asked)) {
        _cleanup_str_ struct str now = STR_INIT;
        several_format(j, &now);
        if (!str_eq(has, j->several ? str_cstr(&now) : j->part->conf.name)) /* some came or went */
            job_touch(c, j);
        return;
    }
    j->part = has ? cluster_find_part(c, has) : NULL;
    j->part_name = j->part ? NULL : mem_strdup(has);
}

int job_restore(struct cluster *c, struct job *j, const Pb__JobRecord *record, struct err *err)
{
    const Pb__JobLive *m = record->live;
    if ((unsigned)m->state > PB__JOB_STATE__OUT_OF_MEMORY)
        return err_set(err, -ERR_STORE_DAMAGED, "job %u: its record has the unknown state %d",
                       j->id, (int)m->state);
    int rc = restore_array(c, j, record, err);
    if (rc != 0)
        return rc;
    find_parts(c, j, record);
    j->uid = OR(record->spec, uid, 0);
    j->gid = OR(record->spec, gid, 0);
    pb_pack(&record->spec->base, &j->spec);
    keep_newer(j, record);
    rc = read_stored_spec(c, j, record->spec, err);
    restore_live(j, m);
    if (m->n_alloc && m->has_shares) {
        j->want.shared = m->shares;
        j->want.exclusive = OR(m, alone, false);
        j->want.user_alone = OR(m, user_alone, false);
    }
    job_load_state(c, j, m->state);
    park_yield(c, j, OR(m, yielded, false) && !job_is_final(j));
    depend_place_name(c, j);
    restore_depend(c, j, record->spec, m);
    bool past = false;
    for (size_t i = 0; i < m->n_alloc; i++) {
        bool held = !m->alloc[i]->has_released || !m->alloc[i]->released;
        bool gone = alloc_retake(c, j, m->alloc[i]) != 0;
        j->lost_node = j->lost_node || (gone && held);
        j->lost_first = j->lost_first || (gone && i == 0);
        past = past || (gone && !held);
    }
    if (past && job_is_final(j))
        keep_past(j, m);
    if (j->lost_node) /* a node that comes back must not be its own by the record */
        job_touch(c, j);
    for (size_t i = 0; i < record->n_steps; i++)
        restore_step(c, j, record->steps[i]);
    job_pack_live(c, j);
    return rc;
}

void job_touch(struct cluster *c, struct job *j)
{
    j->stamp = ++c->stamp;
    if (j->dirty)
        return;
    j->dirty = true;
    vec_push(&c->dirty, j->id);
}

int64_t job_limit_sec(const struct job *j)
{
    return j->limit_sec < CLUSTER_NO_LIMIT_SEC ? j->limit_sec : CLUSTER_NO_LIMIT_SEC;
}

int64_t job_ends_at(const struct job *j, int64_t from)
{
    return from + job_limit_sec(j);
}
