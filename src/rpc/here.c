/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls to the node daemons of this host. */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "rpc/client.h"
#include "rpc/mint.h"
#include "rpc/wire.h"

#define SOCKET_PREFIX "slurmd-" /* must match conf_socket_node() */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Whether the entry is a socket: SlurmdPidFile may be in the same directory under a similar
   name. */
static bool is_socket(DIR *d, const char *name)
{
    struct stat st;

    return fstatat(dirfd(d), name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(st.st_mode);
}

static bool is_name_listed(const struct rpc_names *names, const char *name)
{
    vec_foreach (&names->names, n)
        if (str_eq(*n, name))
            return true;
    return false;
}

static void list_directory(const char *path, struct rpc_names *out)
{
    DIR *d = opendir(path);
    struct dirent *e;

    while (d && (e = readdir(d))) {
        const char *name = e->d_name + strlen(SOCKET_PREFIX);
        if (str_starts(e->d_name, SOCKET_PREFIX) && is_socket(d, e->d_name) &&
            !is_name_listed(out, name))
            vec_push(&out->names, mem_strdup(name));
    }
    if (d)
        closedir(d);
}

void rpc_here_list(const struct conf *conf, struct rpc_names *out)
{
    *out = (struct rpc_names){0};
    for (size_t i = 0; i < conf->socket_dir_count; i++)
        list_directory(conf->socket_dirs[i], out);
    if (out->names.len)
        qsort(out->names.data, out->names.len, sizeof(*out->names.data), by_name);
}

void rpc_here_done(struct rpc_names *n)
{
    vec_foreach (&n->names, name)
        free(*name);
    vec_done(&n->names);
}

static int exchange_frames(struct rpc_wire *w, const struct rpc_info *info,
                           const ProtobufCMessage *request, int64_t deadline_ms,
                           struct arena *arena, void *reply, struct err *err)
{
    const uint8_t *bytes;
    size_t len;
    int rc = rpc_wire_exchange(w, info->number, request, &bytes, &len, deadline_ms, err);

    if (rc != 0)
        return rc;
    ProtobufCMessage *m = arena_unpack(arena, info->reply, bytes, len);
    if (!m)
        return err_set(err, -ERR_PROTOCOL, "malformed answer to %s", info->name);
    *(ProtobufCMessage **)reply = m;
    return 0;
}

int rpc_here_call(const struct conf *conf, const char *node, enum rpc_number rpc,
                  const ProtobufCMessage *request, struct arena *arena, void *reply,
                  struct err *err)
{
    _cleanup_free_ char *name = conf_socket_node(node);
    int64_t deadline_ms = rpc_wire_now_ms() + conf->message_timeout_sec * 1000;
    struct rpc_wire w = {.fd = -1};
    int rc = rpc_open_here(conf, name, &w, deadline_ms, err);

    if (rc == 0)
        rc = exchange_frames(&w, rpc_find(rpc), request, deadline_ms, arena, reply, err);
    rpc_wire_close(&w);
    return rc;
}
