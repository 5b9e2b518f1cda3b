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
    arena_init(&a, 0);
    Pb__CtlStats *s = NULL;
    struct err err = {0};
    pid_t controller = daemon_find(running, "slurmctld");
    size_t nodes = place_count(conf);
    size_t daemons = running->all.len - (controller ? 1 : 0);
    int rc = controller ? stats_get(conf, &a, &s, &err) : -1;
    printf("cluster     %s in %s\n", conf->cluster_name, o->dir);
    if (!controller)
        puts("slurmctld   down");
    else if (rc)
        printf("slurmctld   process %d does not answer: %s\n", (int)controller, err.text);
    else
        printf("slurmctld   up, process %d, port %u, %llu MiB resident, %.2f s of CPU\n",
               (int)controller, conf->slurmctld_port,
               (unsigned long long)(s->rss_kib + 1023) / 1024, (double)s->cpu_usec / 1e6);
    printf("slurmd      %zu of %zu run", daemons, nodes);
    if (rc == 0)
        printf(", %llu nodes are up", (unsigned long long)s->nodes_up);
    putchar('\n');
    if (rc == 0)
        printf("jobs        %llu running, %llu pending\n", (unsigned long long)s->running,
               (unsigned long long)s->pending);
    return rc == 0 && daemons == nodes && s->nodes_up == nodes;
}

int sluice_status(const struct sluice_options *o)
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

int sluice_env(const struct sluice_options *o)
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
