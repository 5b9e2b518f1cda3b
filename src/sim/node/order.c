/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A virtual node's jobs. The node starts an attempt at most once, answers a repeated order with the
 * result of the first one, starts nothing for a job that is over on the node, and reports a job as
 * gone when no process of it is left.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/step_id.h"
#include "sim/command/command.h"
#include "sim/node/node.h"

static void sim_report_launched(struct sim *s, unsigned index, struct sim_key key, int code,
                                bool drain)
{
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__Launched m = PB__LAUNCHED__INIT;
    m.job_id = key.job_id;
    m.restarts = key.restarts;
    m.code = code;
    m.text = code ? (char *)err_text(code) : NULL;
    m.has_drain = m.drain = drain;
    if (code)
        sim_end_not_launched(s, key);
    event.launched = &m;
    sim_node_tell(s, index, &event);
}

static void sim_report_gone(struct sim *s, unsigned index, struct sim_key key)
{
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__JobGone m = PB__JOB_GONE__INIT;
    const struct sim_watch *w = sim_watch_find(s, key.job_id);
    m.has_epilog_status =
        !s->quiet && w && w->client != UINT32_MAX && s->clients.data[w->client].item->epilog_fails;
    m.epilog_status = 1 << 8;
    m.job_id = key.job_id;
    m.restarts = key.restarts;
    event.job_gone = &m;
    sim_node_tell(s, index, &event);
}

static void sim_report_batch_ended(struct sim *s, unsigned index, const struct sim_node_job *j,
                                   bool gone)
{
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__BatchEnded m = PB__BATCH_ENDED__INIT;
    m.job_id = j->key.job_id;
    m.restarts = j->key.restarts;
    m.exit_status = j->status;
    sim_end_of_script(s, j->key, j->status);
    m.has_gone = true;
    m.gone = gone;
    event.batch_ended = &m;
    sim_node_tell(s, index, &event);
}

static void sim_report_step_ended(struct sim *s, unsigned index, struct sim_key key,
                                  uint32_t step_id, int status)
{
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__StepEnded m = PB__STEP_ENDED__INIT;
    m.job_id = key.job_id;
    m.restarts = key.restarts;
    m.step_id = step_id;
    m.exit_status = status;
    sim_end_of_step(s, key, status);
    event.step_ended = &m;
    sim_node_tell(s, index, &event);
}

static void sim_report_prepared(struct sim *s, unsigned index, struct sim_node_job *j)
{
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__Prepared m = PB__PREPARED__INIT;
    if (!j->tells_prepared)
        return;
    j->tells_prepared = false;
    m.job_id = j->key.job_id;
    m.restarts = j->key.restarts;
    event.prepared = &m;
    sim_node_tell(s, index, &event);
}

static void sim_report_halted(struct sim *s, unsigned index, const struct sim_node_job *j)
{
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__Halted m = PB__HALTED__INIT;
    m.job_id = j->key.job_id;
    m.restarts = j->key.restarts;
    m.number = j->halt_number;
    event.halted = &m;
    sim_node_tell(s, index, &event);
}

enum {
    WORK_SCRIPT_ENDS,
    WORK_PATIENCE_ENDS,
    WORK_STEP_ENDS,
    WORK_PROLOG_ENDS,
    WORK_HALT_ENDS
};                           /* 'code' of SIM_NODE_WORK */
enum { KILLED_STATUS = 15 }; /* wait status of SIGTERM */
#define REVOKED_MOST 4096
#define STANDING_LOOK_MS 500 /* poll interval for the end of a suspended job's step */

static bool is_same_key(struct sim_key a, struct sim_key b)
{
    return a.job_id == b.job_id && a.restarts == b.restarts;
}

static struct sim_node_job *find_attempt(struct sim_node *n, struct sim_key key)
{
    vec_foreach (&n->jobs, j)
        if (is_same_key(j->key, key))
            return j;
    return NULL;
}

static bool is_revoked(const struct sim_node *n, struct sim_key key)
{
    vec_foreach (&n->revoked, k)
        if (is_same_key(*k, key))
            return true;
    return false;
}

/* The report is acknowledged: the node forgets the attempt, except for its entry in the revoked
 * list. */
void sim_order_forget(struct sim *s, unsigned index, struct sim_key key)
{
    struct sim_node *n = &s->nodes.data[index];
    struct sim_node_job *j = find_attempt(n, key);
    if (!j || !j->gone)
        return;
    if (n->revoked.len >= REVOKED_MOST)
        vec_remove(&n->revoked, 0);
    vec_push(&n->revoked, key);
    vec_done(&j->steps);
    vec_remove(&n->jobs, (size_t)(j - n->jobs.data));
}

/* --- the end ------------------------------------------------------------------------------------
 */

static bool is_attempt_idle(const struct sim_node_job *j)
{
    vec_foreach (&j->steps, step)
        if (step->running)
            return false;
    return !j->batch_running && !j->prolog_running;
}

static void set_gone(struct sim *s, unsigned index, struct sim_node_job *j, bool with_batch)
{
    j->gone = true;
    sim_say(s, "%s: %u.%u is gone", s->nodes.data[index].name, j->key.job_id, j->key.restarts);
    if (with_batch)
        sim_report_batch_ended(s, index, j, true);
    else
        sim_report_gone(s, index, j->key);
}

static void end_step(struct sim *s, unsigned index, struct sim_node_job *j,
                     struct sim_node_step *step, int status)
{
    struct sim_key key = j->key;
    unsigned srun = step->srun;
    uint32_t id = step->id;
    step->running = false;
    sim_report_step_ended(s, index, key, id, status);
    sim_srun_part_over(s, srun);
}

static void end_script(struct sim *s, unsigned index, struct sim_node_job *j, int status)
{
    j->batch_running = false;
    j->batch_ended = true;
    j->status = status;
    sim_srun_end_all(s, j->key, (long)index);
}

static void push_work(struct sim *s, unsigned index, struct sim_key key, int code, uint64_t step,
                      int64_t after_ms)
{
    sim_push(s, after_ms,
             (struct sim_event){.kind = SIM_NODE_WORK,
                                .index = index,
                                .value = (uint64_t)key.job_id << 32 | step,
                                .generation =
                                    key.restarts | (uint64_t)s->nodes.data[index].incarnation << 32,
                                .code = code});
}

static const struct sim_item *item_of(const struct sim *s, const struct sim_node_job *j)
{
    return j->client < s->clients.len ? s->clients.data[j->client].item : NULL;
}

/* SIGTERM, and SIGKILL after the grace time: most jobs end soon, stubborn ones use the grace time
 * up. */
static void begin_ending(struct sim *s, unsigned index, struct sim_node_job *j, uint32_t grace_sec)
{
    const struct sim_item *item = item_of(s, j);
    int64_t most_ms = (int64_t)grace_sec * 1000;
    j->terminating = true;
    j->was_halted = j->was_halted || j->halted;
    j->halting = j->halted = false;
    if (is_attempt_idle(j)) {
        set_gone(s, index, j, false);
        return;
    }
    int64_t after_ms =
        item && item->stubborn ? most_ms + 5 : rng_between(&s->nodes.data[index].rng, 1, 60);
    push_work(s, index, j->key, WORK_PATIENCE_ENDS, 0, after_ms < most_ms ? after_ms : most_ms + 5);
}

/* The script of a single-node job has ended by itself: its remaining steps are ended too. */
static void end_single(struct sim *s, unsigned index, struct sim_node_job *j)
{
    for (size_t i = 0; i < j->steps.len; i++)
        if (j->steps.data[i].running)
            end_step(s, index, j, &j->steps.data[i], KILLED_STATUS);
    set_gone(s, index, j, true);
}

static void script_ends(struct sim *s, unsigned index, struct sim_node_job *j)
{
    const struct sim_item *item = item_of(s, j);
    if (!j->batch_running || j->terminating)
        return;
    if ((j->halted || j->script_owed_ms) && !j->script_ending) {
        j->script_due = j->halted;
        if (!j->halted)
            push_work(s, index, j->key, WORK_SCRIPT_ENDS, 0, j->script_owed_ms);
        j->script_owed_ms = 0;
        return;
    }
    end_script(s, index, j, item && item->exit_code ? (int)item->exit_code << 8 : 0);
    if (j->single)
        end_single(s, index, j);
    else
        sim_report_batch_ended(s, index, j, false);
}

static void end_patience(struct sim *s, unsigned index, struct sim_node_job *j)
{
    if (j->gone)
        return;
    for (size_t i = 0; i < j->steps.len; i++)
        if (j->steps.data[i].running)
            end_step(s, index, j, &j->steps.data[i], KILLED_STATUS);
    j->prolog_running = false;
    if (j->batch_running) {
        end_script(s, index, j, KILLED_STATUS);
        sim_report_batch_ended(s, index, j, false);
    }
    set_gone(s, index, j, false);
}

static bool has_bad_prolog(const struct sim *s, const struct sim_node_job *j)
{
    const struct sim_item *item = item_of(s, j);
    return item && item->prolog_fails && j->key.restarts == 0 && !s->quiet;
}

/* The controller will hold the job, so the owner's claim is void. */
static void expect_hold(struct sim *s, const struct sim_node_job *j)
{
    s->clients.data[j->client].asked[SIM_CLAIM_HELD]++;
    s->clients.data[j->client].claims[SIM_CLAIM_HELD].is_in_force = false;
}

/* End of a prolog under PrologFlags=Alloc before any launch. */
static void prolog_ends(struct sim *s, unsigned index, struct sim_node_job *j)
{
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__PrologFailed m = PB__PROLOG_FAILED__INIT;
    j->prolog_running = false;
    if (!j->terminating && !has_bad_prolog(s, j))
        sim_report_prepared(s, index, j);
    if (j->terminating || !has_bad_prolog(s, j))
        return;
    expect_hold(s, j);
    m.job_id = j->key.job_id;
    m.restarts = j->key.restarts;
    m.text = (char *)"by plan";
    sim_end_not_launched(s, j->key);
    event.prolog_failed = &m;
    sim_node_tell(s, index, &event);
}

static void step_ends(struct sim *s, unsigned index, struct sim_node_job *j, uint32_t id)
{
    vec_foreach (&j->steps, step)
        if (step->id == id && step->running && j->halted && !step->ending) {
            push_work(s, index, j->key, WORK_STEP_ENDS, id, STANDING_LOOK_MS);
            return;
        } else if (step->id == id && step->running) {
            end_step(s, index, j, step, 0);
            return;
        }
}

/* --- orders to suspend and resume ---------------------------------------------------------------
 */

/* Running processes are stopped, and new ones wait. */
static void halt_ends(struct sim *s, unsigned index, struct sim_node_job *j, uint32_t number)
{
    if (j->terminating || !j->halting || j->halt_number != number)
        return;
    j->halting = false;
    j->halted = true;
    j->halted_from_ms = s->now_ms;
    sim_report_halted(s, index, j);
}

static void continue_node_job(struct sim *s, unsigned index, struct sim_node_job *j)
{
    bool stood = j->halted;
    j->halting = j->halted = false;
    if (stood && j->batch_running && j->script_due)
        push_work(s, index, j->key, WORK_SCRIPT_ENDS, 0, 1);
    else if (stood && j->batch_running)
        j->script_owed_ms += s->now_ms - j->halted_from_ms;
    j->script_due = false;
    sim_check_node(s, index);
    sim_report_halted(s, index, j);
}

void sim_order_work(struct sim *s, struct sim_event *e)
{
    struct sim_node *n = &s->nodes.data[e->index];
    struct sim_key key = {(uint32_t)(e->value >> 32), (uint32_t)e->generation};
    if (e->generation >> 32 != n->incarnation)
        return;
    struct sim_node_job *j = find_attempt(n, key);
    if (!j || j->gone)
        return;
    if (e->code == WORK_SCRIPT_ENDS)
        script_ends(s, e->index, j);
    else if (e->code == WORK_PATIENCE_ENDS)
        end_patience(s, e->index, j);
    else if (e->code == WORK_PROLOG_ENDS)
        prolog_ends(s, e->index, j);
    else if (e->code == WORK_HALT_ENDS)
        halt_ends(s, e->index, j, (uint32_t)e->value);
    else
        step_ends(s, e->index, j, (uint32_t)e->value);
}

/* --- orders -------------------------------------------------------------------------------------
 */

static struct sim_node_job *add_attempt(struct sim *s, unsigned index, struct sim_key key)
{
    struct sim_node *n = &s->nodes.data[index];
    const struct sim_watch *w = sim_watch_find(s, key.job_id);
    struct sim_node_job job = {.key = key, .client = w ? w->client : UINT32_MAX};
    vec_push(&n->jobs, job);
    return &vec_last(&n->jobs);
}

/* The step is of the current incarnation and not from before the last boot. */
static bool is_of_now(const struct sim_node *n, const Pb__StepNode *here)
{
    char incarnation[SIM_NAME];
    sim_node_incarnation(n, incarnation);
    return here->has_incarnation && here->incarnation == str_hash(incarnation);
}

static int check_cred(struct sim *s, unsigned index, const Pb__Cred *cred, struct sim_key key)
{
    const struct sim_node *n = &s->nodes.data[index];
    if (!cred || cred->job_id != key.job_id || cred->restarts != key.restarts)
        return ERR_CREDENTIAL;
    int64_t now_ms = sim_wall_ms(s) + (n->skew_until_ms > s->now_ms ? n->skew_ms : 0);
    if (now_ms > cred->expires_at_ms)
        return ERR_CREDENTIAL_EXPIRED;
    if (cred->issued_at_ms > now_ms + 300000)
        return ERR_CREDENTIAL;
    for (size_t i = 0; i < cred->n_nodes; i++)
        if (strcmp(cred->nodes[i]->node, n->name) == 0)
            return is_of_now(n, cred->nodes[i]) ? 0 : ERR_CREDENTIAL_REVOKED;
    return ERR_CREDENTIAL;
}

static void take_share(const struct sim_node *n, struct sim_node_job *j, const Pb__Cred *cred)
{
    for (size_t i = 0; i < cred->n_job_nodes; i++)
        if (strcmp(cred->job_nodes[i]->node, n->name) == 0) {
            j->cpus = cred->job_nodes[i]->cpus;
            j->mem_mib = cred->job_nodes[i]->mem_mib;
            assert(cred->job_nodes[i]->cpu_set.len <= sizeof j->cpu_set);
            memset(j->cpu_set, 0, sizeof j->cpu_set);
            if (cred->job_nodes[i]->has_cpu_set)
                memcpy(j->cpu_set, cred->job_nodes[i]->cpu_set.data,
                       cred->job_nodes[i]->cpu_set.len);
        }
    j->single = cred->n_job_nodes == 1;
}

static void start_steps(struct sim *s, unsigned index, const struct sim_node_job *j)
{
    const struct sim_item *item = item_of(s, j);
    size_t count = item ? sim_set_count(s, &s->clients.data[j->client]) : 1;
    for (unsigned i = 0; item && i < (unsigned)item->steps; i++)
        if (i % count) /* handles one component after the other */
            sim_srun_begin_for(s, j->key, i, (uint32_t)(i % count), (long)index);
        else
            sim_srun_begin(s, j->client, i, j->key, (long)index);
}

static void start_script(struct sim *s, unsigned index, struct sim_node_job *j)
{
    const struct sim_item *item = item_of(s, j);
    j->batch_started = j->batch_running = true;
    s->result->attempts++;
    sim_say(s, "%s: starts %u.%u, %u CPUs", s->nodes.data[index].name, j->key.job_id,
            j->key.restarts, j->cpus);
    sim_check_start(s, index, j->key, true);
    struct sim_key key = j->key;
    push_work(s, index, key, WORK_SCRIPT_ENDS, 0, item ? item->run_ms : 1000);
    sim_report_launched(s, index, key, 0, false);
    start_steps(s, index, j);
}

static void launch_batch(struct sim *s, unsigned index, const Pb__LaunchBatch *order)
{
    struct sim_node *n = &s->nodes.data[index];
    struct sim_key key = {order->job_id, order->restarts};
    struct sim_node_job *j = find_attempt(n, key);
    if (j && j->batch_started) {
        sim_report_launched(s, index, key, 0, false);
        return;
    }
    if (j && (j->halting || j->halted) && !j->terminating)
        return; /* the controller will order the launch again */
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__Cred *cred =
        arena_unpack(&arena, &pb__cred__descriptor, order->cred.data, order->cred.len);
    int code = check_cred(s, index, cred, key);
    if (code == 0 && ((j && (j->terminating || j->gone)) || (!j && is_revoked(n, key))))
        code = ERR_CREDENTIAL_REVOKED;
    if (code) {
        sim_say(s, "%s: launch of %u.%u refused: %s", n->name, key.job_id, key.restarts,
                err_text(code));
        sim_report_launched(s, index, key, code, false);
        return;
    }
    j = j ? j : add_attempt(s, index, key);
    take_share(n, j, cred);
    const struct sim_item *item = item_of(s, j);
    if (item && item->launch_fails && key.restarts == 0) {
        j->batch_started = j->batch_ended = true;
        sim_report_launched(s, index, key, ERR_CHDIR, false);
    } else if (has_bad_prolog(s, j)) {
        j->batch_started = j->batch_ended = true;
        sim_report_launched(s, index, key, ERR_LAUNCH, true);
        expect_hold(s, j);
    } else {
        start_script(s, index, j);
    }
}

static void prepare_node(struct sim *s, unsigned index, const Pb__Prepare *order)
{
    struct sim_node *n = &s->nodes.data[index];
    struct sim_key key = {order->job_id, order->restarts};
    struct sim_node_job *j = find_attempt(n, key);
    bool again = j && j->prepared && !j->prolog_running;
    if ((!j && is_revoked(n, key)) || (j && (j->terminating || j->gone)))
        return;
    j = j ? j : add_attempt(s, index, key);
    j->tells_prepared = order->has_report && order->report;
    if (again && !has_bad_prolog(s, j))
        sim_report_prepared(s, index, j);
    if (j->prepared)
        return;
    j->prepared = j->prolog_running = true;
    sim_say(s, "%s: the prolog of %u.%u", n->name, key.job_id, key.restarts);
    sim_check_start(s, index, key, false);
    push_work(s, index, key, WORK_PROLOG_ENDS, 0, rng_between(&n->rng, 0, 400));
}

/* Cancels a step that the node does not have: its launch will be rejected. */
static void cancel_absent(struct sim *s, unsigned index, struct sim_key key, uint32_t step_id)
{
    struct sim_node *n = &s->nodes.data[index];
    const struct sim_node_job *j = find_attempt(n, key);
    struct sim_key step = {key.job_id, step_id};
    if ((j && j->gone) || (!j && is_revoked(n, key)))
        return;
    vec_foreach (&n->cancelled, k)
        if (is_same_key(*k, step))
            return;
    vec_push(&n->cancelled, step);
    sim_report_step_ended(s, index, key, step_id, KILLED_STATUS);
}

static void terminate_step(struct sim *s, unsigned index, const Pb__Terminate *order)
{
    struct sim_node *n = &s->nodes.data[index];
    struct sim_key key = {order->job_id, order->restarts};
    struct sim_node_job *j = find_attempt(n, key);
    if (order->step_id == STEP_ID_BATCH) {
        if (j && j->batch_running && !j->terminating) {
            j->script_ending = true;
            push_work(s, index, key, WORK_SCRIPT_ENDS, 0, rng_between(&n->rng, 0, 50));
        }
        return;
    }
    for (size_t i = 0; j && i < j->steps.len; i++)
        if (j->steps.data[i].id == order->step_id) {
            j->steps.data[i].ending = true;
            if (j->steps.data[i].running)
                push_work(s, index, key, WORK_STEP_ENDS, order->step_id,
                          rng_between(&n->rng, 0, 50));
            return;
        }
    cancel_absent(s, index, key, order->step_id);
}

static void look_at_step(struct sim *s, unsigned index, const Pb__StepLook *order)
{
    struct sim_key key = {order->job_id, order->restarts};
    struct sim_node_job *j = find_attempt(&s->nodes.data[index], key);
    for (size_t i = 0; j && i < j->steps.len; i++)
        if (j->steps.data[i].id == order->step_id)
            return;
    cancel_absent(s, index, key, order->step_id);
}

static void terminate_job(struct sim *s, unsigned index, const Pb__Terminate *order)
{
    struct sim_node *n = &s->nodes.data[index];
    struct sim_key key = {order->job_id, order->restarts};
    struct sim_node_job *j = find_attempt(n, key);
    if (order->has_step_id) {
        terminate_step(s, index, order);
        return;
    }
    if (!j && is_revoked(n, key)) {
        sim_report_gone(s, index, key);
        return;
    }
    j = j ? j : add_attempt(s, index, key);
    if (j->gone)
        return;
    begin_ending(s, index, j, order->has_grace_sec ? order->grace_sec : 30);
}

static void halt_job(struct sim *s, unsigned index, const Pb__Halt *order)
{
    struct sim_node *n = &s->nodes.data[index];
    struct sim_key key = {order->job_id, order->restarts};
    struct sim_node_job *j = find_attempt(n, key);
    if (!j && is_revoked(n, key))
        return;
    j = j ? j : add_attempt(s, index, key);
    if (j->terminating || j->gone || order->number < j->halt_number)
        return;
    bool again = order->number == j->halt_number;
    j->halt_number = order->number;
    if (!again && !order->stop)
        continue_node_job(s, index, j);
    else if (again ? !j->halting : j->halted)
        sim_report_halted(s, index, j);
    else if (!again) {
        j->halting = true;
        push_work(s, index, key, WORK_HALT_ENDS, order->number, rng_between(&n->rng, 0, 2500));
    }
}

static void take_order(struct sim *s, unsigned index, const Pb__NodeOrder *o, bool closed)
{
    struct sim_node *n = &s->nodes.data[index];
    if (o->has_epoch && o->epoch < n->epoch)
        return;
    if (o->has_epoch && o->epoch > n->epoch)
        sim_break(s, "an order of an epoch that the node was not told", "%s", n->name);
    if (o->halt)
        halt_job(s, index, o->halt);
    if (o->launch && !closed)
        launch_batch(s, index, o->launch);
    if (o->prepare && !closed)
        prepare_node(s, index, o->prepare);
    if (o->terminate)
        terminate_job(s, index, o->terminate);
    if (o->look)
        look_at_step(s, index, o->look);
    if (o->reconfigure || o->report)
        sim_node_register(s, index);
    if (o->shutdown && n->up)
        sim_node_kill(s, index, false, sim_off_ms(&n->rng));
}

void sim_order_take(struct sim *s, unsigned index, const Pb__NodeOrders *orders, bool closed)
{
    for (size_t i = 0; i < orders->n_orders; i++)
        take_order(s, index, orders->orders[i], closed);
}

/* --- steps --------------------------------------------------------------------------------------
 */

static bool is_cancelled(const struct sim_node *n, uint32_t job_id, uint32_t step_id)
{
    vec_foreach (&n->cancelled, k)
        if (k->job_id == job_id && k->restarts == step_id)
            return true;
    return false;
}

static bool may_start_step(struct sim *s, unsigned index, const Pb__Cred *cred, struct sim_key key)
{
    struct sim_node *n = &s->nodes.data[index];
    struct sim_node_job *j = find_attempt(n, key);
    if (!n->up || sim_is_stopped(s, n) || check_cred(s, index, cred, key) != 0)
        return false;
    if (is_cancelled(n, key.job_id, cred->step_id))
        return false;
    return j ? !j->terminating && !j->gone : !is_revoked(n, key);
}

/* The CPUs of running steps that do not overlap fit into the job's share of the node. */
static void check_steps(struct sim *s, const struct sim_node *n, const struct sim_node_job *j)
{
    uint32_t sum = 0;
    vec_foreach (&j->steps, step)
        sum += step->running && !step->overlap ? step->cpus : 0;
    if (sum > j->cpus)
        sim_break(s, "steps have more CPUs than their job", "job %u on %s: %u of %u", j->key.job_id,
                  n->name, sum, j->cpus);
}

/* 'value' is the index of the srun; the body is a packed StepReply. */
void sim_order_step(struct sim *s, struct sim_event *e)
{
    struct sim_node *n = &s->nodes.data[e->index];
    unsigned srun = (unsigned)e->value;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__StepReply *r =
        arena_unpack(&arena, &pb__step_reply__descriptor, e->body.data, e->body.len);
    const Pb__Cred *cred =
        r ? arena_unpack(&arena, &pb__cred__descriptor, r->cred.data, r->cred.len) : NULL;
    struct sim_key key = s->sruns.data[srun].key;
    if (!cred || !may_start_step(s, e->index, cred, key)) {
        sim_srun_part_over(s, srun);
        return;
    }
    const struct sim_client *c = &s->clients.data[s->sruns.data[srun].client];
    struct sim_node_job *j = find_attempt(n, key);
    if (j && (j->halting || j->halted)) {
        struct sim_event later = *e;
        e->body = STR_INIT;
        sim_push(s, STANDING_LOOK_MS, later);
        return;
    }
    if (!j) {
        j = add_attempt(s, e->index, key);
        take_share(n, j, cred);
        sim_check_start(s, e->index, key, false);
    } else if (!j->cpus) {
        take_share(n, j, cred);
    }
    struct sim_node_step step = {.id = r->step_id, .srun = srun, .running = true};
    step.overlap = c->item->overlap;
    for (size_t i = 0; i < cred->n_nodes; i++)
        if (strcmp(cred->nodes[i]->node, n->name) == 0)
            step.cpus = cred->nodes[i]->cpus;
    vec_push(&j->steps, step);
    s->result->steps++;
    sim_say(s, "%s: starts step %u of %u.%u, %u CPUs", n->name, step.id, key.job_id, key.restarts,
            step.cpus);
    check_steps(s, n, j);
    push_work(s, e->index, key, WORK_STEP_ENDS, step.id, c->item->step_ms);
}
