/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cast/send.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/mem.h"
#include "base/path.h"
#include "cast/feed.h"
#include "rpc/tree.h"

/* Time for a node's first launch, if the configuration sets no prolog limit. */
#define PROLOG_MS 300000
#define UNSURE_MAX 65536     /* bytes: a file without blocks may be larger than its reported size */
#define COPY_MAX (256 << 20) /* bytes */
#define NS_PER_SEC INT64_C(1000000000)

struct receiver {
    Pb__CastNode node;
    Pb__CastPhase phase;
};

struct cast_send {
    struct cast_send_options o;
    Pb__CastReceive request;
    uint8_t token[AUTH_TOKEN_SIZE];
    struct auth_key key;
    struct rpc_tree *tree;
    struct cast_feed *feed;
    /* Timer for the next action, so that it does not run inside a callback. */
    struct loop_timer *step;
    struct receiver *list; /* in the order of the grant */
    size_t count, answered, whole, placed, failed;
    bool refused, committed, ended;
    uint64_t sum_at; /* number of bytes included in crc */
    uint32_t crc;
    struct err err;
};

/* Copies all readable bytes. */
static int copy_all(int from, int to, const char *path, struct err *err)
{
    char buf[65536];
    uint64_t size = 0;
    ssize_t n;

    while ((n = read(from, buf, sizeof(buf))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, -errno, "Can't read `%s`: %s", path, strerror(errno));
        size += (uint64_t)n;
        if (size > COPY_MAX)
            return err_set(err, -EFBIG,
                           "`%s` does not say how long it is, and is longer than %d MiB: copy it "
                           "to a file first",
                           path, COPY_MAX >> 20);
        if (path_write_all(to, buf, (size_t)n))
            return err_set(err, -ENOMEM, "Can't keep a copy of `%s`", path);
    }
    return 0;
}

/* Copies a source into memory, with the mode and the times of the file. */
static int copy_source(int fd, const char *path, const struct stat *st, struct cast_source *out,
                       struct err *err)
{
    const struct timespec times[2] = {st->st_atim, st->st_mtim};
    _cleanup_close_ int copy = memfd_create("cast", MFD_CLOEXEC);
    struct stat own;
    int rc;

    if (copy < 0)
        return err_set(err, -errno, "Can't keep a copy of `%s`: %s", path, strerror(errno));
    rc = copy_all(fd, copy, path, err);
    if (rc)
        return rc;
    if (futimens(copy, times) || fstat(copy, &own))
        return err_set(err, -errno, "Can't keep a copy of `%s`: %s", path, strerror(errno));
    own.st_mode = st->st_mode;
    *out = (struct cast_source){take_fd(&copy), path, own};
    return 0;
}

int cast_source_open(const char *path, struct cast_source *out, struct err *err)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    if (fd < 0 || fstat(fd, &st))
        return err_set(err, -errno, "Can't open `%s`: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_set(err, -EINVAL, "`%s` is not a regular file", path);
    if (!st.st_blocks && st.st_size <= UNSURE_MAX) /* sizes in /proc and /sys are wrong */
        return copy_source(fd, path, &st, out, err);
    *out = (struct cast_source){take_fd(&fd), path, st};
    return 0;
}

void cast_source_close(struct cast_source *s)
{
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

/* --- the file --------------------------------------------------------------------------------- */

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static int check_unchanged(const struct cast_send *s, struct err *err)
{
    const struct cast_source *from = s->o.source;
    struct stat st;

    if (!fstat(from->fd, &st) && st.st_size == from->stat.st_size &&
        same_time(st.st_mtim, from->stat.st_mtim))
        return 0;
    return err_set(err, -ESTALE, "`%s` was changed while it was read", from->path);
}

/* The checksum grows with the first child; other children are behind. */
static int read_source(void *ctx, uint64_t at, void *buf, size_t len, struct err *err)
{
    struct cast_send *s = ctx;
    int rc;

    for (size_t done = 0; done < len;) {
        ssize_t n = pread(s->o.source->fd, (char *)buf + done, len - done, (off_t)(at + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, -errno, "Can't read `%s`: %s", s->o.source->path, strerror(errno));
        if (n == 0)
            return err_set(err, -ESTALE, "`%s` became shorter while it was read",
                           s->o.source->path);
        done += (size_t)n;
    }
    if (at != s->sum_at)
        return 0;
    s->crc = crc32c(s->crc, buf, len);
    s->sum_at += len;
    if (s->sum_at < s->request.file->size)
        return 0;
    rc = check_unchanged(s, err);
    if (!rc)
        cast_feed_sum(s->feed, s->crc);
    return rc;
}

/* --- the decision ----------------------------------------------------------------------------- */

static void end_send(struct cast_send *s, const char *why)
{
    if (s->ended)
        return;
    s->ended = true;
    if (s->feed)
        cast_feed_end(s->feed, why);
    else
        loop_timer_set(s->step, 0);
}

static void decide_end(struct cast_send *s)
{
    if (s->ended || s->answered < s->count)
        return;
    if (s->refused && !s->committed) {
        end_send(s, "another node cannot take the file");
    } else if (s->placed + s->failed == s->count) {
        end_send(s, NULL);
    } else if (!s->committed && s->whole + s->failed == s->count) {
        s->committed = true;
        cast_feed_commit(s->feed);
    }
}

/* Whether the node is unreachable, as opposed to a node that refuses the file. */
static bool is_gone(int code)
{
    return code == ERR_CONNECT || code == ERR_TIMEOUT || code == ERR_CLOSED ||
           code == ERR_SHUTDOWN || code == ECONNREFUSED || code == ECONNRESET ||
           code == EHOSTUNREACH || code == ENETUNREACH || code == ETIMEDOUT || code == EPIPE;
}

static void set_phase(struct cast_send *s, size_t i, Pb__CastPhase phase, int code,
                      const char *text)
{
    struct receiver *r = &s->list[i];

    if (phase <= r->phase || cast_phase_is_final(r->phase) || s->ended)
        return;
    s->whole -= r->phase == PB__CAST_PHASE__CAST_WHOLE;
    r->phase = phase;
    s->whole += phase == PB__CAST_PHASE__CAST_WHOLE;
    s->placed += phase == PB__CAST_PHASE__CAST_PLACED;
    if (cast_phase_is_failed(phase)) {
        s->failed++;
        s->refused |= phase == PB__CAST_PHASE__CAST_REFUSED;
        s->o.on_node(s->o.ctx, r->node.node, code, text && *text ? text : err_text(code));
    }
    decide_end(s);
}

static void on_state(void *ctx, const Pb__CastState *m)
{
    struct cast_send *s = ctx;

    if (m->index < s->count)
        set_phase(s, m->index, m->phase, m->code, m->text);
}

static void report_done(struct cast_send *s)
{
    s->o.on_done(s->o.ctx, s->failed, s->committed, &s->err);
}

static void on_send_end(void *ctx)
{
    report_done(ctx);
}

static void on_fail(void *ctx, const struct err *why)
{
    struct cast_send *s = ctx;

    s->err = *why;
    end_send(s, why->text);
}

/* --- receivers -------------------------------------------------------------------------------- */

static void feed_receivers(struct cast_send *s)
{
    const struct cast_feed_events events = {.read = read_source,
                                            .on_state = on_state,
                                            .on_fail = on_fail,
                                            .on_end = on_send_end,
                                            .ctx = s};
    struct cast_plan plan = {.key = s->key,
                             .size = s->request.file->size,
                             .width = s->o.width,
                             .block = s->o.block,
                             .pack = s->o.pack,
                             .root = true,
                             .timeout_ms = s->o.timeout_ms,
                             .name = "sbcast"};
    _cleanup_free_ Pb__CastNode **list = mem_new_array(Pb__CastNode *, s->count + 1);
    size_t count = 0;

    for (size_t i = 0; i < s->count; i++)
        if (!cast_phase_is_failed(s->list[i].phase))
            list[count++] = &s->list[i].node;
    s->feed = cast_feed_new(s->o.loop, &plan, list, count, &events);
    auth_key_done(&plan.key);
    if (!plan.size)
        cast_feed_sum(s->feed, 0);
    cast_feed_has(s->feed, plan.size);
}

static void on_send_step(void *ctx)
{
    struct cast_send *s = ctx;

    rpc_tree_free(take_ptr(s->tree));
    if (s->ended) {
        report_done(s);
        return;
    }
    if (s->failed < s->count)
        feed_receivers(s);
    decide_end(s);
}

/* The node's name is printed separately. */
static const char *without_node(const Pb__CastNode *n, const char *text)
{
    _cleanup_free_ char *prefix = mem_printf("%s (%s:%u): ", n->node, n->addr, n->port);

    return text + (str_starts(text, prefix) ? strlen(prefix) : 0);
}

static void set_receiver(struct cast_send *s, size_t i, const Pb__CastReceiving *m)
{
    s->list[i].node.port = m->port;
    if (i < s->o.grant->n_bcast_addr) /* the network for broadcasts, if there is one */
        s->list[i].node.addr = s->o.grant->bcast_addr[i];
}

static void on_send_node(void *ctx, size_t i, int code, const ProtobufCMessage *reply,
                         const struct err *err)
{
    struct cast_send *s = ctx;

    if (code < 0)
        set_phase(s, i, is_gone(-code) ? PB__CAST_PHASE__CAST_LOST : PB__CAST_PHASE__CAST_REFUSED,
                  -code, without_node(&s->list[i].node, err->text));
    else
        set_receiver(s, i, (const Pb__CastReceiving *)reply);
    if (++s->answered == s->count)
        loop_timer_set(s->step, 0);
}

/* A node's first launch may have to wait for a prolog. */
static int64_t start_limit_ms(const struct cast_send *s)
{
    const struct conf *conf = s->o.conf;

    if (!conf->prolog)
        return s->o.timeout_ms;
    return s->o.timeout_ms +
           (conf->prolog_epilog_timeout_sec > 0 && conf->prolog_epilog_timeout_sec < 3600
                ? conf->prolog_epilog_timeout_sec * 1000
                : PROLOG_MS);
}

static void ask_nodes(struct cast_send *s)
{
    _cleanup_free_ struct rpc_node_target *targets =
        mem_new_array(struct rpc_node_target, s->count + 1);
    int64_t limit = start_limit_ms(s);
    struct rpc_tree_request request = {
        .rpc = RPC_CAST_RECEIVE,
        .message = &s->request.base,
        .has_cred = true,
        .timeout_ms = limit,
    };

    for (size_t i = 0; i < s->count; i++)
        targets[i] = (struct rpc_node_target){s->list[i].node.node, s->list[i].node.addr,
                                              (uint16_t)s->list[i].node.port};
    s->request.wait_ms = (uint32_t)(limit + s->o.timeout_ms);
    s->tree = rpc_tree_start(s->o.loop, s->o.conf, targets, s->count, &request, on_send_node, s);
}

static int64_t ns_of(struct timespec t)
{
    return t.tv_sec * NS_PER_SEC + t.tv_nsec;
}

static void fill_request(struct cast_send *s)
{
    const struct stat *st = &s->o.source->stat;
    Pb__CastFile *file = &s->o.file;

    file->size = (uint64_t)st->st_size;
    file->mode = st->st_mode & 0777 & ~(s->o.preserve ? 0 : s->o.umask);
    file->has_atime_ns = file->has_mtime_ns = s->o.preserve;
    file->atime_ns = ns_of(st->st_atim);
    file->mtime_ns = ns_of(st->st_mtim);
    pb__cast_receive__init(&s->request);
    s->request.cred = s->o.grant->cred;
    s->request.signature = s->o.grant->signature;
    s->request.key = (ProtobufCBinaryData){sizeof(s->token), s->token};
    s->request.file = file;
    s->request.timeout_ms = (uint32_t)s->o.timeout_ms;
}

struct cast_send *cast_send_start(const struct cast_send_options *o)
{
    struct cast_send *s = mem_new(struct cast_send);
    struct auth_key secret;

    s->o = *o;
    s->step = loop_timer_new(o->loop, on_send_step, s);
    s->count = o->grant->n_nodes;
    s->list = mem_new_array(struct receiver, s->count + 1);
    for (size_t i = 0; i < s->count; i++) {
        Pb__CastNode *n = &s->list[i].node;

        pb__cast_node__init(n);
        n->index = (uint32_t)i;
        n->node = o->grant->nodes[i]->node;
        n->addr = o->grant->nodes[i]->addr;
        n->port = o->grant->nodes[i]->port;
    }
    fill_request(s);
    if (s->count == 0 || rpc_secret_new(o->conf, NULL, s->token, &secret, NULL, &s->err)) {
        s->ended = true;
        loop_timer_set(s->step, 0);
        return s;
    }
    auth_key_from_bytes(secret.mac_key, sizeof(secret.mac_key), &s->key);
    auth_key_done(&secret);
    ask_nodes(s);
    return s;
}

void cast_send_placed(const struct cast_send *s, struct hostlist *nodes)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i].phase == PB__CAST_PHASE__CAST_PLACED)
            hostlist_push(nodes, s->list[i].node.node);
}

void cast_send_free(struct cast_send *s)
{
    if (!s)
        return;
    rpc_tree_free(s->tree);
    cast_feed_free(s->feed);
    loop_timer_free(s->step);
    auth_key_done(&s->key);
    free(s->list);
    free(s);
}
