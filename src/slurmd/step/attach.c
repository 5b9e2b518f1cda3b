/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/step/attach.h"

#include "base/mem.h"
#include "rpc/client.h"
#include "rpc/reply.h"
#include "slurmd/attempt/attempt.h"
#include "slurmd/node/caller_address.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"
#include "base/step_id.h"

static struct log_limits refusals = {.burst = 60};

/* Returns the running attempt among the known attempts of the job. */
static struct attempt *find_running_attempt(struct slurmd *d, uint32_t id)
{
    struct attempt *found = NULL;

    for (struct attempt *a = d->attempts; a; a = a->hh.next)
        if (a->key.id == id && (!found || a->key.restarts > found->key.restarts))
            found = a;
    return found;
}

static int refuse_unknown_step(const struct slurmd *d, uint32_t job_id, struct err *err)
{
    return err_set(err, -ERR_NO_JOB, "job %u is not on node %s", job_id, d->name);
}

/* A caller must not learn which steps the jobs of other users have. */
static int check_caller(const struct slurmd *d, const struct rpc_request *r,
                        const struct attempt *a, struct err *err)
{
    if (r->who.uid == (uid_t)a->note.about->uid || r->roles & RPC_WHO_ADMIN)
        return 0;
    if (conf_is_private(d->conf, "jobs")) {
        if (log_allow_source(&refusals, r->who.uid))
            log_error("refused: uid %u (%s) may not see job %u of uid %u", (unsigned)r->who.uid,
                      r->peer, a->key.id, (unsigned)a->note.about->uid);
        return refuse_unknown_step(d, a->key.id, err);
    }
    return err_set(err, -ERR_ACCESS, "%s: job %u is not yours", err_text(ERR_ACCESS), a->key.id);
}

static int find_step(struct slurmd *d, const struct rpc_request *r, const Pb__StepAttach *m,
                     struct step **out, struct err *err)
{
    struct attempt *a = find_running_attempt(d, m->job_id);
    int rc = a ? check_caller(d, r, a, err) : refuse_unknown_step(d, m->job_id, err);

    if (rc)
        return rc;
    if (m->step_id == STEP_ID_BATCH)
        return err_set(err, -ERR_NOT_SUPPORTED,
                       "the batch script of job %u writes to files, and is not attached to: "
                       "'scontrol show job %u' has them as StdOut and StdErr",
                       m->job_id, m->job_id);
    if (m->step_id == STEP_ID_EXTERN)
        return err_set(err, -ERR_NOT_SUPPORTED, "the extern step of job %u writes nothing",
                       m->job_id);
    if (m->io_port < 1 || m->io_port > 65535 || m->io_key.len != AUTH_TOKEN_SIZE)
        return err_set(err, -ERR_PROTOCOL, "the request does not say where the output is to go");
    *out = step_find(a, m->step_id);
    if (!*out && note_find_step(&a->note, m->step_id))
        return err_set(err, -ERR_JOB_DONE, "step %s has ended",
                       STEP_ID_TEXT(m->job_id, m->step_id));
    if (!*out)
        return err_set(err, -ERR_NO_STEP, "step %s is not on node %s",
                       STEP_ID_TEXT(m->job_id, m->step_id), d->name);
    if ((*out)->ended)
        return err_set(err, -ERR_JOB_DONE, "step %s has ended",
                       STEP_ID_TEXT(m->job_id, m->step_id));
    if (!(*out)->started)
        return err_set(err, -ERR_TRANSITION, "step %s is not running yet",
                       STEP_ID_TEXT(m->job_id, m->step_id));
    return step_is_swamped(*out) ? err_set(err, -ERR_BUSY, "%s", err_text(ERR_BUSY)) : 0;
}

void attach_step(struct slurmd *d, const struct rpc_request *r)
{
    const Pb__StepAttach *m = (const Pb__StepAttach *)r->body;
    Pb__StepdAttach order = PB__STEPD_ATTACH__INIT;
    struct auth_key secret;
    struct err err = {0};
    struct step *s = NULL;
    int rc = find_step(d, r, m, &s, &err);

    if (!rc) /* the key in the message is readable on the wire */
        rc = auth_secret_of(&d->key, m->io_key.data, m->io_key.len, RPC_SECRET_AUDIENCE, r->who.uid,
                            &secret, &err);
    if (rc) {
        if (rc == -ERR_ACCESS && log_allow_source(&refusals, r->who.uid))
            log_error("refused to show step %s to user %u at %s: %s",
                      STEP_ID_TEXT(m->job_id, m->step_id), (unsigned)r->who.uid, r->peer, err.text);
        rpc_reply_error(d->server, r->call, -rc, err.text);
        return;
    }
    log_verbose("step %s: user %u at %s watches", STEP_ID_TEXT(m->job_id, m->step_id),
                (unsigned)r->who.uid, r->peer);
    vec_push(&s->attaching, r->call);
    order.addr = caller_address(r->peer, NULL, 0);
    order.port = m->io_port;
    order.key = (ProtobufCBinaryData){sizeof(secret.mac_key), secret.mac_key};
    rpc_link_send(s->link, RPC_STEPD_ATTACH, false, r->call, &order.base);
    auth_key_done(&secret);
    free(order.addr);
}

void attach_done(struct step *s, uint64_t number, const Pb__StepdAttached *m)
{
    Pb__StepAttached reply = PB__STEP_ATTACHED__INIT;

    for (size_t i = 0; i < s->attaching.len; i++) {
        if (s->attaching.data[i] != number)
            continue;
        vec_remove(&s->attaching, i);
        reply.local_pid = (uint32_t)s->pid;
        if (m->code)
            rpc_reply_error(s->attempt->d->server, number, m->code, m->text);
        else
            rpc_reply(s->attempt->d->server, number, &reply.base);
        return;
    }
}

void attach_fail(struct step *s)
{
    _cleanup_free_ char *text =
        mem_printf("step %s has ended", STEP_ID_TEXT(s->attempt->key.id, s->id));

    vec_foreach (&s->attaching, call)
        rpc_reply_error(s->attempt->d->server, *call, ERR_JOB_DONE, text);
    vec_done(&s->attaching);
}
