/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pam/ask.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "loop/loop.h"
#include "rpc/client.h"

#define PROLOG_MS 90000 /* time that a login waits for a prolog; below HELPER_SEC */

/* Several daemons share a host in tests; then the one whose name is the host's is used. */
int ask_find_node(struct ask *a, const char *wanted, struct err *err)
{
    struct rpc_names here;
    char host[256] = "";
    int rc = 0;

    if (wanted) {
        a->node = wanted;
        return 0;
    }
    gethostname(host, sizeof(host) - 1);
    host[strcspn(host, ".")] = '\0';
    rpc_here_list(a->conf, &here);
    if (here.names.len == 1)
        a->node = arena_strdup(&a->arena, here.names.data[0]);
    vec_foreach (&here.names, name)
        if (!strcmp(*name, host))
            a->node = arena_strdup(&a->arena, *name);
    if (!here.names.len)
        rc = err_set(err, -ERR_CONNECT, "no slurmd has a socket in %s: is it running?",
                     a->conf->socket_dirs[0]);
    else if (!a->node)
        rc = err_set(err, -ERR_CONNECT, "several node daemons are on this host: give nodename=");
    rpc_here_done(&here);
    return rc;
}

static int call_slurmd(struct ask *a, const Pb__AdoptRequest *m, Pb__AdoptReply **reply,
                       struct err *err)
{
    int64_t until_ms = loop_mono_ms() + PROLOG_MS;
    int rc;

    do /* the daemon answers late, so the loop is slow */
        rc = rpc_here_call(a->conf, a->node, RPC_ADOPT, &m->base, &a->arena, reply, err);
    while (!rc && (*reply)->has_waits && (*reply)->waits && loop_mono_ms() < until_ms);
    return rc;
}

static bool is_unknown(const Pb__AdoptReply *m)
{
    return m->outcome == PB__ADOPT_OUTCOME__ADOPT_UNKNOWN;
}

/* Chooses, among several jobs, the job of the connecting process on this host or on another
   node. */
static int by_origin(struct ask *a, Pb__AdoptRequest *m, Pb__AdoptReply **reply, struct err *err)
{
    uint32_t job_id;
    pid_t pid;
    int rc;

    /* Our remote end is the local end of the connecting process. */
    if (!owner_find(&a->remote, &a->local, a->uid, &pid)) {
        m->has_origin_pid = true;
        m->origin_pid = (uint32_t)pid;
        rc = call_slurmd(a, m, reply, err);
        if (rc || !is_unknown(*reply))
            return rc;
    }
    job_id = origin_job(a, *reply);
    if (!job_id)
        return 0;
    m->has_job_id = true;
    m->job_id = job_id;
    rc = call_slurmd(a, m, reply, err);
    if (!rc && (*reply)->how == PB__ADOPT_HOW__ADOPT_WANTED)
        (*reply)->how = PB__ADOPT_HOW__ADOPT_ORIGIN;
    return rc;
}

int ask_adopt(struct ask *a, Pb__AdoptReply **reply, struct err *err)
{
    Pb__AdoptRequest m = PB__ADOPT_REQUEST__INIT;
    struct stat st;
    int rc;

    if (stat("/proc/self/ns/pid", &st))
        return err_set(err, -ERR_NODE_FAULT, "/proc is missing");
    m.uid = a->uid;
    m.pid = (uint32_t)a->pid;
    m.pid_namespace = (uint64_t)st.st_ino;
    m.has_job_id = a->job_id != 0;
    m.job_id = a->job_id;
    rc = call_slurmd(a, &m, reply, err);
    if (!rc && is_unknown(*reply) && a->has_ends)
        rc = by_origin(a, &m, reply, err);
    if (rc || !is_unknown(*reply) || !a->newest)
        return rc;
    m.has_newest = m.newest = true;
    return call_slurmd(a, &m, reply, err);
}
