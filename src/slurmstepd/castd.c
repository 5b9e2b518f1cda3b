/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * slurmstepd-cast: receives a file on a node, for a job (sbcast, srun --bcast). Started by slurmd
 * as root with a connected socket as descriptor 3; told over it what to make and as whom, it
 * becomes that user for good before it looks at any path, and listens for who feeds it.
 *
 * One who feeds it says whom it is to feed itself. When that one goes, another one comes, which
 * goes on from where this is; when nobody comes for three times the limit of silence, or the one
 * goes who began it all, it ends, and nothing is left of what was not committed. It outlives
 * slurmd.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "cast/feed.h"
#include "cast/sink.h"
#include "cast/tree.h"
#include "rpc/link.h"
#include "rpc/server.h"
#include "slurmstepd/become.h"
#include "slurmstepd/jobtmp.h"

#define DAEMON_FD 3
#define DESCRIPTORS_MAX 65536
#define GUESTS_MAX 8     /* sessions that have not said what they want */
#define ORPHAN_PERIODS 3 /* of silence: another one has to find out, too */
#define LAST_WORDS_MS 2000

struct castd {
    struct loop *loop;
    struct rpc_link *daemon;
    struct auth_key key;
    char *node;
    struct rpc_server *server;
    struct cast_sink *sink;
    struct cast_feed *feed;
    char *unpacked; /* room for a piece */
    uint64_t size;
    int64_t timeout_ms;

    struct rpc_session *parent; /* NULL: none, or it has gone */
    bool parent_is_root, greeted;
    int64_t heard_at, give_up_at; /* give_up_at: without a parent */
    unsigned guests;
    uint32_t index; /* of this node; with 'greeted' */

    Pb__CastPhase phase;
    int code;
    char *text;
    bool has_sum, ending;
    uint32_t crc;
    struct loop_timer *beat, *last;
    int64_t beat_at;
};

/* --- what is told upwards -----------------------------------------------------------------------
 */

static void tell(struct castd *d, const Pb__CastState *state)
{
    Pb__CastStatus m = PB__CAST_STATUS__INIT;
    Pb__CastState *states[] = {(Pb__CastState *)state};

    if (!d->parent)
        return;
    m.states = states;
    m.n_states = 1;
    rpc_session_send(d->parent, RPC_CAST_STATUS, &m.base);
}

static void fill_own(const struct castd *d, Pb__CastState *m)
{
    pb__cast_state__init(m);
    m->index = d->index;
    m->phase = d->phase;
    m->has_code = d->code != 0;
    m->code = d->code;
    m->text = d->text;
}

static void set_phase(struct castd *d, Pb__CastPhase phase)
{
    Pb__CastState own;

    d->phase = phase;
    fill_own(d, &own);
    tell(d, &own);
}

static void on_known(void *ctx, const Pb__CastState *state)
{
    tell(ctx, state);
}

/* --- the end ------------------------------------------------------------------------------------
 */

static void stop(void *ctx)
{
    struct castd *d = ctx;

    loop_stop(d->loop);
}

/* Tells those below, waits shortly for them to have heard it, and ends. */
static void end(struct castd *d, const char *why)
{
    if (d->ending)
        return;
    d->ending = true;
    loop_timer_set(d->last, LAST_WORDS_MS);
    if (d->feed)
        cast_feed_end(d->feed, why);
    else if (!d->parent)
        loop_stop(d->loop);
    if (d->parent)
        rpc_session_finish(d->parent);
}

/* This node does not get it. Those below are fed by others now; the one above has to hear it. */
static void fail(struct castd *d, const struct err *why)
{
    if (d->ending || cast_phase_is_final(d->phase))
        return;
    d->code = -why->code;
    d->text = mem_strdup(why->text);
    set_phase(d, PB__CAST_PHASE__CAST_REFUSED);
    cast_feed_free(take_ptr(d->feed));
    cast_sink_free(take_ptr(d->sink));
    d->ending = true;
    loop_timer_set(d->last, d->parent ? d->timeout_ms : 0);
    if (d->parent)
        rpc_session_finish(d->parent);
}

static void on_job_over(void *ctx, int signo)
{
    struct err why = {0};

    err_set(&why, -ERR_JOB_DONE, "the job has ended");
    fail(ctx, &why);
}

/* --- those below --------------------------------------------------------------------------------
 */

static int read_own(void *ctx, uint64_t at, void *buf, size_t len, struct err *err)
{
    struct castd *d = ctx;

    return cast_sink_read(d->sink, at, buf, len, err);
}

static bool is_fed(void *ctx)
{
    const struct castd *d = ctx;

    return d->parent && !rpc_session_has_ended(d->parent);
}

static void on_feed_fail(void *ctx, const struct err *why)
{
    fail(ctx, why);
}

static void begin_feed(struct castd *d, const Pb__CastHello *m)
{
    const struct cast_feed_events events = {.read = read_own,
                                            .on_state = on_known,
                                            .is_fed = is_fed,
                                            .on_fail = on_feed_fail,
                                            .on_end = stop,
                                            .ctx = d};
    struct cast_plan plan = {.key = d->key,
                             .size = d->size,
                             .width = m->width,
                             .block = m->block,
                             .pack = m->has_pack && m->pack,
                             .timeout_ms = d->timeout_ms,
                             .name = d->node};

    d->unpacked = mem_alloc(m->block);
    d->feed = cast_feed_new(d->loop, &plan, m->below, m->n_below, &events);
    auth_key_done(&plan.key);
}

/* --- the one above ------------------------------------------------------------------------------
 */

static void check_whole(struct castd *d)
{
    struct err err = {0};

    if (d->phase != PB__CAST_PHASE__CAST_WAITING || !d->has_sum || cast_sink_at(d->sink) < d->size)
        return;
    if (cast_sink_check(d->sink, d->crc, &err))
        fail(d, &err);
    else
        set_phase(d, PB__CAST_PHASE__CAST_WHOLE);
}

static int take_data(struct castd *d, const Pb__CastData *m, struct err *err)
{
    uint64_t at = cast_sink_at(d->sink);
    const void *data = m->data.data;
    size_t len = m->data.len;
    int rc;

    if (m->at != at)
        return err_set(err, -ERR_PROTOCOL, "a piece of the file is missing");
    if (m->has_packed_len) {
        if (m->packed_len > CAST_BLOCK_MAX)
            return err_set(err, -ERR_PROTOCOL, "a piece of the file is too long");
        d->unpacked = mem_realloc(d->unpacked, m->packed_len ? m->packed_len : 1);
        rc = cast_block_unpack(m->data.data, m->data.len, d->unpacked, m->packed_len, err);
        if (rc)
            return rc;
        data = d->unpacked;
        len = m->packed_len;
    }
    rc = cast_sink_write(d->sink, data, len, err);
    if (rc)
        return rc;
    if (m->has_packed_len)
        cast_feed_keep(d->feed, at, len, m->data.data, m->data.len);
    cast_feed_has(d->feed, cast_sink_at(d->sink));
    return 0;
}

static void on_data(struct castd *d, const Pb__CastData *m)
{
    struct err err = {0};

    if (take_data(d, m, &err))
        fail(d, &err);
    else
        check_whole(d);
}

static void on_sum(struct castd *d, const Pb__CastSum *m)
{
    struct err err = {0};

    if (d->has_sum)
        return;
    if (m->size != d->size) {
        err_set(&err, -ERR_PROTOCOL, "the file has not the length that was announced");
        fail(d, &err);
        return;
    }
    d->has_sum = true;
    d->crc = m->crc;
    cast_feed_sum(d->feed, m->crc);
    check_whole(d);
}

static void on_order(struct castd *d, const Pb__CastOrder *m)
{
    struct err err = {0};

    if (m->verdict == PB__CAST_VERDICT__CAST_OVER) {
        end(d, m->why);
    } else if (d->phase == PB__CAST_PHASE__CAST_WHOLE) {
        cast_feed_commit(d->feed);
        if (cast_sink_place(d->sink, &err))
            fail(d, &err);
        else
            set_phase(d, PB__CAST_PHASE__CAST_PLACED);
    }
}

static void on_parent_message(void *ctx, struct rpc_session *s, const struct rpc_info *rpc,
                              const ProtobufCMessage *body)
{
    struct castd *d = ctx;

    d->heard_at = loop_mono_ms();
    if (d->ending)
        return;
    if (rpc->number == RPC_CAST_DATA)
        on_data(d, (const Pb__CastData *)body);
    else if (rpc->number == RPC_CAST_SUM)
        on_sum(d, (const Pb__CastSum *)body);
    else if (rpc->number == RPC_CAST_ORDER)
        on_order(d, (const Pb__CastOrder *)body);
}

static void lose_parent(struct castd *d)
{
    d->parent = NULL;
    d->give_up_at = loop_mono_ms() + ORPHAN_PERIODS * d->timeout_ms;
    if (d->ending) {
        if (!d->feed)
            loop_stop(d->loop);
    } else if (d->parent_is_root) {
        end(d, "whoever sent the file has gone");
    }
}

static void on_parent_close(void *ctx, struct rpc_session *s, const struct err *why)
{
    lose_parent(ctx);
}

/* Another one feeds us now; the one before learns that it was given up. */
static void depose(struct castd *d)
{
    static const struct rpc_session_events none = {0};
    Pb__CastStatus m = PB__CAST_STATUS__INIT;

    if (!d->parent)
        return;
    m.has_deposed = m.deposed = true;
    rpc_session_send(d->parent, RPC_CAST_STATUS, &m.base);
    rpc_session_set_events(d->parent, &none);
    rpc_session_finish(take_ptr(d->parent));
}

static void tell_all(struct castd *d)
{
    Pb__CastStatus m = PB__CAST_STATUS__INIT;
    Pb__CastState own, *states[] = {&own};

    fill_own(d, &own);
    m.has_at = true;
    m.at = cast_sink_at(d->sink);
    m.states = states;
    m.n_states = d->phase != PB__CAST_PHASE__CAST_WAITING;
    rpc_session_send(d->parent, RPC_CAST_STATUS, &m.base);
    cast_feed_each(d->feed, on_known, d);
}

static bool is_sound(const struct castd *d, const Pb__CastHello *m)
{
    uint32_t last = m->you->index;

    if (!str_eq(m->you->node, d->node) || (d->greeted && m->you->index != d->index) || !m->width ||
        m->width > CAST_WIDTH_MAX || m->block != cast_block_round(m->block) ||
        m->n_below > CAST_NODES_MAX)
        return false;
    for (size_t i = 0; i < m->n_below; i++) {
        const Pb__CastNode *n = m->below[i];

        if (n->index <= last || !n->port || n->port > 65535)
            return false;
        last = n->index;
    }
    return true;
}

static void on_hello(struct castd *d, struct rpc_session *s, const Pb__CastHello *m)
{
    const struct rpc_session_events events = {
        .on_message = on_parent_message, .on_close = on_parent_close, .ctx = d};

    if (d->ending || !is_sound(d, m)) {
        rpc_session_finish(s);
        return;
    }
    depose(d);
    d->parent = s;
    d->parent_is_root = m->has_root && m->root;
    d->heard_at = loop_mono_ms();
    d->index = m->you->index;
    rpc_session_set_events(s, &events);
    if (!d->greeted)
        begin_feed(d, m);
    d->greeted = true;
    tell_all(d);
}

/* --- guests -------------------------------------------------------------------------------------
 */

static void on_guest_message(void *ctx, struct rpc_session *s, const struct rpc_info *rpc,
                             const ProtobufCMessage *body)
{
    struct castd *d = ctx;
    const struct rpc_session_events none = {0};

    d->guests--;
    rpc_session_set_events(s, &none);
    if (rpc->number == RPC_CAST_HELLO)
        on_hello(d, s, (const Pb__CastHello *)body);
    else
        rpc_session_finish(s);
}

static void on_guest_close(void *ctx, struct rpc_session *s, const struct err *why)
{
    struct castd *d = ctx;

    d->guests--;
}

static void on_session(void *ctx, struct rpc_session *s, const char *peer_name)
{
    struct castd *d = ctx;
    const struct rpc_session_events events = {
        .on_message = on_guest_message, .on_close = on_guest_close, .ctx = d};

    if (d->guests >= GUESTS_MAX) {
        rpc_session_finish(s);
        return;
    }
    d->guests++;
    rpc_session_set_events(s, &events);
    rpc_session_send_bulk(s);
}

/* --- time ---------------------------------------------------------------------------------------
 */

static void on_beat(void *ctx)
{
    struct castd *d = ctx;
    Pb__CastStatus m = PB__CAST_STATUS__INIT;
    int64_t now = loop_mono_ms();
    bool slept = now - d->beat_at > d->timeout_ms / 2; /* stopped: it was us who was silent */

    d->beat_at = now;
    if (slept) {
        d->heard_at = now;
        d->give_up_at += d->timeout_ms;
    }
    if (d->parent && !d->ending) {
        rpc_session_send(d->parent, RPC_CAST_STATUS, &m.base);
        if (now - d->heard_at > d->timeout_ms) {
            static const struct rpc_session_events none = {0};

            rpc_session_set_events(d->parent, &none);
            rpc_session_free(d->parent);
            lose_parent(d);
        }
    } else if (!d->parent && now > d->give_up_at) {
        end(d, "nobody sends the file any more");
    }
    loop_timer_set(d->beat, cast_feed_beat_ms(d->timeout_ms));
}

/* --- the beginning ------------------------------------------------------------------------------
 */

/* The one place before any path is looked at: also of the directories that the job has for itself.
 */
static int become(const Pb__CastStart *m, struct err *err)
{
    _cleanup_free_ gid_t *groups = mem_new_array(gid_t, m->n_gids + 1);
    _cleanup_close_ int tmp_fd = -1;
    int rc = jobtmp_open(m->tmp, &tmp_fd, err);

    if (!rc)
        rc = jobtmp_enter(tmp_fd, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < m->n_gids; i++)
        groups[i] = m->gids[i];
    return become_user(m->uid, m->gid, groups, m->n_gids, err);
}

static int listen_for(struct castd *d, const Pb__CastStart *m, struct err *err)
{
    const struct rpc_server_events events = {.on_session = on_session, .ctx = d};
    const struct rpc_server_options options = {.loop = d->loop,
                                               .key = &d->key,
                                               .audience = "sbcast",
                                               .refuse_plain = true,
                                               .sessions = GUESTS_MAX};

    d->server = rpc_server_new(&options, &events);
    return rpc_server_listen_tcp(d->server, m->addr, 0, err);
}

static int start(struct castd *d, const Pb__CastStart *m, struct err *err)
{
    int rc;

    if (m->key.len != sizeof(d->key.mac_key))
        return err_set(err, -ERR_PROTOCOL, "malformed key");
    auth_key_from_bytes(m->key.data, m->key.len, &d->key);
    d->node = mem_strdup(m->node);
    d->size = m->file->size;
    d->timeout_ms = m->timeout_ms;
    rc = become(m, err);
    if (!rc)
        rc = cast_sink_open(m->file, m->node, &d->sink, err);
    if (!rc)
        rc = listen_for(d, m, err);
    if (rc < 0)
        return rc;
    d->beat_at = loop_mono_ms();
    d->give_up_at = d->beat_at + m->wait_ms;
    loop_timer_set(d->beat, cast_feed_beat_ms(d->timeout_ms));
    loop_signal(d->loop, SIGTERM, on_job_over, d);
    return rc;
}

static void on_message(void *ctx, struct rpc_link *l, const struct rpc_header *h,
                       const ProtobufCMessage *body)
{
    struct castd *d = ctx;
    Pb__CastStarted answer = PB__CAST_STARTED__INIT;
    struct err err = {0};
    int rc;

    if (h->rpc != RPC_CASTD_START || h->flags & RPC_FLAG_REPLY || d->node)
        return;
    rc = start(d, (const Pb__CastStart *)body, &err);
    answer.code = rc < 0 ? -rc : 0;
    answer.text = err.text;
    answer.has_port = rc >= 0;
    answer.port = rc >= 0 ? (uint32_t)rc : 0;
    rpc_link_send(l, RPC_CASTD_START, true, h->id, &answer.base);
    if (rc < 0)
        loop_stop(d->loop);
}

/* slurmd has gone: what has begun goes on. */
static void on_close(void *ctx, struct rpc_link *l, const struct err *why)
{
    struct castd *d = ctx;

    rpc_link_free(take_ptr(d->daemon));
    if (!d->server)
        loop_stop(d->loop);
}

static void castd_done(struct castd *d)
{
    cast_feed_free(d->feed);
    rpc_server_free(d->server);
    cast_sink_free(d->sink);
    rpc_link_free(d->daemon);
    loop_timer_free(d->beat);
    loop_timer_free(d->last);
    auth_key_done(&d->key);
    free(d->unpacked);
    free(d->text);
    free(d->node);
    loop_free(d->loop);
}

int main(int argc, char **argv)
{
    struct castd d = {0};
    struct rpc_link_events events = {on_message, on_close, &d};
    struct stat st;

    if (argc > 1 && (!strcmp(argv[1], "-V") || !strcmp(argv[1], "--version"))) {
        puts("slurm " SLURM_VERSION);
        return 0;
    }
    if (fd_begin(DAEMON_FD + 1) || fstat(DAEMON_FD, &st) || !S_ISSOCK(st.st_mode)) {
        fputs("slurmstepd-cast: error: this program is started by slurmd, for sbcast\n", stderr);
        return 1;
    }
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* the write tells */
    umask(077);
    fd_raise_limit(DESCRIPTORS_MAX);
    d.loop = loop_new(0);
    d.beat = loop_timer_new(d.loop, on_beat, &d);
    d.last = loop_timer_new(d.loop, stop, &d);
    d.daemon = rpc_link_new(d.loop, DAEMON_FD, &events);
    loop_run(d.loop);
    castd_done(&d);
    return 0;
}
