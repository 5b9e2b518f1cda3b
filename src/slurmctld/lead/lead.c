/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Taking and giving up the lead. Taking it opens the store and restores its state, and runs the
 * site's programs that follow a change of the lead (SlurmctldPrimaryOnProg and
 * SlurmctldPrimaryOffProg, for example to move an address). Giving it up to another controller:
 * acknowledged changes are durable, open calls are redirected to the successor, and the process
 * starts again in standby. stop.c has the order of that.
 */
#define LOG_ROOM "slurmctld"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/service.h"
#include "base/str.h"
#include "rpc/reply.h"
#include "slurmctld/core/ctld.h"
#include "slurmctld/core/files.h"
#include "slurmctld/core/names.h"
#include "slurmctld/lead/check.h"
#include "slurmctld/lead/lead.h"
#include "slurmctld/lead/reexec.h"
#include "slurmctld/lead/restore.h"
#include "slurmctld/node/node_dynamic.h"
#include "slurmctld/node/stop.h"
#include "slurmctld/script/scripts.h"
#include "slurmctld/submit/submit_env.h"
#include "slurmctld/submit/submit_wait.h"

#define WATCH_MS 1000

static void on_store_fatal(void *ctx, const struct err *why)
{
    log_write(LOG_LVL_FATAL, LOG_ROOM,
              "%s: the state on disk is unknown; ending, so that nothing is answered that may "
              "be lost; the next start reads what is there",
              why->text);
    _exit(dump_on_fatal(1));
}

/* Another controller has taken over. If the configuration has only one controller, this one must
   not start again. */
static void on_store_lost(void *ctx, const struct err *why)
{
    struct ctld *c = ctx;
    if (c->stopping && !c->begin_anew) { /* the earlier order takes precedence */
        log_error("%s; it was stopping, and ends without having changed anything since", why->text);
        loop_stop(c->loop);
        return;
    }
    if (!ctld_is_alone(c)) {
        log_error("%s; going back to standby, without having changed anything since", why->text);
        scripts_free(c->scripts);
        scripts_free(c->programs);
        submit_env_done(c);
        reexec_start(c->options, c->conf_path, REEXEC_YIELDED);
    }
    log_write(LOG_LVL_FATAL, LOG_ROOM, "%s; ending, without having changed anything since",
              why->text);
    _exit(1);
}

static void on_store_trouble(void *ctx, const struct err *why)
{
    if (why->code)
        log_error("%s", why->text);
    else
        log_info("%s", why->text);
}

/*
 * SQLite's lock cannot be lost while this process lives. The lead in a database can be lost while
 * this process is stopped or cut off: no output leaves without a check of the store, and without
 * requests a periodic check limits how long a deposed leader believes that it leads.
 */
static void on_watch(void *ctx)
{
    struct ctld *c = ctx;
    if (!store_is_stuck(c->store))
        outbox_check(c->outbox);
    loop_timer_set(c->watch, WATCH_MS);
}

void lead_watch(struct ctld *c)
{
    if (c->watch || ctld_is_alone(c) || !ctld_conf(c)->state_save_store)
        return;
    outbox_prove(c->outbox);
    c->watch = loop_timer_new(c->loop, on_watch, c);
    loop_timer_set(c->watch, WATCH_MS);
}

struct store_where lead_where(const struct conf *conf)
{
    const char *shared = conf->state_save_store;
    return (struct store_where){.at = shared ? shared : conf->state_save_location,
                                .cluster = conf->cluster_name};
}

/* Returns 0 if there is no state yet, or a readable version. */
static int format_check(struct store *s, struct err *err)
{
    _cleanup_free_ void *data = NULL;
    size_t len = 0;
    struct err why = {0};
    if (store_get(s, RECORD_META, 0, &data, &len, &why))
        return 0; /* loading reports what is wrong */
    int rc = control_check_format(data, len, err);
    return rc ? err_prefix(err, "%s", store_name(s)) : 0;
}

/* Taking the lead in a database is a change, which must not be made in a newer version's state.
 * The lead in a directory is a lock, which leaves no trace. */
static int format_look(struct ctld *c, const struct store_where *where, struct err *err)
{
    struct store *s = NULL;
    if (!c->conf->state_save_store || c->options->clean)
        return 0;
    int rc = store_open(where, 0, NULL, NULL, &s, err);
    if (rc == 0) {
        rc = format_check(s, err);
        store_close(s);
    }
    return rc;
}

/* From here on this process owns the state; an earlier leader can no longer commit. */
static int state_open(struct ctld *c, const struct conf *conf, struct err *err)
{
    struct store_events events = {.on_fatal = on_store_fatal,
                                  .on_trouble = on_store_trouble,
                                  .on_lost = on_store_lost,
                                  .ctx = c};
    unsigned flags = STORE_TAKE_LEAD | (c->options->clean ? STORE_CLEAN : 0) |
                     (c->options->ignore_damage ? STORE_IGNORE_DAMAGE : 0);
    struct store_where where = lead_where(conf);
    int rc = format_look(c, &where, err);
    if (rc == 0)
        rc = store_open(&where, flags, c->loop, &events, &c->store, err);
    if (rc == 0) {
        rc = format_check(c->store, err);
        if (rc)
            store_close(take_ptr(c->store));
    }
    return rc ? err_prefix(err, conf->state_save_store ? "StateSaveStore" : "StateSaveLocation")
              : 0;
}

/* Reads the present configuration again, because a controller may take the lead long after its
 * start. */
static void read_again(struct ctld *c)
{
    struct conf *fresh = NULL;
    struct conf_report report = {0};
    struct err err = {0};
    size_t me;
    int rc = conf_load(c->conf_path, CONF_FULL, NULL, &fresh, &report, &err);
    conf_report_done(&report);
    if (rc == 0 && !str_eq(fresh->cluster_name, c->conf->cluster_name))
        rc = err_set(&err, -ERR_CONFIG, "ClusterName has changed");
    if (rc == 0)
        rc = check_host(fresh, c->name, &me, &err);
    if (rc) {
        log_error("going on with the configuration of the start: %s", err.text);
        conf_free(fresh);
        return;
    }
    if (fresh->hash != c->conf->hash)
        log_info("the configuration was read again");
    conf_free(c->conf);
    c->conf = fresh;
    names_set_max_age(c->names, fresh->group_update_time_sec * 1000);
    files_open_log(c, fresh, false);
}

/* Only the primary may create a cluster. An empty store means that a backup does not use the
   leader's store. */
static int check_filled(struct ctld *c, struct err *err)
{
    void *data = NULL;
    size_t len;
    int rc = ctld_me(c)->rank == 0 ? 0 : store_get(c->store, RECORD_META, 0, &data, &len, err);
    free(data);
    if (rc != -ENOENT)
        return rc;
    return err_set(err, -ERR_LEAD,
                   "%s holds no state of cluster %s: all controllers need the same one, on a file "
                   "system that they share, or StateSaveStore",
                   store_name(c->store), c->conf->cluster_name);
}

static void on_script_ended(void *ctx, const Pb__ScriptEnded *m)
{
    struct ctld *c = ctx;
    if (!submit_wait_burst_answer(c, m) && c->control)
        control_script_ended(c->control, m);
}

static void on_hold_over(void *ctx)
{
    struct ctld *c = ctx;
    store_lead_settle(c->store);
}

/* Started before there is any state, so that the helper has none of it. */
static void helper_open(struct ctld *c)
{
    struct scripts_options options = {.loop = c->loop,
                                      .leased = !ctld_is_alone(c) && c->conf->state_save_store,
                                      .dir = c->conf->state_save_location,
                                      .on_ended = on_script_ended,
                                      .on_hold_over = on_hold_over,
                                      .ctx = c};
    if (c->runs_scripts)
        c->scripts = scripts_new(&options);
}

static int state_restore(struct ctld *c, struct err *err)
{
    _cleanup_free_ char *dir = mem_strdup(c->conf->state_save_location);
    uid_t owner = c->conf->slurm_uid;
    int rc = node_dynamic_load(c, &c->conf, err);
    if (rc && c->options->ignore_damage && (rc == -ERR_STORE_DAMAGED || rc == -ERR_VERSION)) {
        log_error("%s: going on without them", err->text);
        *err = (struct err){0};
        rc = 0;
    }
    if (rc)
        return rc;
    c->control = control_new(take_ptr(c->conf), &c->env);
    rc = restore_state(c, err);
    if (rc == 0)
        rc = files_load_signer(c, dir, owner, err);
    if (rc)
        return rc;
    auth_signer_public(c->signer, c->cred_public_key);
    submit_env_begin(c);
    if (ctld_me(c))
        control_set_rank(c->control, ctld_me(c)->rank);
    control_start(c->control);
    c->leads_since_ms = loop_mono_ms();
    lead_watch(c);
    return 0;
}

int lead_take(struct ctld *c, bool *taken, struct err *err)
{
    *taken = false;
    int rc = state_open(c, c->conf, err);
    if (rc)
        return rc;
    rc = check_filled(c, err);
    if (rc) {
        store_close(take_ptr(c->store));
        return rc;
    }
    *taken = true;
    if (!ctld_is_alone(c))
        read_again(c);
    else
        store_lead_settle(c->store); /* no other controller has run anything */
    helper_open(c);
    return state_restore(c, err);
}

/*
 * SlurmctldPrimaryOnProg and SlurmctldPrimaryOffProg: the site's programs that follow a change of
 * the lead.
 */

/* Nothing waits for these programs. They have a separate helper, so that the programs which the
 * previous controller is still ending do not delay them. */
#define PATH_VARIABLE "PATH=/usr/sbin:/usr/bin:/sbin:/bin"

static const char *key_of(Pb__ScriptKind kind)
{
    return kind == PB__SCRIPT_KIND__SCRIPT_LEAD_ON ? "SlurmctldPrimaryOnProg"
                                                   : "SlurmctldPrimaryOffProg";
}

static void on_lead_ended(void *ctx, const Pb__ScriptEnded *m)
{
    if (m->wait_status || m->text)
        log_error("%s: %s", key_of(m->kind), m->text ? m->text : "it failed");
    else
        log_info("%s has ended well", key_of(m->kind));
}

void lead_run_program(struct ctld *c, bool leads)
{
    const struct conf *conf = ctld_conf(c);
    const char *path = leads ? conf->slurmctld_primary_on_prog : conf->slurmctld_primary_off_prog;
    Pb__ScriptRun m = PB__SCRIPT_RUN__INIT;
    uint32_t owners[] = {conf->slurm_uid, conf->slurmd_uid};
    struct scripts_options options = {.loop = c->loop, .on_ended = on_lead_ended, .ctx = c};
    _cleanup_arena_ struct arena arena;

    arena_init(&arena, 0);
    if (!path || !*path || !c->runs_scripts)
        return;
    char *env[] = {(char *)PATH_VARIABLE, arena_printf(&arena, "SLURM_CONF=%s", conf->path),
                   arena_printf(&arena, "SLURM_CLUSTER_NAME=%s", conf->cluster_name),
                   arena_printf(&arena, "SLURMCTLD_HOST=%s", c->name)};
    m.kind = leads ? PB__SCRIPT_KIND__SCRIPT_LEAD_ON : PB__SCRIPT_KIND__SCRIPT_LEAD_OFF;
    m.path = (char *)path;
    m.env = env;
    m.n_env = sizeof(env) / sizeof(env[0]);
    m.owner = owners;
    m.n_owner = 2;
    log_info("running %s: %s", key_of(m.kind), path);
    if (!c->programs)
        c->programs = scripts_new(&options);
    scripts_run(c->programs, &m);
}

/*
 * Giving up the lead to another controller.
 */

void lead_answer_ping(struct ctld *c, const struct rpc_request *r, bool leads, const char *leader)
{
    Pb__PingReply reply = PB__PING_REPLY__INIT;
    reply.host = c->host ? c->host : (char *)"localhost";
    reply.primary = leads;
    reply.has_pid = true;
    reply.pid = (uint32_t)getpid();
    reply.has_now_ms = true;
    reply.now_ms = loop_wall_ms();
    reply.has_boot_at = true;
    reply.boot_at = c->boot_at_sec;
    reply.name = c->name;
    reply.leader = (char *)leader;
    /* The claim to lead is as good as the last check of the store, unless the store is unavailable
       for all. */
    if (c->watch && !store_is_stuck(c->store))
        ctld_reply(c, r->call, &reply.base);
    else
        rpc_reply(c->server, r->call, &reply.base);
}

static int check_leader(const struct ctld *c, const Pb__CtldYield *ask, struct err *err)
{
    if (!str_case_eq(ask->leader, c->name))
        return err_set(err, -ERR_CONFIG, "this is controller %s, not %s", c->name, ask->leader);
    if (str_case_eq(ask->successor, c->name) || !conf_find_controller(ctld_conf(c), ask->successor))
        return err_set(err, -ERR_CONFIG, "%s on %s names no other SlurmctldHost=%s",
                       ctld_conf(c)->path, c->host, ask->successor);
    if (!c->control || (c->stopping && !c->successor))
        return err_set(err, -ERR_STANDBY, "%s", err_text(ERR_STANDBY));
    return 0;
}

void lead_yield(struct ctld *c, const struct rpc_request *r)
{
    const Pb__CtldYield *ask = (const Pb__CtldYield *)r->body;
    Pb__Empty reply = PB__EMPTY__INIT;
    struct err err = {0};
    if (check_leader(c, ask, &err)) {
        rpc_reply_error(c->server, r->call, err.code, err.text);
        return;
    }
    rpc_reply(c->server, r->call, &reply.base);
    if (c->successor)
        return; /* a repeated order */
    log_info("%s takes the lead (%s, uid %u): going back to standby", ask->successor, r->peer,
             r->who.uid);
    c->successor = mem_strdup(ask->successor);
    rpc_server_refuse_sessions(c->server, -ERR_STANDBY, err_text(ERR_STANDBY));
    stop_to_begin_anew(c, true);
}
