/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rpc/place.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "rpc/client.h"
#include "rpc/mint.h"

bool rpc_local_socket_wanted(void)
{
    const char *no = getenv("SLUICE_NO_LOCAL_SOCKET");

    return !no || !no[0] || strcmp(no, "0") == 0;
}

static bool is_address_listed(const struct rpc_place *places, size_t count, const char *addr)
{
    for (size_t i = 0; i < count; i++)
        if (!places[i].local && str_eq(places[i].host->addr, addr))
            return true;
    return false;
}

struct rpc_place *rpc_place_list(const struct conf *conf, size_t *count)
{
    struct rpc_place *places = mem_new_array(struct rpc_place, conf->controllers.len * 2);

    *count = 0;
    if (rpc_local_socket_wanted() && !rpc_jwt()) /* there the kernel identifies the caller */
        vec_foreach (&conf->controllers, h)
            places[(*count)++] = (struct rpc_place){h, true};
    vec_foreach (&conf->controllers, h)
        if (!is_address_listed(places, *count, h->addr))
            places[(*count)++] = (struct rpc_place){h, false};
    return places;
}

void rpc_place_text(const struct conf *conf, const struct rpc_place *p,
                    char text[RPC_PLACE_TEXT_MAX])
{
    if (p->local) {
        _cleanup_free_ char *name = conf_socket_controller(p->host);
        _cleanup_free_ char *path = conf_socket_path(conf, 0, name);
        snprintf(text, RPC_PLACE_TEXT_MAX, "%s", path);
    } else {
        snprintf(text, RPC_PLACE_TEXT_MAX, "%s:%u", p->host->addr, conf->slurmctld_port);
    }
}

int rpc_place_closed(const struct conf *conf, const struct rpc_place *p, struct err *err)
{
    const struct rpc_place by_address = {p->host, false};
    char where[RPC_PLACE_TEXT_MAX];

    rpc_place_text(conf, &by_address, where);
    return err_set(err, -ERR_CLOSED, "%s before the answer was complete (slurm controller %s)",
                   err_text(ERR_CLOSED), where);
}

bool rpc_place_is_passing(const struct conf *conf, const struct rpc_info *rpc, int code,
                          bool *again)
{
    bool alone = conf->controllers.len == 1;

    if (code == -ERR_STANDBY)
        return *again = true;
    if (code == -ERR_CLOSED && rpc->lane != RPC_LANE_WRITE && rpc->lane != RPC_LANE_FOLLOW) {
        *again = !alone; /* a single controller that has died does not return at once */
        return true;
    }
    if (code == -ECONNRESET) { /* the request was not received */
        *again = *again || !alone;
        return true;
    }
    if (alone)
        return false;
    /* The controller cannot reach the store and has changed nothing; another controller may lead
       by now. */
    if (code == -ERR_STORE)
        return *again = true;
    /* A wrong process that listens at the address of a stopped controller must not block the other
       places. */
    if (code == -ERR_UNPROVEN || code == -ERR_AUTH || code == -ERR_SKEW)
        return true;
    /* ERR_REPLAY: the token was minted before the controller took over; the next token is
       newer. */
    return code == -ERR_REPLAY ? (*again = true) : code == -ERR_SHUTDOWN;
}

int64_t rpc_place_patience(int64_t remaining_ms, size_t left, size_t count, unsigned round)
{
    int64_t quick = (int64_t)RPC_PLACE_HEDGE_MS << (round < 8 ? round : 8);
    int64_t share;

    if (count == 1)
        return remaining_ms;
    share = remaining_ms / (int64_t)(left * 2);
    return share < quick ? share : quick;
}

#define FIRST_MS 100
#define LONGEST_MS 2000

static rpc_backoff_fn *tell;

void rpc_on_backoff(rpc_backoff_fn *fn)
{
    tell = fn;
}

int64_t rpc_patience_next(struct rpc_patience *p, const char *why)
{
    int64_t ms = p->times < 5 ? FIRST_MS << p->times : LONGEST_MS;
    struct timespec now;

    ms = ms < LONGEST_MS ? ms : LONGEST_MS;
    clock_gettime(CLOCK_MONOTONIC, &now);
    p->times++;
    if (tell)
        tell(why);
    return ms / 2 + (now.tv_nsec / 1000 + (int64_t)getpid() * 7919) % ms;
}
