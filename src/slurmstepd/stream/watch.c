/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/stream/watch.h"

#include <signal.h>

#include "auth/auth.h"
#include "base/mem.h"
#include "slurmstepd/stream/srun.h"
#include "slurmstepd/stream/stream.h"

#define FEW 4 /* number of watchers that get WATCH_QUEUE_MAX each */
/* Milliseconds between checks whether a lagging watcher has caught up or gone. */
#define LOOK_MS 100
#define STUCK_MS                                                                                   \
    10000            /* milliseconds; a watcher that has read nothing is replaced by a new one     \
                      */
#define LAST_MS 5000 /* milliseconds; and it is not waited for after the end of the step */

struct watcher {
    struct step *step;
    struct rpc_session *session;
    bool heard;     /* it has answered, and receives output */
    bool left_out;  /* its queue was full; it receives nothing until the queue is short again */
    uint64_t *lost; /* bytes skipped since then, by stream: two per task */
    struct drain end;
};

struct watch {
    VEC(struct watcher *) list;
    struct loop_timer *timer;
    size_t tail_max;
    char *program, *file[2]; /* file: of standard output and error, if they go to a file */
    bool pty, over;
};

void watch_prepare(struct step *step)
{
    struct watch *w = mem_new(struct watch);
    size_t each = WATCH_TAILS_MAX / (2 * step->task_count);

    w->tail_max = each < WATCH_TAIL_MAX ? each : WATCH_TAIL_MAX;
    w->program = mem_strdup(step->launch->argv[0]);
    w->file[0] = mem_strdup(step->launch->std_out);
    w->file[1] = mem_strdup(step->launch->std_err);
    w->pty = step->launch->has_pty && step->launch->pty;
    step->watch = w;
}

static void watcher_free(struct watcher *one)
{
    rpc_session_free(one->session);
    free(one->lost);
    free(one);
}

static void drop_watcher(struct watcher *one)
{
    struct watch *w = one->step->watch;

    for (size_t i = 0; i < w->list.len; i++)
        if (w->list.data[i] == one) {
            vec_remove(&w->list, i);
            break;
        }
    watcher_free(one);
}

/* --- output to a watcher ---------------------------------------------------------------------- */

static size_t queue_max(const struct watch *w)
{
    return w->list.len <= FEW ? WATCH_QUEUE_MAX : WATCH_QUEUES_MAX / w->list.len;
}

static void send_watcher_data(struct watcher *one, const struct stream *s, const void *data,
                              size_t len)
{
    Pb__IoData m = PB__IO_DATA__INIT;

    m.task = s->task;
    m.stream = s->number;
    m.has_data = len > 0;
    m.data.data = (uint8_t *)data;
    m.data.len = len;
    rpc_session_send(one->session, RPC_IO_DATA, &m.base);
}

static uint64_t *lost_of(struct watcher *one, uint32_t local, uint32_t number)
{
    return &one->lost[2 * local + number - 1];
}

/* Reports the number of skipped bytes and resumes sending. */
static void catch_up(struct watcher *one)
{
    struct step *step = one->step;

    one->left_out = false;
    for (size_t i = 0; i < step->task_count; i++)
        for (uint32_t number = 1; number <= 2; number++) {
            Pb__IoLost m = PB__IO_LOST__INIT;
            uint64_t *lost = lost_of(one, (uint32_t)i, number);

            if (!*lost)
                continue;
            m.task = step->tasks[i].id;
            m.stream = number;
            m.bytes = *lost;
            *lost = 0;
            rpc_session_send(one->session, RPC_IO_LOST, &m.base);
        }
}

static void arm_timer(const struct watch *w)
{
    loop_timer_set(w->timer, LOOK_MS);
}

static void give_data(struct watcher *one, const struct stream *s, const void *data, size_t len)
{
    struct watch *w = one->step->watch;

    if (!one->heard)
        return;
    if (len == 0 && one->left_out)
        catch_up(one); /* before end of file is sent */
    if (!one->left_out && len > 0 && rpc_session_backlog(one->session) + len > queue_max(w)) {
        one->left_out = true;
        arm_timer(w);
    }
    if (one->left_out)
        *lost_of(one, s->local, s->number) += len;
    else
        send_watcher_data(one, s, data, len);
}

void watch_data(struct stream *s, const void *data, size_t len)
{
    struct watch *w = s->step->watch;

    if (!w)
        return;
    tail_add(&s->tail, data, len, w->tail_max);
    vec_foreach (&w->list, one)
        give_data(*one, s, data, len);
}

static void send_exit(struct watcher *one, const struct task *t)
{
    Pb__TaskExited m = PB__TASK_EXITED__INIT;

    m.task = t->id;
    m.exit_status = t->wait_status;
    rpc_session_send(one->session, RPC_TASK_EXITED, &m.base);
}

void watch_task_exited(struct step *step, const struct task *t)
{
    if (!step->watch)
        return;
    vec_foreach (&step->watch->list, one)
        if ((*one)->heard)
            send_exit(*one, t);
}

static void send_tail(struct watcher *one, const struct stream *s)
{
    struct tail_piece pieces[2];

    for (unsigned i = 0, count = tail_get(&s->tail, pieces); i < count; i++)
        for (size_t at = 0, part; at < pieces[i].len; at += part) {
            part = pieces[i].len - at < STREAM_CHUNK ? pieces[i].len - at : STREAM_CHUNK;
            give_data(one, s, pieces[i].data + at, part);
        }
    if (s->step && s->ended)
        give_data(one, s, NULL, 0);
}

/* Sends the last message. */
static void send_done(struct watcher *one)
{
    Pb__StepDone m = PB__STEP_DONE__INIT;

    catch_up(one);
    rpc_session_send(one->session, RPC_STEP_DONE, &m.base);
    rpc_session_finish(one->session);
}

/* Sends the present state; from now on the watcher receives all events. */
static void begin_watcher(struct watcher *one, const Pb__IoHello *m)
{
    struct step *step = one->step;

    if (one->heard)
        return;
    one->heard = true;
    rpc_session_pause(one->session, step->input_paused);
    if (m->bulk == 2)
        rpc_session_send_bulk(one->session);
    srun_tell_started(step, one->session);
    for (size_t i = 0; i < step->task_count; i++) {
        send_tail(one, &step->tasks[i].out);
        send_tail(one, &step->tasks[i].err);
        if (step->tasks[i].ended)
            send_exit(one, &step->tasks[i]);
    }
    if (step->watch->over)
        send_done(one);
}

/* --- input from a watcher --------------------------------------------------------------------- */

/* The end of its own standard input is not the end of the tasks' input. */
static void on_typed(struct watcher *one, const Pb__IoData *m)
{
    if (one->heard && m->has_data && m->data.len > 0)
        stream_take_input(one->step, m);
}

static void on_watch_signal(struct watcher *one, const Pb__IoSignal *m)
{
    if (one->heard && m->signal > 0 && m->signal < NSIG)
        one->step->life->signal(one->step, m->signal, false);
}

static void on_watch_message(void *ctx, struct rpc_session *s, const struct rpc_info *rpc,
                             const ProtobufCMessage *body)
{
    struct watcher *one = ctx;

    switch (rpc->number) {
    case RPC_IO_HELLO:
        begin_watcher(one, (const Pb__IoHello *)body);
        break;
    case RPC_IO_DATA:
        on_typed(one, (const Pb__IoData *)body);
        break;
    case RPC_IO_SIGNAL:
        on_watch_signal(one, (const Pb__IoSignal *)body);
        break;
    case RPC_WINDOW_SIZE:
        stream_resize(one->step, (const Pb__WindowSize *)body);
        break;
    default:
        break;
    }
}

/* --- connecting and disconnecting ------------------------------------------------------------- */

static void on_open(void *ctx, struct rpc_session *s)
{
    struct watcher *one = ctx;
    const struct watch *w = one->step->watch;
    Pb__IoHello hello = PB__IO_HELLO__INIT;

    hello.node = one->step->node;
    hello.node_index = one->step->node_index;
    hello.has_bulk = hello.has_pty = true;
    hello.bulk = 1;
    hello.pty = w->pty;
    hello.has_part = one->step->part > 0;
    hello.part = one->step->part;
    hello.program = w->program;
    hello.std_out_file = w->file[0];
    hello.std_err_file = w->file[1];
    rpc_session_send(s, RPC_IO_HELLO, &hello.base);
}

static void on_watch_close(void *ctx, struct rpc_session *s, const struct err *why)
{
    struct watcher *one = ctx;
    struct step *step = one->step;

    drop_watcher(one);
    if (step->watch->over)
        step->life->check(step);
}

/* Resumes lagging watchers with space; at the end, drops those that read nothing. */
static void check_watchers(void *ctx)
{
    struct step *step = ctx;
    struct watch *w = step->watch;
    bool again = false;

    for (size_t i = w->list.len; i-- > 0;) {
        struct watcher *one = w->list.data[i];

        if (w->over) {
            size_t left = rpc_session_unread(one->session);

            if (stream_is_stuck(&one->end, left, loop_mono_ms(), LAST_MS))
                drop_watcher(one);
            else
                again = true;
        } else if (one->left_out) {
            if (rpc_session_backlog(one->session) <= queue_max(w) / 4)
                catch_up(one);
            else
                again = true;
        }
    }
    if (again)
        arm_timer(w);
    if (w->over)
        step->life->check(step);
}

/* Closes a watcher that has not answered for a long time, or that does not read. */
static bool make_watcher_room(struct watch *w)
{
    vec_foreach (&w->list, one)
        if (rpc_session_is_stuck((*one)->session, STUCK_MS)) {
            drop_watcher(*one);
            return true;
        }
    return false;
}

int watch_add(struct step *step, const Pb__StepdAttach *m, struct err *err)
{
    struct rpc_session_events events = {.accepts = RPC_WHO_KEY,
                                        .on_open = on_open,
                                        .on_message = on_watch_message,
                                        .on_close = on_watch_close};
    struct rpc_target target = {m->addr, (uint16_t)m->port, step->uid};
    struct watch *w = step->watch;
    struct watcher *one;
    struct auth_key key;

    if (!w || step_is_starting(step))
        return err_set(err, -ERR_TRANSITION, "step %s is not running yet", step->name);
    if (step_has_ended(step))
        return err_set(err, -ERR_JOB_DONE, "step %s has ended", step->name);
    if (w->list.len >= WATCHERS_MAX && !make_watcher_room(w))
        return err_set(err, -ERR_LIMIT, "step %s has %d watchers on node %s, and may have no more",
                       step->name, WATCHERS_MAX, step->node);
    if (!w->timer)
        w->timer = loop_timer_new(step->loop, check_watchers, step);
    one = mem_new(struct watcher);
    one->step = step;
    one->lost = mem_new_array(uint64_t, 2 * step->task_count);
    events.ctx = one;
    auth_key_from_bytes(m->key.data, m->key.len, &key);
    one->session = rpc_session_connect(step->loop, &key, step->node, &target, 1, false, &events);
    auth_key_done(&key);
    vec_push(&w->list, one);
    return 0;
}

void watch_pause_input(struct step *step, bool paused)
{
    if (!step->watch)
        return;
    vec_foreach (&step->watch->list, one)
        if ((*one)->heard)
            rpc_session_pause((*one)->session, paused);
}

/* A watcher that was just accepted has not answered yet: it is told when it answers. */
void watch_finish(struct step *step)
{
    struct watch *w = step->watch;

    if (!w || w->over)
        return;
    w->over = true;
    vec_foreach (&w->list, one) {
        (*one)->end.moved_at_ms = loop_mono_ms();
        if ((*one)->heard)
            send_done(*one);
    }
    if (w->list.len > 0)
        arm_timer(w);
}

bool watch_is_over(const struct step *step)
{
    return !step->watch || step->watch->list.len == 0;
}

void watch_done(struct step *step)
{
    struct watch *w = take_ptr(step->watch);

    if (!w)
        return;
    vec_foreach (&w->list, one)
        watcher_free(*one);
    vec_done(&w->list);
    loop_timer_free(w->timer);
    free(w->program);
    free(w->file[0]);
    free(w->file[1]);
    free(w);
}
