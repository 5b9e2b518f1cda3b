/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/step/step.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/spare_file.h"
#include "base/str.h"
#include "slurmd/step/attach.h"
#include "slurmd/step/unresponsive.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

#define EXIT_FILE_MAX 65536
#define STEP_BACKLOG_MAX (256u << 10)

char *step_file(const struct slurmd *d, uint32_t job_id, uint32_t restarts, uint32_t step_id,
                const char *suffix)
{
    return mem_printf("%s/steps/%u.%u.%u.%s", d->spool, job_id, restarts, step_id, suffix);
}

void step_forget_files(const struct slurmd *d, uint32_t job_id, uint32_t restarts, uint32_t step_id)
{
    _cleanup_free_ char *x11 = mem_printf("%s/x11.%u.%u", d->spool, job_id, step_id);
    _cleanup_free_ char *end = step_file(d, job_id, restarts, step_id, "exit");
    _cleanup_free_ char *socket = step_file(d, job_id, restarts, step_id, "sock");
    _cleanup_free_ char *spares = mem_printf("%s/spare", d->spool);

    unlink(x11); /* left by a killed shepherd */
    unlink(socket);
    spare_file_remove(spares, end);
}

Pb__StepdEnded *step_read_end(const struct slurmd *d, uint32_t job_id, uint32_t restarts,
                              uint32_t step_id)
{
    _cleanup_free_ char *path = step_file(d, job_id, restarts, step_id, "exit");
    _cleanup_str_ struct str text = STR_INIT;
    struct err err = {0};
    int rc = path_read_file(path, EXIT_FILE_MAX, &text, &err);

    if (path_is_shortage(rc)) { /* otherwise the end of the step would be lost */
        log_error("%s: slurmd ends, and reads the file when it is started again", err.text);
        exit(1);
    }
    if (rc && rc != -ENOENT)
        log_error("%s: the end of step %u.%u is unknown", err.text, job_id, step_id);
    if (rc)
        return NULL;
    return pb_unpack(&pb__stepd_ended__descriptor, str_cstr(&text), text.len);
}

struct step *step_find(const struct attempt *a, uint32_t id)
{
    for (size_t i = 0; i < a->steps.len; i++)
        if (a->steps.data[i]->id == id)
            return a->steps.data[i];
    return NULL;
}

void step_free(struct step *s)
{
    struct attempt *a = s->attempt;
    size_t at = 0;

    attach_fail(s);
    unresponsive_free(s);
    while (at < a->steps.len && a->steps.data[at] != s)
        at++;
    assert(at < a->steps.len);
    vec_remove(&a->steps, at);
    rpc_link_free(s->link);
    free(s);
}

struct step *step_new(struct attempt *a, uint32_t id, int fd, const struct step_observer *observer)
{
    struct step *s = mem_new(struct step);
    struct rpc_link_events events = {observer->on_message, observer->on_closed, s};

    s->attempt = a;
    s->id = id;
    s->observer = observer;
    s->link = rpc_link_new(a->d->loop, fd, &events);
    vec_push(&a->steps, s);
    return s;
}

bool step_is_swamped(const struct step *s)
{
    return rpc_link_backlog(s->link) > STEP_BACKLOG_MAX;
}

void step_signal(struct step *s, int signo, bool leader_only, bool forwarded, uint64_t nonce)
{
    Pb__StepdSignal m = PB__STEPD_SIGNAL__INIT;

    m.signal = signo;
    m.has_batch_only = true;
    m.batch_only = leader_only;
    m.has_forwarded = m.forwarded = forwarded;
    m.has_nonce = true;
    m.nonce = nonce;
    rpc_link_send(s->link, RPC_STEPD_SIGNAL, false, 3, &m.base);
    if (signo == SIGKILL && !leader_only)
        unresponsive_watch(s, 0);
}

void step_ask(struct step *s)
{
    Pb__StepdSignal m = PB__STEPD_SIGNAL__INIT;

    rpc_link_send(s->link, RPC_STEPD_SIGNAL, false, 3, &m.base);
}

void step_say(struct step *s, const char *line, uint64_t nonce)
{
    Pb__StepdSignal m = PB__STEPD_SIGNAL__INIT;

    m.say = (char *)line;
    m.has_nonce = true;
    m.nonce = nonce;
    rpc_link_send(s->link, RPC_STEPD_SIGNAL, false, 3, &m.base);
}

void step_halt(struct step *s, bool stop, int signo, uint32_t number)
{
    Pb__StepdSignal m = PB__STEPD_SIGNAL__INIT;

    m.signal = signo;
    m.has_halt = true;
    m.halt = stop;
    rpc_link_send(s->link, RPC_STEPD_SIGNAL, false, number ? STEP_HALT_ID + number : 3, &m.base);
}

void step_terminate(struct step *s, uint32_t grace_sec, const char *why)
{
    Pb__StepdSignal m = PB__STEPD_SIGNAL__INIT;

    m.signal = SIGTERM;
    m.has_terminate = m.terminate = true;
    m.has_grace_sec = true;
    m.grace_sec = grace_sec;
    m.why = (char *)why;
    rpc_link_send(s->link, RPC_STEPD_SIGNAL, false, 4, &m.base);
    unresponsive_watch(s, grace_sec);
}

void step_end_for_memory(struct step *s, const Pb__OverMemory *why)
{
    Pb__StepdSignal m = PB__STEPD_SIGNAL__INIT;

    m.signal = SIGKILL;
    m.over_memory = (Pb__OverMemory *)why;
    rpc_link_send(s->link, RPC_STEPD_SIGNAL, false, 4, &m.base);
    unresponsive_watch(s, 0);
}
