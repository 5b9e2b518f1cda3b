/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launch/ioport.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool all_loopback(Pb__StepNode *const *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(nodes[i]->addr, "127.", 4) != 0 && strcmp(nodes[i]->addr, "localhost") != 0)
            return false;
    return true;
}

int ioport_listen(struct rpc_server *server, const struct conf *conf, Pb__StepNode *const *nodes,
                  size_t count, struct err *err)
{
    const char *addr = all_loopback(nodes, count) ? "127.0.0.1" : NULL;
    const char *range = conf->srun_port_range;
    const struct conf_keepalive *k = &conf->keepalive;
    unsigned first = 0, last = 0;
    int port = -EADDRINUSE;

    rpc_set_keepalive(k->idle_sec, k->every_sec, k->probes);
    if (range == NULL || sscanf(range, "%u-%u", &first, &last) != 2 || first == 0 || last > 65535 ||
        first > last)
        return rpc_server_listen_tcp(server, addr, 0, err);
    for (unsigned n = first; n <= last && port < 0; n++)
        port = rpc_server_listen_tcp(server, addr, (uint16_t)n, err);
    if (port < 0)
        err_prefix(err, "no free port in SrunPortRange=%s", range);
    return port;
}
