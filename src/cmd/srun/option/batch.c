/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/option/batch.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/vec.h"
#include "cli/envlist.h"
#include "cmd/srun/option/say.h"
#include "launch/origin.h"
#include "rpc/client.h"

extern char **environ;

struct batch {
    struct Pb__JobPayload payload;
    struct origin_limits limits;
    struct envlist env;
    struct str script;
    VEC(char *) argv; /* owned strings */
};

/* Whether the operand is a script; its text is in b->script then. */
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

/* What the srun in the job has to know and no variable of the job tells. */
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
                      struct Pb__JobSpec *spec, const struct batch_command *command)
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
    envlist_init(&b->env, NULL);
    envlist_export(&b->env, o->export_env, environ);
    origin_forget_mask(&b->env);
    p->env = b->env.vars;
    p->n_env = b->env.count;
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

/* Refused for what it asks for, not because nobody could be asked. */
static bool never_runs(int code)
{
    return code != -ERR_CONNECT && code != -ERR_TIMEOUT && code != -ERR_CLOSED &&
           code != -ERR_STANDBY && code != -ERR_AUTH && code != -ERR_SKEW;
}

int batch_submit(const struct conf *conf, const struct opt *o, struct Pb__JobSpec *spec,
                 const struct batch_command *command)
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
        if (never_runs(code))
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
