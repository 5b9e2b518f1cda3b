/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/option/become.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/envlist.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/vec.h"
#include "cli/export.h"
#include "cli/opt.h"
#include "cmd/srun/option/say.h"
#include "conf/conf.h"
#include "launch/origin.h"
#include "proto/job.pb-c.h"
#include "proto/why.pb-c.h"
#include "rpc/client.h"
#include "show/show.h"

/* Executes the program of this installation, otherwise the one in PATH. */
static _Noreturn void become_program(const char *name, char *const *words)
{
    _cleanup_free_ char *prefix = path_prefix();
    _cleanup_free_ char *program = mem_printf("%s/bin/%s", prefix != NULL ? prefix : "", name);

    execv(program, words);
    execvp(name, words);
    say_error("%s: %s", program, strerror(errno));
    exit(1);
}

_Noreturn void become_salloc(struct opt *o, int argc, char **argv)
{
    struct err err = {0};
    char **words = opt_translate(o, OPT_ID_allocate, OPT_SALLOC, argc, argv, &err);

    if (words == NULL)
        exit(opt_print_failure(o, &err));
    opt_print_notes(o);
    unsetenv("SLURM_JOB_ID");
    unsetenv("SLURM_JOBID");
    become_program("salloc", words);
}

struct words {
    VEC(char *) list;
};

static void add_word(struct words *w, const char *word)
{
    vec_push(&w->list, mem_strdup(word));
}

/* --output=3 shows the output of task 3. An attached srun does not write files. */
static void add_filter(struct words *w, const char *name, const char *value)
{
    long long task;

    if (value == NULL)
        return;
    if (str_parse_i64(value, 0, UINT32_MAX - 1, &task) < 0)
        say_info("warning: --%s=%s has no effect with --attach: it takes the number of a task",
                 name, value);
    else
        vec_push(&w->list, mem_printf("--%s-filter=%lld", name, task));
}

_Noreturn void become_sattach(const struct opt *o, int operands)
{
    struct words w = {0};

    if (operands > 0) {
        say_error("--attach takes no command: job %s runs one", o->attach);
        exit(1);
    }
    add_word(&w, "sattach");
    add_word(&w, "--as-srun");
    if (o->label)
        add_word(&w, "--label");
    if (o->pty)
        add_word(&w, "--pty");
    if (o->quiet)
        add_word(&w, "--quiet");
    for (unsigned i = 0; i < o->verbose; i++)
        add_word(&w, "--verbose");
    add_filter(&w, "input", o->std_in);
    add_filter(&w, "output", o->std_out);
    add_filter(&w, "error", o->std_err);
    add_word(&w, "--");
    add_word(&w, o->attach);
    vec_push(&w.list, NULL);
    become_program("sattach", w.list.data);
}

extern char **environ;

struct batch {
    struct Pb__JobPayload payload;
    struct origin_limits limits;
    struct envlist env;
    struct str script;
    VEC(char *) argv; /* owned strings */
};

/* Reads the operand into b->script and returns whether it is a script. */
static bool read_script(struct batch *b, const char *file)
{
    struct err err = {0};

    if (strchr(file, '/') == NULL && access(file, R_OK) != 0)
        return false;
    if (path_read_file(file, OPT_SCRIPT_MAX, &b->script, &err) < 0)
        return false;
    if (b->script.len > 2 && strncmp(b->script.data, "#!", 2) == 0)
        return true;
    str_done(&b->script);
    return false;
}

static void add_flag(struct batch *b, bool wanted, const char *flag)
{
    if (wanted)
        vec_push(&b->argv, mem_strdup(flag));
}

static void add_text(struct batch *b, const char *name, const char *value)
{
    if (value != NULL)
        vec_push(&b->argv, mem_printf("--%s=%s", name, value));
}

/* Adds the options that the srun in the job needs and no variable of the job has. */
static void add_step_options(struct batch *b, const struct opt *o)
{
    add_flag(b, o->label, "--label");
    add_flag(b, o->overcommit, "--overcommit");
    add_flag(b, o->unbuffered, "--unbuffered");
    add_flag(b, o->kill_on_bad_exit, "--kill-on-bad-exit");
    add_flag(b, o->no_kill, "--no-kill");
    add_text(b, "distribution", o->distribution);
    add_text(b, "mpi", o->mpi);
    if (opt_given(o, OPT_ID_cpus_per_task))
        vec_push(&b->argv, mem_printf("--cpus-per-task=%u", o->cpus_per_task));
    if (opt_given(o, OPT_ID_wait_sec))
        vec_push(&b->argv, mem_printf("--wait=%u", o->wait_sec));
    for (unsigned i = 0; i < o->verbose; i++)
        vec_push(&b->argv, mem_strdup("-v"));
}

static void fill_spec(struct batch *b, const struct conf *conf, const struct opt *o,
                      struct Pb__JobSpec *spec, const struct become_command *command)
{
    struct Pb__JobPayload *p = &b->payload;
    bool script = read_script(b, command->argv[0]);
    mode_t mask = umask(0);

    umask(mask);
    pb__job_payload__init(p);
    if (script) {
        p->has_script = 1;
        p->script.data = (uint8_t *)b->script.data;
        p->script.len = b->script.len;
    } else {
        add_step_options(b, o);
    }
    for (int i = script ? 1 : 0; i < command->argc; i++)
        vec_push(&b->argv, mem_strdup(command->argv[i]));
    p->argv = b->argv.data;
    p->n_argv = b->argv.len;
    export_variables(&b->env, o->export_env, environ, false);
    origin_forget_mask(&b->env);
    p->env = b->env.vars.data;
    p->n_env = b->env.vars.len;
    p->spank_options = command->spank_options;
    p->n_spank_options = command->spank_option_count;
    origin_limits_init(&b->limits, o->propagate, conf);
    p->rlimits = b->limits.list;
    p->n_rlimits = b->limits.count;
    p->has_umask = 1;
    p->umask = mask;
    spec->has_batch = spec->batch = 1;
    spec->has_parallel_command = 1;
    spec->parallel_command = !script;
    if (spec->std_out == NULL && spec->std_err == NULL)
        spec->std_err = "slurm-%j.err";
    if (spec->std_out == NULL)
        spec->std_out = "slurm-%j.out";
}

static void release_batch(struct batch *b)
{
    vec_foreach (&b->argv, arg)
        free(*arg);
    vec_done(&b->argv);
    envlist_done(&b->env);
    str_done(&b->script);
}

/* Whether the request itself was rejected, as opposed to an unreachable controller. */
static bool is_never_runnable(int code)
{
    return code != -ERR_CONNECT && code != -ERR_TIMEOUT && code != -ERR_CLOSED &&
           code != -ERR_STANDBY && code != -ERR_AUTH && code != -ERR_SKEW;
}

int become_sbatch(const struct conf *conf, const struct opt *o, struct Pb__JobSpec *spec,
                  const struct become_command *command)
{
    struct batch b = {0};
    struct Pb__SubmitRequest request = PB__SUBMIT_REQUEST__INIT;
    struct Pb__SubmitReply *reply;
    struct rpc_client *client = rpc_client_new(conf);
    struct arena arena;
    struct err err = {0};
    int code;

    fill_spec(&b, conf, o, spec, command);
    request.spec = spec;
    request.payload = &b.payload;
    arena_init(&arena, 0);
    code = rpc_call(client, RPC_SUBMIT, &request.base, 0, &arena, &reply, &err);
    if (code < 0) {
        say_error("Unable to submit the batch job: %s", err.text);
        if (is_never_runnable(code))
            say_info("request will never run");
    } else {
        if (reply->message != NULL)
            say_info("%s", reply->message);
        say_info("Job %u has been submitted", reply->job_id);
    }
    arena_done(&arena);
    rpc_client_free(client);
    release_batch(&b);
    return code < 0 ? 1 : 0;
}

#define REPEATS_MAX 15

/* The controller answers in its queue. If the controller ends, the request is lost. */
static int ask_controller(const struct conf *conf, const struct Pb__SubmitRequest *request,
                          struct arena *arena, struct Pb__SubmitReply **reply, struct err *err)
{
    struct rpc_client *client = rpc_client_new(conf);
    int code = rpc_call(client, RPC_SUBMIT, &request->base, RPC_WAIT_FOREVER, arena, reply, err);
    for (int i = 0; i < REPEATS_MAX && (code == -ERR_CLOSED || (i && code == -ERR_CONNECT)); i++) {
        say_info("Slurm controller not responding, sleeping and retrying.");
        sleep(1);
        code = rpc_call(client, RPC_SUBMIT, &request->base, RPC_WAIT_FOREVER, arena, reply, err);
    }
    rpc_client_free(client);
    return code;
}

int become_estimate(const struct conf *conf, struct Pb__JobSpec *spec,
                    struct Pb__JobSpec **components, size_t count)
{
    struct Pb__SubmitRequest request = PB__SUBMIT_REQUEST__INIT;
    struct Pb__SubmitReply *reply;
    struct arena arena;
    struct err err = {0};
    int code;

    request.spec = spec;
    request.components = components;
    request.n_components = count;
    request.has_test_only = 1;
    request.test_only = 1;
    arena_init(&arena, 0);
    code = ask_controller(conf, &request, &arena, &reply, &err);
    if (code < 0)
        say_error("allocation failure: %s", err.text);
    else if (reply->message)
        say_info("%s", reply->message);
    if (code == 0)
        show_start_text(reply, "(null)", say_info);
    arena_done(&arena);
    return code < 0 ? 1 : 0;
}

struct pending_job {
    Pb__SubmitReply reply; /* texts are in the arena */
    struct arena *arena;
    bool is_pending;
};

static int on_listed(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    const Pb__JobList *part = (const Pb__JobList *)message;
    struct pending_job *p = ctx;

    for (size_t i = 0; i < part->n_jobs && !p->is_pending; i++) {
        const Pb__JobLive *live = part->jobs[i]->live;

        if (live == NULL || live->state != PB__JOB_STATE__PENDING)
            continue;
        p->is_pending = true;
        p->reply.job_id = live->job_id;
        p->reply.num_cpus = live->num_cpus;
        p->reply.partition = arena_strdup(p->arena, live->partition);
    }
    return 0;
}

/* Gets the expected start and nodes of the job, or its reason. */
static int ask_start(struct rpc_client *client, struct pending_job *p, struct err *err)
{
    Pb__WhyRequest request = PB__WHY_REQUEST__INIT;
    Pb__WhyReply *why;
    int code;

    request.job_id = p->reply.job_id;
    code = rpc_call(client, RPC_JOB_WHY, &request.base, RPC_WAIT_FOREVER, p->arena, &why, err);
    if (code < 0)
        return code;
    p->reply.has_start_at = why->has_start_at || why->starts_now;
    p->reply.start_at = why->has_start_at ? why->start_at : why->now;
    p->reply.nodes = why->sched_nodes;
    if (!p->reply.has_start_at)
        p->reply.start_note = why->reason;
    return 0;
}

int become_estimate_pending(const struct conf *conf, uint32_t job_id)
{
    struct pending_job p = {.reply = PB__SUBMIT_REPLY__INIT};
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    struct rpc_client *client = rpc_client_new(conf);
    _cleanup_arena_ struct arena arena;
    struct err err = {0};
    int code;

    arena_init(&arena, 0);
    p.arena = &arena;
    filter.job_id = &job_id;
    filter.n_job_id = 1;
    filter.has_all_states = filter.all_states = 1;
    code = rpc_call_stream(client, RPC_JOB_LIST, &filter.base, on_listed, &p, &err);
    if (code == 0 && p.is_pending)
        code = ask_start(client, &p, &err);
    rpc_client_free(client);
    if (code < 0) {
        say_error("allocation failure: %s", err.text);
        return 1;
    }
    if (p.is_pending)
        show_start_text(&p.reply, "(null)", say_info);
    return p.is_pending ? 0 : -1;
}
