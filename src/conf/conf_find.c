/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "conf/conf_find.h"
#include "conf/conf_internal.h"

static const char *get_indexed_name(const void *base, size_t size, size_t number)
{
    return *(const char *const *)(const void *)((const char *)base + size * number);
}

static size_t hash_name(const char *name)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return (size_t)(h ^ (h >> 32));
}

/* Returns the slot of the name, or the empty slot for it. */
static size_t slot_of(const struct conf_index *index, const void *base, size_t size,
                      const char *name)
{
    size_t i = hash_name(name) & index->mask;

    while (index->slot[i] && strcmp(get_indexed_name(base, size, index->slot[i] - 1), name) != 0)
        i = (i + 1) & index->mask;
    return i;
}

void conf_index_done(struct conf_index *index)
{
    free(index->slot);
    *index = (struct conf_index){0};
}

void conf_index_reserve(struct conf_index *index, size_t count)
{
    size_t size = 16;

    while (size < count * 2)
        size *= 2;
    conf_index_done(index);
    index->slot = mem_new_array(uint32_t, size);
    index->mask = size - 1;
}

long conf_index_add(struct conf_index *index, const void *base, size_t size, size_t number)
{
    size_t i = slot_of(index, base, size, get_indexed_name(base, size, number));

    if (index->slot[i])
        return (long)index->slot[i] - 1;
    index->slot[i] = (uint32_t)number + 1;
    return -1;
}

long conf_index_find(const struct conf_index *index, const void *base, size_t size,
                     const char *name)
{
    if (!index->slot || !name)
        return -1;
    return (long)index->slot[slot_of(index, base, size, name)] - 1;
}

#define CACHED "/run/slurm/conf/slurm.conf" /* written by a node daemon with --conf-server */

static char *installed_path(void)
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

char *conf_path(void)
{
    char *path = installed_path();
    const char *env = getenv("SLURM_CONF");

    if ((env && *env) || access(path, F_OK) == 0 || access(CACHED, F_OK) != 0)
        return path;
    free(path);
    return mem_strdup(CACHED);
}

/* The command was run without specifying a cluster. */
static int report_missing_file(struct err *err)
{
    const char *env = getenv("SLURM_CONF");
    _cleanup_free_ char *prefix = path_prefix();

    if (env && *env)
        return err_set(err, -ENOENT, "%s, which SLURM_CONF names, does not exist", env);
    return err_set(
        err, -ENOENT,
        "there is no slurm.conf: neither %s%s/etc/slurm/slurm.conf exists; set SLURM_CONF "
        "to another, or run: eval \"$(sluice env)\" for a cluster of 'sluice up'",
        prefix ? prefix : "", prefix ? "/etc/slurm.conf nor " : "");
}

int conf_load_own(struct conf **out, struct err *err)
{
    _cleanup_free_ char *path = conf_path();

    if (access(path, F_OK) && errno == ENOENT)
        return report_missing_file(err);
    return conf_load(path, CONF_CLIENT, NULL, out, NULL, err);
}

char *conf_path_daemon(const char *daemon)
{
    char *path = installed_path();
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

const struct conf_host *conf_find_controller(const struct conf *c, const char *name)
{
    vec_foreach (&c->controllers, host)
        if (!strcasecmp(host->name, name))
            return host;
    return NULL;
}

char *conf_plugin_dirs(const struct conf *c)
{
    return c->plugin_dir ? mem_strdup(c->plugin_dir) : conf_installed_plugin_dir();
}

char *conf_installed_plugin_dir(void)
{
    _cleanup_free_ char *prefix = path_prefix();
    return prefix && CONF_PLUGIN_DIR[0] != '/' ? mem_printf("%s/%s", prefix, CONF_PLUGIN_DIR)
                                               : mem_strdup(CONF_PLUGIN_DIR);
}

bool conf_encrypts(const struct conf *c)
{
    return !str_eq(c->tls_type, "tls/none");
}

char *conf_socket_node(const char *node)
{
    return mem_printf("slurmd-%s", node);
}

char *conf_socket_controller(const struct conf_host *host)
{
    return host->rank ? mem_printf("slurmctld-%u", host->rank) : mem_strdup("slurmctld");
}

char *conf_socket_path(const struct conf *c, size_t dir, const char *name)
{
    return mem_printf("%s/%s", c->socket_dirs[dir], name);
}
