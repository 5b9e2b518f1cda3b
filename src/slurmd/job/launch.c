/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/job/launch.h"

#include <assert.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/step_id.h"
#include "rpc/client.h"
#include "rpc/reply.h"
#include "slurmd/attempt/report.h"
#include "slurmd/attempt/revoked.h"
#include "slurmd/job/adopt.h"
#include "slurmd/job/attempt_life.h"
#include "slurmd/job/cred.h"
#include "slurmd/job/early.h"
#include "slurmd/job/extern.h"
#include "slurmd/job/jobtmp.h"
#include "slurmd/job/prepare.h"
#include "slurmd/job/prolog.h"
#include "slurmd/job/receive.h"
#include "slurmd/job/step_life.h"
#include "slurmd/node/caller_address.h"
#include "slurmd/node/devices.h"
#include "slurmd/node/hw.h"
#include "slurmd/node/logfile.h"
#include "slurmd/node/plugins.h"
#include "slurmd/node/users.h"
#include "slurmd/step/contain.h"
#include "slurmd/step/freq.h"
#include "slurmd/usage/memory.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

#define CRED_ARENA (64u << 20)
#define HELLO_MESSAGES 3 /* times MessageTimeout: time limit for srun's answer to its shepherd */

/* Limits log lines about errors that users can cause repeatedly. */
static struct log_limits refusals = {.burst = 60}, failures = {.burst = 60};

void launch_free(struct launch *l)
{
    loop_timer_free(l->commit_timer);
    str_done(&l->message);
    str_done(&l->cred);
    free(l);
}

void launch_refuse(struct slurmd *d, uint64_t call, int code, const char *text)
{
    if (call)
        rpc_reply_error(d->server, call, code, text);
}

static void drain_node_for(struct slurmd *d, uint32_t job_id, const char *what, const char *text)
{
    _cleanup_free_ char *reason = mem_printf("%s: %s, job %u", what, text, job_id);

    report_trouble(d, reason);
}

/* The node's own fault prevents a step: drain it. For batch scripts the controller does so. */
static void drain_on_node_fault(struct slurmd *d, uint32_t job_id, int code, const char *text)
{
    if (code == ERR_NODE_FAULT && !report_spool_is_of_jobs(d))
        drain_node_for(d, job_id, "Launch failure", text);
}

/* The job ends during its prolog, and no caller has requested its extern step. */
static bool is_expected_end(const struct launch *l, int code)
{
    return l->kind == LAUNCH_EXTERN && code == ERR_CREDENTIAL_REVOKED;
}

void launch_fail(struct slurmd *d, struct launch *l, int code, const char *text, bool drain)
{
    struct attempt *a = attempt_find(d, l->attempt.id, l->attempt.restarts);

    if (is_expected_end(l, code))
        log_verbose("launch of %s: %s", STEP_ID_TEXT(l->attempt.id, l->step_id), text);
    else if (log_allow_source(&failures, l->uid))
        log_error("launch of %s%s: %s",
                  l->kind == LAUNCH_RECEIVER ? "a receiver of files for " : "",
                  STEP_ID_TEXT(l->attempt.id, l->step_id), text);
    if (l->kind == LAUNCH_EXTERN && a) /* NULL: the attempt is being freed */
        adopt_fail(a, text);
    if (a && l->kind != LAUNCH_RECEIVER)
        early_forget(a, l->step_id);
    if (l->kind == LAUNCH_BATCH) {
        report_launched(d, l->attempt.id, l->attempt.restarts, code, text, drain);
    } else {
        launch_refuse(d, l->call, code, text);
        drain_on_node_fault(d, l->attempt.id, code, text);
        if (drain && l->kind != LAUNCH_EXTERN) /* a failed prolog is reported for the job */
            drain_node_for(d, l->attempt.id, "Prolog error", text);
    }
    launch_free(l);
}

void launch_answer(struct step *s, int code, const char *text)
{
    struct attempt *a = s->attempt;
    Pb__LaunchReply reply = PB__LAUNCH_REPLY__INIT;

    if (s->answered)
        return;
    s->answered = true;
    if (code && log_allow_source(&failures, a->note.about->uid))
        log_error("step %s was not started: %s", STEP_ID_TEXT(a->key.id, s->id),
                  text ? text : err_text(code));
    else if (!code)
        log_verbose("started step %s, pid %d", STEP_ID_TEXT(a->key.id, s->id), (int)s->pid);
    slurmd_debug(a->d, steps, "step %s of uid %u: %s, slurmstepd %d",
                 STEP_ID_TEXT(a->key.id, s->id), a->note.about->uid,
                 code ? "not started" : "started", (int)s->pid);
    if (s->id == STEP_ID_BATCH) {
        report_launched(a->d, a->key.id, a->key.restarts, code, text, false);
    } else if (code) {
        launch_refuse(a->d, s->call, code, text && *text ? text : err_text(code));
        drain_on_node_fault(a->d, a->key.id, code, text && *text ? text : err_text(code));
    } else if (s->call) {
        reply.local_pid = (uint32_t)s->pid;
        rpc_reply(a->d->server, s->call, &reply.base);
    }
    s->call = 0;
}

int launch_check_cred(struct slurmd *d, ProtobufCBinaryData data, ProtobufCBinaryData signature,
                      int64_t part, struct arena *arena, Pb__Cred **cred, uint32_t *node_index,
                      struct err *err)
{
    struct cred_checker checker = {.public_key = d->have_public_key ? d->public_key : NULL,
                                   .cluster = d->conf->cluster_name,
                                   .node = d->name,
                                   .incarnation = d->incarnation,
                                   .now_ms = loop_wall_ms()};

    return cred_check(&checker, data.data, data.len, signature.data, signature.len, part, arena,
                      cred, node_index, err);
}

static void format_step_cancelled(const struct slurmd *d, uint32_t job_id, uint32_t step_id,
                                  struct err *err)
{
    _cleanup_free_ char *name = step_id == STEP_ID_BATCH
                                    ? mem_printf("the batch script of job %u", job_id)
                                    : mem_printf("step %s", STEP_ID_TEXT(job_id, step_id));

    err_set(err, -ERR_CREDENTIAL_REVOKED, "%s: %s was cancelled before it ran on node %s",
            err_text(ERR_CREDENTIAL_REVOKED), name, d->name);
}

int launch_check_unallocated(const Pb__Cred *cred, struct err *err)
{
    if ((cred->job_id >= JOB_ID_UNALLOCATED) == (cred->has_unallocated && cred->unallocated))
        return 0;
    return err_set(err, -ERR_CREDENTIAL, "%s: %u is %s", err_text(ERR_CREDENTIAL), cred->job_id,
                   cred->unallocated ? "a job's id" : "no job's id");
}

int launch_check_not_over(struct slurmd *d, const Pb__Cred *cred, struct err *err)
{
    uint32_t id = cred->job_id, restarts = cred->restarts;
    struct attempt *a = attempt_find(d, id, restarts);

    if (cancelled_has(d->cancelled, &(struct cancelled_step){id, restarts, cred->step_id})) {
        format_step_cancelled(d, id, cred->step_id, err);
        return err->code;
    }
    if ((a && attempt_is_ending(a)) || (!a && revoked_has(d->revoked, id, restarts)))
        return err_set(err, -ERR_CREDENTIAL_REVOKED, "%s: job %u has ended on node %s",
                       err_text(ERR_CREDENTIAL_REVOKED), id, d->name);
    return 0;
}

static const Pb__NodeShare *find_own_share(const struct slurmd *d, const Pb__Cred *cred)
{
    for (size_t i = 0; i < cred->n_job_nodes; i++)
        if (!strcmp(cred->job_nodes[i]->node, d->name))
            return cred->job_nodes[i];
    return NULL;
}

/* Fills in the job's description for scripts, and its share of this node. */
static void fill_about(const struct slurmd *d, const Pb__Cred *cred, Pb__NodeAttempt *about)
{
    const Pb__NodeShare *share = find_own_share(d, cred);

    if (share) {
        about->has_cpus = true;
        about->cpus = share->cpus;
    }
    about->share = (Pb__NodeShare *)share;
    about->job_id = cred->job_id;
    about->restarts = cred->restarts;
    about->uid = cred->uid;
    about->gid = cred->gid;
    about->facts = cred->facts;
    about->has_unallocated = about->unallocated = cred->has_unallocated && cred->unallocated;
}

static struct launch *launch_new(struct slurmd *d, enum launch_kind kind, const Pb__Cred *cred,
                                 ProtobufCBinaryData packed, const ProtobufCMessage *message,
                                 uint32_t node_index)
{
    struct launch *l = mem_new(struct launch);

    l->number = ++d->next_launch;
    l->since_ms = loop_mono_ms();
    l->kind = kind;
    l->attempt = (struct attempt_key){cred->job_id, cred->restarts};
    l->step_id = cred->step_id;
    l->node_index = node_index;
    l->uid = cred->uid;
    l->gid = cred->gid;
    pb_pack(message, &l->message);
    if (cred->has_part) /* steps on this node know only their own part */
        pb_pack(&cred->base, &l->cred);
    else
        str_append(&l->cred, packed.data, packed.len);
    return l;
}

static bool find_waiting_launch(const struct attempt *a, uint32_t step_id, struct launch **out)
{
    for (size_t i = 0; i < a->waiting.len; i++)
        if (a->waiting.data[i]->step_id == step_id) {
            *out = a->waiting.data[i];
            return true;
        }
    return false;
}

/* Batch scripts. */

static int check_batch(struct slurmd *d, const Pb__LaunchBatch *m, struct arena *arena,
                       Pb__Cred **cred, uint32_t *index, struct err *err)
{
    int rc = launch_check_cred(d, m->cred, m->signature, 0, arena, cred, index, err);

    if (rc)
        return rc;
    if ((*cred)->job_id != m->job_id || (*cred)->restarts != m->restarts ||
        (*cred)->step_id != STEP_ID_BATCH || (m->spec->has_uid && m->spec->uid != (*cred)->uid))
        return err_set(err, -ERR_CREDENTIAL, "%s: it is not the one of this batch script",
                       err_text(ERR_CREDENTIAL));
    return launch_check_not_over(d, *cred, err);
}

/* The controller repeated the order. */
static void reply_repeated_batch(struct attempt *a)
{
    struct step *s = step_find(a, STEP_ID_BATCH);

    log_verbose("job %u: its launch was ordered again", a->key.id);
    if (a->note.batch >= NOTE_BATCH_ENDED || (s && s->started))
        report_launched(a->d, a->key.id, a->key.restarts, 0, NULL, false);
}

static int add_job_for_batch(struct slurmd *d, const Pb__Cred *cred, struct attempt **out,
                             struct err *err)
{
    Pb__NodeAttempt about = PB__NODE_ATTEMPT__INIT;

    fill_about(d, cred, &about);
    return attempt_new(d, &about, cred->n_job_nodes == 1 ? NOTE_SINGLE : "", out, err);
}

/* The credential has expired or the clocks differ; the controller can tell which. */
static void refuse_batch(struct slurmd *d, const Pb__LaunchBatch *m, struct arena *arena,
                         const struct err *why)
{
    const Pb__Cred *cred = NULL;

    log_error("job %u cannot be launched: %s", m->job_id, why->text);
    if (why->code == -ERR_CREDENTIAL_EXPIRED || why->code == -ERR_SKEW)
        cred = arena_unpack(arena, &pb__cred__descriptor, m->cred.data, m->cred.len);
    if (cred)
        report_refused(d, m->job_id, m->restarts, why, cred->issued_at_ms);
    else
        report_launched(d, m->job_id, m->restarts, -why->code, why->text, false);
}

void launch_batch(struct slurmd *d, const Pb__LaunchBatch *m)
{
    _cleanup_arena_ struct arena arena;
    struct err err = {0};
    struct attempt *a = attempt_find(d, m->job_id, m->restarts);
    struct launch *l;
    Pb__Cred *cred;
    uint32_t index;
    int rc;

    arena_init(&arena, CRED_ARENA);
    if (a && (a->note.batch != NOTE_BATCH_NONE || find_waiting_launch(a, STEP_ID_BATCH, &l))) {
        reply_repeated_batch(a);
        return;
    }
    rc = check_batch(d, m, &arena, &cred, &index, &err);
    if (!rc && !a)
        rc = add_job_for_batch(d, cred, &a, &err);
    if (rc) {
        refuse_batch(d, m, &arena, &err);
        return;
    }
    extern_learn(a, find_own_share(d, cred));
    l = launch_new(d, LAUNCH_BATCH, cred, m->cred, &m->base, 0);
    vec_push(&a->waiting, l);
    if (m->has_contain && m->contain)
        extern_want(a);
    extern_adopt(a);
    prolog_run(a);
}

/* Steps. */

static int check_tasks(struct slurmd *d, const struct rpc_request *r, const Pb__LaunchTasks *m,
                       struct arena *arena, Pb__Cred **cred, uint32_t *index, struct err *err)
{
    int rc = launch_check_cred(d, m->cred, m->signature, m->has_part ? m->part : 0, arena, cred,
                               index, err);

    if (rc)
        return rc;
    if (r->who.uid != (*cred)->uid && r->who.uid != 0)
        return err_set(err, -ERR_CREDENTIAL, "%s: it is of user %u, the caller is user %u",
                       err_text(ERR_CREDENTIAL), (*cred)->uid, (unsigned)r->who.uid);
    if ((*cred)->step_id == STEP_ID_BATCH || (*cred)->cast || !(*cred)->nodes[*index]->n_task_ids)
        return err_set(err, -ERR_CREDENTIAL, "%s: it grants no tasks on node %s",
                       err_text(ERR_CREDENTIAL), d->name);
    rc = launch_check_unallocated(*cred, err);
    if (rc)
        return rc;
    if (!m->n_argv || !m->n_io_addr || m->io_port < 1 || m->io_port > 65535 ||
        m->io_key.len != AUTH_TOKEN_SIZE)
        return err_set(err, -ERR_LAUNCH, "%s: the request lacks a program or where its output goes",
                       err_text(ERR_LAUNCH));
    if (m->io_local && !rpc_is_abstract(m->io_local))
        return err_set(err, -ERR_LAUNCH, "%s: '%.64s' is not a name of a local socket of srun",
                       err_text(ERR_LAUNCH), m->io_local);
    rc = prepare_check_args(m, err);
    return rc ? rc : launch_check_not_over(d, *cred, err);
}

void launch_join(struct slurmd *d, uint64_t *first, uint64_t call)
{
    if (*first)
        rpc_call_join(d->server, *first, call);
    else
        *first = call;
}

/* True: the step was requested before, and the call is answered now or with the first one. */
static bool reply_repeated_step(struct attempt *a, uint32_t step_id, uint64_t key,
                                const struct rpc_request *r)
{
    uint64_t call = r->call;
    struct step *s = step_find(a, step_id);
    struct note_step *known = note_find_step(&a->note, step_id);
    struct launch *l;

    if (find_waiting_launch(a, step_id, &l) && l->key == key) {
        launch_join(a->d, &l->call, call);
        if (l->awaits_commit && !r->prepare)
            prepare_commit(a->d, call);
        else if (l->phase == LAUNCH_PREPARED)
            rpc_prepared(a->d->server, call);
        return true;
    }
    if (s && known && known->key == key) {
        launch_join(a->d, &s->call, call);
        if (s->started) {
            s->answered = false;
            launch_answer(s, 0, NULL);
        }
        return true;
    }
    if (!known && !find_waiting_launch(a, step_id, &l))
        return false;
    launch_refuse(a->d, call, ERR_LAUNCH, "the step was launched before");
    return true;
}

uint64_t launch_key_of(ProtobufCBinaryData token)
{
    uint8_t hash[AUTH_HASH_SIZE];
    uint64_t key;

    auth_hash(token.data, token.len, hash);
    memcpy(&key, hash, sizeof(key));
    return key;
}

static int find_or_add_job_for_tasks(struct slurmd *d, const Pb__Cred *cred, struct attempt **out,
                                     struct err *err)
{
    Pb__NodeAttempt about = PB__NODE_ATTEMPT__INIT;

    *out = attempt_find(d, cred->job_id, cred->restarts);
    if (*out) {
        extern_learn(*out, find_own_share(d, cred));
        return 0;
    }
    fill_about(d, cred, &about);
    return attempt_new(d, &about, "", out, err);
}

static void refuse_tasks(struct slurmd *d, const struct rpc_request *r, const struct err *why)
{
    if (log_allow_source(&refusals, r->who.uid))
        log_error("refused a launch by user %u from %s: %s", (unsigned)r->who.uid, r->peer,
                  why->text);
    rpc_reply_error(d->server, r->call, -why->code, why->text);
}

void launch_tasks(struct slurmd *d, const struct rpc_request *r)
{
    const Pb__LaunchTasks *m = (const Pb__LaunchTasks *)r->body;
    _cleanup_free_ char *back = caller_address(r->peer, m->io_addr, m->n_io_addr);
    Pb__LaunchTasks kept = *m;
    struct auth_key secret;
    _cleanup_arena_ struct arena arena;
    struct err err = {0};
    Pb__Cred *cred;
    struct attempt *a;
    struct launch *l;
    uint32_t index;
    int rc;

    arena_init(&arena, CRED_ARENA);
    rc = check_tasks(d, r, m, &arena, &cred, &index, &err);
    if (!rc) /* the key in the message is visible on an unencrypted connection */
        rc = auth_secret_of(&d->key, m->io_key.data, m->io_key.len, RPC_SECRET_AUDIENCE, r->who.uid,
                            &secret, &err);
    if (!rc)
        rc = find_or_add_job_for_tasks(d, cred, &a, &err);
    if (rc) {
        refuse_tasks(d, r, &err);
        return;
    }
    if (reply_repeated_step(a, cred->step_id, launch_key_of(m->io_key), r))
        return;
    if (prepare_check_limits(d, cred, m->cred.len + protobuf_c_message_get_packed_size(&m->base),
                             &err)) {
        refuse_tasks(d, r, &err);
        attempt_check_left(a);
        return;
    }
    kept.io_key = (ProtobufCBinaryData){sizeof(secret.mac_key), secret.mac_key};
    kept.io_addr = &back;
    kept.n_io_addr = 1;
    /* From another host, where that name may denote another user or none. */
    if (!(r->roles & RPC_WHO_LOCAL))
        kept.io_local = NULL;
    l = launch_new(d, LAUNCH_TASKS, cred, m->cred, &kept.base, index);
    auth_key_done(&secret);
    l->key = launch_key_of(m->io_key);
    l->call = r->call;
    l->awaits_commit = r->prepare;
    vec_push(&a->waiting, l);
    prolog_run(a);
}

/* All. */

int launch_queue(struct slurmd *d, const Pb__Cred *cred, ProtobufCBinaryData packed,
                 const ProtobufCMessage *message, uint32_t node_index, uint64_t key, uint64_t call,
                 struct err *err)
{
    struct launch *l;
    struct attempt *a;
    int rc = find_or_add_job_for_tasks(d, cred, &a, err);

    if (!rc)
        rc = prepare_check_limits(d, cred, packed.len + protobuf_c_message_get_packed_size(message),
                                  err);
    if (rc)
        return rc;
    l = launch_new(d, LAUNCH_RECEIVER, cred, packed, message, node_index);
    l->key = key;
    l->call = call;
    vec_push(&a->waiting, l);
    prolog_run(a);
    return 0;
}

void launch_extern(struct attempt *a, const Pb__Cred *cred, ProtobufCBinaryData packed)
{
    Pb__Empty nothing = PB__EMPTY__INIT;
    struct launch *l = launch_new(a->d, LAUNCH_EXTERN, cred, packed, &nothing.base, 0);

    vec_push(&a->waiting, l);
    prolog_run(a);
}

/* Removes the waiting launch of this step from the list; NULL: there is none. */
static struct launch *remove_waiting_launch(struct attempt *a, uint32_t step_id)
{
    for (size_t i = 0; i < a->waiting.len; i++) {
        struct launch *l = a->waiting.data[i];

        if (l->step_id == step_id) {
            vec_remove(&a->waiting, i);
            return l;
        }
    }
    return NULL;
}

bool launch_waits(const struct attempt *a, uint32_t step_id)
{
    vec_foreach (&a->waiting, l)
        if ((*l)->step_id == step_id)
            return true;
    return false;
}

static bool was_launched(const struct attempt *a, uint32_t step_id)
{
    return step_id == STEP_ID_BATCH ? a->note.batch != NOTE_BATCH_NONE
                                    : note_find_step(&a->note, step_id) != NULL;
}

void launch_cancel(struct slurmd *d, struct attempt *a, const struct cancelled_step *s)
{
    bool over = a ? a->phase == ATTEMPT_GONE || was_launched(a, s->step_id)
                  : revoked_has(d->revoked, s->job_id, s->restarts);
    Pb__StepdEnded end = PB__STEPD_ENDED__INIT;
    struct launch *l;
    struct err err;

    if (over || !cancelled_add(d->cancelled, s))
        return;
    format_step_cancelled(d, s->job_id, s->step_id, &err);
    l = a ? remove_waiting_launch(a, s->step_id) : NULL;
    if (l) {
        launch_fail(d, l, -err.code, err.text, false);
        attempt_check_left(a);
    } else {
        log_verbose("%s; its launch will be refused", err.text);
    }
    if (s->step_id == STEP_ID_BATCH)
        return;
    end.job_id = s->job_id; /* the srun of this step may have ended */
    end.restarts = s->restarts;
    end.step_id = s->step_id;
    end.exit_status = SIGTERM;
    report_step_ended(d, &end);
}

static struct launch *find_launch(struct slurmd *d, uint64_t number, struct attempt **job,
                                  size_t *place)
{
    for (struct attempt *a = d->attempts; a; a = a->hh.next)
        for (size_t i = 0; i < a->waiting.len; i++)
            if (a->waiting.data[i]->number == number) {
                *job = a;
                *place = i;
                return a->waiting.data[i];
            }
    return NULL;
}

static void fill_start(struct slurmd *d, const struct launch *l, const struct user *user,
                       Pb__StepdStart *m, uint32_t *gids)
{
    ProtobufCBinaryData bytes = {l->message.len, (uint8_t *)l->message.data};

    m->node = d->name;
    m->spool_dir = d->spool;
    m->kill_wait_sec = (uint32_t)d->conf->kill_wait_sec;
    m->has_hello_sec = true;
    m->hello_sec = HELLO_MESSAGES * (uint32_t)d->conf->message_timeout_sec;
    m->has_unkillable_sec = m->has_slurmd_uid = true;
    m->has_plain_network = true;
    m->plain_network = !conf_encrypts(d->conf);
    m->has_keepalive_sec = m->has_keepalive_interval_sec = m->has_keepalive_probes = true;
    m->keepalive_sec = d->conf->keepalive.idle_sec;
    m->keepalive_interval_sec = d->conf->keepalive.every_sec;
    m->keepalive_probes = d->conf->keepalive.probes;
    m->has_connect_timeout_ms = m->has_x11_in_home = true;
    m->connect_timeout_ms = (uint32_t)(d->conf->tcp_timeout_sec * 1000);
    m->x11_in_home = conf_list_has(d->conf->x11_parameters, "home_xauthority");
    m->unkillable_sec = (uint32_t)d->conf->unkillable_step_timeout_sec;
    m->slurmd_uid = geteuid();
    m->has_batch = l->kind == LAUNCH_BATCH;
    m->has_launch = l->kind == LAUNCH_TASKS;
    m->has_is_extern = m->is_extern = l->kind == LAUNCH_EXTERN;
    m->batch = m->launch = bytes;
    m->cred = (ProtobufCBinaryData){l->cred.len, (uint8_t *)l->cred.data};
    m->node_index = l->node_index;
    for (size_t i = 0; i < user->group_count; i++)
        gids[i] = user->groups[i];
    m->gids = gids;
    m->n_gids = user->group_count;
    m->user_name = user->name;
    m->home = user->home;
    m->shell = user->shell;
    m->conf_path = (char *)d->conf->path;
    m->cluster = (char *)d->conf->cluster_name;
    m->node_addr = (char *)d->node->addr;
    m->node_host = (char *)d->node->hostname;
    if (d->welcomed) {
        m->topology_addr = d->welcomed->topology_addr;
        m->topology_pattern = d->welcomed->topology_pattern;
        m->topologies = d->welcomed->topologies;
        m->n_topologies = d->welcomed->n_topologies;
    }
    m->log_file = d->log_file;
    m->has_file_append = true;
    m->file_append = d->conf->job_file_append != 0;
    m->has_user_env_sec = true;
    m->user_env_sec = (uint32_t)d->conf->get_env_timeout_sec;
    m->has_memlock = true;
    m->memlock = conf_list_has(d->conf->launch_parameters, "slurmstepd_memlock_all") ? 2
                 : conf_list_has(d->conf->launch_parameters, "slurmstepd_memlock")   ? 1
                                                                                     : 0;
    m->has_propagate_prio = true;
    m->propagate_prio = d->conf->propagate_prio_process;
    m->task_prolog = (char *)d->conf->task_prolog;
    m->task_epilog = (char *)d->conf->task_epilog;
}

/* Fills in the fields that only steps with tasks need. */
static int fill_tasks(struct slurmd *d, const struct launch *l, const Pb__Cred *cred,
                      Pb__StepdStart *m, struct plugstack *plugins, struct arena *arena,
                      struct err *err)
{
    if (cred)
        devices_fill(d->conf, d->name, cred, l->node_index, m, arena);
    m->has_pam = m->pam = d->conf->use_pam != 0;
    hw_fill_cpus(d, m, arena);
    freq_fill(d, m, arena);
    return plugins_fill(d, m, plugins, err);
}

/* Only the extern step may be started again; without this line it would look like one that is
   ending. */
static void note_extern_not_started(struct attempt *a, const struct launch *l)
{
    struct note_step *known = note_find_step(&a->note, l->step_id);

    if (l->kind != LAUNCH_EXTERN || !known)
        return;
    known->over = true;
    attempt_note(a, NOTE_STEP_OVER, l->step_id);
}

/* Noted before the start, so that the step is never started twice. */
static int note_launch(struct attempt *a, const struct launch *l, struct err *err)
{
    int rc = l->kind == LAUNCH_BATCH
                 ? attempt_note_first(a, err, NOTE_BATCH)
                 : attempt_note_first(a, err, NOTE_STEP, l->step_id, (unsigned long long)l->key);

    if (rc == 0 && l->kind == LAUNCH_BATCH)
        a->note.batch = NOTE_BATCH_STARTED;
    else if (rc == 0)
        vec_push(&a->note.steps, ((struct note_step){.id = l->step_id, .key = l->key}));
    return rc;
}

/* Logs the devices and CPUs of the step on this node, by their numbers in the configuration. */
static void debug_step(const struct attempt *a, const struct launch *l, const Pb__Cred *cred)
{
    const Pb__StepNode *here =
        cred && l->node_index < cred->n_nodes ? cred->nodes[l->node_index] : NULL;
    _cleanup_str_ struct str text = STR_INIT;

    if (!here)
        return;
    slurmd_debug(a->d, cpu_bind, "step %s: %u CPUs, %zu tasks",
                 STEP_ID_TEXT(l->attempt.id, l->step_id), here->cpus, here->n_task_ids);
    for (size_t i = 0; i < here->n_gres; i++) {
        const Pb__GresAlloc *g = here->gres[i];

        str_printf(&text, "%s%s%s%s:%llu", i ? "," : "", g->name, g->type ? ":" : "",
                   g->type ? g->type : "", (unsigned long long)g->count);
        for (size_t k = 0; k < g->n_devices; k++)
            str_printf(&text, "%s%u", k ? "," : "(IDX:", g->devices[k]);
        str_puts(&text, g->n_devices ? ")" : "");
    }
    slurmd_debug(a->d, gres, "step %s: %s", STEP_ID_TEXT(l->attempt.id, l->step_id),
                 text.len ? str_cstr(&text) : "none");
}

static void start_launched_step(struct attempt *a, struct launch *l, const struct user *user)
{
    struct slurmd *d = a->d;
    Pb__StepdStart m = PB__STEPD_START__INIT;
    _cleanup_(plugstack_done) struct plugstack plugins = {0};
    _cleanup_free_ uint32_t *gids = mem_new_array(uint32_t, user->group_count + 1);
    _cleanup_arena_ struct arena arena;
    struct err err = {0};
    struct step *s;
    int rc;

    arena_init(&arena, 0);
    const Pb__Cred *cred = arena_unpack(&arena, &pb__cred__descriptor, l->cred.data, l->cred.len);
    fill_start(d, l, user, &m, gids);
    m.vsize_bytes = l->kind == LAUNCH_EXTERN ? 0 : memory_vsize_bytes(d, cred);
    m.has_vsize_bytes = m.vsize_bytes > 0;
    debug_step(a, l, cred);
    rc = l->kind == LAUNCH_EXTERN ? 0 : fill_tasks(d, l, cred, &m, &plugins, &arena, &err);
    if (!rc)
        rc = contain_fill(a, cred, l->node_index, &m, &arena, &err);
    if (rc) {
        launch_fail(d, l, -rc, err.text, false);
        return;
    }
    m.tmp = jobtmp_order(d, a->key.id, user, &arena);
    m.has_confirms_end = true;
    m.confirms_end = l->kind == LAUNCH_TASKS; /* the end of a script may wait for the epilog */
    rc = note_launch(a, l, &err);
    if (!rc)
        rc = step_start(a, l->step_id, &m, &s, &err);
    if (rc) {
        note_extern_not_started(a, l);
        launch_fail(d, l, -rc, err.text, false);
        return;
    }
    memory_read_grant(s, cred);
    s->call = l->call;
    s->held_bytes = l->message.len + l->cred.len;
    launch_free(l);
}

static void on_user(void *ctx, uint64_t number, const struct user *user, const struct err *why)
{
    struct slurmd *d = ctx;
    struct launch *l;
    struct attempt *a;
    size_t place;

    l = find_launch(d, number, &a, &place);
    if (!l)
        return;
    if (user && l->awaits_commit) {
        assert(l->phase == LAUNCH_LOOKUP);
        l->phase = LAUNCH_PREPARED;
        log_verbose("step %s is prepared", STEP_ID_TEXT(l->attempt.id, l->step_id));
        prepare_await_commit(a, l);
        rpc_prepared(d->server, l->call);
        return;
    }
    vec_remove(&a->waiting, place);
    if (user && l->kind == LAUNCH_RECEIVER)
        receive_start(a, l, user);
    else if (user)
        start_launched_step(a, l, user);
    else
        launch_fail(d, l, -why->code, why->text, false);
    attempt_check_left(a);
}

void launch_go(struct slurmd *d, struct launch *l)
{
    if (l->phase != LAUNCH_QUEUED)
        return;
    l->phase = LAUNCH_LOOKUP;
    users_ask(d->users, l->uid, l->gid, on_user, d, l->number);
}
