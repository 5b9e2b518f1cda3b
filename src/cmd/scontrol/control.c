/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What scontrol does besides showing and updating. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/timefmt.h"
#include "cmd/common/cmd.h"
#include "cmd/common/job_state.h"
#include "cmd/scontrol/scontrol.h"
#include "proto/ctl.pb-c.h"
#include "proto/prio.pb-c.h"

int run_reconfigure(int argc, char **argv)
{
    Pb__ReconfigureRequest request = PB__RECONFIGURE_REQUEST__INIT;
    Pb__ReconfigureReply *reply = NULL;
    struct err err = {0};
    request.has_dry_run = request.dry_run = scontrol.dry_run;
    if (cmd_call(RPC_RECONFIGURE, &request.base, &reply, &err) < 0) {
        cmd_line("slurm_reconfigure error: %s", err.text);
        return 1;
    }
    if (!scontrol.quiet && *reply->changes) {
        str_puts(cmd_out(), reply->changes);
        if (cmd_out()->data[cmd_out()->len - 1] != '\n')
            str_putc(cmd_out(), '\n');
    }
    return 0;
}

/* announce [TIME] | cancel | slurmctld | controller; 0, or the status after a message. */
static int parse_shutdown(int argc, char **argv, Pb__ShutdownRequest *r)
{
    bool announce = argc && str_case_eq(argv[0], "announce");
    if (argc > 1 && !announce) {
        cmd_line("too many arguments for keyword:shutdown");
        return 1;
    }
    if (announce && argc > 1 &&
        (time_parse_limit(argv[1], &r->announce_sec, NULL) || r->announce_sec == TIME_UNLIMITED)) {
        cmd_line("invalid shutdown argument:%s", argv[1]);
        return 1;
    }
    r->has_announce_sec = announce;
    r->has_retract = r->retract = argc && str_case_eq(argv[0], "cancel");
    r->has_controller_only = r->controller_only =
        argc && (str_case_eq(argv[0], "slurmctld") || str_case_eq(argv[0], "controller"));
    if (argc && !announce && !r->retract && !r->controller_only) {
        cmd_line("invalid shutdown argument:%s", argv[0]);
        return 1;
    }
    return 0;
}

int run_shutdown(int argc, char **argv)
{
    Pb__ShutdownRequest request = PB__SHUTDOWN_REQUEST__INIT;
    struct err err = {0};
    if (parse_shutdown(argc, argv, &request))
        return 1;
    if (cmd_call(RPC_SHUTDOWN, &request.base, NULL, &err) < 0) {
        cmd_line("slurm_shutdown error: %s", err.text);
        return 1;
    }
    return 0;
}

/* Ids by job name. */
struct named {
    struct job_ids *ids;
    uint32_t room;
};

static void add_id(struct named *n, uint32_t id)
{
    struct job_ids *ids = n->ids;
    if (ids->count == n->room) {
        n->room = n->room * 2 + 8;
        ids->id = mem_realloc(ids->id, n->room * sizeof(uint32_t));
    }
    ids->id[ids->count++] = id;
}

static int on_jobs(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    const Pb__JobList *part = (const Pb__JobList *)message;
    for (size_t i = 0; i < part->n_jobs; i++)
        if (part->jobs[i]->live && !job_state_is_final(part->jobs[i]->live))
            add_id(ctx, part->jobs[i]->live->job_id);
    return 0;
}

static int add_named(struct named *n, char *name)
{
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    uint32_t uid = getuid(), before = n->ids->count;
    struct err err = {0};
    filter.name = &name;
    filter.n_name = 1;
    filter.uid = &uid;
    filter.n_uid = uid != 0;
    if (rpc_call_stream(cmd_client(), RPC_JOB_LIST, &filter.base, on_jobs, n, &err) < 0) {
        cmd_line("slurm_load_jobs error: %s", err.text);
        return -1;
    }
    if (n->ids->count == before) {
        cmd_line("%s for job name %s", err_text(ERR_NO_JOB), name);
        return -1;
    }
    return 0;
}

int job_ids_parse(int argc, char **argv, struct job_ids *ids)
{
    struct named n = {.ids = ids};
    *ids = (struct job_ids){0};
    for (int i = 0; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (!strncasecmp(argv[i], "JobName=", 8) || !strncasecmp(argv[i], "Name=", 5)) {
            if (add_named(&n, value + 1) < 0)
                return -1;
            continue;
        }
        for (const char *s = value ? value + 1 : argv[i]; *s;) {
            size_t len = strcspn(s, ",");
            _cleanup_free_ char *word = mem_strndup(s, len);
            Pb__StepId id = PB__STEP_ID__INIT;
            if (job_state_parse_id(word, &id, NULL) < 0 || id.has_step_id) {
                cmd_line("%s for job %s", err_text(ERR_NO_JOB), word);
                return -1;
            }
            add_id(&n, id.job_id);
            s += len + (s[len] == ',');
        }
    }
    return 0;
}

/* The same change for each job; one that fails does not spare the others. */
static int update_jobs(const struct job_ids *ids, Pb__JobUpdate *change)
{
    int status = 0;
    for (uint32_t i = 0; i < ids->count; i++) {
        struct err err = {0};
        change->job_id = ids->id[i];
        int r = cmd_call(RPC_JOB_UPDATE, &change->base, NULL, &err);
        if (r == 0)
            continue;
        cmd_line("%s for job %u", err.text, ids->id[i]);
        status = 1;
        if (r == -ERR_CONNECT)
            break;
    }
    return status;
}

static int update_named(int argc, char **argv, Pb__JobUpdate *change)
{
    struct job_ids ids;
    if (job_ids_parse(argc, argv, &ids) < 0)
        return 1;
    int status = update_jobs(&ids, change);
    free(ids.id);
    return status;
}

int run_hold(int argc, char **argv)
{
    Pb__JobUpdate change = PB__JOB_UPDATE__INIT;
    change.has_hold = change.hold = 1;
    return update_named(argc, argv, &change);
}

int run_uhold(int argc, char **argv)
{
    Pb__JobUpdate change = PB__JOB_UPDATE__INIT;
    change.has_user_hold = change.user_hold = 1;
    return update_named(argc, argv, &change);
}

int run_release(int argc, char **argv)
{
    Pb__JobUpdate change = PB__JOB_UPDATE__INIT;
    change.has_hold = 1;
    return update_named(argc, argv, &change);
}

/* Their order matters: one request for all of them. */
int run_top(int argc, char **argv)
{
    Pb__JobTop request = PB__JOB_TOP__INIT;
    struct err err = {0};
    struct job_ids ids;
    if (job_ids_parse(argc, argv, &ids) < 0)
        return 1;
    request.job_id = ids.id;
    request.n_job_id = ids.count;
    int r = cmd_call(RPC_JOB_TOP, &request.base, NULL, &err);
    if (r < 0)
        cmd_line("%s for job %s", err.text, argv[0]);
    free(ids.id);
    return r < 0 ? 1 : 0;
}

/* Takes away the jobs that have ended or not begun; unknown ones stay, to be refused by name. */
static int on_states(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct job_ids *ids = ctx;
    const Pb__JobList *part = (const Pb__JobList *)message;
    for (size_t i = 0; i < part->n_jobs; i++) {
        const Pb__JobLive *live = part->jobs[i]->live;
        if (!live || live->state == PB__JOB_STATE__RUNNING ||
            live->state == PB__JOB_STATE__SUSPENDED)
            continue;
        uint32_t kept = 0;
        for (uint32_t k = 0; k < ids->count; k++)
            if (ids->id[k] != live->job_id)
                ids->id[kept++] = ids->id[k];
        ids->count = kept;
    }
    return 0;
}

static int keep_incomplete(struct job_ids *ids)
{
    _cleanup_free_ uint32_t *asked = mem_new_array(uint32_t, ids->count + 1);
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    struct err err = {0};
    memcpy(asked, ids->id, ids->count * sizeof(uint32_t));
    filter.job_id = asked;
    filter.n_job_id = ids->count;
    filter.has_all_states = filter.all_states = 1;
    int r = rpc_call_stream(cmd_client(), RPC_JOB_LIST, &filter.base, on_states, ids, &err);
    if (r == 0 || r == -ERR_NO_JOB)
        return 0;
    cmd_line("slurm_load_jobs error: %s", err.text);
    return -1;
}

/* [Incomplete] [State=...] JOB... */
static int requeue(int argc, char **argv, bool hold)
{
    Pb__JobUpdate change = PB__JOB_UPDATE__INIT;
    struct job_ids ids;
    bool incomplete = false, special = false;
    for (; argc > 0; argc--, argv++) {
        if (str_case_eq(argv[0], "Incomplete")) {
            incomplete = true;
        } else if (hold && str_case_eq(argv[0], "State=SpecialExit")) {
            special = true;
        } else if (!strncasecmp(argv[0], "State=", 6)) {
            cmd_line("%s: only requeuehold takes a state, and that is SpecialExit", argv[0]);
            return 1;
        } else {
            break;
        }
    }
    if (argc == 0) {
        cmd_line("too few arguments for keyword:%s", hold ? "requeuehold" : "requeue");
        return 1;
    }
    if (job_ids_parse(argc, argv, &ids) < 0)
        return 1;
    change.has_requeue = change.requeue = 1;
    change.has_hold = change.hold = hold;
    change.has_special_exit = change.special_exit = special;
    int status = incomplete && keep_incomplete(&ids) < 0 ? 1 : update_jobs(&ids, &change);
    free(ids.id);
    return status;
}

int run_requeue(int argc, char **argv)
{
    return requeue(argc, argv, false);
}

int run_requeuehold(int argc, char **argv)
{
    return requeue(argc, argv, true);
}

int run_check(int argc, char **argv)
{
    _cleanup_free_ char *path = argc ? mem_strdup(argv[0]) : conf_path();
    struct conf_report report = {0};
    struct conf *conf = NULL;
    struct err err = {0};
    int r = conf_load(path, CONF_FULL, NULL, &conf, &report, &err);
    vec_foreach (&report.warnings, w)
        cmd_line("warning: %s:%d: %s", w->file, w->line, w->text);
    if (r < 0)
        cmd_error("%s", err.text);
    else if (!scontrol.quiet)
        str_printf(cmd_out(), "%s: %zu nodes, %zu partitions, %zu warnings\n", path,
                   conf->nodes.len, conf->parts.len, report.warnings.len);
    conf_report_done(&report);
    conf_free(conf);
    return r < 0 ? 1 : 0;
}
