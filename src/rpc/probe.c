/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rpc/probe.h"

#include <unistd.h>

#include "base/mem.h"
#include "proto/ctl.pb-c.h"
#include "rpc/dial.h"
#include "rpc/mint.h"
#include "rpc/once.h"
#include "rpc/place.h"

struct asked {
    struct rpc_probe *probe;
    const struct rpc_place *place;
    struct rpc_dial *dial;
    struct rpc_once *once;
};

struct rpc_probe {
    struct rpc_io *io;
    const struct conf *conf;
    const struct conf_host *except;
    struct rpc_place *places;
    struct asked *asked;
    size_t count, open;
    struct loop_timer *timer; /* first the start, then the time limit */
    bool started;
    struct str tried;
    rpc_probe_fn *done;
    void *ctx;
};

void rpc_probe_drop(struct rpc_probe *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->count; i++) {
        rpc_dial_drop(p->asked[i].dial);
        rpc_once_drop(p->asked[i].once);
    }
    loop_timer_free(p->timer);
    free(p->asked);
    free(p->places);
    str_done(&p->tried);
    free(p);
}

static void finish_probe(struct rpc_probe *p, const struct conf_host *leader)
{
    _cleanup_str_ struct str tried = p->tried;
    rpc_probe_fn *done = p->done;
    void *ctx = p->ctx;

    p->tried = (struct str)STR_INIT;
    rpc_probe_drop(p);
    done(ctx, leader, str_cstr(&tried));
}

static void note_refusal(struct asked *a, const char *why)
{
    struct rpc_probe *p = a->probe;
    char where[RPC_PLACE_TEXT_MAX];

    rpc_place_text(p->conf, a->place, where);
    str_printf(&p->tried, "%s%s: %s", p->tried.len ? "; " : "", where, why);
    if (--p->open == 0)
        finish_probe(p, NULL);
}

static void on_probe_answer(void *ctx, int code, const ProtobufCMessage *reply,
                            const struct err *err)
{
    struct asked *a = ctx;

    a->once = NULL;
    if (code == 0 && ((const Pb__PingReply *)reply)->primary)
        finish_probe(a->probe, a->place->host);
    else
        note_refusal(a, code ? err->text : err_text(ERR_STANDBY));
}

static void on_probe_dialled(void *ctx, int fd, size_t target, const struct rpc_addr *addr,
                             const struct err *err)
{
    struct asked *a = ctx;
    struct rpc_probe *p = a->probe;
    struct rpc_header h = {.version = RPC_VERSION, .rpc = RPC_PING, .id = 1};
    struct rpc_minted *minted;
    struct err why = {0};

    a->dial = NULL;
    if (fd < 0) {
        note_refusal(a, err->text);
        return;
    }
    if (rpc_vouch(p->conf, false, &h, NULL, rpc_wire_now_ms() + RPC_PLACE_PROBE_MS, &minted, &why) <
        0) {
        close(fd);
        note_refusal(a, why.text);
        return;
    }
    a->once = rpc_once_start(p->io, fd, &h, minted, NULL, on_probe_answer, a);
    rpc_minted_free(minted, 1);
}

static void begin_probe(struct rpc_probe *p)
{
    struct rpc_target t = {.port = p->conf->slurmctld_port};

    p->started = true;
    loop_timer_set(p->timer, RPC_PLACE_PROBE_MS);
    for (size_t i = 0; i < p->count; i++) {
        struct asked *a = &p->asked[i];
        if (a->place->local || a->place->host == p->except)
            continue;
        t.addr = a->place->host->addr;
        p->open++;
        a->dial =
            rpc_dial_start(rpc_io_loop(p->io), &t, 1, RPC_PLACE_PROBE_MS * 2, on_probe_dialled, a);
    }
    if (!p->open)
        finish_probe(p, NULL);
}

static void on_probe_timer(void *ctx)
{
    struct rpc_probe *p = ctx;

    if (!p->started) {
        begin_probe(p);
        return;
    }
    p->open++; /* keeps the last recorded answer from ending the probe */
    for (size_t i = 0; i < p->count; i++)
        if (p->asked[i].dial || p->asked[i].once)
            note_refusal(&p->asked[i], err_text(ERR_TIMEOUT));
    finish_probe(p, NULL);
}

struct rpc_probe *rpc_probe_start(struct rpc_io *io, const struct conf *conf,
                                  const struct conf_host *except, rpc_probe_fn *done, void *ctx)
{
    struct rpc_probe *p = mem_new(struct rpc_probe);

    p->io = io;
    p->conf = conf;
    p->except = except;
    p->done = done;
    p->ctx = ctx;
    p->places = rpc_place_list(conf, &p->count);
    p->asked = mem_new_array(struct asked, p->count);
    for (size_t i = 0; i < p->count; i++)
        p->asked[i] = (struct asked){.probe = p, .place = &p->places[i]};
    p->timer = loop_timer_new(rpc_io_loop(io), on_probe_timer, p);
    loop_timer_set(p->timer, 0);
    return p;
}
