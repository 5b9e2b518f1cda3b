/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * scontrol commands other than show and update.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/hostlist.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "base/vec.h"
#include "cli/cmd.h"
#include "cli/job_arg.h"
#include "cmd/scontrol/scontrol.h"
#include "proto/ctl.pb-c.h"
#include "proto/node.pb-c.h"
#include "proto/prio.pb-c.h"
#include "rpc/client.h"
#include "show/job_ids.h"
#include "show/job_state.h"

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

/* announce [TIME] | cancel | slurmctld | controller. Returns 0, or the exit status after a message.
 */
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

int run_abort(int argc, char **argv)
{
    Pb__ShutdownRequest request = PB__SHUTDOWN_REQUEST__INIT;
    struct err err = {0};
    request.has_abort = request.abort = true;
    /* For a controller that does not know 'abort'. */
    request.has_controller_only = request.controller_only = true;
    if (cmd_call(RPC_SHUTDOWN, &request.base, NULL, &err) < 0) {
        cmd_line("slurm_shutdown error: %s", err.text);
        return 1;
    }
    return 0;
}

static int on_control_jobs(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    const Pb__JobList *part = (const Pb__JobList *)message;
    for (size_t i = 0; i < part->n_jobs; i++)
        if (part->jobs[i]->live && !job_state_is_final(part->jobs[i]->live))
            job_arg_add(ctx, part->jobs[i]->live);
    return 0;
}

/* Adds the ids of the jobs with this name. */
static int add_named(struct job_id_list *jobs, char *name)
{
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    uint32_t uid = getuid();
    size_t before = jobs->len;
    struct err err = {0};
    filter.name = &name;
    filter.n_name = 1;
    filter.uid = &uid;
    filter.n_uid = uid != 0;
    if (rpc_call_stream(cmd_client(), RPC_JOB_LIST, &filter.base, on_control_jobs, jobs, &err) <
        0) {
        cmd_line("slurm_load_jobs error: %s", err.text);
        return -1;
    }
    if (jobs->len == before) {
        cmd_line("%s for job name %s", err_text(ERR_NO_JOB), name);
        return -1;
    }
    return 0;
}

int jobs_parse_word(const char *word, struct job_id_list *jobs)
{
    struct err why = {0};
    int rc = job_arg_parse_list(word, jobs, &why);
    if (rc < 0 && rc != -ERR_PARSE && rc != -ERR_NO_JOB)
        cmd_error("%s", why.text);
    return rc;
}

int jobs_parse(int argc, char **argv, struct job_id_list *jobs)
{
    *jobs = (struct job_id_list){0};
    for (int i = 0; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (!strncasecmp(argv[i], "JobName=", 8) || !strncasecmp(argv[i], "Name=", 5)) {
            if (add_named(jobs, value + 1) < 0)
                return -1;
            continue;
        }
        for (const char *s = value ? value + 1 : argv[i]; *s;) {
            size_t len = job_ids_word(s);
            _cleanup_free_ char *word = mem_strndup(s, len);
            if (strchr(word, '.') || jobs_parse_word(word, jobs) < 0) {
                cmd_line("%s for job %s", err_text(ERR_NO_JOB), word);
                return -1;
            }
            s += len + (s[len] != 0);
        }
    }
    return 0;
}

int jobs_each(const struct job_id_list *jobs,
              int (*ask)(void *ctx, const Pb__StepId *job, struct err *err), void *ctx)
{
    int status = 0;
    vec_foreach (jobs, job) {
        struct err err = {0};
        int r = ask(ctx, job, &err);
        if (r == 0)
            continue;
        _cleanup_str_ struct str name = STR_INIT;
        job_ids_put_asked(job, &name);
        cmd_line("%s for job %s", err.text, str_cstr(&name));
        status = 1;
        if (r == -ERR_CONNECT)
            break;
    }
    return status;
}

static int update_one(void *ctx, const Pb__StepId *job, struct err *err)
{
    Pb__JobUpdate *change = ctx;
    JOB_IDS_COPY(change, job);
    return cmd_call(RPC_JOB_UPDATE, &change->base, NULL, err);
}

static int update_named(int argc, char **argv, Pb__JobUpdate *change)
{
    struct job_id_list jobs;
    if (jobs_parse(argc, argv, &jobs) < 0)
        return 1;
    int status = jobs_each(&jobs, update_one, change);
    vec_done(&jobs);
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

/* The words of the message are joined to one line. */
int run_notify(int argc, char **argv)
{
    Pb__JobNotify request = PB__JOB_NOTIFY__INIT;
    Pb__StepId id = PB__STEP_ID__INIT;
    _cleanup_str_ struct str text = STR_INIT;
    struct err err = {0};
    if (job_arg_parse(argv[0], &id, &err) < 0) {
        cmd_line("%s", err.text);
        return 1;
    }
    for (int i = 1; i < argc; i++)
        str_printf(&text, "%s%s", i > 1 ? " " : "", argv[i]);
    request.target = &id;
    request.text = (char *)str_cstr(&text);
    if (cmd_call(RPC_JOB_NOTIFY, &request.base, NULL, &err) == 0)
        return 0;
    cmd_line("%s for job %s", err.text, argv[0]);
    return 1;
}

static int suspend_one(void *ctx, const Pb__StepId *job, struct err *err)
{
    Pb__JobSuspend *request = ctx;
    JOB_IDS_COPY(request, job);
    return cmd_call(RPC_JOB_SUSPEND, &request->base, NULL, err);
}

static int suspend_jobs(int argc, char **argv, bool resume)
{
    Pb__JobSuspend request = PB__JOB_SUSPEND__INIT;
    struct job_id_list jobs;
    if (jobs_parse(argc, argv, &jobs) < 0)
        return 1;
    request.has_resume = request.resume = resume;
    int status = jobs_each(&jobs, suspend_one, &request);
    vec_done(&jobs);
    return status;
}

int run_suspend(int argc, char **argv)
{
    return suspend_jobs(argc, argv, false);
}

int run_resume(int argc, char **argv)
{
    return suspend_jobs(argc, argv, true);
}

/* One request for all jobs, since their order matters. */
int run_top(int argc, char **argv)
{
    Pb__JobTop request = PB__JOB_TOP__INIT;
    struct err err = {0};
    struct job_id_list jobs;
    if (jobs_parse(argc, argv, &jobs) < 0)
        return 1;
    _cleanup_free_ Pb__StepId **ids = mem_new_array(Pb__StepId *, jobs.len + 1);
    vec_foreach (&jobs, job)
        ids[request.n_target++] = job;
    request.target = ids;
    int r = cmd_call(RPC_JOB_TOP, &request.base, NULL, &err);
    if (r < 0)
        cmd_line("%s for job %s", err.text, argv[0]);
    vec_done(&jobs);
    return r < 0 ? 1 : 0;
}

struct states {
    struct job_id_list *running;
    bool known;
};

static int on_states(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct states *states = ctx;
    const Pb__JobList *part = (const Pb__JobList *)message;
    for (size_t i = 0; i < part->n_jobs; i++) {
        const Pb__JobLive *live = part->jobs[i]->live;
        if (!live)
            continue;
        states->known = true;
        if (live->state == PB__JOB_STATE__RUNNING || live->state == PB__JOB_STATE__SUSPENDED)
            job_arg_add(states->running, live);
    }
    return 0;
}

/* Keeps the requested jobs that are not finished; unknown ids stay, so that the controller reports
 * them. */
static int keep_incomplete(struct job_id_list *jobs)
{
    struct job_id_list kept = {0};
    int r = 0;
    for (size_t i = 0; r == 0 && i < jobs->len; i++) {
        _cleanup_arena_ struct arena arena;
        Pb__JobFilter filter = PB__JOB_FILTER__INIT;
        struct states states = {.running = &kept};
        struct err err = {0};
        arena_init(&arena, 0);
        job_ids_filter(&jobs->data[i], 1, &filter, &arena);
        filter.has_all_states = filter.all_states = 1;
        r = rpc_call_stream(cmd_client(), RPC_JOB_LIST, &filter.base, on_states, &states, &err);
        r = r == -ERR_NO_JOB ? 0 : r;
        if (r < 0)
            cmd_line("slurm_load_jobs error: %s", err.text);
        else if (!states.known)
            vec_push(&kept, jobs->data[i]);
    }
    vec_done(jobs);
    *jobs = kept;
    return r;
}

/* [Incomplete] [State=...] JOB... */
static int requeue_jobs(int argc, char **argv, bool hold)
{
    Pb__JobUpdate change = PB__JOB_UPDATE__INIT;
    struct job_id_list jobs;
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
    if (jobs_parse(argc, argv, &jobs) < 0)
        return 1;
    change.has_requeue = change.requeue = 1;
    change.has_hold = change.hold = hold;
    change.has_special_exit = change.special_exit = special;
    int status =
        incomplete && keep_incomplete(&jobs) < 0 ? 1 : jobs_each(&jobs, update_one, &change);
    vec_done(&jobs);
    return status;
}

int run_requeue(int argc, char **argv)
{
    return requeue_jobs(argc, argv, false);
}

int run_requeuehold(int argc, char **argv)
{
    return requeue_jobs(argc, argv, true);
}

int run_check(int argc, char **argv)
{
    _cleanup_free_ char *path = argc ? mem_strdup(argv[0]) : conf_path();
    struct conf_report report = {0};
    struct conf *conf = NULL;
    struct err err = {0};
    int r = conf_load(path, CONF_FULL, NULL, &conf, &report, &err);
    vec_foreach (&report.warnings, w)
        cmd_line("%s: %s: %s", w->fault ? "error" : "warning", w->place, w->text);
    if (r < 0)
        cmd_error("%s", err.text);
    else if (!scontrol.quiet) {
        size_t before = cmd_out()->len;
        conf_summarise(conf, cmd_out());
        str_puts(cmd_out(), cmd_out()->len > before ? "\n" : "");
        conf_put_counts(conf, path, report.warnings.len, cmd_out());
    }
    bool fails = r < 0 || conf_report_fails(&report);
    conf_report_done(&report);
    conf_free(conf);
    return fails;
}

static const char *value_of(const char *word, const char *key)
{
    size_t len = strlen(key);
    return strncasecmp(word, key, len) == 0 && word[len] == '=' ? word + len + 1 : NULL;
}

static int parse_next_state(const char *text, Pb__NodeUpdate *change)
{
    static const char *const states[] = {"DOWN", "RESUME"};
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
        if (str_case_eq(text, states[i]))
            change->next_state = (char *)states[i];
    if (!change->next_state)
        cmd_line("Invalid nextstate: %s: it is RESUME or DOWN", text);
    return change->next_state ? 0 : -1;
}

/* Parses the word before the nodes. */
static int parse_word(const char *word, Pb__NodeUpdate *change)
{
    const char *value;
    if (str_case_eq(word, "ASAP")) {
        change->has_reboot_asap = change->reboot_asap = true;
    } else if (str_case_eq(word, "FORCE")) {
        change->has_reboot_force = change->reboot_force = true;
    } else if ((value = value_of(word, "nextstate"))) {
        return parse_next_state(value, change);
    } else if ((value = value_of(word, "reason"))) {
        change->reason = (char *)value;
    } else if (value_of(word, "action")) {
        cmd_line("action is not supported: there are no PowerAction lines; RebootProgram is run");
        return -1;
    } else {
        cmd_line("Invalid option for reboot: %s", word);
        return -1;
    }
    return 0;
}

static int send_change(Pb__NodeUpdate *change, const char *nodes, const char *what)
{
    _cleanup_hostlist_ struct hostlist *hosts = NULL;
    struct err err = {0};
    change->nodes = (char *)nodes;
    if (!str_case_eq(nodes, "ALL") && hostlist_parse(nodes, &hosts, &err) < 0) {
        cmd_line("%s: %s", nodes, err.text);
        return 1;
    }
    if (cmd_call(RPC_NODE_UPDATE, &change->base, NULL, &err) < 0) {
        cmd_line("%s error: %s", what, err.text);
        return 1;
    }
    return 0;
}

int run_reboot(int argc, char **argv)
{
    Pb__NodeUpdate change = PB__NODE_UPDATE__INIT;
    change.state = (char *)"REBOOT";
    for (int i = 0; i + 1 < argc; i++)
        if (parse_word(argv[i], &change) < 0)
            return 1;
    const char *nodes = argv[argc - 1];
    if (str_case_eq(nodes, "ASAP") || str_case_eq(nodes, "FORCE") || strchr(nodes, '=')) {
        cmd_line("Missing node list: name the nodes to reboot, or ALL");
        return 1;
    }
    return send_change(&change, nodes, "scontrol_reboot_nodes");
}

int run_cancel_reboot(int argc, char **argv)
{
    Pb__NodeUpdate change = PB__NODE_UPDATE__INIT;
    (void)argc;
    change.state = (char *)"CANCEL_REBOOT";
    return send_change(&change, argv[0], "scontrol_cancel_reboot");
}

/* Returns 0, or the exit status after a message. */
static int parse_argument(char *arg, Pb__TokenRequest *r)
{
    long long sec;
    if (!strncasecmp(arg, "username=", 9) && arg[9]) {
        r->user = arg + 9;
    } else if (!strcasecmp(arg, "lifespan=infinite")) {
        r->has_infinite = r->infinite = true;
    } else if (!strncasecmp(arg, "lifespan=", 9) &&
               str_parse_i64(arg + 9, 1, INT64_MAX, &sec) == 0) {
        r->has_lifespan_sec = true;
        r->lifespan_sec = (uint64_t)sec;
    } else {
        cmd_line("invalid token argument '%s': use lifespan=SECONDS, lifespan=infinite or "
                 "username=USER",
                 arg);
        return 1;
    }
    return 0;
}

int run_token(int argc, char **argv)
{
    Pb__TokenRequest request = PB__TOKEN_REQUEST__INIT;
    Pb__TextReply *reply = NULL;
    struct err err = {0};
    for (int i = 0; i < argc; i++)
        if (parse_argument(argv[i], &request))
            return 1;
    if (cmd_call(RPC_TOKEN, &request.base, &reply, &err) < 0) {
        cmd_line("slurm_fetch_token error: %s", err.text);
        return 1;
    }
    str_printf(cmd_out(), "SLURM_JWT=%s\n", reply->text);
    return 0;
}
