/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/job/step_life.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/step_id.h"
#include "slurmd/attempt/events.h"
#include "slurmd/job/adopt.h"
#include "slurmd/job/attempt_life.h"
#include "slurmd/job/early.h"
#include "slurmd/job/ending.h"
#include "slurmd/job/halt.h"
#include "slurmd/job/launch.h"
#include "slurmd/step/attach.h"
#include "slurmd/step/contain.h"
#include "slurmd/step/freq.h"
#include "slurmd/step/shepherd.h"
#include "slurmd/step/unresponsive.h"
#include "slurmd/usage/memory.h"
#include "slurmd/usage/usage.h"

static void handle_step_end(struct step *s, const Pb__StepdEnded *m)
{
    if (s->ended)
        return;
    s->ended = true;
    if (s->id == STEP_ID_EXTERN && ending_extern(s->attempt, m))
        return;
    attempt_step_ended(s->attempt, m, s);
}

/* When the queued event is on disk, where it survives this daemon, the exit file is not needed. */
static void on_end_told(struct step *s, uint64_t id, const Pb__StepdEnded *m)
{
    Pb__Empty done = PB__EMPTY__INIT;

    handle_step_end(s, m);
    if (s->id != STEP_ID_BATCH && s->id != STEP_ID_EXTERN &&
        !events_flush(s->attempt->d->events, NULL))
        rpc_link_send(s->link, RPC_STEPD_ENDED, true, id, &done.base);
}

/* The shepherd was killed. Its tasks died with it, but not every process that they had started. */
static void on_shepherd_killed(struct step *s)
{
    s->ended = true;
    if (!s->answered)
        launch_answer(s, ERR_LAUNCH, "slurmstepd ended before the step was started");
    attempt_step_lost(s->attempt, s->id, NULL);
}

static void on_silent(struct step *s, pid_t shepherd, int handle)
{
    struct attempt *a = s->attempt;
    uint32_t id = s->id;
    bool ended = s->ended;

    if (!s->answered)
        launch_answer(s, ERR_LAUNCH, "slurmstepd did not answer");
    step_free(s);
    if (id == STEP_ID_EXTERN)
        adopt_fail(a, "its extern step has ended");
    if (!ended)
        ending_silent(a, id, shepherd, handle);
    else if (handle >= 0)
        close(handle);
    attempt_check(a);
}

static void on_shepherd_closed(void *ctx, struct rpc_link *l, const struct err *why)
{
    struct step *s = ctx;
    struct attempt *a = s->attempt;
    uint32_t id = s->id;
    bool killed = false;

    if (!s->ended) {
        Pb__StepdEnded *m = step_read_end(a->d, a->key.id, a->key.restarts, s->id);

        if (m) {
            handle_step_end(s, m);
            pb__stepd_ended__free_unpacked(m, NULL);
        } else {
            killed = true;
            on_shepherd_killed(s);
        }
    }
    step_free(s);
    if (id == STEP_ID_EXTERN)
        adopt_fail(a, "its extern step has ended");
    if (!killed) { /* otherwise there are processes in it */
        contain_step_over(a, id);
        freq_step_over(a, id);
    }
    attempt_check(a);
}

/* The new shepherd has not claimed the step, because an earlier daemon's shepherd has. That one
   runs the step, or has run it. */
static void hand_over_to_claimant(struct step *s)
{
    struct attempt *a = s->attempt;
    uint32_t id = s->id;
    uint64_t call = s->call;
    Pb__StepdEnded *m;

    step_free(s);
    if (step_adopt(a, id)) {
        s = step_find(a, id);
        s->call = call;
        s->answered = false;
        launch_answer(s, 0, NULL);
        if (id == STEP_ID_EXTERN)
            adopt_begin(s);
        if (attempt_is_ending(a)) /* the order to end the step was sent to the other shepherd */
            attempt_advance(a, ATTEMPT_ON_STEP_FOUND);
        attempt_check(a);
        return;
    }
    m = step_read_end(a->d, a->key.id, a->key.restarts, id);
    launch_refuse(a->d, call, ERR_LAUNCH, "the step was launched before");
    if (id == STEP_ID_EXTERN)
        adopt_fail(a, "its extern step has ended");
    attempt_step_lost(a, id, m);
    if (m)
        pb__stepd_ended__free_unpacked(m, NULL);
    attempt_check(a);
}

static void on_started(struct step *s, const Pb__StepdStarted *m)
{
    Pb__StepdEnded end = PB__STEPD_ENDED__INIT;

    s->held_bytes = 0;
    if (m->code == EEXIST) {
        hand_over_to_claimant(s);
    } else if (m->code) {
        end.job_id = s->attempt->key.id;
        end.restarts = s->attempt->key.restarts;
        end.step_id = s->id;
        end.has_launch_code = true;
        end.launch_code = m->code;
        end.text = m->text;
        handle_step_end(s, &end);
    } else {
        s->started = true;
        if (m->has_shepherd)
            s->pid = (pid_t)m->shepherd;
        usage_step_runs(s->attempt, s->id, s->pid, m->pid, m->n_pid, m->task_id, m->n_task_id);
        if (m->has_acctg_sec)
            usage_step_every(s->attempt, s->id, m->acctg_sec);
        launch_answer(s, 0, NULL);
        early_deliver(s);
        if (s->id == STEP_ID_EXTERN)
            adopt_begin(s);
    }
}

/* Reads the step's limits from the credential that the shepherd keeps, whichever daemon started
   it. */
static void on_shepherd_state(struct step *s, const Pb__StepdState *m)
{
    _cleanup_arena_ struct arena arena;

    arena_init(&arena, 0);
    s->pid = (pid_t)m->pid;
    if (m->has_cred)
        memory_read_grant(s,
                          arena_unpack(&arena, &pb__cred__descriptor, m->cred.data, m->cred.len));
    if (s->ended)
        return;
    usage_step_runs(s->attempt, s->id, s->pid, m->task_pid, m->n_task_pid, m->task_id,
                    m->n_task_id);
    if (m->has_acctg_sec)
        usage_step_every(s->attempt, s->id, m->acctg_sec);
}

static void on_signalled(struct step *s, uint64_t id)
{
    unresponsive_heard(s);
    if (id > STEP_HALT_ID)
        halt_step_did(s, (uint32_t)(id - STEP_HALT_ID));
}

static void on_shepherd_message(void *ctx, struct rpc_link *l, const struct rpc_header *h,
                                const ProtobufCMessage *body)
{
    struct step *s = ctx;

    if (h->rpc == RPC_STEPD_START && h->flags & RPC_FLAG_REPLY)
        on_started(s, (const Pb__StepdStarted *)body);
    else if (h->rpc == RPC_STEPD_ENDED && !(h->flags & RPC_FLAG_REPLY))
        on_end_told(s, h->id, (const Pb__StepdEnded *)body);
    else if (h->rpc == RPC_STEPD_SIGNAL && h->flags & RPC_FLAG_REPLY)
        on_signalled(s, h->id);
    else if (h->rpc == RPC_STEPD_QUERY && h->flags & RPC_FLAG_REPLY)
        on_shepherd_state(s, (const Pb__StepdState *)body);
    else if (h->rpc == RPC_STEPD_ATTACH && h->flags & RPC_FLAG_REPLY)
        attach_done(s, h->id, (const Pb__StepdAttached *)body);
    else if (h->rpc == RPC_STEPD_ADOPT && h->flags & RPC_FLAG_REPLY)
        adopt_done(s, h->id, (const Pb__StepdAdopted *)body);
}

static const struct step_observer observer = {on_shepherd_message, on_shepherd_closed, on_silent};

int step_start(struct attempt *a, uint32_t id, const Pb__StepdStart *start, struct step **out,
               struct err *err)
{
    struct slurmd *d = a->d;
    char step[STEP_ID_TEXT_MAX];
    _cleanup_free_ char *title = mem_printf("slurmstepd: [%s]", step_id_text(a->key.id, id, step));
    bool loads = start->n_spank_plugins || (start->has_pam && start->pam);
    _cleanup_close_ int entry = -1;
    struct step *s;
    int pair[2], rc;
    pid_t pid;

    rc = contain_shepherds_open(a, &entry, err);
    if (rc)
        return rc;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return err_set(err, -ERR_NODE_FAULT, "cannot make a socket pair: %s", strerror(errno));
    rc = shepherd_start(d, loads, title, pair[1], entry, &pid, err);
    close(pair[1]);
    if (rc) {
        close(pair[0]);
        return rc;
    }
    s = step_new(a, id, pair[0], &observer);
    s->pid = pid;
    rpc_link_send(s->link, RPC_STEPD_START, false, 1, &start->base);
    early_say(s);
    halt_step_begins(s);
    *out = s;
    return 0;
}

bool step_adopt(struct attempt *a, uint32_t id)
{
    _cleanup_free_ char *path = step_file(a->d, a->key.id, a->key.restarts, id, "sock");
    /* Non-blocking, because a stopped shepherd may have a full listen queue. */
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    struct ucred peer = {0};
    socklen_t len = sizeof(peer);
    Pb__StepdQuery query = PB__STEPD_QUERY__INIT;
    struct step *s;

    if (fd < 0 || strlen(path) >= sizeof(addr.sun_path))
        return false;
    snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
    if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
        return false;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
        peer.pid = 0;
    s = step_new(a, id, take_fd(&fd), &observer);
    s->pid = peer.pid; /* the shepherd may never report it */
    s->started = s->answered = true;
    rpc_link_send(s->link, RPC_STEPD_QUERY, false, 2, &query.base);
    early_deliver(s);
    return true;
}
