/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/path.h"
#include "cli/cmd.h"
#include "cmd/sluice/sluice.h"
#include "proto/common.pb-c.h"
#include "proto/ctl.pb-c.h"
#include "rpc/client.h"
#include "show/show.h"

#define CALL_MS 5000

static int stats_get(const struct conf *conf, struct arena *a, Pb__CtlStats **stats,
                     struct err *err)
{
    struct rpc_client *client = rpc_client_new(conf);
    Pb__Empty ask = PB__EMPTY__INIT;
    int rc = rpc_call(client, RPC_STATS, &ask.base, CALL_MS, a, stats, err);
    rpc_client_free(client);
    return rc;
}

static bool print_status(const struct sluice_options *o, const struct conf *conf,
                         const struct daemon_list *running)
{
    _cleanup_arena_ struct arena a;
    _cleanup_str_ struct str out = STR_INIT;
    arena_init(&a, 0);
    Pb__CtlStats *stats = NULL;
    struct err err = {0};
    pid_t controller = daemon_find(running, "slurmctld");
    struct show_status status = {.cluster = conf->cluster_name,
                                 .place = o->dir,
                                 .controller = controller,
                                 .port = conf->slurmctld_port,
                                 .daemons = running->all.len - (controller ? 1 : 0),
                                 .nodes = place_count(conf)};
    if (controller && stats_get(conf, &a, &stats, &err))
        status.fault = err.text;
    else
        status.stats = stats;
    show_status_text(&status, &out);
    fputs(str_cstr(&out), stdout);
    return status.stats && status.daemons == status.nodes && stats->nodes_up == status.nodes;
}

int sluice_status(const struct sluice_options *o, const char *const *operand)
{
    struct conf *conf = NULL;
    struct err err = {0};
    if (!place_has_cluster(o->dir)) {
        cmd_error("there is no cluster in %s; 'sluice up' makes one, --dir names another place",
                  o->dir);
        return 1;
    }
    if (place_check_seen(o->dir, &err) || place_load(o->dir, &conf, NULL, &err)) {
        cmd_error("%s", err.text);
        return 1;
    }
    struct daemon_list running = {0};
    daemon_list(o->dir, &running);
    bool good = print_status(o, conf, &running);
    daemon_list_done(&running);
    conf_free(conf);
    return good ? 0 : 1;
}

int sluice_env(const struct sluice_options *o, const char *const *operand)
{
    if (!place_has_cluster(o->dir)) {
        cmd_error("there is no cluster in %s; 'sluice up' makes one, --dir names another place",
                  o->dir);
        return 1;
    }
    _cleanup_free_ char *conf = place_path(o->dir, "slurm.conf"), *prefix = path_prefix();
    _cleanup_str_ struct str out = STR_INIT;
    str_puts(&out, "export SLURM_CONF=");
    str_put_quoted(&out, conf);
    str_puts(&out, ";\n");
    if (prefix) {
        str_puts(&out, "export PATH=");
        str_put_quoted(&out, prefix);
        str_puts(&out, "/bin:");
        str_put_quoted(&out, prefix);
        str_puts(&out, "/sbin:\"$PATH\";\n");
    }
    fputs(str_cstr(&out), stdout);
    return 0;
}
