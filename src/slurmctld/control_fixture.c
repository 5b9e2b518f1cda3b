/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmctld/control_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "control/query/metrics.h"
#include "slurmctld/core/ctld.h"

struct control {
    struct conf *conf;
    const struct env *env;
    uint32_t last_job;
    bool started;
};

struct control *control_new(struct conf *conf, const struct env *env)
{
    struct control *c = mem_new(struct control);
    c->conf = conf;
    c->env = env;
    return c;
}

void control_free(struct control *c)
{
    if (c)
        conf_free(c->conf);
    free(c);
}

int control_restore(struct control *c, enum record_kind kind, uint64_t number, const char *name,
                    const void *data, size_t len, struct err *err)
{
    if (kind != RECORD_JOB)
        return kind == RECORD_META ? 0 : err_set(err, -ERR_PARSE, "not a job");
    if (number > c->last_job)
        c->last_job = (uint32_t)number;
    return 0;
}

void control_start(struct control *c)
{
    c->started = true;
}

void control_turn(struct control *c)
{
    if (c->started)
        c->env->put(c->env->ctx, RECORD_META, 0, NULL, "meta", 4);
    c->started = false;
}

void control_script_ended(struct control *c, const Pb__ScriptEnded *m)
{
}

void control_tick(struct control *c)
{
}

void control_announce(struct control *c, int64_t in_sec)
{
}

bool control_is_announced(const struct control *c)
{
    return false;
}

bool control_may_shut_down(const struct control *c)
{
    return false;
}

void control_set_store_low(struct control *c, bool low)
{
}

void control_set_store_free(struct control *c, uint64_t bytes)
{
}

size_t fixture_launch_padding;

static void send_launch(struct control *c, uint32_t job_id)
{
    _cleanup_free_ char *padding = mem_alloc(fixture_launch_padding + 1);
    memset(padding, 'x', fixture_launch_padding);
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    Pb__LaunchBatch batch = PB__LAUNCH_BATCH__INIT;
    Pb__NodeOrder order = PB__NODE_ORDER__INIT, *all = &order;
    Pb__NodeOrders orders = PB__NODE_ORDERS__INIT;
    batch.job_id = job_id;
    batch.spec = &spec;
    spec.name = padding;
    order.launch = &batch;
    orders.n_orders = 1;
    orders.orders = &all;
    c->env->send(c->env->ctx, "n1", &orders);
}

void control_submit(struct control *c, uint64_t call, const struct caller *who,
                    const Pb__SubmitRequest *r)
{
    _cleanup_str_ struct str payload = STR_INIT;
    Pb__SubmitReply reply = PB__SUBMIT_REPLY__INIT;
    if (r->test_only) {
        c->env->reply_error(c->env->ctx, call, -ERR_NODE_CONFIG, "never");
        return;
    }
    uint32_t id = ++c->last_job;
    pb_pack(&r->payload->base, &payload);
    c->env->put(c->env->ctx, RECORD_PAYLOAD, id, NULL, payload.data, payload.len);
    reply.has_job_id = true;
    reply.job_id = id;
    c->env->reply(c->env->ctx, call, &reply.base);
    send_launch(c, id);
    /* After the reply: the guarantee is about the turn, not about the order within it. */
    c->env->put(c->env->ctx, RECORD_JOB, id, NULL, "job", 3);
}

#define REQUEST(rpc, name, type)                                                                   \
    void control_##name(struct control *c, uint64_t call, const struct caller *who, const type *r) \
    {                                                                                              \
        c->env->reply_error(c->env->ctx, call, -ERR_NOT_SUPPORTED, #name);                         \
    }
REQUEST(, alloc, Pb__AllocRequest)
REQUEST(, node_update, Pb__NodeUpdate)
#include "control/request.def"

void control_call_gone(struct control *c, uint64_t call)
{
}

int control_may_read_script(struct control *c, const struct caller *who, const Pb__JobIdRequest *r,
                            uint32_t *payload, uint32_t *bytes, struct err *err)
{
    *payload = r->job_id;
    *bytes = 0;
    return r->job_id > c->last_job ? err_set(err, -ERR_NO_JOB, "%s", err_text(ERR_NO_JOB)) : 0;
}

int control_part_key(const struct control *c, const char *name, char key[CONTROL_PART_KEY_SIZE],
                     struct err *err)
{
    return -ERR_NO_PARTITION;
}

void control_node_register(struct control *c, const char *node, const Pb__NodeRegister *r)
{
    if (conf_find_node(c->conf, node) >= 0)
        c->env->welcome(c->env->ctx, node, 7);
}

void control_node_report(struct control *c, const char *node, const Pb__NodeReport *r)
{
    c->env->ack(c->env->ctx, node, r->n_events ? r->events[0]->seq : 0);
}

void control_node_lost(struct control *c, const char *node)
{
}

void control_reconfigure(struct control *c, uint64_t call, struct conf *conf, const char *note)
{
    _cleanup_str_ struct str changes = STR_INIT;
    Pb__ReconfigureReply reply = PB__RECONFIGURE_REPLY__INIT;
    conf_diff(c->conf, conf, &changes);
    str_puts(&changes, note);
    reply.changes = (char *)str_cstr(&changes);
    c->env->reply(c->env->ctx, call, &reply.base);
    conf_free(c->conf);
    c->conf = conf;
}

void control_reconfigure_preview(struct control *c, uint64_t call, struct conf *conf,
                                 const char *note)
{
    Pb__ReconfigureReply reply = PB__RECONFIGURE_REPLY__INIT;
    reply.changes = (char *)"a preview\n";
    c->env->reply(c->env->ctx, call, &reply.base);
    conf_free(conf);
}

const char *control_node_addr(const struct control *c, const char *name)
{
    return name;
}

const struct conf *control_conf(const struct control *c)
{
    return c->conf;
}

bool control_awaits_node(const struct control *c, const char *name)
{
    return false;
}

void control_set_debug(struct control *c, uint64_t flags)
{
}

uint64_t control_get_debug(const struct control *c)
{
    return 0;
}

void control_set_sched_log(struct control *c, bool on)
{
}

bool control_get_sched_log(const struct control *c)
{
    return false;
}

uint32_t control_next_job_id(const struct control *c)
{
    return 42;
}

void control_stop(struct control *c, bool all)
{
}

void control_allowed_groups(const struct control *c, void (*fn)(void *ctx, const char *group),
                            void *ctx)
{
}

uint64_t control_epoch(const struct control *c)
{
    return 7;
}

/* There are no nodes except those in the file. */
struct node_dynamic_plan *control_node_dynamic_begin(const struct control *c)
{
    return NULL;
}

int control_node_dynamic_add(const struct control *c, struct node_dynamic_plan *p,
                             const Pb__NodeUpdate *r, bool dynamic, struct err *err)
{
    return err_set(err, -ERR_NOT_SUPPORTED, "no more nodes");
}

void control_node_dynamic_lines(const struct node_dynamic_plan *p, struct str *out)
{
}

int control_node_dynamic_apply(struct control *c, struct node_dynamic_plan *p, struct conf *conf,
                               struct err *err)
{
    conf_free(conf);
    return 0;
}

void control_node_dynamic_free(struct node_dynamic_plan *p)
{
}

void control_node_dynamic_present(const struct control *c, struct str *out)
{
}

int control_check_format(const void *meta, size_t len, struct err *err)
{
    return 0;
}

void control_set_aside(struct control *c, enum record_kind kind, uint64_t number, const char *name,
                       bool before)
{
}

void control_lost_records(struct control *c)
{
}

bool control_lacks_meta(const struct control *c)
{
    return false;
}

int control_node_dynamic_stored(const void *data, size_t len, struct str *out, struct err *err)
{
    return 0;
}

void control_shutdown_nodes(struct control *c)
{
    Pb__Empty empty = PB__EMPTY__INIT;
    Pb__NodeOrder order = PB__NODE_ORDER__INIT, *all = &order;
    Pb__NodeOrders orders = PB__NODE_ORDERS__INIT;
    order.shutdown = &empty;
    orders.n_orders = 1;
    orders.orders = &all;
    c->env->send(c->env->ctx, "n1", &orders);
}

/* Returns as many jobs as the id in the first filter says, each with a name of 512 bytes. */
bool control_list_jobs(struct control *c, const struct caller *who, const Pb__JobFilter *f,
                       uint64_t *cursor, size_t budget, struct str *out)
{
    char name[513];
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    for (; f->n_job_id && *cursor < f->job_id[0]; ++*cursor) {
        _cleanup_str_ struct str one = STR_INIT;
        Pb__JobSpec spec = PB__JOB_SPEC__INIT;
        Pb__JobLive live = PB__JOB_LIVE__INIT;
        Pb__JobRecord record = PB__JOB_RECORD__INIT;
        if (out->len >= budget)
            return true;
        live.job_id = (uint32_t)*cursor + 1;
        spec.name = name;
        record.spec = &spec;
        record.live = &live;
        pb_pack(&record.base, &one);
        pb_pack_field(1, one.data, one.len, out);
    }
    return false;
}

bool control_list_steps(struct control *c, const struct caller *who, const Pb__StepFilter *f,
                        uint64_t *cursor, size_t budget, struct str *out)
{
    return false;
}

bool control_list_nodes(struct control *c, const struct caller *who, const Pb__NodeFilter *f,
                        uint64_t *cursor, size_t budget, struct str *out)
{
    return false;
}

bool control_list_parts(struct control *c, const struct caller *who, const Pb__PartFilter *f,
                        uint64_t *cursor, size_t budget, struct str *out)
{
    return false;
}

bool control_list_prio(struct control *c, const struct caller *who, const Pb__PrioFilter *f,
                       uint64_t *cursor, size_t budget, struct str *out)
{
    return false;
}

bool control_list_resvs(struct control *c, const struct caller *who, const Pb__ResvFilter *f,
                        uint64_t *cursor, size_t budget, struct str *out)
{
    return false;
}

bool control_list_triggers(struct control *c, const struct caller *who, const Pb__TriggerFilter *f,
                           uint64_t *cursor, size_t budget, struct str *out)
{
    return false;
}

void control_backup_heard(struct control *c, const char *name)
{
}

void control_set_rank(struct control *c, uint32_t rank)
{
}

bool control_hides(const struct control *c, const struct caller *who, const char *what)
{
    return false;
}

bool control_unchanged_since(const struct control *c, int64_t stamp)
{
    return stamp == 4711;
}

void control_diag(const struct control *c, Pb__DiagCounters *out)
{
}

void control_metrics(const struct control *c, enum control_metrics what, struct str *out)
{
}

void control_diag_reset(struct control *c)
{
}

void control_stats(const struct control *c, Pb__CtlStats *stats)
{
    stats->has_jobs = true;
    stats->jobs = c->last_job;
}
