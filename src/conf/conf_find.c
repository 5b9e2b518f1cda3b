/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <unistd.h>

#include "base/path.h"
#include "conf/conf_internal.h"

char *conf_path(void)
{
    const char *env = getenv("SLURM_CONF");

    if (env && *env)
        return mem_strdup(env);
    _cleanup_free_ char *prefix = path_prefix();
    if (prefix) {
        _cleanup_free_ char *beside = mem_printf("%s/etc/slurm.conf", prefix);
        if (access(beside, F_OK) == 0)
            return take_ptr(beside);
    }
    bool old = access("/etc/slurm/slurm.conf", F_OK) != 0 && access("/etc/slurm.conf", F_OK) == 0;
    return mem_strdup(old ? "/etc/slurm.conf" : "/etc/slurm/slurm.conf");
}

char *conf_path_daemon(const char *daemon)
{
    char *path = conf_path();
    _cleanup_free_ char *own = mem_printf("/etc/%s.conf", daemon);
    if (access(path, F_OK) == 0 || access(own, F_OK) != 0)
        return path;
    free(path);
    return take_ptr(own);
}

long conf_find_node(const struct conf *c, const char *name)
{
    return conf_index_find(&c->priv->node_index, c->nodes.data, sizeof(*c->nodes.data), name);
}

long conf_find_part(const struct conf *c, const char *name)
{
    return conf_index_find(&c->priv->part_index, c->parts.data, sizeof(*c->parts.data), name);
}

char *conf_socket_path(const struct conf *c, const char *daemon, const char *node)
{
    return mem_printf("%s/%s%s%s", c->socket_dir, daemon, node ? "-" : "", node ? node : "");
}

char *conf_controller_socket(const struct conf *c, const struct conf_host *host)
{
    return host->rank ? mem_printf("%s/slurmctld-%u", c->socket_dir, host->rank)
                      : mem_printf("%s/slurmctld", c->socket_dir);
}
