/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/event/event.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/pb.h"
#include "control/core/reply.h"
#include "control/event/record.h"
#include "control/internal.h"

/* --- recording ---------------------------------------------------------------------------------
 */

static bool is_recording(const struct control *c)
{
    return c->events->consumers.len > 0 && !c->preview;
}

static enum record_kind find_record_kind(const struct control *c, const struct event_log *log)
{
    return log == c->attempts ? RECORD_ATTEMPT : RECORD_EVENT;
}

static const char *get_record_name(const struct control *c, const struct event_log *log)
{
    return log == c->attempts ? "ended attempts and steps" : "events";
}

static void drop_first(struct control *c, struct event_log *log, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct event *e = &log->kept.data[i];
        c->env->del(c->env->ctx, find_record_kind(c, log), e->number, NULL);
        log->bytes -= e->packed.len;
        str_done(&e->packed);
    }
    vec_drop(&log->kept, count);
}

/* Drops the oldest tenth, so that the next event does not find the log full again. Without a
 * consumer no event is missed. */
static void make_event_room(struct control *c, struct event_log *log)
{
    bool is_awaited = log->consumers.len > 0;
    size_t most = is_awaited ? EVENT_KEEP_MAX : EVENT_KEEP_UNREAD;
    if (log->kept.len < most && log->bytes < EVENT_KEEP_BYTES)
        return;
    if (is_awaited && !log->was_full)
        control_log(c, LOG_LVL_ERROR,
                    "more than %d %s (or %d MiB) are kept for 'sluice events': the oldest ones are "
                    "dropped",
                    EVENT_KEEP_MAX, get_record_name(c, log), EVENT_KEEP_BYTES >> 20);
    log->was_full = is_awaited;
    drop_first(c, log, log->kept.len / 10 + 1);
}

/* A number is assigned in any case, so that a consumer detects a missing event. */
static bool begin_event(struct control *c, struct event_log *log, Pb__Event *m)
{
    m->number = ++log->last;
    if (c->store_low && !log->was_low_space)
        control_log(c, LOG_LVL_ERROR, "%s are not recorded: the state volume is full",
                    get_record_name(c, log));
    log->was_low_space = c->store_low;
    if (!c->store_low)
        make_event_room(c, log);
    return !c->store_low;
}

static void keep_event(struct control *c, struct event_log *log, struct event e)
{
    vec_push(&log->kept, e);
    log->bytes += e.packed.len;
    c->env->put(c->env->ctx, find_record_kind(c, log), e.number, NULL, e.packed.data, e.packed.len);
}

static void record_event(struct control *c, Pb__Event *m, uint32_t uid)
{
    if (!begin_event(c, c->events, m))
        return;
    struct event e = {
        .number = m->number, .uid = uid, .of_job = m->job != NULL, .packed = STR_INIT};
    pb_pack(&m->base, &e.packed);
    keep_event(c, c->events, e);
}

void event_keep_row(struct control *c, uint32_t uid, enum event_row row, const struct str *record)
{
    Pb__Event m = PB__EVENT__INIT;
    m.at_ms = c->env->wall_ms(c->env->ctx);
    if (!begin_event(c, c->attempts, &m))
        return;
    struct event e = {.number = m.number, .uid = uid, .of_job = true, .packed = STR_INIT};
    pb_pack(&m.base, &e.packed);
    pb_pack_field(row, record->data, record->len, &e.packed);
    keep_event(c, c->attempts, e);
}

static const char *state_name(enum _Pb__JobState state)
{
    return protobuf_c_enum_descriptor_get_value(&pb__job_state__descriptor, (int)state)->name;
}

/* Only the leader of a job set is in an array. */
static void put_job_ids(const struct job *j, struct str *tasks, Pb__JobTransition *m)
{
    const struct job *named = j->set_offset ? job_set_component(j, 0) : j;
    m->job_id = j->id;
    if (named && named->array) {
        SET(m, array_id, named->array->id);
        if (named->task == ARRAY_NO_TASK)
            idset_format(&named->tasks, tasks);
        else
            SET(m, task, named->task);
    }
    if (tasks->len)
        m->array_tasks = (char *)str_cstr(tasks);
    if (j->set) {
        SET(m, set_id, j->set->leader_id);
        SET(m, set_offset, j->set_offset);
    }
}

static void record_job(struct control *c, const struct transition *t, enum transition_kind kind,
                       enum _Pb__JobState from, enum _Pb__JobState to)
{
    const struct job *j = t->job;
    _cleanup_str_ struct str nodes = STR_INIT, tasks = STR_INIT;
    Pb__JobTransition m = PB__JOB_TRANSITION__INIT;
    Pb__Event e = PB__EVENT__INIT;
    put_job_ids(j, &tasks, &m);
    m.uid = j->uid;
    m.attempt = t->attempt;
    m.from = from;
    m.to = to;
    m.kind = kind;
    m.cause = t->cause;
    if (!str_eq(t->detail, state_name(to)))
        m.detail = (char *)t->detail;
    m.partition = (char *)(j->part ? j->part->conf.name : j->part_name);
    if (kind & (TRANSITION_STARTED | TRANSITION_ENDED | TRANSITION_SUSPENDED | TRANSITION_RESUMED))
        job_format_nodes(c->cluster, j, &nodes);
    if (nodes.len)
        m.nodes = (char *)str_cstr(&nodes);
    if (kind & TRANSITION_OVER)
        SET(&m, exit_status, attempt_of(j)->exit_status);
    if (job_is_final(j))
        m.reason = (char *)job_reason_word(j);
    e.at_ms = t->at_ms;
    e.job = &m;
    record_event(c, &e, j->uid);
}

void event_job(struct control *c, const struct transition *t)
{
    if (!is_recording(c))
        return;
    if (t->job->trial) { /* recorded when it has started: until then it may disappear without a
                            trace */
        if (t->kind != TRANSITION_STARTED && t->from == PB__JOB_STATE__PENDING)
            return;
        if (t->kind == TRANSITION_STARTED && t->attempt == 0) {
            struct transition submission = *t;
            submission.cause = CAUSE_SUBMISSION;
            record_job(c, &submission, TRANSITION_SUBMITTED, t->from, t->from);
        }
    }
    record_job(c, t, t->kind, t->from, t->to);
}

static uint32_t flags_of(const struct node *n)
{
    return (n->down ? NODE_IS_DOWN : 0) | (n->drain ? NODE_IS_DRAIN : 0) |
           (n->fail ? NODE_IS_FAIL : 0) | (n->future ? NODE_IS_FUTURE : 0);
}

void event_node(struct control *c, struct node *n)
{
    Pb__NodeTransition m = PB__NODE_TRANSITION__INIT;
    Pb__Event e = PB__EVENT__INIT;
    if (!is_recording(c) || n->announced == flags_of(n))
        return;
    m.name = (char *)n->name;
    m.from = n->announced;
    m.to = n->announced = flags_of(n);
    m.reason = n->reason && *n->reason ? n->reason : NULL;
    e.at_ms = c->env->wall_ms(c->env->ctx);
    e.node = &m;
    record_event(c, &e, 0);
}

static void note_nodes(struct control *c)
{
    vec_foreach (&c->cluster->nodes, n)
        (*n)->announced = flags_of(*n);
}

/* --- consumers ---------------------------------------------------------------------------------
 */

static struct event_consumer *find_consumer(struct event_log *log, uint32_t uid, const char *name)
{
    vec_foreach (&log->consumers, k)
        if (k->uid == uid && str_eq(k->name, name))
            return k;
    return NULL;
}

static void format_key(const struct control *c, const struct event_log *log,
                       const struct event_consumer *k, struct str *out)
{
    str_printf(out, "%u/%s%s", k->uid, k->name, log == c->attempts ? "/attempts" : "");
}

static void save_consumer(struct control *c, const struct event_log *log,
                          const struct event_consumer *k)
{
    _cleanup_str_ struct str key = STR_INIT, packed = STR_INIT;
    Pb__EventConsumer m = PB__EVENT_CONSUMER__INIT;
    m.name = k->name;
    m.uid = k->uid;
    m.acknowledged = k->acknowledged;
    if (log == c->attempts)
        SET(&m, attempts, true);
    pb_pack(&m.base, &packed);
    format_key(c, log, k, &key);
    c->env->put(c->env->ctx, RECORD_CONSUMER, 0, str_cstr(&key), packed.data, packed.len);
}

/* Without a consumer, acknowledged events are dropped. */
static void drop_acknowledged(struct control *c, struct event_log *log)
{
    if (log == c->attempts && !log->consumers.len)
        return;
    uint64_t upto = log->last;
    vec_foreach (&log->consumers, k)
        if (k->acknowledged < upto)
            upto = k->acknowledged;
    drop_first(c, log, vec_lower(&log->kept, e, e->number <= upto));
    if (log->kept.len < EVENT_KEEP_MAX / 2)
        log->was_full = false;
}

static void forget_consumer(struct control *c, struct event_log *log, struct event_consumer *k)
{
    _cleanup_str_ struct str key = STR_INIT;
    format_key(c, log, k, &key);
    c->env->del(c->env->ctx, RECORD_CONSUMER, 0, str_cstr(&key));
    free(k->name);
    vec_remove(&log->consumers, (size_t)(k - log->consumers.data));
    drop_acknowledged(c, log);
    if (!log->consumers.len)
        control_save_meta(c); /* no other record has the last number */
}

/* Uses the monotonic clock, and counts from the start of each controller. */
static void drop_expired_consumers(struct control *c, struct event_log *log)
{
    for (size_t i = log->consumers.len; i-- > 0;) {
        struct event_consumer *k = &log->consumers.data[i];
        if (control_mono(c) - k->seen_mono_ms <= EVENT_FORGET_SEC * INT64_C(1000))
            continue;
        control_log(c, LOG_LVL_INFO,
                    "consumer %s of %s, of uid %u, is forgotten: it was silent for %d days",
                    k->name, get_record_name(c, log), k->uid, EVENT_FORGET_SEC / 86400);
        forget_consumer(c, log, k);
    }
}

static int check_name(const char *name, struct err *err)
{
    size_t len = 0;
    while (isalnum((unsigned char)name[len]) || (name[len] && strchr("._-", name[len])))
        len++;
    if (len == 0 || len > EVENT_NAME_MAX || name[len])
        return err_set(err, -ERR_RANGE,
                       "invalid consumer name: it has 1 to %d letters, digits, '.', '_' and '-'",
                       EVENT_NAME_MAX);
    return 0;
}

static int check_room(const struct control *c, const struct event_log *log,
                      const struct caller *who, struct err *err)
{
    size_t own = 0;
    vec_foreach (&log->consumers, k)
        own += k->uid == who->uid;
    bool is_user = !who->is_operator && !who->is_admin;
    if (log->consumers.len >= EVENT_CONSUMERS_MAX - (is_user ? EVENT_CONSUMERS_RESERVED : 0))
        return err_set(err, -ERR_LIMIT, "%s: %s have %zu consumers", err_text(ERR_LIMIT),
                       get_record_name(c, log), (size_t)log->consumers.len);
    if (own >= EVENT_CONSUMERS_USER && is_user)
        return err_set(err, -ERR_LIMIT,
                       "%s: you have %d consumers: end one with 'sluice events --consumer=NAME "
                       "--forget'",
                       err_text(ERR_LIMIT), EVENT_CONSUMERS_USER);
    return 0;
}

static int add_consumer(struct control *c, struct event_log *log, const struct caller *who,
                        const char *name, struct event_consumer **out, struct err *err)
{
    int rc = check_room(c, log, who, err);
    if (rc)
        return rc;
    if (log == c->events && !log->consumers.len)
        note_nodes(c);
    uint64_t before = log->kept.len ? log->kept.data[0].number - 1 : log->last;
    struct event_consumer k = {.uid = who->uid,
                               .name = mem_strdup(name),
                               .acknowledged = log == c->attempts ? before : log->last};
    k.seen_mono_ms = control_mono(c);
    vec_push(&log->consumers, k);
    *out = &vec_last(&log->consumers);
    save_consumer(c, log, *out);
    control_log(c, LOG_LVL_INFO, "%s are recorded for consumer %s of uid %u",
                get_record_name(c, log), name, who->uid);
    return 0;
}

static void acknowledge_events(struct control *c, struct event_log *log, struct event_consumer *k,
                               uint64_t number)
{
    k->seen_mono_ms = control_mono(c);
    if (number <= k->acknowledged)
        return;
    k->acknowledged = number;
    save_consumer(c, log, k);
    drop_acknowledged(c, log);
}

/* --- replies -----------------------------------------------------------------------------------
 */

static bool sees_all(const struct control *c, const struct event_call *call)
{
    const struct caller who = {
        .uid = call->uid, .is_operator = call->is_operator, .is_admin = call->is_admin};
    return !control_hides(c, &who, "jobs") && !control_hides(c, &who, "nodes");
}

static bool may_see(const struct control *c, const struct event_call *call, const struct event *e)
{
    const struct caller who = {
        .uid = call->uid, .is_operator = call->is_operator, .is_admin = call->is_admin};
    return (e->of_job && e->uid == call->uid) ||
           !control_hides(c, &who, e->of_job ? "jobs" : "nodes");
}

/* Replies with the events after call->since that the caller may see. False: there are none, and no
 * reply was sent. */
static bool reply_events(struct control *c, const struct event_log *log,
                         const struct event_call *call, bool even_empty, bool created)
{
    Pb__EventList reply = PB__EVENT_LIST__INIT;
    VEC(ProtobufCBinaryData) found = {0};
    size_t bytes = 0, i = vec_lower(&log->kept, e, e->number <= call->since);
    reply.since = call->since;
    reply.next = log->last > call->since ? log->last : call->since;
    uint64_t first = log->kept.len ? log->kept.data[0].number : log->last + 1;
    if (first > call->since + 1)
        SET(&reply, first, first);
    for (; i < log->kept.len; i++) {
        const struct event *e = &log->kept.data[i];
        if (!may_see(c, call, e))
            continue;
        if (found.len >= EVENT_REPLY_MAX || bytes >= EVENT_REPLY_BYTES) {
            SET(&reply, more, true);
            reply.next = e->number - 1;
            break;
        }
        bytes += e->packed.len;
        vec_push(&found,
                 ((ProtobufCBinaryData){.data = (uint8_t *)e->packed.data, .len = e->packed.len}));
    }
    bool answers = found.len || even_empty;
    reply.n_events = found.len;
    reply.events = found.data;
    SET(&reply, all, sees_all(c, call));
    if (created)
        SET(&reply, created, true);
    if (answers)
        c->env->reply(c->env->ctx, call->call, &reply.base);
    vec_done(&found);
    return answers;
}

static int wait_for_events(struct control *c, struct event_log *log, struct event_call *call,
                           struct err *err)
{
    size_t own = 0;
    vec_foreach (&log->calls, other)
        own += other->uid == call->uid;
    if (own >= EVENT_CALLS_USER)
        return err_set(err, -ERR_LIMIT, "%s: %d programs of yours wait for events",
                       err_text(ERR_LIMIT), EVENT_CALLS_USER);
    call->until_ms = control_mono(c) + EVENT_WAIT_MS;
    vec_push(&log->calls, *call);
    return 0;
}

static void serve_call(struct control *c, struct event_log *log, struct event_call *call,
                       struct event_consumer *k, const Pb__EventRequest *r, bool created)
{
    struct err err = {0};
    call->since = r->has_since ? r->since : k->acknowledged;
    if (call->since > log->last)
        call->since = log->last; /* a number of another state, or of the future */
    acknowledge_events(c, log, k, call->since);
    bool waits = r->has_wait && r->wait && !created;
    if (!reply_events(c, log, call, !waits, created) && wait_for_events(c, log, call, &err) != 0)
        control_refuse(c, call->call, &err);
}

static void end_consumer(struct control *c, struct event_log *log, uint64_t call,
                         const struct caller *who, const char *name)
{
    struct event_consumer *k = find_consumer(log, who->uid, name);
    struct err err = {0};
    if (!k) {
        err_set(&err, -ERR_RANGE, "no consumer '%s' of yours is registered", name);
        control_refuse(c, call, &err);
        return;
    }
    control_log(c, LOG_LVL_INFO, "%s are no longer recorded for consumer %s of uid %u",
                get_record_name(c, log), name, who->uid);
    Pb__EventList done = PB__EVENT_LIST__INIT;
    done.since = done.next = k->acknowledged;
    forget_consumer(c, log, k);
    c->env->reply(c->env->ctx, call, &done.base);
}

void control_events(struct control *c, uint64_t call, const struct caller *who,
                    const Pb__EventRequest *r)
{
    struct event_log *log = r->has_attempts && r->attempts ? c->attempts : c->events;
    struct err err = {0};
    const char *name = r->consumer ? r->consumer : "default";
    struct event_call asked = {
        .call = call, .uid = who->uid, .is_operator = who->is_operator, .is_admin = who->is_admin};
    int rc = check_name(name, &err);
    if (rc == 0 && r->has_forget && r->forget) {
        end_consumer(c, log, call, who, name);
        return;
    }
    struct event_consumer *k = rc ? NULL : find_consumer(log, who->uid, name);
    bool created = !k;
    if (rc == 0 && !k)
        rc = add_consumer(c, log, who, name, &k, &err);
    if (rc == 0)
        serve_call(c, log, &asked, k, r, created);
    else
        control_refuse(c, call, &err);
}

static bool drop_call(struct event_log *log, uint64_t call)
{
    for (size_t i = 0; i < log->calls.len; i++)
        if (log->calls.data[i].call == call) {
            vec_remove(&log->calls, i);
            return true;
        }
    return false;
}

bool event_call_gone(struct control *c, uint64_t call)
{
    return drop_call(c->events, call) || drop_call(c->attempts, call);
}

static void answer_calls(struct control *c, struct event_log *log)
{
    int64_t now = log->calls.len ? control_mono(c) : 0;
    size_t left = 0;
    for (size_t i = 0; i < log->calls.len; i++) {
        struct event_call call = log->calls.data[i];
        bool late = now >= call.until_ms;
        if ((!late && log->seen_by_calls == log->last) || !reply_events(c, log, &call, late, false))
            log->calls.data[left++] = call;
    }
    log->calls.len = left;
    log->seen_by_calls = log->last;
    if (log->consumers.len)
        drop_expired_consumers(c, log);
}

void event_turn(struct control *c)
{
    answer_calls(c, c->events);
    answer_calls(c, c->attempts);
}

static int64_t first_due_ms(const struct event_log *log)
{
    int64_t due = INT64_MAX;
    vec_foreach (&log->calls, call)
        if (call->until_ms < due)
            due = call->until_ms;
    return due;
}

int64_t event_due_ms(const struct control *c)
{
    int64_t events = first_due_ms(c->events), attempts = first_due_ms(c->attempts);
    return events < attempts ? events : attempts;
}

/* --- records -----------------------------------------------------------------------------------
 */

static void raise_last(struct event_log *log, uint64_t number)
{
    if (number > log->last)
        log->last = number;
}

static void restore_event(struct event_log *log, struct event e, const void *data, size_t len)
{
    str_append(&e.packed, data, len);
    assert(!log->kept.len || vec_last(&log->kept).number < e.number);
    vec_push(&log->kept, e);
    log->bytes += len;
    raise_last(log, e.number);
}

int event_restore(struct control *c, uint64_t number, const void *data, size_t len, struct err *err)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__Event *m = arena_unpack(&arena, &pb__event__descriptor, data, len);
    if (!m || m->number != number || !m->job == !m->node)
        return err_set(err, -ERR_STORE_DAMAGED, "event %" PRIu64 ": its record does not decode",
                       number);
    struct event e = {.number = number,
                      .uid = m->job ? m->job->uid : 0,
                      .of_job = m->job != NULL,
                      .packed = STR_INIT};
    restore_event(c->events, e, data, len);
    return 0;
}

int event_restore_row(struct control *c, uint64_t number, const void *data, size_t len,
                      struct err *err)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__Event *m = arena_unpack(&arena, &pb__event__descriptor, data, len);
    bool is_whole = m && m->number == number && !m->attempt != !m->step &&
                    (m->step || (m->attempt->spec && m->attempt->live));
    if (!is_whole)
        return err_set(err, -ERR_STORE_DAMAGED,
                       "ended attempt %" PRIu64 ": its record does not decode", number);
    struct event e = {.number = number,
                      .uid = m->step ? m->step->uid : m->attempt->spec->uid,
                      .of_job = true,
                      .packed = STR_INIT};
    restore_event(c->attempts, e, data, len);
    return 0;
}

int event_restore_consumer(struct control *c, const void *data, size_t len, struct err *err)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__EventConsumer *m = arena_unpack(&arena, &pb__event_consumer__descriptor, data, len);
    if (!m)
        return err_set(err, -ERR_STORE_DAMAGED, "a consumer of events: its record does not decode");
    struct event_log *log = m->has_attempts && m->attempts ? c->attempts : c->events;
    struct event_consumer k = {.uid = m->uid,
                               .name = mem_strdup(m->name),
                               .acknowledged = m->acknowledged,
                               .seen_mono_ms = control_mono(c)};
    vec_push(&log->consumers, k);
    raise_last(log, m->acknowledged);
    return 0;
}

void event_start(struct control *c)
{
    c->events->seen_by_calls = c->events->last;
    c->attempts->seen_by_calls = c->attempts->last;
    note_nodes(c);
    drop_acknowledged(c, c->events);
    drop_acknowledged(c, c->attempts);
}

void event_done(struct event_log *log)
{
    vec_foreach (&log->kept, e)
        str_done(&e->packed);
    vec_foreach (&log->consumers, k)
        free(k->name);
    vec_done(&log->kept);
    vec_done(&log->consumers);
    vec_done(&log->calls);
}
