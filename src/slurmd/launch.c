/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/launch.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/mem.h"
#include "rpc/client.h"
#include "slurmd/contain.h"
#include "slurmd/cpus.h"
#include "slurmd/cred.h"
#include "slurmd/devices.h"
#include "slurmd/jobtmp.h"
#include "slurmd/plugins.h"
#include "slurmd/prepare.h"
#include "slurmd/receive.h"
#include "slurmd/report.h"
#include "slurmd/revoked.h"
#include "slurmd/users.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

#define CRED_ARENA (64u << 20)

static struct log_limit refusals = {.burst = 60};

void launch_free(struct launch *l)
{
    str_done(&l->message);
    str_done(&l->cred);
    free(l);
}

void launch_refuse(struct slurmd *d, uint64_t call, int code, const char *text)
{
    if (call)
        rpc_reply_error(d->server, call, code, text);
}

static void drain_for(struct slurmd *d, uint32_t job_id, const char *what, const char *text)
{
    _cleanup_free_ char *reason = mem_printf("%s: %s, job %u", what, text, job_id);

    report_trouble(d, reason);
}

/* A step that this node's own fault keeps from starting; of batch scripts the controller knows. */
static void check_fault(struct slurmd *d, uint32_t job_id, int code, const char *text)
{
    if (code == ERR_NODE_FAULT)
        drain_for(d, job_id, "Launch failure", text);
}

void launch_fail(struct slurmd *d, struct launch *l, int code, const char *text, bool drain)
{
    if (l->is_receive)
        log_error("a receiver of files for job %u was not started: %s", l->job.id, text);
    else
        log_error("launch of %u.%u: %s", l->job.id, l->step_id, text);
    if (l->is_batch) {
        report_launched(d, l->job.id, l->job.restarts, code, text, drain);
    } else {
        launch_refuse(d, l->call, code, text);
        check_fault(d, l->job.id, code, text);
        if (drain)
            drain_for(d, l->job.id, "Prolog error", text);
    }
    launch_free(l);
}

void launch_answer(struct step *s, int code, const char *text)
{
    struct job *j = s->job;
    Pb__LaunchReply reply = PB__LAUNCH_REPLY__INIT;

    if (s->answered)
        return;
    s->answered = true;
    if (code)
        log_error("step %u.%u was not started: %s", j->key.id, s->id, text ? text : err_text(code));
    else
        log_verbose("started step %u.%u, pid %d", j->key.id, s->id, (int)s->pid);
    if (s->id == SLURMD_STEP_BATCH) {
        report_launched(j->d, j->key.id, j->key.restarts, code, text, false);
    } else if (code) {
        launch_refuse(j->d, s->call, code, text && *text ? text : err_text(code));
        check_fault(j->d, j->key.id, code, text && *text ? text : err_text(code));
    } else if (s->call) {
        reply.local_pid = (uint32_t)s->pid;
        rpc_reply(j->d->server, s->call, &reply.base);
    }
    s->call = 0;
}

int launch_check_cred(struct slurmd *d, ProtobufCBinaryData data, ProtobufCBinaryData signature,
                      struct arena *arena, Pb__Cred **cred, uint32_t *node_index, struct err *err)
{
    struct cred_checker checker = {.public_key = d->have_public_key ? d->public_key : NULL,
                                   .cluster = d->conf->cluster_name,
                                   .node = d->name,
                                   .incarnation = d->incarnation,
                                   .now_ms = loop_wall_ms()};

    return cred_check(&checker, data.data, data.len, signature.data, signature.len, arena, cred,
                      node_index, err);
}

static void say_cancelled(const struct slurmd *d, uint32_t job_id, uint32_t step_id,
                          struct err *err)
{
    _cleanup_free_ char *name = step_id == SLURMD_STEP_BATCH
                                    ? mem_printf("the batch script of job %u", job_id)
                                    : mem_printf("step %u.%u", job_id, step_id);

    err_set(err, -ERR_CREDENTIAL_REVOKED, "%s: %s was cancelled before it ran on node %s",
            err_text(ERR_CREDENTIAL_REVOKED), name, d->name);
}

int launch_check_not_over(struct slurmd *d, const Pb__Cred *cred, struct err *err)
{
    uint32_t id = cred->job_id, restarts = cred->restarts;
    struct job *j = job_find(d, id, restarts);

    if (cancelled_has(&d->cancelled, &(struct cancelled_step){id, restarts, cred->step_id})) {
        say_cancelled(d, id, cred->step_id, err);
        return err->code;
    }
    if ((j && job_is_ending(j)) || (!j && revoked_has(d->revoked, id, restarts)))
        return err_set(err, -ERR_CREDENTIAL_REVOKED, "%s: job %u has ended on node %s",
                       err_text(ERR_CREDENTIAL_REVOKED), id, d->name);
    return 0;
}

/* What scripts are told of the job. */
static void about_job(const struct slurmd *d, const Pb__Cred *cred, Pb__Terminate *about)
{
    for (size_t i = 0; i < cred->n_job_nodes; i++)
        if (!strcmp(cred->job_nodes[i]->node, d->name)) {
            about->has_cpus = true;
            about->cpus = cred->job_nodes[i]->cpus;
        }
    about->job_id = cred->job_id;
    about->restarts = cred->restarts;
    about->uid = cred->uid;
    about->gid = cred->gid;
    about->facts = cred->facts;
}

static struct launch *launch_new(struct slurmd *d, const Pb__Cred *cred, ProtobufCBinaryData packed,
                                 const ProtobufCMessage *message, uint32_t node_index)
{
    struct launch *l = mem_new(struct launch);

    l->number = ++d->next_launch;
    l->job = (struct job_key){cred->job_id, cred->restarts};
    l->step_id = cred->step_id;
    l->node_index = node_index;
    l->uid = cred->uid;
    l->gid = cred->gid;
    pb_pack(message, &l->message);
    str_append(&l->cred, packed.data, packed.len);
    return l;
}

static bool is_waiting(const struct job *j, uint32_t step_id, struct launch **out)
{
    for (size_t i = 0; i < j->waiting.len; i++)
        if (j->waiting.data[i]->step_id == step_id) {
            *out = j->waiting.data[i];
            return true;
        }
    return false;
}

/* Batch scripts. */

static int check_batch(struct slurmd *d, const Pb__LaunchBatch *m, struct arena *arena,
                       Pb__Cred **cred, uint32_t *index, struct err *err)
{
    int rc = launch_check_cred(d, m->cred, m->signature, arena, cred, index, err);

    if (rc)
        return rc;
    if ((*cred)->job_id != m->job_id || (*cred)->restarts != m->restarts ||
        (*cred)->step_id != SLURMD_STEP_BATCH || (m->spec->has_uid && m->spec->uid != (*cred)->uid))
        return err_set(err, -ERR_CREDENTIAL, "%s: it is not the one of this batch script",
                       err_text(ERR_CREDENTIAL));
    return launch_check_not_over(d, *cred, err);
}

/* The same order again. */
static void answer_repeat(struct job *j)
{
    struct step *s = step_find(j, SLURMD_STEP_BATCH);

    log_verbose("job %u: its launch was ordered again", j->key.id);
    if (j->batch_ended || (s && s->started))
        report_launched(j->d, j->key.id, j->key.restarts, 0, NULL, false);
}

static int job_for_batch(struct slurmd *d, const Pb__Cred *cred, struct job **out, struct err *err)
{
    Pb__Terminate about = PB__TERMINATE__INIT;

    about_job(d, cred, &about);
    return job_new(d, &about, cred->n_job_nodes == 1 ? NOTE_SINGLE : "", out, err);
}

/* Old when it came, or made at a time that has not come here: the controller knows which. */
static void refuse_batch(struct slurmd *d, const Pb__LaunchBatch *m, struct arena *arena,
                         const struct err *why)
{
    const Pb__Cred *cred = NULL;

    log_error("job %u can not be launched: %s", m->job_id, why->text);
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
    struct job *j = job_find(d, m->job_id, m->restarts);
    struct launch *l;
    Pb__Cred *cred;
    uint32_t index;
    int rc;

    arena_init(&arena, CRED_ARENA);
    if (j && (j->note.batch_started || is_waiting(j, SLURMD_STEP_BATCH, &l))) {
        answer_repeat(j);
        return;
    }
    rc = check_batch(d, m, &arena, &cred, &index, &err);
    if (!rc && !j)
        rc = job_for_batch(d, cred, &j, &err);
    if (rc) {
        refuse_batch(d, m, &arena, &err);
        return;
    }
    l = launch_new(d, cred, m->cred, &m->base, 0);
    l->is_batch = true;
    vec_push(&j->waiting, l);
    job_prepare(j);
}

/* Steps. */

static int check_tasks(struct slurmd *d, const struct rpc_request *r, const Pb__LaunchTasks *m,
                       struct arena *arena, Pb__Cred **cred, uint32_t *index, struct err *err)
{
    int rc = launch_check_cred(d, m->cred, m->signature, arena, cred, index, err);

    if (rc)
        return rc;
    if (r->who.uid != (*cred)->uid && r->who.uid != 0)
        return err_set(err, -ERR_CREDENTIAL, "%s: it is of user %u, the caller is user %u",
                       err_text(ERR_CREDENTIAL), (*cred)->uid, (unsigned)r->who.uid);
    if ((*cred)->step_id == SLURMD_STEP_BATCH || (*cred)->cast ||
        !(*cred)->nodes[*index]->n_task_ids)
        return err_set(err, -ERR_CREDENTIAL, "%s: it grants no tasks on node %s",
                       err_text(ERR_CREDENTIAL), d->name);
    if (!m->n_argv || !m->n_io_addr || m->io_port < 1 || m->io_port > 65535 ||
        m->io_key.len != AUTH_TOKEN_SIZE)
        return err_set(err, -ERR_LAUNCH, "%s: the request lacks a program or where its output goes",
                       err_text(ERR_LAUNCH));
    return launch_check_not_over(d, *cred, err);
}

void launch_join(struct slurmd *d, uint64_t *first, uint64_t call)
{
    if (*first)
        rpc_call_join(d->server, *first, call);
    else
        *first = call;
}

/* Whether this step was asked for before; then the call is answered, now or with the first. */
static bool is_repeat(struct job *j, uint32_t step_id, uint64_t key, const struct rpc_request *r)
{
    uint64_t call = r->call;
    struct step *s = step_find(j, step_id);
    struct note_step *known = note_find_step(&j->note, step_id);
    struct launch *l;

    if (is_waiting(j, step_id, &l) && l->key == key) {
        launch_join(j->d, &l->call, call);
        if (l->held && !r->prepare)
            prepare_commit(j->d, call);
        else if (l->held && l->ready)
            rpc_prepared(j->d->server, call);
        return true;
    }
    if (s && known && known->key == key) {
        launch_join(j->d, &s->call, call);
        if (s->started) {
            s->answered = false;
            launch_answer(s, 0, NULL);
        }
        return true;
    }
    if (!known && !is_waiting(j, step_id, &l))
        return false;
    launch_refuse(j->d, call, ERR_LAUNCH, "the step was launched before");
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

static int job_for_tasks(struct slurmd *d, const Pb__Cred *cred, struct job **out, struct err *err)
{
    Pb__Terminate about = PB__TERMINATE__INIT;

    *out = job_find(d, cred->job_id, cred->restarts);
    if (*out)
        return 0;
    about_job(d, cred, &about);
    return job_new(d, &about, "", out, err);
}

/* "10.0.0.1:4711", "[::1]:4711", or a local caller. */
char *launch_return_address(const char *peer)
{
    const char *from = peer[0] == '[' ? peer + 1 : peer;
    const char *end = peer[0] == '[' ? strchr(peer, ']') : strrchr(peer, ':');

    return end ? mem_strndup(from, (size_t)(end - from)) : mem_strdup("127.0.0.1");
}

void launch_tasks(struct slurmd *d, const struct rpc_request *r)
{
    const Pb__LaunchTasks *m = (const Pb__LaunchTasks *)r->body;
    _cleanup_free_ char *back = launch_return_address(r->peer);
    Pb__LaunchTasks kept = *m;
    struct auth_key secret;
    _cleanup_arena_ struct arena arena;
    struct err err = {0};
    Pb__Cred *cred;
    struct job *j;
    struct launch *l;
    uint32_t index;
    int rc;

    arena_init(&arena, CRED_ARENA);
    rc = check_tasks(d, r, m, &arena, &cred, &index, &err);
    if (!rc) /* what the message holds is no secret to whoever sees it */
        rc = auth_secret_of(&d->key, m->io_key.data, m->io_key.len, RPC_SECRET_AUDIENCE, r->who.uid,
                            &secret, &err);
    if (!rc)
        rc = job_for_tasks(d, cred, &j, &err);
    if (rc) {
        if (log_allow(&refusals))
            log_error("refused a launch by user %u from %s: %s", (unsigned)r->who.uid, r->peer,
                      err.text);
        rpc_reply_error(d->server, r->call, -rc, err.text);
        return;
    }
    if (is_repeat(j, cred->step_id, launch_key_of(m->io_key), r))
        return;
    kept.io_key = (ProtobufCBinaryData){sizeof(secret.mac_key), secret.mac_key};
    kept.io_addr = &back;
    kept.n_io_addr = 1;
    l = launch_new(d, cred, m->cred, &kept.base, index);
    auth_key_done(&secret);
    l->key = launch_key_of(m->io_key);
    l->call = r->call;
    l->held = r->prepare;
    vec_push(&j->waiting, l);
    job_prepare(j);
}

/* All. */

int launch_queue(struct slurmd *d, const Pb__Cred *cred, ProtobufCBinaryData packed,
                 const ProtobufCMessage *message, uint32_t node_index, uint64_t key, uint64_t call,
                 struct err *err)
{
    struct launch *l;
    struct job *j;
    int rc = job_for_tasks(d, cred, &j, err);

    if (rc)
        return rc;
    l = launch_new(d, cred, packed, message, node_index);
    l->is_receive = true;
    l->key = key;
    l->call = call;
    vec_push(&j->waiting, l);
    job_prepare(j);
    return 0;
}

/* Takes the one that waits for this step off the list. */
static struct launch *take_waiting(struct job *j, uint32_t step_id)
{
    for (size_t i = 0; i < j->waiting.len; i++) {
        struct launch *l = j->waiting.data[i];

        if (l->step_id == step_id) {
            vec_remove(&j->waiting, i);
            return l;
        }
    }
    return NULL;
}

bool launch_waits(const struct job *j, uint32_t step_id)
{
    vec_foreach (&j->waiting, l)
        if ((*l)->step_id == step_id)
            return true;
    return false;
}

static bool was_launched(const struct job *j, uint32_t step_id)
{
    return step_id == SLURMD_STEP_BATCH ? j->note.batch_started
                                        : note_find_step(&j->note, step_id) != NULL;
}

void launch_cancel(struct slurmd *d, struct job *j, const struct cancelled_step *s)
{
    bool over = j ? j->note.gone || was_launched(j, s->step_id)
                  : revoked_has(d->revoked, s->job_id, s->restarts);
    Pb__StepdEnded end = PB__STEPD_ENDED__INIT;
    struct launch *l;
    struct err err;

    if (over || !cancelled_add(&d->cancelled, s))
        return;
    say_cancelled(d, s->job_id, s->step_id, &err);
    l = j ? take_waiting(j, s->step_id) : NULL;
    if (l)
        launch_fail(d, l, -err.code, err.text, false);
    else
        log_verbose("%s; its launch will be refused", err.text);
    if (s->step_id == SLURMD_STEP_BATCH)
        return;
    end.job_id = s->job_id; /* whoever wanted to launch it may be gone */
    end.restarts = s->restarts;
    end.step_id = s->step_id;
    end.exit_status = SIGTERM;
    report_step_ended(d, &end);
}

static struct launch *find(struct slurmd *d, uint64_t number, struct job **job, size_t *place)
{
    for (struct job *j = d->jobs; j; j = j->hh.next)
        for (size_t i = 0; i < j->waiting.len; i++)
            if (j->waiting.data[i]->number == number) {
                *job = j;
                *place = i;
                return j->waiting.data[i];
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
    m->has_unkillable_sec = m->has_slurmd_uid = true;
    m->unkillable_sec = (uint32_t)d->conf->unkillable_step_timeout_sec;
    m->slurmd_uid = geteuid();
    m->has_batch = l->is_batch;
    m->has_launch = !l->is_batch;
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
    m->topology_addr = d->topology_addr;
    m->topology_pattern = d->topology_pattern;
    m->log_file = d->log_file;
    m->has_file_append = true;
    m->file_append = d->conf->job_file_append != 0;
    m->has_user_env_sec = true;
    m->user_env_sec = (uint32_t)d->conf->get_env_timeout_sec;
    m->task_prolog = (char *)d->conf->task_prolog;
    m->task_epilog = (char *)d->conf->task_epilog;
}

/* On record first: whatever happens now, this is never started a second time. */
static void start_step(struct job *j, struct launch *l, const struct user *user)
{
    struct slurmd *d = j->d;
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
    if (cred)
        devices_fill(d->conf, d->name, cred, l->node_index, &m, &arena);
    rc = plugins_fill(d, &m, &plugins, &err);
    if (!rc)
        rc = contain_fill(j, cred, l->node_index, &m, &arena, &err);
    if (rc) {
        launch_fail(d, l, -rc, err.text, false);
        return;
    }
    m.has_pam = m.pam = d->conf->use_pam != 0;
    m.tmp = jobtmp_order(d, j->key.id, user, &arena);
    cpus_fill(d, &m, &arena);
    if (l->is_batch)
        rc = job_note_first(j, &err, NOTE_BATCH);
    else
        rc = job_note_first(j, &err, NOTE_STEP, l->step_id, (unsigned long long)l->key);
    if (!rc && l->is_batch)
        j->note.batch_started = true;
    else if (!rc)
        vec_push(&j->note.steps, ((struct note_step){.id = l->step_id, .key = l->key}));
    if (!rc)
        rc = step_start(j, l->step_id, &m, &s, &err);
    if (rc) {
        launch_fail(d, l, -rc, err.text, false);
        return;
    }
    memory_read_grant(s, cred);
    s->call = l->call;
    launch_free(l);
}

static void on_user(void *ctx, uint64_t number, const struct user *user, const struct err *why)
{
    struct slurmd *d = ctx;
    struct launch *l;
    struct job *j;
    size_t place;

    l = find(d, number, &j, &place);
    if (!l)
        return;
    if (user && l->held) {
        l->ready = true;
        log_verbose("step %u.%u is prepared", l->job.id, l->step_id);
        rpc_prepared(d->server, l->call);
        return;
    }
    vec_remove(&j->waiting, place);
    if (user && l->is_receive)
        receive_start(j, l, user);
    else if (user)
        start_step(j, l, user);
    else
        launch_fail(d, l, -why->code, why->text, false);
}

void launch_go(struct slurmd *d, struct launch *l)
{
    if (l->asked)
        return;
    l->asked = true;
    users_ask(d->users, l->uid, l->gid, on_user, d, l->number);
}
