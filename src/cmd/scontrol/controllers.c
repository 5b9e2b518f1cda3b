/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests to a single controller: pings and takeover. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/cmd.h"
#include "cmd/scontrol/scontrol.h"
#include "proto/common.pb-c.h"
#include "proto/ctl.pb-c.h"
#include "show/json_out.h"
#include "show/show.h"

#define PING_PATIENCE_SEC 1
#define TAKEOVER_MS 20000 /* longer than the controller's own limit */

/* A configuration with only one of the controllers, at its own address. */
struct alone {
    struct conf conf;
    struct conf_host host;
};

static void init_single_controller(struct alone *a, size_t rank)
{
    const struct conf *conf = cmd_conf();
    a->conf = *conf;
    a->host = conf->controllers.data[rank];
    a->host.addr = a->host.own_addr;
    a->conf.controllers.data = &a->host;
    a->conf.controllers.len = 1;
}

/* All controllers are pinged at the same time: one that hangs does not delay the others. */
struct pinged {
    pthread_t thread;
    struct alone alone;
    bool up;
    int64_t latency_us; /* until the reply or the timeout */
    char *leader;       /* the leader that it knows; NULL: none */
};

static int64_t monotonic_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void *ping_controller(void *arg)
{
    struct pinged *p = arg;
    Pb__Empty request = PB__EMPTY__INIT;
    struct arena arena;
    arena_init(&arena, 0);
    struct rpc_client *client = rpc_client_new(&p->alone.conf);
    Pb__PingReply *reply = NULL;
    int64_t asked_us = monotonic_us();
    p->up = rpc_call(client, RPC_PING, &request.base, 0, &arena, &reply, NULL) == 0;
    p->latency_us = monotonic_us() - asked_us;
    if (p->up && reply)
        p->leader = mem_strdup(reply->leader ? reply->leader : reply->primary ? reply->name : NULL);
    rpc_client_free(client);
    arena_done(&arena);
    return NULL;
}

/* Pings all controllers; the caller frees the leader names. */
static void ping_all(const struct conf *conf, struct pinged *all)
{
    size_t count = conf->controllers.len;
    for (size_t i = 0; i < count; i++) {
        init_single_controller(&all[i].alone, i);
        if (all[i].alone.conf.message_timeout_sec > PING_PATIENCE_SEC)
            all[i].alone.conf.message_timeout_sec = PING_PATIENCE_SEC;
        if (pthread_create(&all[i].thread, NULL, ping_controller, &all[i])) {
            ping_controller(&all[i]);
            all[i].thread = pthread_self();
        }
    }
    for (size_t i = 0; i < count; i++)
        if (!pthread_equal(all[i].thread, pthread_self()))
            pthread_join(all[i].thread, NULL);
}

int ping_print(bool full)
{
    const struct conf *conf = cmd_conf();
    size_t count = conf->controllers.len;
    _cleanup_free_ struct pinged *all = mem_new_array(struct pinged, count);
    json_t *json = full && (scontrol.json || scontrol.yaml) ? json_array() : NULL;
    bool one_up = false;
    const char *leader = NULL;
    ping_all(conf, all);
    for (size_t i = 0; i < count; i++) {
        const struct show_ping ping = {.host = conf->controllers.data[i].name,
                                       .rank = i,
                                       .count = count,
                                       .is_up = all[i].up,
                                       .latency_us = all[i].latency_us};
        one_up = one_up || all[i].up;
        leader = leader ? leader : all[i].leader;
        if (json)
            json_array_append_new(json, show_ping_json(&ping));
        else
            show_ping_text(&ping, cmd_out());
    }
    if (json)
        json_out_print(cmd_source(), "pings", json, scontrol.yaml, cmd_out());
    else if (full && count > 1 && leader)
        str_printf(cmd_out(), "Leader: %s\n", leader);
    for (size_t i = 0; i < count; i++)
        free(all[i].leader);
    return one_up ? 0 : 1;
}

int run_ping(int argc, char **argv)
{
    return ping_print(true);
}

int run_takeover(int argc, char **argv)
{
    const struct conf *conf = cmd_conf();
    Pb__CtldTakeover request = PB__CTLD_TAKEOVER__INIT;
    struct alone alone;
    struct err err = {0};
    long long rank = 1;
    if (conf->controllers.len < 2) {
        cmd_line("slurm_takeover error: %s has one SlurmctldHost line: there is no backup",
                 conf->path);
        return 1;
    }
    if (argc && str_parse_i64(argv[0], 0, (long long)conf->controllers.len - 1, &rank)) {
        cmd_line("invalid backup controller index:%s (0, the primary, to %zu)", argv[0],
                 conf->controllers.len - 1);
        return 1;
    }
    init_single_controller(&alone, (size_t)rank);
    request.successor = (char *)alone.host.name;
    struct rpc_client *client = rpc_client_new(&alone.conf);
    struct arena arena;
    arena_init(&arena, 0);
    int r = rpc_call(client, RPC_CTLD_TAKEOVER, &request.base, TAKEOVER_MS, &arena, NULL, &err);
    if (r < 0)
        cmd_line("slurm_takeover error: %s", err.text);
    arena_done(&arena);
    rpc_client_free(client);
    return r < 0 ? 1 : 0;
}
