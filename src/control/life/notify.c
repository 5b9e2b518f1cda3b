/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * scontrol notify: a message to the user of a running job. For a batch script it goes to its node
 * and into the file of its standard error; for salloc and srun it is the early reply to the call
 * that waits for the job's end, after which they call again.
 */
#include <string.h>

#include "base/pb.h"
#include "base/step_id.h"
#include "base/text.h"
#include "control/core/named.h"
#include "control/core/reply.h"
#include "control/internal.h"
#include "control/life/notify.h"
#include "control/life/schedule.h"
#include "control/life/split.h"
#include "control/node/node.h"
#include "control/step/step.h"

#define TEXT_MAX 1024

/* The text goes to terminals: one line without control characters. */
static void put_harmless(const char *text, struct str *out)
{
    for (size_t left = strlen(text), n; left; text += n, left -= n) {
        bool harmful;
        n = text_next(text, left, &harmful);
        if (!harmful)
            str_append(out, text, n);
        else
            str_putc(out, (unsigned char)*text < 0x80 ? ' ' : '?');
    }
}

static uint64_t next_number(struct control *c)
{
    return c->epoch << 40 | ++c->nonce;
}

static int send_script_message(struct control *c, struct job *j, const char *text)
{
    const struct alloc_node *a = job_host(j);
    struct node *n = c->cluster->nodes.data[a->node];
    _cleanup_free_ char *line = mem_printf("slurmstepd: error: %s\n", text);
    Pb__SignalJob s = PB__SIGNAL_JOB__INIT;
    Pb__NodeOrder order = PB__NODE_ORDER__INIT;
    if (a->released)
        return ERR_JOB_DONE;
    if (!n->connected)
        return ERR_NODES_DOWN;
    s.job_id = j->id;
    s.restarts = j->restarts;
    SET(&s, step_id, STEP_ID_BATCH);
    s.nonce = next_number(c);
    s.say = line;
    order.signal = &s;
    node_send_orders(c, n, &order);
    return 0;
}

static struct notice_board *board_of(struct job *j)
{
    struct attempt *attempt = attempt_make(j);
    if (!attempt->board)
        attempt->board = mem_new(struct notice_board);
    return attempt->board;
}

static void drop_end_call(struct job *j, uint64_t call)
{
    for (size_t i = j->end_calls.len; i-- > 0;)
        if (j->end_calls.data[i] == call)
            vec_remove(&j->end_calls, i);
}

bool notify_listens(const struct job *j, uint64_t call)
{
    const struct notice_board *b = j->attempt ? j->attempt->board : NULL;
    for (size_t i = 0; b && i < b->waits.len; i++)
        if (b->waits.data[i].call == call)
            return true;
    return false;
}

/* Delivers to listeners that have not got the message: each calls again and gets the next one
 * then. */
static void deliver_notices(struct control *c, struct job *j)
{
    struct notice_board *b = board_of(j);
    for (size_t i = b->waits.len; i-- > 0;) {
        const struct notice *n = notice_next(b, &b->waits.data[i]);
        uint64_t call = b->waits.data[i].call;
        Pb__JobEnd m = PB__JOB_END__INIT;
        if (!n)
            continue;
        m.job_id = j->id;
        m.state = j->state;
        m.notice = n->text;
        SET(&m, notice_number, n->number);
        vec_remove(&b->waits, i);
        drop_end_call(j, call);
        control_release(c, call);
        c->env->reply(c->env->ctx, call, &m.base);
    }
}

void notify_await(struct control *c, struct job *j, uint64_t call, const Pb__JobIdRequest *r)
{
    struct notice_wait w = {.call = call,
                            .seen = r->notices_seen,
                            .step_id = r->has_step_id ? r->step_id : NOTICE_OF_JOB,
                            .of_job = r->has_of_job && r->of_job};
    if (!r->has_notices_seen || j->state == PB__JOB_STATE__PENDING)
        return;
    vec_push(&board_of(j)->waits, w);
    if (job_is_final(j))
        return;
    deliver_notices(c, j);
    inactive_look(c, j);
    control_schedule(c, j);
}

static void put_up(struct control *c, struct job *j, uint32_t step_id, const char *text)
{
    notice_add(board_of(j), next_number(c), step_id, text);
    deliver_notices(c, j);
    inactive_look(c, j);
    control_schedule(c, j);
}

static int notify_job(struct control *c, struct job *j, const Pb__StepId *id, const char *text)
{
    if (j->state == PB__JOB_STATE__PENDING || attempt_of(j)->configuring)
        return ERR_JOB_PENDING;
    if (job_is_final(j))
        return ERR_JOB_DONE;
    bool script = id->has_step_id ? id->step_id == STEP_ID_BATCH : j->batch;
    if (script)
        return j->batch ? send_script_message(c, j, text) : ERR_NO_STEP;
    if (id->has_step_id && !step_find(j, id->step_id))
        return ERR_NO_STEP;
    put_up(c, j, id->has_step_id ? id->step_id : NOTICE_OF_JOB, text);
    return 0;
}

void notify_held_up(struct control *c, struct job *j)
{
    _cleanup_str_ struct str text = STR_INIT;
    if (j->batch || attempt_of(j)->configuring || job_is_final(j))
        return;
    put_harmless(j->attempt->held_up, &text);
    put_up(c, j, NOTICE_OF_JOB, str_cstr(&text));
}

static int notify_parts(struct control *c, const Pb__StepId *id, const char *text, struct err *err)
{
    struct split_list parts = {0};
    bool any = false;
    int first = split_targets(c, id, &parts, err) ? ERR_NO_JOB : 0;
    vec_foreach (&parts, part) {
        int code = notify_job(c, cluster_find_job(c->cluster, part->job_id), id, text);
        split_settle(c, part, code == 0);
        any = any || code == 0;
        first = first ? first : code;
    }
    vec_done(&parts);
    return any ? 0 : first;
}

void control_job_notify(struct control *c, uint64_t call, const struct caller *who,
                        const Pb__JobNotify *r)
{
    const struct job *j = named_any(c, r->target);
    struct err err = {0};
    _cleanup_str_ struct str text = STR_INIT;
    int code = !j ? ERR_NO_JOB : control_owns(who, j) ? 0 : control_denial(c, who, j);
    if (!code && (!*r->text || strlen(r->text) > TEXT_MAX)) {
        control_refuse_code(c, call, ERR_LIMIT, "a message has 1 to 1024 bytes");
        return;
    }
    put_harmless(r->text, &text);
    if (!code)
        code = notify_parts(c, r->target, str_cstr(&text), &err);
    if (err.code)
        control_refuse(c, call, &err);
    else if (code)
        control_refuse_code(c, call, code, NULL);
    else
        control_done(c, call);
}
