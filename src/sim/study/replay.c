/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/study/replay.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/timefmt.h"
#include "cluster/index/idmap.h"
#include "cluster/index/order.h"
#include "cluster/node/shape.h"
#include "control/control.h"

#define NO_JOB UINT32_MAX

struct trip {                /* progress of a trace's job in this world */
    struct order_link event; /* its submission, or the end of its running attempt */
    bool submitted, runs;
    uint32_t restarts, attempt; /* of the running attempt */
    const char *node;           /* the node of its script */
    uint32_t first_follower, next_follower;
};

struct answer {
    const char *node;
    uint32_t job_id, restarts;
    uint64_t nonce; /* unique number of an event */
    bool launched, gone;
};

struct world {
    const struct replay_options *options;
    struct replay *r;
    struct control *control;
    struct env env;
    const struct conf *conf;
    int64_t now_sec, first_wall_sec, wake_ms;
    uint64_t seq;
    struct order events;
    struct trip *trips;
    struct idmap ids;    /* job id: index in the trace */
    uint32_t submitting; /* index of the job under submission; NO_JOB: none */
    VEC(struct answer) answers;
    struct arena arena; /* memory of one message */
};

/* Orders to the nodes, which carry them out at once. */
static void take_orders(void *ctx, const char *node, const Pb__NodeOrders *m);
static void carry_answer(struct world *w, const struct answer *a);
static void end_script(struct world *w, uint32_t job); /* ends without a signal */
static void register_nodes(struct world *w);

#define FIRST_WALL_SEC INT64_C(1000000000) /* for a trace without a start time */
#define FIRST_MONO_MS INT64_C(1000000)
#define IDLE_SEC (INT64_C(366) * 86400) /* longest wait for an event that time causes */
#define USER_FIRST 1000 /* uid of the trace's first user; numbers in the trace start at 0 or 1 */

/* --- events ------------------------------------------------------------------------------------
 */

/* Within one second, ends come first. */
static void push_event(struct world *w, uint32_t job, int64_t at_sec, bool submission)
{
    order_move(&w->events, &w->trips[job].event, at_sec * 2 + submission, job);
}

static int64_t event_sec(const struct order_link *l)
{
    return l->key >> 1;
}

/* Submits the jobs that follow this job, after their think time. */
static void let_follow(struct world *w, uint32_t job)
{
    uint32_t next = w->trips[job].first_follower;
    w->trips[job].first_follower = NO_JOB;
    for (; next != NO_JOB; next = w->trips[next].next_follower)
        push_event(w, next, w->now_sec + w->r->trace->jobs.data[next].think_sec, true);
}

/* --- users -------------------------------------------------------------------------------------
 */

/* The partition that the header names for the job's partition or queue; NULL: the default
 * partition. */
static const char *find_part(const struct world *w, const struct trace_job *t)
{
    const char *part = trace_name(w->r->trace, true, t->part);
    const char *queue = trace_name(w->r->trace, false, t->queue);
    if (part && conf_find_part(w->conf, part) >= 0)
        return part;
    return queue && conf_find_part(w->conf, queue) >= 0 ? queue : NULL;
}

static void make_spec(struct world *w, const struct trace_job *t, Pb__JobSpec *s)
{
    pb__job_spec__init(s);
    s->partition = (char *)find_part(w, t);
    if (t->shape) { /* validated when it was read */
        arena_reset(&w->arena, 0);
        shape_parse(t->shape, &w->arena, s, NULL);
        s->has_time_limit_sec = t->limit_sec > 0;
        s->time_limit_sec = t->limit_sec;
        return;
    }
    s->has_num_tasks = true;
    s->num_tasks = t->procs;
    s->has_time_limit_sec = t->limit_sec > 0;
    s->time_limit_sec = t->limit_sec;
    s->has_mem_per_cpu_mib = t->mem_kib > 0 && (w->conf->cr & CONF_CR_MEMORY);
    s->mem_per_cpu_mib = (t->mem_kib + 1023) / 1024;
}

static void submit_traced(struct world *w, uint32_t job)
{
    static uint8_t nothing[] = "#!";
    const struct trace_job *t = &w->r->trace->jobs.data[job];
    char user[24], group[24];
    Pb__SubmitRequest m = PB__SUBMIT_REQUEST__INIT;
    Pb__JobPayload payload = PB__JOB_PAYLOAD__INIT;
    Pb__JobSpec spec;
    snprintf(user, sizeof user, "u%u", t->user);
    snprintf(group, sizeof group, "g%u", t->group);
    struct caller who = {.uid = USER_FIRST + t->user,
                         .gid = USER_FIRST + t->group,
                         .user_name = user,
                         .group_name = group,
                         .host = "sim"};
    make_spec(w, t, &spec);
    payload.has_script = true;
    payload.script = (ProtobufCBinaryData){sizeof nothing - 1, nothing};
    m.spec = &spec;
    m.payload = &payload;
    w->trips[job].submitted = true;
    w->r->jobs[job].submit_sec = w->r->last_submit_sec = w->now_sec;
    w->submitting = job;
    control_submit(w->control, (uint64_t)job + 1, &who, &m);
    w->submitting = NO_JOB;
}

static void on_reply(void *ctx, uint64_t call, const ProtobufCMessage *m)
{
    struct world *w = ctx;
    if (w->submitting == NO_JOB || m->descriptor != &pb__submit_reply__descriptor)
        return;
    const Pb__SubmitReply *reply = (const Pb__SubmitReply *)m;
    w->r->jobs[w->submitting].job_id = reply->job_id;
    idmap_set(&w->ids, reply->job_id, w->submitting);
}

static void on_reply_error(void *ctx, uint64_t call, int code, const char *text)
{
    struct world *w = ctx;
    if (w->submitting == NO_JOB)
        return;
    struct replay_job *j = &w->r->jobs[w->submitting];
    j->fate = REPLAY_REFUSED;
    j->why = arena_strdup(&w->r->arena, text ? text : err_text(code));
    let_follow(w, w->submitting);
}

/* --- the rest of the controller's world --------------------------------------------------------
 */

static int64_t on_wall(void *ctx)
{
    const struct world *w = ctx;
    return (w->first_wall_sec + w->now_sec) * 1000;
}

static int64_t on_mono(void *ctx)
{
    return FIRST_MONO_MS + ((const struct world *)ctx)->now_sec * 1000;
}

static void on_wake(void *ctx, int64_t mono_ms)
{
    ((struct world *)ctx)->wake_ms = mono_ms;
}

static void on_put(void *ctx, enum record_kind kind, uint64_t number, const char *name,
                   const void *data, size_t len)
{
}

static void on_del(void *ctx, enum record_kind kind, uint64_t number, const char *name)
{
    if (kind == RECORD_JOB)
        idmap_remove(&((struct world *)ctx)->ids, number);
}

static void on_ack(void *ctx, const char *node, uint64_t seq)
{
}

static void on_replay_close(void *ctx, const char *node)
{
}

static void on_sign(void *ctx, const void *data, size_t len, uint8_t sig[64])
{
    memset(sig, 0, 64);
}

static bool on_group(void *ctx, uint32_t uid, const char *group)
{
    return true; /* traces have no group members */
}

static const char *on_name(void *ctx, uint32_t id)
{
    return NULL;
}

static void on_part_key(void *ctx, const char *name, uint64_t number,
                        char key[CONTROL_PART_KEY_SIZE])
{
    memset(key, 'x', CONTROL_PART_KEY_SIZE - 1);
    key[CONTROL_PART_KEY_SIZE - 1] = '\0';
}

static void on_log(void *ctx, enum log_level level, const char *room, const char *text)
{
    const struct world *w = ctx;
    if (w->options->verbose)
        fprintf(stderr, "%lld %s: %s\n", (long long)w->now_sec, room, text);
}

static void make_env(struct world *w)
{
    w->env = (struct env){.ctx = w,
                          .wall_ms = on_wall,
                          .mono_ms = on_mono,
                          .zone = &time_zone_host,
                          .wake_at = on_wake,
                          .put = on_put,
                          .del = on_del,
                          .reply = on_reply,
                          .reply_error = on_reply_error,
                          .send = take_orders,
                          .ack = on_ack,
                          .welcome = on_ack,
                          .close = on_replay_close,
                          .sign = on_sign,
                          .user_in_group = on_group,
                          .user_name = on_name,
                          .group_name = on_name,
                          .part_key = on_part_key,
                          .log = on_log};
}

/* --- time --------------------------------------------------------------------------------------
 */

static double real_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static bool wakes_now(const struct world *w)
{
    return w->wake_ms <= FIRST_MONO_MS + w->now_sec * 1000;
}

static void run_tick(struct world *w)
{
    w->wake_ms = INT64_MAX;
    control_tick(w->control);
}

/* Runs until no more events occur in this second. */
static void settle_second(struct world *w)
{
    double from = real_ms();
    do {
        if (wakes_now(w))
            run_tick(w);
        control_turn(w->control);
        for (size_t i = 0; i < w->answers.len; i++) {
            struct answer a = w->answers.data[i];
            carry_answer(w, &a);
        }
        bool more = w->answers.len > 0;
        vec_clear(&w->answers);
        if (!more && !wakes_now(w))
            break;
    } while (true);
    vec_push(&w->r->turn_ms, (float)(real_ms() - from));
}

static void run_due_events(struct world *w)
{
    struct order_link *l;
    while ((l = order_first(&w->events)) && event_sec(l) <= w->now_sec) {
        uint32_t job = (uint32_t)l->tie;
        order_remove(&w->events, l);
        if (w->trips[job].submitted)
            end_script(w, job);
        else
            submit_traced(w, job);
    }
}

/* The second of the next event; INT64_MAX: there is none. */
static int64_t next_sec(const struct world *w)
{
    const struct order_link *l = order_first(&w->events);
    int64_t at = l ? event_sec(l) : INT64_MAX;
    int64_t wake = w->wake_ms == INT64_MAX ? INT64_MAX : (w->wake_ms - FIRST_MONO_MS + 999) / 1000;
    return wake < at ? wake : at;
}

static void run_trace(struct world *w)
{
    int64_t last_sec = w->now_sec;
    settle_second(w);
    for (int64_t at; (at = next_sec(w)) != INT64_MAX && at - last_sec <= IDLE_SEC;) {
        w->now_sec = at > w->now_sec ? at : w->now_sec;
        if (w->events.count)
            last_sec = w->now_sec;
        run_due_events(w);
        settle_second(w);
    }
}

/* --- beginning and end -------------------------------------------------------------------------
 */

static int read_conf(struct world *w, struct str *warnings, struct err *err)
{
    struct conf *conf = NULL;
    struct conf_report report = {0};
    int rc = conf_load(w->options->path, CONF_FULL, NULL, &conf, &report, err);
    if (rc == 0 && warnings)
        conf_report_format(&report, warnings);
    conf_report_done(&report);
    if (rc != 0)
        return rc;
    if (conf->nodes.len == 0 || conf->parts.len == 0) {
        conf_free(conf);
        return err_set(err, -ERR_CONFIG, "%s: it has no nodes, or no partition", w->options->path);
    }
    conf->slurmd_timeout_sec = 0; /* nodes never fail */
    conf->max_job_count = UINT32_MAX;
    conf->prolog = conf->epilog = "";
    w->conf = conf;
    w->control = control_new(conf, &w->env);
    control_set_plan_work(w->control, UINT64_MAX);
    control_set_forgetful(w->control);
    return 0;
}

static void count_nodes(const struct world *w, struct replay *r)
{
    r->cluster = arena_strdup(&r->arena, w->conf->cluster_name);
    r->nodes = (uint32_t)w->conf->nodes.len;
    r->node_cpus = mem_new_array(uint32_t, r->nodes + 1);
    r->node_names = arena_alloc(&r->arena, sizeof(char *) * (r->nodes + 1));
    for (uint32_t i = 0; i < r->nodes; i++) {
        r->node_cpus[i] = w->conf->node_rows.data[w->conf->nodes.data[i].row].cpus;
        r->node_names[i] = arena_strdup(&r->arena, w->conf->nodes.data[i].name);
        r->cpus += r->node_cpus[i];
    }
}

/* A job that follows an earlier one is submitted after it; the others at the trace's times. */
static void plan_submissions(struct world *w)
{
    const struct trace *t = w->r->trace;
    struct idmap numbers = {0};
    for (uint32_t i = 0; i < t->jobs.len; i++) {
        const struct trace_job *j = &t->jobs.data[i];
        uint32_t former;
        w->trips[i].first_follower = w->trips[i].next_follower = NO_JOB;
        if (w->options->think && j->after && idmap_get(&numbers, (uint64_t)j->after, &former)) {
            w->trips[i].next_follower = w->trips[former].first_follower;
            w->trips[former].first_follower = i;
        } else {
            push_event(w, i, j->submit_sec, true);
        }
        if (w->options->think)
            idmap_set(&numbers, (uint64_t)j->number, i);
    }
    idmap_done(&numbers);
}

/* Collects the controller's reasons for jobs that never started. */
static void ask_why(struct world *w)
{
    static const struct caller root = {.is_operator = true, .is_admin = true};
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    uint64_t cursor = 0;
    for (bool more = true; more;) {
        struct str out = STR_INIT;
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        more = control_list_jobs(w->control, &root, &filter, &cursor, 1 << 20, &out);
        const Pb__JobList *list =
            arena_unpack(&arena, &pb__job_list__descriptor, out.data, out.len);
        for (size_t i = 0; list && i < list->n_jobs; i++) {
            const Pb__JobLive *live = list->jobs[i]->live;
            uint32_t job;
            if (!live || !idmap_get(&w->ids, live->job_id, &job))
                continue;
            if (w->r->jobs[job].fate == REPLAY_WAITS)
                w->r->jobs[job].why =
                    arena_strdup(&w->r->arena, live->reason ? live->reason : "None");
        }
        str_done(&out);
    }
}

static void sum_up(struct replay *r)
{
    r->first_sec = r->trace->jobs.data[0].submit_sec;
    r->end_sec = r->last_submit_sec;
    vec_foreach (&r->attempts, a)
        r->end_sec = a->end_sec > r->end_sec ? a->end_sec : r->end_sec;
}

int replay_run(const struct trace *t, const struct replay_options *o, struct replay *r,
               struct str *warnings, struct err *err)
{
    struct world w = {.options = o, .r = r, .submitting = NO_JOB, .wake_ms = INT64_MAX};
    clock_t from = clock();
    *r = (struct replay){.trace = t};
    w.first_wall_sec = t->begins_at ? t->begins_at : FIRST_WALL_SEC;
    make_env(&w);
    int rc = read_conf(&w, warnings, err);
    if (rc != 0)
        return rc;
    arena_init(&r->arena, 0);
    arena_init(&w.arena, 0);
    r->jobs = mem_new_array(struct replay_job, t->jobs.len + 1);
    w.trips = mem_new_array(struct trip, t->jobs.len + 1);
    count_nodes(&w, r);
    plan_submissions(&w);
    control_start(w.control);
    register_nodes(&w);
    run_trace(&w);
    ask_why(&w);
    sum_up(r);
    control_free(w.control);
    idmap_done(&w.ids);
    vec_done(&w.answers);
    arena_done(&w.arena);
    free(w.trips);
    r->cpu_sec = (double)(clock() - from) / CLOCKS_PER_SEC;
    return 0;
}

void replay_done(struct replay *r)
{
    if (!r->trace)
        return;
    vec_done(&r->attempts);
    vec_done(&r->spans);
    vec_done(&r->turn_ms);
    free(r->jobs);
    free(r->node_cpus);
    arena_done(&r->arena);
    *r = (struct replay){0};
}

static void forget_end(struct world *w, uint32_t job)
{
    order_remove(&w->events, &w->trips[job].event);
}

static void attempt_over(struct world *w, uint32_t job, enum replay_fate fate)
{
    struct replay_job *j = &w->r->jobs[job];
    struct trip *trip = &w->trips[job];
    if (!trip->runs)
        return;
    trip->runs = false;
    forget_end(w, job);
    j->fate = fate;
    j->end_sec = w->r->attempts.data[trip->attempt].end_sec = w->now_sec;
    let_follow(w, job);
}

static void add_span(struct world *w, uint32_t node, uint32_t cpus)
{
    struct replay_attempt *a = &vec_last(&w->r->attempts);
    struct replay_span *last = a->spans ? &vec_last(&w->r->spans) : NULL;
    if (last && last->first + last->count == node && last->cpus == cpus) {
        last->count++;
        return;
    }
    a->spans++;
    vec_push(&w->r->spans, ((struct replay_span){node, 1, cpus}));
}

static void note_places(struct world *w, const Pb__Cred *cred)
{
    struct replay_attempt *a = &vec_last(&w->r->attempts);
    for (size_t i = 0; i < cred->n_job_nodes; i++) {
        const Pb__NodeShare *s = cred->job_nodes[i];
        long node = w->options->places ? conf_find_node(w->conf, s->node) : -1;
        a->nodes++;
        a->cpus += s->cpus;
        if (node >= 0)
            add_span(w, (uint32_t)node, s->cpus);
    }
}

static void begin_attempt(struct world *w, uint32_t job, const char *node, const Pb__LaunchBatch *m)
{
    struct replay_job *j = &w->r->jobs[job];
    struct trip *trip = &w->trips[job];
    arena_reset(&w->arena, 0);
    const Pb__Cred *cred =
        arena_unpack(&w->arena, &pb__cred__descriptor, m->cred.data, m->cred.len);
    trip->runs = true;
    trip->restarts = m->restarts;
    trip->node = node;
    trip->attempt = (uint32_t)w->r->attempts.len;
    vec_push(&w->r->attempts, ((struct replay_attempt){.job = job,
                                                       .start_sec = w->now_sec,
                                                       .end_sec = w->now_sec,
                                                       .first_span = w->r->spans.len}));
    if (cred)
        note_places(w, cred);
    j->fate = REPLAY_RUNS;
    j->start_sec = w->now_sec;
    j->restarts = m->restarts;
    j->nodes = vec_last(&w->r->attempts).nodes;
    j->cpus = vec_last(&w->r->attempts).cpus;
    push_event(w, job, w->now_sec + w->r->trace->jobs.data[job].run_sec, false);
}

static void take_launch(struct world *w, const char *node, const Pb__LaunchBatch *m)
{
    uint32_t job;
    if (!idmap_get(&w->ids, m->job_id, &job))
        return;
    if (!w->trips[job].runs || w->trips[job].restarts != m->restarts)
        begin_attempt(w, job, node, m);
    vec_push(&w->answers,
             ((struct answer){
                 .node = node, .job_id = m->job_id, .restarts = m->restarts, .launched = true}));
}

static void take_terminate(struct world *w, const char *node, const Pb__Terminate *m)
{
    uint32_t job;
    if (m->has_step_id)
        return;
    if (idmap_get(&w->ids, m->job_id, &job) && w->trips[job].restarts == m->restarts)
        attempt_over(w, job, REPLAY_KILLED);
    vec_push(&w->answers,
             ((struct answer){
                 .node = node, .job_id = m->job_id, .restarts = m->restarts, .gone = true}));
}

static void take_orders(void *ctx, const char *node, const Pb__NodeOrders *m)
{
    struct world *w = ctx;
    for (size_t i = 0; i < m->n_orders; i++) {
        const Pb__NodeOrder *o = m->orders[i];
        if (o->launch)
            take_launch(w, node, o->launch);
        if (o->terminate)
            take_terminate(w, node, o->terminate);
        if (o->signal)
            vec_push(&w->answers,
                     ((struct answer){
                         .node = node, .job_id = o->signal->job_id, .nonce = o->signal->nonce}));
    }
}

static void report_event(struct world *w, const char *node, Pb__NodeEvent *event)
{
    Pb__NodeReport m = PB__NODE_REPORT__INIT;
    event->seq = ++w->seq;
    m.events = &event;
    m.n_events = 1;
    control_node_report(w->control, node, &m);
}

static void carry_answer(struct world *w, const struct answer *a)
{
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__Launched launched = PB__LAUNCHED__INIT;
    Pb__JobGone gone = PB__JOB_GONE__INIT;
    Pb__SignalDone done = PB__SIGNAL_DONE__INIT;
    launched.job_id = gone.job_id = done.job_id = a->job_id;
    launched.restarts = gone.restarts = a->restarts;
    done.nonce = a->nonce;
    if (a->launched)
        event.launched = &launched;
    else if (a->gone)
        event.job_gone = &gone;
    else
        event.signal_done = &done;
    report_event(w, a->node, &event);
}

static void end_script(struct world *w, uint32_t job)
{
    const struct trip *trip = &w->trips[job];
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__BatchEnded m = PB__BATCH_ENDED__INIT;
    m.job_id = w->r->jobs[job].job_id;
    m.restarts = trip->restarts;
    m.exit_status = w->r->trace->jobs.data[job].failed ? 1 << 8 : 0;
    m.has_gone = m.gone = true;
    event.batch_ended = &m;
    attempt_over(w, job, REPLAY_ENDED);
    report_event(w, trip->node, &event);
}

static void register_nodes(struct world *w)
{
    vec_foreach (&w->conf->nodes, n) {
        const struct conf_node_row *row = &w->conf->node_rows.data[n->row];
        Pb__NodeRegister m = PB__NODE_REGISTER__INIT;
        m.name = (char *)n->name;
        m.version = "sim";
        m.incarnation = "sim";
        m.has_cpus = m.has_real_memory_mib = m.has_tmp_disk_mib = true;
        m.cpus = row->cpus;
        m.real_memory_mib = row->real_memory_mib;
        m.tmp_disk_mib = row->tmp_disk_mib;
        control_node_register(w->control, n->name, &m);
    }
}
