/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests for which the site's job_submit plugins are being asked in the helper. They are kept as
 * received, and dispatched again when all questions are answered; control/ then asks the same
 * questions and finds the answers here. A slow plugin therefore delays these requests only. */
#define LOG_ROOM "slurmctld"
#include <string.h>

#include <uthash.h>
#include <utlist.h>

#include "base/mem.h"
#include "proto/submit.pb-c.h"
#include "slurmctld/core/ctld.h"
#include "slurmctld/script/scripts.h"
#include "slurmctld/submit/submit_line.h"
#include "slurmctld/submit/submit_wait.h"

#define BURST_QUESTION 1 /* instead of a job id: a question of this file, not of control/ */
/* If the subject of a request changes while it waits, it is asked again up to this number of
   times. */
#define ROUNDS 8

struct question {
    struct question *next;
    struct submit_wait *of;
    uint64_t number;
    struct str asked;  /* the question: the request and the present job */
    struct str answer; /* empty: not answered yet */
    bool is_burst;     /* the question is for burst_buffer.lua, in the helper that runs scripts */
    UT_hash_handle hh; /* by number */
};

struct submit_wait {
    uint64_t call;
    struct rpc_request request;
    struct arena arena; /* memory of the request's body */
    char *peer;
    struct question *questions;
    unsigned rounds;
    bool kept, runs; /* runs: it is being dispatched again */
    UT_hash_handle hh;
};

struct submit_waits {
    struct submit_wait *by_call;
    struct question *by_number;
    uint64_t last;
};

static struct submit_waits *get_waits(struct ctld *c)
{
    if (!c->submit_waits)
        c->submit_waits = mem_new(struct submit_waits);
    return c->submit_waits;
}

static void stop_burst_question(struct ctld *c, const struct question *q)
{
    Pb__ScriptRun m = PB__SCRIPT_RUN__INIT;
    m.kind = PB__SCRIPT_KIND__SCRIPT_BURST_ASK;
    m.job_id = BURST_QUESTION;
    m.restarts = (uint32_t)q->number;
    if (c->scripts)
        scripts_stop(c->scripts, &m);
}

static void question_free(struct ctld *c, struct question *q)
{
    if (!q->answer.len && q->is_burst)
        stop_burst_question(c, q);
    else if (!q->answer.len && c->submit_line)
        submit_line_forget(c->submit_line, q->number);
    HASH_DEL(c->submit_waits->by_number, q);
    str_done(&q->asked);
    str_done(&q->answer);
    free(q);
}

static void wait_free(struct ctld *c, struct submit_wait *w)
{
    struct question *q, *next;
    LL_FOREACH_SAFE(w->questions, q, next)
    question_free(c, q);
    HASH_DEL(c->submit_waits->by_call, w);
    if (w->kept)
        arena_done(&w->arena);
    free(w->peer);
    free(w);
}

static struct submit_wait *find_wait(struct ctld *c, uint64_t call)
{
    struct submit_wait *w = NULL;
    if (c->submit_waits)
        HASH_FIND(hh, c->submit_waits->by_call, &call, sizeof call, w);
    return w;
}

static struct submit_wait *find_or_make(struct ctld *c, uint64_t call)
{
    struct submit_wait *w = find_wait(c, call);
    if (w)
        return w;
    w = mem_new(struct submit_wait);
    w->call = call;
    HASH_ADD(hh, get_waits(c)->by_call, call, sizeof w->call, w);
    return w;
}

static bool is_waiting(const struct submit_wait *w)
{
    const struct question *q;
    LL_FOREACH(w->questions, q)
    if (!q->answer.len)
        return true;
    return false;
}

/* --- asking ----------------------------------------------------------------------------------- */

static void pack_part(const struct env_part *p, Pb__SubmitPart *out)
{
    pb__submit_part__init(out);
    out->name = (char *)(uintptr_t)p->name;
    out->nodes = (char *)(uintptr_t)p->nodes;
    out->is_default = p->is_default;
    out->is_up = p->is_up;
    out->priority_tier = p->priority_tier;
    out->priority_job_factor = p->priority_job_factor;
    out->min_nodes = p->min_nodes;
    out->max_nodes = p->max_nodes;
    out->max_time_sec = p->max_time_sec;
    out->default_time_sec = p->default_time_sec;
}

static bool send_question(struct ctld *c, const struct env_submit *ask, uint64_t number)
{
    Pb__SubmitQuestion m = PB__SUBMIT_QUESTION__INIT;
    Pb__SubmitPart *parts = arena_alloc(ask->arena, (ask->n_parts + 1) * sizeof *parts);
    m.part = arena_alloc(ask->arena, (ask->n_parts + 1) * sizeof *m.part);
    for (size_t i = 0; i < ask->n_parts; i++) {
        pack_part(&ask->parts[i], &parts[i]);
        m.part[i] = &parts[i];
    }
    m.n_part = ask->n_parts;
    m.number = number;
    m.spec = ask->spec;
    m.before = (Pb__JobSpec *)(uintptr_t)ask->before;
    m.payload = (Pb__JobPayload *)(uintptr_t)ask->payload;
    m.uid = ask->uid;
    m.job_id = ask->job_id;
    return submit_line_ask(c->submit_line, &m);
}

static int ask_line(struct ctld *c, struct submit_wait *w, const struct env_submit *ask,
                    struct str *asked, struct err *err)
{
    struct question *q = mem_new(struct question);
    q->of = w;
    q->number = ++c->submit_waits->last;
    q->asked = *asked;
    *asked = (struct str)STR_INIT;
    HASH_ADD(hh, c->submit_waits->by_number, number, sizeof q->number, q);
    bool again = w->rounds < ROUNDS;
    if (!again || !send_question(c, ask, q->number)) {
        question_free(c, q);
        return again ? err_set(err, -ERR_BACKOFF, "%s", err_text(ERR_BACKOFF))
                     : err_set(err, -ERR_BUSY, "%s: what is asked about changes all the time",
                               err_text(ERR_BUSY));
    }
    LL_PREPEND(w->questions, q);
    return ENV_SUBMIT_LATER;
}

static int take_submit_answer(struct env_submit *ask, const struct question *q, struct err *err)
{
    const Pb__SubmitAnswer *a = (const Pb__SubmitAnswer *)(void *)arena_unpack(
        ask->arena, &pb__submit_answer__descriptor, q->answer.data, q->answer.len);
    if (!a || (a->code == 0 && !a->spec))
        return err_set(err, -ERR_INTERNAL, "a job_submit plugin has damaged what it was given");
    if (a->message)
        str_puts(ask->message, a->message);
    if (a->code != 0)
        return err_set(err, a->code < 0 ? a->code : -ERR_GENERIC, "%s", a->text ? a->text : "");
    *ask->spec = *a->spec;
    return 0;
}

int submit_wait_ask(struct ctld *c, struct env_submit *ask, struct err *err)
{
    struct submit_wait *w = find_or_make(c, c->serving->call);
    _cleanup_str_ struct str asked = STR_INIT;
    struct question *q;
    pb_pack(&ask->spec->base, &asked);
    str_putc(&asked, ask->before ? 'b' : 'n');
    if (ask->before)
        pb_pack(&ask->before->base, &asked);
    LL_FOREACH(w->questions, q)
    if (q->asked.len == asked.len && memcmp(q->asked.data, asked.data, asked.len) == 0)
        return q->answer.len ? take_submit_answer(ask, q, err) : ENV_SUBMIT_LATER;
    return ask_line(c, w, ask, &asked, err);
}

/* --- burst buffers ---------------------------------------------------------------------------- */

static int take_burst_answer(struct ctld *c, const struct question *q, struct err *err)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__SubmitAnswer *a = (const Pb__SubmitAnswer *)(void *)arena_unpack(
        &arena, &pb__submit_answer__descriptor, q->answer.data, q->answer.len);
    if (a && a->code == 0)
        return 0;
    return err_set(err, -ERR_BURST, "%s: %s", err_text(ERR_BURST),
                   a && a->text ? a->text : "slurm_bb_job_process failed");
}

static int run_burst_question(struct ctld *c, struct submit_wait *w, Pb__ScriptRun *m,
                              struct str *asked, struct err *err)
{
    const struct conf *conf = control_conf(c->control);
    uint32_t owners[] = {conf->slurm_uid, conf->slurmd_uid};
    if (w->rounds >= ROUNDS)
        return err_set(err, -ERR_BUSY, "%s: what is asked about changes all the time",
                       err_text(ERR_BUSY));
    struct question *q = mem_new(struct question);
    q->of = w;
    q->is_burst = true;
    q->number = ++c->submit_waits->last;
    q->asked = *asked;
    *asked = (struct str)STR_INIT;
    HASH_ADD(hh, c->submit_waits->by_number, number, sizeof q->number, q);
    LL_PREPEND(w->questions, q);
    m->job_id = BURST_QUESTION;
    m->restarts = (uint32_t)q->number;
    m->owner = owners;
    m->n_owner = 2;
    scripts_run(c->scripts, m);
    m->owner = NULL;
    m->n_owner = 0;
    return ENV_SUBMIT_LATER;
}

int submit_wait_ask_burst(void *ctx, Pb__ScriptRun *m, struct err *err)
{
    struct ctld *c = ctx;
    struct question *q;
    _cleanup_str_ struct str asked = STR_INIT;
    if (!c->scripts || !c->serving)
        return 0;
    struct submit_wait *w = find_or_make(c, c->serving->call);
    str_putc(&asked, 's'); /* questions to job_submit plugins begin with a field */
    pb_pack(&m->base, &asked);
    LL_FOREACH(w->questions, q)
    if (q->is_burst && q->asked.len == asked.len &&
        memcmp(q->asked.data, asked.data, asked.len) == 0)
        return q->answer.len ? take_burst_answer(c, q, err) : ENV_SUBMIT_LATER;
    return run_burst_question(c, w, m, &asked, err);
}

bool submit_wait_burst_answer(struct ctld *c, const Pb__ScriptEnded *m)
{
    Pb__SubmitAnswer a = PB__SUBMIT_ANSWER__INIT;
    if (m->kind != PB__SCRIPT_KIND__SCRIPT_BURST_ASK || m->job_id != BURST_QUESTION)
        return false;
    a.number = m->restarts;
    a.code = m->wait_status ? -ERR_BURST : 0;
    a.text = m->text;
    if (c->submit_waits)
        submit_wait_answer(c, &a);
    return true;
}

/* --- waiting ---------------------------------------------------------------------------------- */

void submit_wait_keep(struct ctld *c, const struct rpc_request *r)
{
    struct submit_wait *w = find_wait(c, r->call);
    if (!w || w->runs)
        return;
    if (!is_waiting(w)) {
        wait_free(c, w);
        return;
    }
    w->request = *r;
    rpc_request_take(r, &w->arena);
    w->kept = true;
    w->request.arena = &w->arena;
    w->request.peer = w->peer = mem_strdup(r->peer);
}

void submit_wait_answer(void *ctx, const Pb__SubmitAnswer *a)
{
    struct ctld *c = ctx;
    struct question *q;
    HASH_FIND(hh, c->submit_waits->by_number, &a->number, sizeof a->number, q);
    if (!q)
        return;
    struct submit_wait *w = q->of;
    pb_pack(&a->base, &q->answer);
    if (!w->kept || is_waiting(w))
        return;
    w->rounds++;
    w->runs = true;
    c->dispatch(c, &w->request);
    w->runs = false;
    if (!is_waiting(w))
        wait_free(c, w);
}

void submit_wait_again(struct ctld *c)
{
    struct submit_wait *w, *next;
    if (!c->submit_waits)
        return;
    HASH_ITER (hh, c->submit_waits->by_call, w, next) {
        struct question *q, *after;
        LL_FOREACH_SAFE(w->questions, q, after)
        question_free(c, q);
        w->questions = NULL;
        w->runs = true;
        c->dispatch(c, &w->request);
        w->runs = false;
        if (!is_waiting(w))
            wait_free(c, w);
    }
}

void submit_wait_drop(struct ctld *c, uint64_t call)
{
    struct submit_wait *w = find_wait(c, call);
    if (w && w->kept && !w->runs)
        wait_free(c, w);
}

void submit_wait_done(struct ctld *c)
{
    struct submit_wait *w, *next;
    if (!c->submit_waits)
        return;
    HASH_ITER (hh, c->submit_waits->by_call, w, next)
        wait_free(c, w);
    free(take_ptr(c->submit_waits));
}
