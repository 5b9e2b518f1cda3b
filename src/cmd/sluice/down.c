/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/mem.h"
#include "cli/cmd.h"
#include "cmd/sluice/sluice.h"
#include "loop/loop.h"
#include "proto/common.pb-c.h"
#include "proto/ctl.pb-c.h"
#include "proto/job.pb-c.h"
#include "rpc/client.h"

#define CALL_MS 5000
#define POLL_MIN_MS 2
#define POLL_MAX_MS 100

static int on_down_jobs(void *ctx, const ProtobufCMessage *part, struct err *err)
{
    *(size_t *)ctx += ((const Pb__JobList *)part)->n_jobs;
    return 0;
}

/* Counts jobs that hold nodes: running ones and completing ones. */
static int count_running(struct rpc_client *client, size_t *count, struct err *err)
{
    Pb__JobState states[] = {PB__JOB_STATE__RUNNING, PB__JOB_STATE__SUSPENDED};
    Pb__JobFilter f = PB__JOB_FILTER__INIT;
    f.state = states;
    f.n_state = 2;
    f.has_completing = f.completing = true;
    *count = 0;
    return rpc_call_stream(client, RPC_JOB_LIST, &f.base, on_down_jobs, count, err);
}

/* Cancels running jobs and waits until the nodes are free. Pending jobs stay in the saved state. */
static int end_jobs(struct rpc_client *client, int64_t wait_ms, struct err *err)
{
    size_t count = 0;
    int rc = count_running(client, &count, err);
    if (rc || count == 0)
        return rc;
    cmd_say("ending %zu running job%s", count, count == 1 ? "" : "s");
    _cleanup_arena_ struct arena a;
    arena_init(&a, 0);
    Pb__JobState states[] = {PB__JOB_STATE__RUNNING, PB__JOB_STATE__SUSPENDED};
    Pb__JobFilter f = PB__JOB_FILTER__INIT;
    f.state = states;
    f.n_state = 2;
    Pb__JobSignal cancel = PB__JOB_SIGNAL__INIT;
    Pb__JobSignalReply *reply = NULL;
    cancel.filter = &f;
    rc = rpc_call(client, RPC_JOB_SIGNAL, &cancel.base, CALL_MS, &a, &reply, err);
    int64_t until_ms = loop_mono_ms() + wait_ms;
    int pause_ms = POLL_MIN_MS;
    while (rc == 0 && count > 0 && loop_mono_ms() < until_ms) {
        poll(NULL, 0, pause_ms);
        pause_ms = pause_ms * 2 > POLL_MAX_MS ? POLL_MAX_MS : pause_ms * 2;
        rc = count_running(client, &count, err);
    }
    return rc;
}

static int ask_to_stop(struct rpc_client *client, struct err *err)
{
    _cleanup_arena_ struct arena a;
    arena_init(&a, 0);
    Pb__ShutdownRequest request = PB__SHUTDOWN_REQUEST__INIT;
    Pb__Empty *reply = NULL;
    return rpc_call(client, RPC_SHUTDOWN, &request.base, CALL_MS, &a, &reply, err);
}

static void names_of(const struct daemon_list *list, struct str *out)
{
    vec_foreach (&list->all, d)
        str_printf(out, "%s%s (%d)", out->len ? ", " : "", d->name, (int)d->pid);
}

/* Ends the remaining processes: SIGTERM, then SIGKILL. Returns false if some are left even so. */
static bool end_by_force(const struct daemon_list *list)
{
    if (daemon_wait_gone(list, 0) == 0)
        return true;
    daemon_kill(list, SIGTERM);
    if (daemon_wait_gone(list, SLUICE_KILL_MS) == 0)
        return true;
    daemon_kill(list, SIGKILL);
    return daemon_wait_gone(list, SLUICE_KILL_MS) == 0;
}

/* Tells what happens to the running jobs, which the controller cannot end. */
static void report_no_controller(const struct sluice_options *o, const char *why)
{
    cmd_say("the controller did not take the order to stop (%s); ending the daemons%s", why,
            o->keep_jobs ? ": running jobs go on, and the next 'up' finds them"
                         : " and the steps of running jobs, which the next 'up' requeues or ends");
}

static void by_asking(const struct sluice_options *o, const struct daemon_list *running)
{
    struct conf *conf = NULL;
    struct err err = {0};
    int rc = place_load(o->dir, &conf, NULL, &err);
    if (rc == 0) {
        struct rpc_client *client = rpc_client_new(conf);
        if (!o->keep_jobs)
            rc = end_jobs(client, (conf->kill_wait_sec + 10) * 1000, &err);
        if (rc == 0)
            rc = ask_to_stop(client, &err);
        rpc_client_free(client);
    }
    conf_free(conf);
    if (rc)
        report_no_controller(o, err.text);
    else
        daemon_wait_gone(running, SLUICE_STOP_MS);
}

int sluice_down(const struct sluice_options *o, const char *const *operand)
{
    struct err err = {0};
    if (!place_has_cluster(o->dir)) {
        cmd_error("there is no cluster in %s; 'sluice up' makes one, --dir names another place",
                  o->dir);
        return 1;
    }
    _cleanup_close_ int lock = place_lock(o->dir, &err);
    if (lock < 0) {
        cmd_error("%s", err.text);
        return 1;
    }
    struct daemon_list running = {0}, steps = {0};
    daemon_list(o->dir, &running);
    size_t count = running.all.len;
    if (daemon_find(&running, "slurmctld"))
        by_asking(o, &running);
    else if (count)
        report_no_controller(o, "it does not run");
    bool good = end_by_force(&running);
    if (!o->keep_jobs) {
        daemon_list_steps(o->dir, &steps);
        good = end_by_force(&steps) && good;
    }
    if (!good) {
        _cleanup_str_ struct str left = STR_INIT;
        names_of(&running, &left);
        names_of(&steps, &left);
        cmd_error("could not end all of %s", str_cstr(&left));
    } else {
        cmd_say(count ? "the cluster in %s is down" : "the cluster in %s was not up", o->dir);
    }
    daemon_list_done(&running);
    daemon_list_done(&steps);
    return good ? 0 : 1;
}
