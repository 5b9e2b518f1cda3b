/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The life of a burst buffer. Only enter_phase() changes the phase, along a column of burst.def.
 * The phase is stored: after a restart its function runs again, or the action in the row is done
 * instead. When a job ends, its function is stopped, and the next one begins when the first has
 * ended, so that two functions of one buffer never run at the same time.
 */
#include "control/life/burst.h"

#include <signal.h>
#include <string.h>

#include "control/core/reply.h"
#include "control/event/job_event.h"
#include "control/internal.h"
#include "control/life/enqueue.h"
#include "control/life/finish.h"
#include "control/life/hook.h"
#include "control/life/mail.h"
#include "control/life/schedule.h"
#include "control/life/set.h"
#include "control/life/split.h"
#include "control/life/start.h"

#define TEARDOWN_TRIES 3
#define PLUGIN "burst_buffer/lua"

static void enter_phase(struct control *c, struct job *j, enum burst_phase phase);

static const struct burst_row *row_of(const struct job *j)
{
    return &burst_rows[j->burst->phase];
}

static bool is_staging_in(const struct job_burst *b)
{
    return b->phase >= BURST_SETUP && b->phase <= BURST_REAL_SIZE;
}

/* --- a new job ---------------------------------------------------------------------------------
 */

static int check_pool(struct control *c, const char *name, size_t len, uint64_t size,
                      struct err *err)
{
    const struct burst_pool *pool = burst_find_pool(c, name, len);
    if (!c->burst->pools_known || !burst_is_on(c))
        return 0; /* the job waits for the pool */
    if (!pool)
        return err_set(err, -ERR_BURST, "%s: pool '%.*s' does not exist: see 'scontrol show burst'",
                       err_text(ERR_BURST), (int)len, name);
    if (size > pool->total)
        return err_set(err, -ERR_BURST, "%s: pool '%s' has %llu, %llu requested",
                       err_text(ERR_BURST), pool->name, (unsigned long long)pool->total,
                       (unsigned long long)size);
    return 0;
}

/* Whether a line begins with '#' and the directive. */
static bool has_directive(const struct control *c, const char *lines)
{
    const char *word = c->conf->burst.directive;
    size_t len = strlen(word);
    for (const char *at = lines; at && *at; at += strcspn(at, "\n"), at += *at == '\n')
        if (*at == '#' && !strncmp(at + 1, word, len))
            return true;
    return false;
}

static int check_lines(struct control *c, const struct job *j, const Pb__JobSpec *spec,
                       struct err *err)
{
    const char *pool = NULL;
    uint64_t size = 0;
    size_t len = 0;
    if (!spec->burst_buffer || !*spec->burst_buffer)
        return 0;
    if (!c->conf->burst.enabled)
        return err_set(err, -ERR_BURST,
                       "%s: this cluster has none: BurstBufferType is not set in slurm.conf",
                       err_text(ERR_BURST));
    if (!conf_burst_may_use(&c->conf->burst, j->uid))
        return err_set(err, -ERR_BURST_ACCESS, "%s: see AllowUsers and DenyUsers of %s",
                       err_text(ERR_BURST_ACCESS), "burst_buffer.conf");
    if (!has_directive(c, spec->burst_buffer))
        return err_set(err, -ERR_BURST, "%s: no line begins with '#%s'", err_text(ERR_BURST),
                       c->conf->burst.directive);
    int rc = burst_parse(spec->burst_buffer, &pool, &len, &size, err);
    return rc == 0 && len ? check_pool(c, pool, len, size, err) : rc;
}

/* Creates the buffer that the checked lines request; NULL: none. */
static struct job_burst *make_buffer(const char *lines)
{
    const char *pool = NULL;
    size_t len = 0;
    if (!lines || !*lines)
        return NULL;
    struct job_burst *b = mem_new(struct job_burst);
    (void)burst_parse(lines, &pool, &len, &b->size, NULL);
    b->pool = len ? mem_strndup(pool, len) : NULL;
    return b;
}

int burst_begin_job(struct control *c, struct job *j, const Pb__JobSpec *spec, struct err *err)
{
    int rc = check_lines(c, j, spec, err);
    if (rc == 0)
        j->burst = make_buffer(spec->burst_buffer);
    return rc;
}

/* --- the components of a set --------------------------------------------------------------------
 */

static uint64_t round_up(const struct burst_pool *pool, uint64_t size)
{
    uint64_t rest = pool->granularity ? size % pool->granularity : 0;
    return rest ? size + (pool->granularity - rest) : size;
}

/* Returns the space of the pool that the job, or all components of its set, need at the same
 * time. missing: only for the buffers that are not yet set up. */
static uint64_t count_needed(const struct job *j, const struct burst_pool *pool, bool missing)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < job_set_count(j); i++) {
        const struct job *component = job_set_component(j, i);
        const struct job_burst *b = component && !job_is_final(component) ? component->burst : NULL;
        if (!b || !str_eq(b->pool, pool->name) || (missing && b->phase != BURST_PENDING))
            continue;
        uint64_t size = round_up(pool, b->size);
        sum = size < UINT64_MAX - sum ? sum + size : UINT64_MAX;
    }
    return sum;
}

static int refuse_needed(const struct burst_pool *pool, uint64_t needed, struct err *err)
{
    return err_set(err, -ERR_BURST,
                   "%s: pool '%s' has %llu, %llu requested by all components together",
                   err_text(ERR_BURST), pool->name, (unsigned long long)pool->total,
                   (unsigned long long)needed);
}

int burst_check_set(const struct control *c, const struct job *leader, struct err *err)
{
    if (!burst_is_on(c))
        return 0;
    vec_foreach (&c->burst->pools, pool) {
        uint64_t needed = count_needed(leader, pool, false);
        if (needed > pool->total)
            return refuse_needed(pool, needed, err);
    }
    return 0;
}

int burst_check_change(struct control *c, struct job *j, const Pb__JobSpec *spec, struct err *err)
{
    int rc = check_lines(c, j, spec, err);
    if (rc != 0 || !j->set || !burst_is_on(c))
        return rc;
    struct job_burst *old = j->burst, *next = make_buffer(spec->burst_buffer);
    vec_foreach (&c->burst->pools, pool) {
        uint64_t before = count_needed(j, pool, false);
        j->burst = next;
        uint64_t needed = count_needed(j, pool, false);
        j->burst = old;
        if (rc == 0 && needed > pool->total && needed > before)
            rc = refuse_needed(pool, needed, err);
    }
    burst_free(next);
    return rc;
}

void burst_admit(struct control *c, struct job *j)
{
    if (j->burst)
        vec_push(&c->burst->jobs, j->id);
}

/* --- arrays ------------------------------------------------------------------------------------
 *
 * A buffer belongs to one element. An element therefore gets a record of its own before its data
 * are staged in: at most bb_array_stage_cnt elements at a time, in their order. The other elements
 * wait in their shared records. */

static struct array *array_of(const struct job *j)
{
    const struct job *leader = job_set_component(j, 0);
    return leader ? leader->array : NULL;
}

/* Whether its data are staged in, or are next when its pool has space. */
static bool is_staged(const struct job *j)
{
    const struct job_burst *b = j->burst;
    if (!b || b->failed || j->state != PB__JOB_STATE__PENDING || j->tasks.count)
        return false;
    return b->phase != BURST_PENDING || j->reason == REASON_BURST_BUFFER_RESOURCES;
}

/* Whether another element of its array may have its data staged in; in job sets each component
 * counts with the components of the same offset. */
static bool array_may_stage(const struct control *c, const struct job *j)
{
    const struct array *a = array_of(j);
    int64_t left = c->conf->sched.bb_array_stage_cnt;
    for (const struct job *r = a ? array_first(a) : NULL; r && left > 0; r = array_after(r)) {
        const struct job *element = job_set_component(r, j->set_offset);
        left -= element && element != j && is_staged(element);
    }
    return left > 0;
}

/* An element that is alone in its record waits only if enough others are before it. */
static bool waits_for_elements(const struct control *c, const struct job *j)
{
    return j->burst->phase == BURST_PENDING && array_of(j) &&
           (j->tasks.count || !array_may_stage(c, j));
}

void burst_join_split(struct control *c, const struct job *from, const struct job *element)
{
    size_t at = 0;
    if (!element->burst)
        return;
    vec_push(&c->burst->jobs, element->id);
    while (c->burst->jobs.data[at] != from->id && c->burst->jobs.data[at] != element->id)
        at++;
    for (size_t i = c->burst->jobs.len - 1; i > at; i--)
        c->burst->jobs.data[i] = c->burst->jobs.data[i - 1];
    c->burst->jobs.data[at] = element->id;
}

static void stage_elements(struct control *c, struct job *j)
{
    while (j->tasks.count && array_may_stage(c, j)) {
        struct job *element = split_first(c, j);
        if (!element)
            return;
        enqueue_job(c, element);
    }
    if (!j->tasks.count)
        enqueue_job(c, j);
}

void burst_turn(struct control *c)
{
    VEC(uint32_t) ids = {0};
    if (c->burst->room_due) {
        c->burst->room_due = false;
        burst_retry_waiting(c);
    }
    if (!c->burst->elements_due)
        return;
    c->burst->elements_due = false;
    vec_foreach (&c->burst->jobs, id)
        vec_push(&ids, *id);
    vec_foreach (&ids, id) {
        struct job *j = cluster_find_job(c->cluster, *id);
        if (j && j->burst && j->burst->phase == BURST_PENDING && array_of(j) &&
            j->state == PB__JOB_STATE__PENDING && j->reason == REASON_BURST_BUFFER_STAGE_IN)
            stage_elements(c, j);
    }
    vec_done(&ids);
}

/* --- the end of a function ----------------------------------------------------------------------
 */

/* Holds the job until an administrator releases it. */
static void hold_job(struct control *c, struct job *j, const char *text)
{
    j->admin_hold = true;
    if (j->state != PB__JOB_STATE__PENDING)
        return;
    enqueue_job(c, j);
    free(j->reason_detail);
    j->reason_detail = mem_strdup(text);
    job_touch(c->cluster, j);
}

/* Like a failure of PrologSlurmctld: a batch job is requeued and held. */
static void fail_start(struct control *c, struct job *j, const char *text)
{
    if (job_is_final(j))
        return;
    free(j->reason_detail);
    j->reason_detail = mem_strdup(text);
    finish_requeue_later(c, j, 0);
    bool again = attempt_of(j)->requeue_after;
    if (again)
        hold_job(c, j, text);
    uint64_t call = j->alloc_call;
    j->alloc_call = 0;
    if (call)
        control_refuse_code(c, call, ERR_JOB_DONE, text);
    finish_job(c, j, again ? PB__JOB_STATE__FAILED : PB__JOB_STATE__CANCELLED,
               again ? 1 << 8 : SIGKILL, REASON_JOB_LAUNCH_FAILURE, NULL);
}

/* Data stay in the buffer until scancel --hurry. */
static void keep_failed_stage_out(struct control *c, struct job *j, const char *text)
{
    j->burst->failed = true;
    j->reason = REASON_BURST_BUFFER_OPERATION;
    free(j->reason_detail);
    j->reason_detail = mem_strdup(text);
    job_touch(c->cluster, j);
}

static void retry_teardown(struct control *c, struct job *j)
{
    struct job_burst *b = j->burst;
    job_touch(c->cluster, j);
    if (++b->tries < TEARDOWN_TRIES) {
        b->due_mono_ms = control_mono(c) + (int64_t)c->conf->burst.poll_interval_sec * 1000;
        control_schedule(c, j);
        return;
    }
    control_log(c, LOG_LVL_ERROR, "job %u: teardown of its burst buffer failed %d times: given up",
                j->id, TEARDOWN_TRIES);
    enter_phase(c, j, BURST_COMPLETE);
}

static void fail_phase(struct control *c, struct job *j, const char *what, bool timed_out)
{
    struct job_burst *b = j->burst;
    bool tears_down = timed_out || (c->conf->burst.flags & CONF_BURST_TEARDOWN_FAILURE);
    _cleanup_free_ char *text =
        mem_printf(PLUGIN ": %s: %s", row_of(j)->function, what && *what ? what : "it failed");
    control_log_limited(c, j->uid, LOG_LVL_ERROR, "job %u: %s", j->id, text);
    c->burst->elements_due = true;
    if (b->phase == BURST_TEARDOWN) {
        retry_teardown(c, j);
    } else if (burst_stages_out(b)) {
        keep_failed_stage_out(c, j, text);
        if (tears_down)
            enter_phase(c, j, BURST_TEARDOWN);
    } else {
        bool starting = burst_is_starting(b);
        b->failed = true;
        if (starting)
            fail_start(c, j, text);
        else if (tears_down)
            enter_phase(c, j, BURST_TEARDOWN);
        if (!starting)
            hold_job(c, j, text);
    }
}

/* The test functions return this while data are moving. */
static bool is_busy(const struct job *j, const Pb__ScriptEnded *m)
{
    bool tests = j->burst->phase == BURST_TEST_IN || j->burst->phase == BURST_TEST_OUT;
    return tests && m->output && !strncmp(m->output, "BUSY", 4);
}

static void wait_for_data(struct control *c, struct job *j)
{
    struct job_burst *b = j->burst;
    const struct conf_burst *conf = &c->conf->burst;
    bool in = b->phase == BURST_TEST_IN;
    int64_t limit_sec = in ? conf->stage_in_timeout_sec : conf->stage_out_timeout_sec;
    int64_t now = control_mono(c);
    if (now >= b->stage_mono_ms + limit_sec * 1000) {
        fail_phase(c, j, in ? "not done within StageInTimeout" : "not done within StageOutTimeout",
                   true);
        return;
    }
    b->due_mono_ms = now + (int64_t)conf->poll_interval_sec * 1000;
    control_schedule(c, j);
}

static void take_output(struct job_burst *b, const char *output)
{
    uint64_t size;
    size_t len = output ? strcspn(output, " \t\r\n") : 0;
    if (b->phase == BURST_REAL_SIZE && len && burst_parse_size(output, len, &size))
        b->size = size;
    if (b->phase == BURST_PATHS) {
        free(b->env);
        b->env = output && *output ? mem_strdup(output) : NULL;
    }
}

void burst_call_ended(struct control *c, struct job *j, const Pb__ScriptEnded *m)
{
    struct job_burst *b = j->burst;
    b->run = 0;
    if (b->ending) {
        b->ending = false;
        enter_phase(c, j, row_of(j)->ended);
    } else if (m->wait_status) {
        fail_phase(c, j, m->text, m->timed_out);
    } else if (is_busy(j, m)) {
        wait_for_data(c, j);
    } else {
        take_output(b, m->output);
        enter_phase(c, j, row_of(j)->done);
    }
}

int64_t burst_due_ms(const struct job *j)
{
    return j->burst && j->burst->due_mono_ms ? j->burst->due_mono_ms : INT64_MAX;
}

void burst_due(struct control *c, struct job *j)
{
    if (control_mono(c) < burst_due_ms(j))
        return;
    j->burst->due_mono_ms = 0;
    burst_call(c, j);
}

/* --- phases ------------------------------------------------------------------------------------
 */

/* Recreates the buffer of a pending job from its request, which may have been changed. */
static void renew_buffer(struct job *j)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobSpec *spec = job_unpack_spec(j, &arena);
    struct job_burst *next = make_buffer(spec ? spec->burst_buffer : NULL);
    if (next)
        next->failed = j->burst->failed;
    burst_free(j->burst);
    j->burst = next;
}

/* The buffer is gone. The buffer of a job that runs again is set up again. */
static void end_buffer(struct control *c, struct job *j)
{
    struct job_burst *b = j->burst;
    bool again = j->state == PB__JOB_STATE__PENDING || attempt_of(j)->requeue_after;
    bool is_out = b->staged_out && !again && b->tries < TEARDOWN_TRIES;
    b->staged_out = false;
    b->phase = again ? BURST_PENDING : BURST_COMPLETE;
    b->tries = 0;
    b->hurry = false;
    b->create_at = 0;
    free(take_ptr(b->env));
    job_touch(c->cluster, j);
    if (j->state == PB__JOB_STATE__PENDING)
        renew_buffer(j);
    if (j->state == PB__JOB_STATE__PENDING && !(j->burst && j->burst->failed))
        enqueue_job(c, j);
    else
        control_schedule(c, j);
    if (is_out)
        mail_event(c, j, JOB_MAIL_STAGE_OUT);
    burst_retry_waiting(c);
}

static void go_on_starting(struct control *c, struct job *j)
{
    if (job_is_final(j) || !attempt_of(j)->configuring)
        return;
    if (!hook_start(c, j))
        start_configured(c, j);
}

/* Continues what the job was waiting for when its buffer reaches a phase. */
static void continue_job_after_phase(struct control *c, struct job *j)
{
    switch (j->burst->phase) {
    case BURST_STAGED_IN:
        if (j->state == PB__JOB_STATE__PENDING)
            enqueue_job(c, j);
        break;
    case BURST_RUNNING:
        go_on_starting(c, j);
        break;
    case BURST_TEARDOWN:
        if (attempt_of(j)->completing) /* it waited for the stage-out */
            finish_clean(c, j);
        break;
    default:
        break;
    }
}

/* Without BurstBufferType existing buffers are torn down, and nothing else is done. */
static bool may_call(const struct control *c, enum burst_phase phase)
{
    bool is_on = burst_is_on(c) || (phase == BURST_TEARDOWN && c->env->run);
    return is_on && *burst_rows[phase].function;
}

static void enter_phase(struct control *c, struct job *j, enum burst_phase phase)
{
    struct job_burst *b = j->burst;
    c->burst->elements_due = true;
    if (phase == BURST_COMPLETE) {
        end_buffer(c, j);
        return;
    }
    if (phase == BURST_TEARDOWN)
        b->staged_out = b->phase == BURST_TEST_OUT && !b->failed && !b->hurry;
    b->phase = phase;
    b->due_mono_ms = 0;
    if (phase == BURST_SETUP)
        b->create_at = control_wall(c);
    if (phase == BURST_DATA_IN || phase == BURST_DATA_OUT)
        b->stage_mono_ms = control_mono(c);
    job_touch(c->cluster, j);
    control_debug(c, burst_buffer, "job %u: %s", j->id, burst_rows[phase].name);
    bool calls = may_call(c, phase);
    if (calls)
        burst_call(c, j);
    continue_job_after_phase(c, j);
    if (!calls && *burst_rows[phase].function && j->burst && j->burst->phase == phase)
        enter_phase(c, j, burst_rows[phase].done);
}

/* --- the job -----------------------------------------------------------------------------------
 */

bool burst_start(struct control *c, struct job *j)
{
    if (!j->burst || j->burst->phase != BURST_STAGED_IN || !burst_is_on(c))
        return false;
    attempt_make(j)->configuring = true;
    enter_phase(c, j, row_of(j)->done);
    return true;
}

void burst_job_over(struct control *c, const struct transition *t)
{
    struct job *j = t->job;
    struct job_burst *b = j->burst;
    bool again = attempt_of(j)->requeue_after;
    if (!b || b->phase == BURST_COMPLETE || (b->phase == BURST_PENDING && again))
        return;
    b->due_mono_ms = 0;
    b->hurry = b->hurry || t->kind == TRANSITION_WITHDRAWN;
    job_touch(c->cluster, j);
    if (b->phase == BURST_TEARDOWN) {
        if (!b->run)
            burst_call(c, j);
    } else if (b->run) {
        b->ending = true;
        burst_stop_call(c, j);
    } else if (b->phase == BURST_RUNNING && (again || b->hurry)) {
        enter_phase(c, j, BURST_TEARDOWN);
    } else {
        enter_phase(c, j, row_of(j)->ended);
    }
}

/* Moves towards the teardown: stops the running function of the phase first. */
static void end_phase(struct control *c, struct job *j)
{
    struct job_burst *b = j->burst;
    if (b->run) {
        b->ending = true;
        burst_stop_call(c, j);
    } else {
        enter_phase(c, j, BURST_TEARDOWN);
    }
}

void burst_change(struct control *c, struct job *j)
{
    struct job_burst *b = j->burst;
    job_touch(c->cluster, j);
    if (!burst_exists(b)) {
        bool is_new = !b;
        burst_free(b);
        j->burst = NULL;
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        const Pb__JobSpec *spec = job_unpack_spec(j, &arena);
        j->burst = make_buffer(spec ? spec->burst_buffer : NULL);
        if (is_new)
            burst_admit(c, j);
        c->burst->room_due = true; /* for the other components of its set, too */
        return;
    }
    b->failed = false;
    b->due_mono_ms = 0;
    if (b->phase != BURST_TEARDOWN)
        end_phase(c, j);
}

bool burst_hurry(struct control *c, struct job *j)
{
    struct job_burst *b = j->burst;
    if (!burst_stages_out(b))
        return false;
    b->hurry = true;
    b->failed = false;
    b->due_mono_ms = 0;
    job_touch(c->cluster, j);
    end_phase(c, j);
    return true;
}

/* The functions of the previous controller were ended with it. A function that runs already was
 * started because another job was resumed before, for example a component whose leader has lost its
 * nodes. */
void burst_resume(struct control *c, struct job *j)
{
    struct job_burst *b = j->burst;
    if (!b)
        return;
    if (b->phase == BURST_COMPLETE && job_is_final(j))
        return;
    vec_push(&c->burst->jobs, j->id);
    if (b->run)
        return;
    bool ending = b->ending;
    b->ending = false;
    if (b->failed && !ending && b->phase != BURST_TEARDOWN)
        return; /* unchanged */
    enum burst_phase next = ending ? row_of(j)->ended : row_of(j)->again;
    if (next == b->phase && may_call(c, next))
        burst_call(c, j);
    else if (next != b->phase || *row_of(j)->function)
        enter_phase(c, j, next);
}

/* --- gates -------------------------------------------------------------------------------------
 */

void burst_forget_failure(struct control *c, struct job *j)
{
    struct job_burst *b = j->burst;
    if (!b || !b->failed || j->admin_hold)
        return;
    b->failed = false;
    job_touch(c->cluster, j);
    if (is_staging_in(b))
        enter_phase(c, j, BURST_TEARDOWN);
}

enum reason burst_failed_reason(const struct control *c, const struct job *j)
{
    (void)c;
    return j->burst && j->burst->failed && j->admin_hold ? REASON_BURST_BUFFER_OPERATION
                                                         : REASON_NONE;
}

/* Whether no earlier job waits for the same pool. A job that needs more than the pool has keeps no
 * other one waiting. */
static bool is_first_for_pool(const struct control *c, const struct job *j,
                              const struct burst_pool *pool)
{
    vec_foreach (&c->burst->jobs, id) {
        const struct job *other = *id == j->id ? NULL : cluster_find_job(c->cluster, *id);
        if (*id == j->id)
            return true;
        if (other && other->burst && other->state == PB__JOB_STATE__PENDING &&
            other->reason == REASON_BURST_BUFFER_RESOURCES &&
            str_eq(other->burst->pool, pool->name) &&
            count_needed(other, pool, false) <= pool->total)
            return false;
    }
    return true;
}

/* Whether a component of its set already has space of the pool. */
static bool set_has_buffer(const struct job *j, const struct burst_pool *pool)
{
    bool found = false;
    for (uint32_t i = 0; i < job_set_count(j) && !found; i++) {
        const struct job *component = job_set_component(j, i);
        found = component && burst_exists(component->burst) &&
                str_eq(component->burst->pool, pool->name);
    }
    return found;
}

/* Whether the pool has space. *size: size of the buffer, rounded up to the granularity. A component
 * needs space for all buffers of its set that are not yet set up: so two sets never have parts of
 * the pool and wait for each other. For the same reason a set that has a part waits for no turn. */
static bool has_room(const struct control *c, const struct job *j, uint64_t *size)
{
    const struct job_burst *b = j->burst;
    *size = b->size;
    if (!b->pool)
        return true;
    const struct burst_pool *pool = burst_find_pool(c, b->pool, strlen(b->pool));
    if (!pool)
        return false;
    uint64_t used = burst_pool_used(c, b->pool), missing = count_needed(j, pool, true);
    *size = round_up(pool, b->size);
    return count_needed(j, pool, false) <= pool->total && missing <= pool->total &&
           used <= pool->total - missing &&
           (set_has_buffer(j, pool) || is_first_for_pool(c, j, pool));
}

/* The job had ended, with its buffer, and was requeued. */
static void restart_buffer(struct control *c, struct job *j)
{
    bool is_listed = false;
    vec_foreach (&c->burst->jobs, id)
        is_listed = is_listed || *id == j->id;
    renew_buffer(j);
    job_touch(c->cluster, j);
    if (!is_listed)
        burst_admit(c, j);
}

/* Whether staging in is required before the job can be queued, and has not begun. */
static bool may_stage_in(const struct control *c, const struct job *j)
{
    bool awaits = j->burst && j->burst->phase == BURST_PENDING && burst_is_on(c);
    return awaits && !j->trial; /* not with --immediate */
}

void burst_begin_stage_in(struct control *c, struct job *j)
{
    uint64_t size;
    if (j->burst && j->burst->phase == BURST_COMPLETE)
        restart_buffer(c, j);
    if (!may_stage_in(c, j))
        return;
    if (waits_for_elements(c, j)) {
        c->burst->elements_due = c->burst->elements_due || array_may_stage(c, j);
    } else if (has_room(c, j, &size)) {
        j->burst->size = size;
        enter_phase(c, j, row_of(j)->done);
    }
}

enum reason burst_reason(const struct control *c, const struct job *j)
{
    const struct job_burst *b = j->burst;
    uint64_t size;
    if (!b || b->phase == BURST_STAGED_IN || (b->phase == BURST_PENDING && !burst_is_on(c)))
        return REASON_NONE;
    if (may_stage_in(c, j) && !waits_for_elements(c, j) && !has_room(c, j, &size))
        return REASON_BURST_BUFFER_RESOURCES;
    return REASON_BURST_BUFFER_STAGE_IN;
}

void burst_retry_waiting(struct control *c)
{
    for (size_t i = 0; i < c->burst->jobs.len; i++) {
        struct job *j = cluster_find_job(c->cluster, c->burst->jobs.data[i]);
        if (!j || !j->burst || (job_is_final(j) && j->burst->phase == BURST_COMPLETE))
            vec_remove(&c->burst->jobs, i--);
        else if (j->state == PB__JOB_STATE__PENDING && j->reason == REASON_BURST_BUFFER_RESOURCES)
            enqueue_job(c, j);
    }
}
