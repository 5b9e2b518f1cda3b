/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the configuration again, in a worker, because it may be large and its Include files on a
 * slow file system. A file with an error changes nothing. */
#define LOG_ROOM "slurmctld"
#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "slurmctld/core/ctld.h"
#include "slurmctld/core/files.h"
#include "slurmctld/core/job_comp.h"
#include "slurmctld/core/names.h"
#include "slurmctld/lead/lead.h"
#include "slurmctld/node/stop.h"
#include "slurmctld/reload.h"
#include "slurmctld/submit/submit_env.h"

#define LANE 2

struct reload {
    struct ctld *c;
    uint64_t call;
    bool preview; /* report the changes without making them */
    char *path;
    uint64_t seen;   /* value of c->conf_changes */
    struct str made; /* lines of the dynamic nodes */
    struct conf *conf;
    struct conf_report report;
    struct err err;
};

/* Checks for obstacles to the next start. */
static int check_start(const struct conf *conf, struct err *err)
{
    int rc = conf_trust_files(conf, err);
    if (rc == 0)
        rc = submit_env_check(conf, err);
    if (rc)
        return rc;
    rc = files_check_jwt_key(conf, err);
    return rc == -EACCES ? 0
                         /* This process runs as SlurmUser, and the key may be readable for root
                            only. */
                         : rc;
}

static void on_run(void *arg)
{
    struct reload *r = arg;
    if (conf_load_with(r->path, str_cstr(&r->made), CONF_FULL, NULL, &r->conf, &r->report,
                       &r->err) == 0 &&
        check_start(r->conf, &r->err) != 0)
        conf_free(take_ptr(r->conf));
}

/* Notes the settings that a running process cannot change. */
static void note_unchangeable(const struct ctld *c, const struct conf *next, struct str *note)
{
    const struct conf *now = control_conf(c->control);
    const struct {
        const char *key;
        bool differs;
    } keys[] = {
        {"SlurmUser", now->slurm_uid != next->slurm_uid},
        {"SlurmctldPort", now->slurmctld_port != next->slurmctld_port ||
                              now->slurmctld_port_last != next->slurmctld_port_last},
        {"SlurmctldPidFile", !str_eq(now->slurmctld_pid_file, next->slurmctld_pid_file)},
        {"StateSaveLocation", !str_eq(now->state_save_location, next->state_save_location)},
        {"StateSaveStore", !str_eq(now->state_save_store, next->state_save_store)},
        {"AuthAltTypes", now->auth_alt.jwt != next->auth_alt.jwt},
        {"AuthAltParameters (jwt_key)",
         next->auth_alt.jwt && !str_eq(now->auth_alt.jwt_key_path, next->auth_alt.jwt_key_path)},
        {"AuthInfo (socketdir)", !str_eq(now->socket_dirs[0], next->socket_dirs[0])},
    };
    if (!conf_find_controller(next, c->name))
        str_printf(
            note, "SlurmctldHost: the leader %s is no longer named; it leads until it is stopped\n",
            c->name);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (keys[i].differs)
            str_printf(note, "%s: takes effect when slurmctld is restarted, not before\n",
                       keys[i].key);
}

/* The state, the key's tokens and the nodes belong to a cluster with this name. */
static void refuse_other_cluster(struct reload *r, const struct conf *now)
{
    if (!r->conf || str_eq(now->cluster_name, r->conf->cluster_name))
        return;
    err_set(&r->err, -ERR_CONFIG,
            "ClusterName=%s in %s: this controller has the state of cluster %s; another name needs "
            "another StateSaveLocation and a restart",
            r->conf->cluster_name, r->path, now->cluster_name);
    conf_free(take_ptr(r->conf));
}

static bool has_warning(const struct conf_report *report, const struct conf_warning *warning)
{
    vec_foreach (&report->warnings, w)
        if (str_eq(w->text, warning->text) && str_eq(w->place, warning->place))
            return true;
    return false;
}

/* Warnings that applied to the configuration in force as well are not repeated. */
static void put_new_warnings(const struct reload *r, struct str *note)
{
    struct conf_report fresh = {0};
    vec_foreach (&r->report.warnings, w)
        if (!has_warning(&r->c->warned, w))
            vec_push(&fresh.warnings, *w);
    conf_report_format(&fresh, note);
    vec_foreach (&fresh.warnings, w)
        log_info("warning: %s: %s", w->place, w->text);
    vec_done(&fresh.warnings); /* the texts belong to r->report */
}

static void apply_reload(struct reload *r)
{
    struct ctld *c = r->c;
    _cleanup_str_ struct str note = STR_INIT;
    note_unchangeable(c, r->conf, &note);
    if (!r->preview && note.len)
        log_error("%s", str_cstr(&note));
    if (r->preview) {
        conf_report_format(&r->report, &note);
        control_reconfigure_preview(c->control, r->call, take_ptr(r->conf), str_cstr(&note));
        return;
    }
    put_new_warnings(r, &note);
    conf_report_done(&c->warned);
    c->warned = r->report;
    r->report = (struct conf_report){0};
    c->conf_changes++;
    control_reconfigure(c->control, r->call, take_ptr(r->conf), str_cstr(&note));
    outbox_add(c->outbox, outbox_item_new(OUTBOX_UNKNOWN, NULL, 0));
    names_forget(c->names);
    names_set_max_age(c->names, control_conf(c->control)->group_update_time_sec * 1000);
    submit_env_begin(c);
    ctld_limit_requests(c);
    c->debug_given = false;
    control_set_debug(c->control, control_conf(c->control)->debug);
    control_set_sched_log(c->control, control_conf(c->control)->slurm_sched_log_level);
    job_comp_close(c);
    files_open_log(c, control_conf(c->control), false);
    log_info("the configuration was read again");
    files_log_resources(control_conf(c->control));
    lead_watch(c);
    Pb__ReconfigureRequest same = PB__RECONFIGURE_REQUEST__INIT;
    same.has_passed_on = same.passed_on = true;
    stop_tell_peers(c, RPC_RECONFIGURE, &same.base, NULL);
}

static void on_done(void *arg);

static void reload_free(struct reload *r)
{
    conf_free(r->conf);
    conf_report_done(&r->report);
    str_done(&r->made);
    free(r->path);
    free(r);
}

static void begin_reload(struct reload *r)
{
    conf_free(take_ptr(r->conf));
    conf_report_done(&r->report);
    r->report = (struct conf_report){0};
    r->err = (struct err){0};
    str_clear(&r->made);
    control_node_dynamic_present(r->c->control, &r->made);
    r->seen = r->c->conf_changes;
    loop_work_post(r->c->loop, LANE, on_run, on_done, r);
}

static void on_done(void *arg)
{
    struct reload *r = arg;
    struct ctld *c = r->c;
    if (c->closed) { /* what it would be compared with is freed */
        reload_free(r);
        return;
    }
    /* Dynamic nodes were created meanwhile: starts again with them. */
    if (r->seen != c->conf_changes) {
        begin_reload(r);
        return;
    }
    refuse_other_cluster(r, control_conf(c->control));
    if (r->conf) {
        apply_reload(r);
    } else {
        if (!r->preview)
            log_error("the configuration stays as it was: %s", r->err.text);
        if (r->call)
            ctld_reply_error(c, r->call, r->err.code, r->err.text);
    }
    reload_free(r);
}

void reload_start(struct ctld *c, uint64_t call, bool preview)
{
    struct reload *r = mem_new(struct reload);
    r->c = c;
    r->call = call;
    r->preview = preview;
    r->path = mem_strdup(c->conf_path);
    begin_reload(r);
}
