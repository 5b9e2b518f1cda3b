/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/test/test_controller.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/path.h"
#include "base/step_id.h"
#include "conf/conf.h"
#include "proto/ctl.pb-c.h"
#include "proto/job.pb-c.h"
#include "proto/license.pb-c.h"
#include "proto/node.pb-c.h"
#include "proto/part.pb-c.h"
#include "proto/resv.pb-c.h"
#include "rpc/reply.h"
#include "rpc/server.h"

#define JOBS 3
#define NODES 4
#define PARTS 2

char test_controller_dir[] = "/tmp/sluice-cmd-test.XXXXXX";
static pid_t controller_pid;

static struct {
    struct rpc_server *server;
    struct auth_key key;
    Pb__JobSpec spec[JOBS];
    Pb__JobLive live[JOBS];
    Pb__JobRecord job[JOBS];
    Pb__StepRecord step[2];
    Pb__NodeRecord node[NODES];
    Pb__PartRecord part[PARTS];
    int lost; /* submissions that get no answer */
} c;

static void make_job(int i, uint32_t id, const char *name, Pb__JobState state, const char *reason)
{
    pb__job_spec__init(&c.spec[i]);
    pb__job_live__init(&c.live[i]);
    pb__job_record__init(&c.job[i]);
    c.job[i].spec = &c.spec[i];
    c.job[i].live = &c.live[i];
    c.spec[i].name = (char *)name;
    c.spec[i].user_name = c.spec[i].group_name = "ann";
    c.spec[i].has_uid = c.spec[i].has_gid = 1;
    c.spec[i].uid = c.spec[i].gid = i == 1 ? 4242 : 0;
    c.spec[i].has_batch = c.spec[i].batch = 1;
    c.spec[i].work_dir = "/w";
    c.spec[i].account = i == 0 ? "phys" : NULL;
    c.live[i].job_id = id;
    c.live[i].state = state;
    c.live[i].reason = (char *)reason;
    c.live[i].partition = "main";
    c.live[i].has_submit_at = 1;
    c.live[i].submit_at = 1000000000;
    c.live[i].has_num_nodes = c.live[i].has_num_cpus = 1;
    c.live[i].num_nodes = c.live[i].num_cpus = 1;
    c.live[i].has_time_limit_sec = 1;
    c.live[i].time_limit_sec = 600;
    c.live[i].has_priority = 1;
    c.live[i].priority = 100 - (uint32_t)i;
}

static void make_state(void)
{
    static const char *const names[NODES] = {"n1", "n2", "n3", "n4"};
    make_job(0, 1, "sleeper", PB__JOB_STATE__RUNNING, NULL);
    make_job(1, 2, "evil\033[31mname", PB__JOB_STATE__PENDING, "JobHeldUser");
    make_job(2, 3, "broken", PB__JOB_STATE__FAILED, "NonZeroExitCode");
    c.live[0].nodes = "n[1-2]";
    c.live[0].batch_host = "n1";
    c.live[0].num_nodes = c.live[0].num_cpus = 2;
    c.live[0].has_start_at = c.live[2].has_start_at = c.live[2].has_end_at = 1;
    c.live[0].start_at = c.live[2].start_at = 1000000000;
    c.live[2].end_at = 1000000005;
    c.live[2].nodes = "n3";
    c.live[2].has_exit_status = 1;
    c.live[2].exit_status = 3 << 8;
    for (uint32_t i = 0; i < 2; i++) {
        pb__step_record__init(&c.step[i]);
        c.step[i].job_id = 1;
        c.step[i].has_state = c.step[i].has_start_at = c.step[i].has_num_tasks = 1;
        c.step[i].step_id = i ? STEP_ID_BATCH : 0;
        c.step[i].name = i ? "batch" : "sleep";
        c.step[i].state = PB__STEP_STATE__STEP_RUNNING;
        c.step[i].start_at = 1000000000;
        c.step[i].nodes = i ? "n1" : "n[1-2]";
        c.step[i].partition = "main";
        c.step[i].num_tasks = 1;
    }
    for (int i = 0; i < NODES; i++) {
        pb__node_record__init(&c.node[i]);
        c.node[i].name = (char *)names[i];
        c.node[i].state = i < 2 ? PB__NODE_BASE__NODE_MIXED : PB__NODE_BASE__NODE_IDLE;
        c.node[i].has_state = c.node[i].has_cpus = c.node[i].has_sockets = c.node[i].has_cores = 1;
        c.node[i].has_threads = c.node[i].has_weight = c.node[i].has_alloc_cpus = 1;
        c.node[i].has_real_memory_mib = 1;
        c.node[i].cpus = c.node[i].sockets = 4;
        c.node[i].cores = c.node[i].threads = c.node[i].weight = 1;
        c.node[i].alloc_cpus = i < 2 ? 1 : 0;
        c.node[i].real_memory_mib = 4000;
        c.node[i].partitions = i == 3 ? "main,off" : "main";
    }
    c.node[3].has_drain = c.node[3].drain = 1;
    c.node[3].reason = "loose cable";
    for (int i = 0; i < PARTS; i++) {
        pb__part_record__init(&c.part[i]);
        c.part[i].name = i ? "off" : "main";
        c.part[i].nodes = i ? "n4" : "n[1-4]";
        c.part[i].state = i ? "DOWN" : "UP";
        c.part[i].has_is_default = c.part[i].is_default = !i;
    }
}

static void record_request(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void record_request(const char *fmt, ...)
{
    char path[128];
    _cleanup_str_ struct str text = STR_INIT;
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(&text, fmt, ap);
    va_end(ap);
    snprintf(path, sizeof(path), "%s/asked", test_controller_dir);
    path_write_file(path, text.data, text.len, 0644, NULL);
}

static void refuse_request(const struct rpc_request *r, int code)
{
    rpc_reply_error(c.server, r->call, code, err_text(code));
}

static void reply_empty(const struct rpc_request *r)
{
    Pb__Empty empty = PB__EMPTY__INIT;
    rpc_reply(c.server, r->call, &empty.base);
}

static bool wants_job(const Pb__JobFilter *f, int i)
{
    const Pb__JobLive *live = &c.live[i];
    bool ok = f->all_states || f->n_state || live->state <= PB__JOB_STATE__SUSPENDED;
    for (size_t k = 0; k < f->n_state; k++) {
        ok = f->state[k] == live->state;
        if (ok)
            break;
    }
    bool listed = !f->n_job_id;
    for (size_t k = 0; k < f->n_job_id; k++)
        listed = listed || f->job_id[k] == live->job_id;
    bool named = !f->n_name;
    for (size_t k = 0; k < f->n_name; k++)
        named = named || str_eq(f->name[k], c.spec[i].name);
    bool owned = !f->n_uid;
    for (size_t k = 0; k < f->n_uid; k++)
        owned = owned || f->uid[k] == c.spec[i].uid;
    return ok && listed && named && owned;
}

/* Sends a part for each job, so that tests see streams of several parts. */
static void list_jobs(const struct rpc_request *r)
{
    const Pb__JobFilter *f = (const Pb__JobFilter *)r->body;
    for (int i = 0; i <= JOBS; i++) {
        Pb__JobList part = PB__JOB_LIST__INIT;
        Pb__JobRecord *one = i < JOBS ? &c.job[i] : NULL;
        _cleanup_str_ struct str bytes = STR_INIT;
        if (one && !wants_job(f, i))
            continue;
        part.jobs = &one;
        part.n_jobs = one != NULL;
        part.has_now = 1;
        part.now = TEST_CONTROLLER_NOW;
        pb_pack(&part.base, &bytes);
        rpc_reply_bytes(c.server, r->call, bytes.data, bytes.len, one != NULL);
    }
}

static void list_steps(const struct rpc_request *r)
{
    Pb__StepList list = PB__STEP_LIST__INIT;
    Pb__StepRecord *all[] = {&c.step[0], &c.step[1]};
    list.steps = all;
    list.n_steps = 2;
    list.has_now = 1;
    list.now = TEST_CONTROLLER_NOW;
    rpc_reply(c.server, r->call, &list.base);
}

static void list_nodes(const struct rpc_request *r)
{
    Pb__NodeList list = PB__NODE_LIST__INIT;
    Pb__NodeRecord *all[NODES];
    for (int i = 0; i < NODES; i++)
        all[i] = &c.node[i];
    list.nodes = all;
    list.n_nodes = NODES;
    rpc_reply(c.server, r->call, &list.base);
}

static void list_parts(const struct rpc_request *r)
{
    Pb__PartList list = PB__PART_LIST__INIT;
    Pb__PartRecord *all[PARTS] = {&c.part[0], &c.part[1]};
    list.parts = all;
    list.n_parts = PARTS;
    rpc_reply(c.server, r->call, &list.base);
}

static void list_resvs(const struct rpc_request *r)
{
    Pb__ResvList list = PB__RESV_LIST__INIT;
    rpc_reply(c.server, r->call, &list.base);
}

static const char *text_or(const char *s)
{
    return s ? s : "-";
}

static void update_resv(const struct rpc_request *r)
{
    const Pb__ResvUpdate *m = (const Pb__ResvUpdate *)r->body;
    Pb__ResvReply reply = PB__RESV_REPLY__INIT;
    record_request("resv=%s create=%d skip=%d nodes=%s count=%u cores=%s flags=%s users=%s add=%s "
                   "take=%s length=%lld licenses=%s",
                   m->set->name, m->create, m->skip, text_or(m->set->nodes), m->set->node_count,
                   text_or(m->set->core_count), text_or(m->set->flags), text_or(m->set->users),
                   text_or(m->add), text_or(m->take), (long long)m->set->duration_sec,
                   text_or(m->set->licenses));
    if (str_eq(m->set->name, "nosuch")) {
        refuse_request(r, ERR_RESV_INVALID);
        return;
    }
    reply.name = *m->set->name ? m->set->name : (char *)"root_1";
    rpc_reply(c.server, r->call, &reply.base);
}

static void delete_resv(const struct rpc_request *r)
{
    const Pb__ResvDelete *m = (const Pb__ResvDelete *)r->body;
    Pb__ResvReply reply = PB__RESV_REPLY__INIT;
    record_request("resv=%s delete", m->name);
    reply.name = m->name;
    if (str_eq(m->name, "nosuch"))
        refuse_request(r, ERR_RESV_INVALID);
    else
        rpc_reply(c.server, r->call, &reply.base);
}

static void answer_submit(const struct rpc_request *r)
{
    const Pb__SubmitRequest *m = (const Pb__SubmitRequest *)r->body;
    Pb__SubmitReply reply = PB__SUBMIT_REPLY__INIT;
    const Pb__JobPayload *p = m->payload;
    if (str_eq(m->spec->partition, "nosuch")) {
        rpc_reply_error(c.server, r->call, ERR_NO_PARTITION,
                        "Invalid partition name specified: nosuch");
        return;
    }
    if (m->spec->request_id.len != 16) {
        refuse_request(r, ERR_PROTOCOL);
        return;
    }
    record_request("name=%s partition=%s tasks=%u args=%zu umask=%03o rlimits=%d env=%d command=%s "
                   "script=%.*s",
                   m->spec->name, m->spec->partition ? m->spec->partition : "-", m->spec->num_tasks,
                   p->n_argv, p->umask, p->n_rlimits > 5, p->n_env > 0,
                   m->spec->command ? m->spec->command : "-", (int)p->script.len,
                   (char *)p->script.data);
    reply.has_job_id = 1;
    reply.job_id = 42;
    reply.has_start_at = m->test_only && !m->spec->hold;
    reply.start_note = m->spec->hold ? "it would be held" : m->spec->requeue ? "or sooner" : NULL;
    reply.start_at = 1000000000;
    reply.nodes = "n3";
    reply.partition = "main";
    reply.has_num_cpus = true;
    reply.num_cpus = 1;
    rpc_reply(c.server, r->call, &reply.base);
}

/* Job 1 can be signalled, job 3 has ended, other jobs do not exist. */
static void signal_jobs(const struct rpc_request *r)
{
    const Pb__JobSignal *m = (const Pb__JobSignal *)r->body;
    Pb__JobSignalReply reply = PB__JOB_SIGNAL_REPLY__INIT;
    Pb__JobSignalReply__Result result[16], *results[16];
    record_request("targets=%zu signal=%d batch=%d full=%d filter=%d uids=%zu names=%zu states=%zu",
                   m->n_target, m->has_signal ? m->signal : -1, m->batch_only, m->full,
                   m->filter != NULL, m->filter ? m->filter->n_uid : 0,
                   m->filter ? m->filter->n_name : 0, m->filter ? m->filter->n_state : 0);
    for (size_t i = 0; i < m->n_target && i < 16; i++) {
        uint32_t id = m->target[i]->job_id;
        pb__job_signal_reply__result__init(&result[i]);
        result[i].job_id = id;
        result[i].has_step_id = m->target[i]->has_step_id;
        result[i].step_id = m->target[i]->step_id;
        result[i].code = id == 1 ? 0 : id == 3 ? ERR_JOB_DONE : ERR_NO_JOB;
        results[reply.n_results++] = &result[i];
    }
    reply.results = results;
    rpc_reply(c.server, r->call, &reply.base);
}

static void update_job(const struct rpc_request *r)
{
    const Pb__JobUpdate *m = (const Pb__JobUpdate *)r->body;
    if (m->job_id > JOBS) {
        refuse_request(r, ERR_NO_JOB);
        return;
    }
    record_request(
        "job=%u hold=%d/%d user_hold=%d requeue=%d priority=%d/%u name=%s limit=%lld nice=%d",
        m->job_id, m->has_hold, m->hold, m->user_hold, m->requeue, m->has_priority, m->priority,
        m->set && m->set->name ? m->set->name : "-", m->set ? (long long)m->set->time_limit_sec : 0,
        m->set ? m->set->nice : 0);
    reply_empty(r);
}

static void update_node(const struct rpc_request *r)
{
    const Pb__NodeUpdate *m = (const Pb__NodeUpdate *)r->body;
    if (str_eq(m->nodes, "nosuch")) {
        refuse_request(r, ERR_NO_NODE);
        return;
    }
    record_request("nodes=%s state=%s reason=%s", m->nodes, m->state ? m->state : "-",
                   m->reason ? m->reason : "-");
    reply_empty(r);
}

static void update_part(const struct rpc_request *r)
{
    const Pb__PartRecord *m = ((const Pb__PartUpdate *)r->body)->set;
    record_request("part=%s state=%s max=%lld", m->name, m->state ? m->state : "-",
                   (long long)m->max_time_sec);
    reply_empty(r);
}

static void on_request(void *ctx, const struct rpc_request *r)
{
    Pb__PingReply ping = PB__PING_REPLY__INIT;
    Pb__TextReply text = PB__TEXT_REPLY__INIT;
    Pb__ReconfigureReply changes = PB__RECONFIGURE_REPLY__INIT;
    Pb__JobEnd end = PB__JOB_END__INIT;
    Pb__JobScript script = PB__JOB_SCRIPT__INIT;
    Pb__LicenseList licenses = PB__LICENSE_LIST__INIT;
    switch (r->rpc->number) {
    case RPC_LICENSE_LIST:
        rpc_reply(c.server, r->call, &licenses.base);
        break;
    case RPC_PING:
        ping.host = "localhost";
        ping.primary = 1;
        rpc_reply(c.server, r->call, &ping.base);
        break;
    case RPC_SUBMIT:
        answer_submit(r);
        break;
    case RPC_JOB_LIST:
        list_jobs(r);
        break;
    case RPC_STEP_LIST:
        list_steps(r);
        break;
    case RPC_NODE_LIST:
        list_nodes(r);
        break;
    case RPC_PART_LIST:
        list_parts(r);
        break;
    case RPC_CONFIG_SHOW:
        text.text = "Epilog                  = (null)\nKillWait                = 1 sec\n";
        rpc_reply(c.server, r->call, &text.base);
        break;
    case RPC_JOB_SIGNAL:
        signal_jobs(r);
        break;
    case RPC_JOB_UPDATE:
        update_job(r);
        break;
    case RPC_NODE_UPDATE:
        update_node(r);
        break;
    case RPC_RESV_LIST:
        list_resvs(r);
        break;
    case RPC_RESV_UPDATE:
        update_resv(r);
        break;
    case RPC_RESV_DELETE:
        delete_resv(r);
        break;
    case RPC_PART_UPDATE:
        update_part(r);
        break;
    case RPC_RECONFIGURE:
        changes.changes = "MaxJobCount: 10 -> 77\n";
        rpc_reply(c.server, r->call, &changes.base);
        break;
    case RPC_SET_DEBUG:
        record_request("level=%u", ((const Pb__DebugRequest *)r->body)->level);
        reply_empty(r);
        break;
    case RPC_SET_SCHED_LOG:
        record_request("sched_log=%u", ((const Pb__DebugRequest *)r->body)->level);
        reply_empty(r);
        break;
    case RPC_SET_DEBUG_FLAGS:
        record_request("flags=%s,%s", ((const Pb__DebugFlagsRequest *)r->body)->change[0],
                       ((const Pb__DebugFlagsRequest *)r->body)->change[1]);
        reply_empty(r);
        break;
    case RPC_SHUTDOWN:
        record_request("controller_only=%d",
                       ((const Pb__ShutdownRequest *)r->body)->controller_only);
        reply_empty(r);
        break;
    case RPC_JOB_WAIT_END:
        end.job_id = 42;
        end.state = PB__JOB_STATE__FAILED;
        end.has_exit_status = 1;
        end.exit_status = 7 << 8;
        rpc_reply(c.server, r->call, &end.base);
        break;
    case RPC_JOB_SCRIPT:
        if (((const Pb__JobIdRequest *)r->body)->job_id != 1) {
            refuse_request(r, ERR_ACCESS);
            break;
        }
        script.has_script = 1;
        script.script.data = (uint8_t *)"#!/bin/sh\necho kept\n";
        script.script.len = 20;
        rpc_reply(c.server, r->call, &script.base);
        break;
    default:
        refuse_request(r, ERR_NOT_SUPPORTED);
        break;
    }
}

static void serve_requests(int ready)
{
    struct rpc_server_events events = {.on_request = on_request};
    struct rpc_server_options options = {.key = &c.key, .audience = "slurmctld"};
    struct err err = {0};
    char path[128];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    options.admin_uid = options.node_uid = getuid();
    options.loop = loop_new(0);
    auth_key_from_bytes("the key of the cluster of this test", 32, &c.key);
    make_state();
    c.server = rpc_server_new(&options, &events);
    snprintf(path, sizeof(path), "%s/run/slurmctld", test_controller_dir);
    if (rpc_server_listen_unix(c.server, path, 0666, &err) < 0)
        exit(1);
    if (write(ready, "", 1) == 1)
        loop_run(options.loop);
    exit(0);
}

int test_controller_start(void **state)
{
    _cleanup_str_ struct str text = STR_INIT;
    char path[128], byte;
    int ready[2];
    assert_non_null(mkdtemp(test_controller_dir));
    chmod(test_controller_dir, 0755);
    str_printf(&text,
               "ClusterName=t\nSlurmctldHost=localhost(127.0.0.1)\nAuthInfo=socketdir=%s/run\n"
               "SlurmctldPort=1\nNodeName=n[1-4]\nPartitionName=main Nodes=ALL\nMessageTimeout=5\n",
               test_controller_dir);
    snprintf(path, sizeof(path), "%s/slurm.conf", test_controller_dir);
    assert_int_equal(path_write_file(path, text.data, text.len, 0644, NULL), 0);
    setenv("SLURM_CONF", path, 1);
    setenv("TZ", "UTC", 1);
    unsetenv("SLURM_JOB_ID");
    unsetenv("SLURM_JOBID");
    assert_int_equal(pipe(ready), 0);
    controller_pid = fork();
    if (controller_pid == 0)
        serve_requests(ready[1]);
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return 0;
}

int test_controller_stop(void **state)
{
    static const char *const left[] = {"slurm.conf", "run/slurmctld", "run",   "asked",
                                       "job.sh",     "slurm-1.sh",    "hosts", ""};
    char path[128];
    kill(controller_pid, SIGKILL);
    waitpid(controller_pid, NULL, 0);
    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", test_controller_dir, left[i]);
        remove(path);
    }
    return 0;
}

char *test_controller_asked(void)
{
    struct str text = STR_INIT;
    char path[128];
    snprintf(path, sizeof(path), "%s/asked", test_controller_dir);
    path_read_file(path, 65536, &text, NULL);
    return str_take(&text);
}
