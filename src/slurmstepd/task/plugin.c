/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/task/plugin.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "cluster/job/step_nodes.h"
#include "slurmstepd/stream/journal.h"
#include "slurmstepd/stream/srun.h"
#include "slurmstepd/task/task.h"
#include "spank/stack.h"

#define PENDING_MAX (64u << 10)
#define DESCRIPTORS_SEEN 1024 /* higher descriptors of plugins are closed in tasks */

/* Answers to plugins' queries about the step: copies, since the start message is freed. */
struct plugin_facts {
    struct stack_facts facts;
    char *job_cores, *step_cores;
    char **argv;
};

struct plugin_state {
    struct stack *stack;
    struct plugin_facts facts;
    struct stack_task *tasks;
    struct child_plan *plan; /* the child's plan, in a child process */
    bool in_child, has_streams, exited;
    struct str pending; /* lines for the user, while there is no output */
    char *last;         /* the last error message of a plugin */
    VEC(int) fds;
};

/* Formats "0-3,8"; bit i is in byte i/8. */
static char *format_cpus(ProtobufCBinaryData set)
{
    struct str out = STR_INIT;
    size_t bits = set.len * 8;

    for (size_t i = 0, end; i < bits; i = end + 1) {
        end = i;
        if (!(set.data[i / 8] >> (i % 8) & 1))
            continue;
        while (end + 1 < bits && (set.data[(end + 1) / 8] >> ((end + 1) % 8) & 1))
            end++;
        str_printf(&out, "%s%zu", out.len ? "," : "", i);
        if (end > i)
            str_printf(&out, "-%zu", end);
    }
    return str_take(&out);
}

static void copy_node(const struct step *step, struct plugin_facts *p)
{
    const Pb__Cred *cred = step->granted;
    struct stack_facts *f = &p->facts;
    const Pb__StepNode *own =
        step->node_index < cred->n_nodes ? cred->nodes[step->node_index] : NULL;
    const Pb__NodeShare *share = NULL;

    for (size_t i = 0; i < cred->n_job_nodes && !share; i++)
        if (str_eq(cred->job_nodes[i]->node, step->node))
            share = cred->job_nodes[i];
    f->has_node = true;
    if (share) {
        f->cpus = (uint16_t)(share->cpus < UINT16_MAX ? share->cpus : UINT16_MAX);
        f->job_mem_mib = share->mem_mib;
        p->job_cores = format_cpus(share->cpu_set);
    }
    if (own) {
        f->step_mem_mib = own->has_mem_mib ? own->mem_mib : f->job_mem_mib;
        p->step_cores = own->has_cpu_set ? format_cpus(own->cpu_set) : mem_strdup(p->job_cores);
    }
    f->job_cores = p->job_cores;
    f->step_cores = p->step_cores;
}

static void copy_argv(const struct step *step, struct plugin_facts *p)
{
    size_t count = 0;

    while (step->argv[count])
        count++;
    p->argv = mem_new_array(char *, count + 1);
    for (size_t i = 0; i < count; i++)
        p->argv[i] = mem_strdup(step->argv[i]);
    p->facts.argc = (int)count;
    p->facts.argv = p->argv;
}

/* For parts of a step that share a node, the node counts once, with the tasks of all parts. */
static void copy_layout(const struct step *step, struct stack_facts *f)
{
    const Pb__Cred *cred = step->granted;
    _cleanup_(step_nodes_done) struct step_nodes nodes;

    step_nodes_init(&nodes, cred->nodes, cred->n_nodes);
    f->nodes = (uint32_t)nodes.tasks.len;
    f->tasks = 0;
    vec_foreach (&nodes.tasks, count)
        f->tasks += *count;
    if (step->node_index >= cred->n_nodes)
        return;
    f->node_index = (uint32_t)hostlist_find(nodes.names, cred->nodes[step->node_index]->node);
    assert(f->node_index < nodes.tasks.len);
    f->local_tasks = nodes.tasks.data[f->node_index];
}

static void make_facts(const struct step *step, struct plugin_facts *p)
{
    const Pb__Cred *cred = step->granted;
    struct stack_facts *f = &p->facts;

    f->has_ids = f->has_job = f->has_step = true;
    f->uid = step->uid;
    f->gid = step->gid;
    f->gids = step->groups;
    f->gid_count = step->group_count;
    f->job_id = step->job_id;
    f->step_id = step->step_id;
    f->restarts = step->restarts;
    if (cred->facts && cred->facts->has_array_job_id) {
        f->array_job_id = cred->facts->array_job_id;
        f->array_task_id = cred->facts->array_task_id;
    }
    f->nodes = f->tasks = 1;
    f->local_tasks = (uint32_t)step->task_count;
    if (!step->is_batch)
        copy_layout(step, f);
    f->cpus_per_task =
        step->launch && step->launch->has_cpus_per_task ? step->launch->cpus_per_task : 1;
    copy_node(step, p);
    copy_argv(step, p);
}

static void free_facts(struct plugin_facts *p)
{
    for (char **word = p->argv; word && *word; word++)
        free(*word);
    free(p->argv);
    free(p->job_cores);
    free(p->step_cores);
}

/* --- messages --------------------------------------------------------------------------------- */

/* Writes to the user's standard error, if there is one. */
static void report_to_user(struct step *step, const char *line)
{
    struct plugin_state *p = step->plugin;
    bool by_srun = !step->is_batch && step->srun && step->srun_was_up;

    if (p->in_child && p->has_streams)
        path_write_all(STDERR_FILENO, line, strlen(line));
    else if (!p->in_child && p->has_streams)
        journal_say(step, line);
    else if (!p->in_child && by_srun && step->task_count)
        srun_send_data(step, step->tasks[0].id, 2, line, strlen(line));
    else if (p->pending.len < PENDING_MAX)
        str_puts(&p->pending, line);
}

static void flush_lines(struct step *step)
{
    struct plugin_state *p = step->plugin;
    _cleanup_str_ struct str text = p->pending;

    p->pending = STR_INIT;
    if (text.len)
        report_to_user(step, str_cstr(&text));
}

static void on_plugin_say(void *ctx, enum stack_level level, const char *text)
{
    struct step *step = ctx;
    struct plugin_state *p = step->plugin;
    _cleanup_free_ char *line = level == STACK_PLAIN ? mem_printf("%s\n", text)
                                                     : mem_printf("slurmstepd: error: %s\n", text);

    if (level > STACK_ERROR)
        return; /* srun's default as well: errors only */
    if (level == STACK_ERROR) {
        journal_error(step, "step %s: %s", step->name, text);
        free(p->last);
        p->last = mem_strdup(text);
    }
    report_to_user(step, line);
}

/* --- the environment and the command line ----------------------------------------------------- */

/* Once tasks run, the environment is the one kept for epilogs, see hook_keep(). */
static struct envlist *env_of(void *ctx)
{
    struct step *step = ctx;

    return step->env.vars.len ? &step->env : &step->hook.env;
}

static const char *on_env_get(void *ctx, const char *name)
{
    return envlist_get(env_of(ctx), name);
}

static void on_env_set(void *ctx, const char *name, const char *value)
{
    envlist_set(env_of(ctx), name, value);
}

static void on_env_unset(void *ctx, const char *name)
{
    envlist_unset(env_of(ctx), name);
}

static char **on_env_all(void *ctx)
{
    return envlist_argv(env_of(ctx));
}

/* In a child, whose memory is freed by exec. */
static void on_prepend(void *ctx, int argc, const char *const *argv)
{
    struct step *step = ctx;
    struct child_plan *plan = step->plugin->plan;
    size_t count = 0;
    char **words;

    while (plan->argv[count])
        count++;
    words = mem_new_array(char *, (size_t)argc + count + 1);
    for (int i = 0; i < argc; i++)
        words[i] = mem_strdup(argv[i]);
    for (size_t i = 0; i < count; i++)
        words[argc + (int)i] = plan->argv[i];
    plan->argv = words;
    plan->by_path = true;
}

/* --- calls ------------------------------------------------------------------------------------ */

/* The message of the plugin is the best explanation of its failure. */
static int call_plugins(struct step *step, enum stack_callback which, size_t task, struct err *err)
{
    struct plugin_state *p = step->plugin;
    struct err why = {0};
    int rc;

    free(take_ptr(p->last)); /* of an earlier call */
    for (size_t i = 0; i < step->task_count; i++) {
        const struct task *t = &step->tasks[i];

        p->tasks[i] = (struct stack_task){t->id, t->local, t->pid ? t->pid : t->last_pid, t->ended,
                                          t->wait_status};
    }
    stack_set_tasks(p->stack, p->tasks, step->task_count);
    rc = stack_call(p->stack, which, task < step->task_count ? &p->tasks[task] : NULL, &why);
    if (rc < 0)
        err_set(err, rc, "%s%s%s", why.text, p->last ? ": " : "", p->last ? p->last : "");
    return rc;
}

static void count_descriptors(bool open[DESCRIPTORS_SEEN])
{
    for (int fd = 3; fd < DESCRIPTORS_SEEN; fd++)
        open[fd] = fcntl(fd, F_GETFD) >= 0;
}

/* Keeps the descriptors that are open now and were not before. */
static void keep_descriptors(struct plugin_state *p, const bool before[DESCRIPTORS_SEEN])
{
    for (int fd = 3; fd < DESCRIPTORS_SEEN; fd++)
        if (!before[fd] && fcntl(fd, F_GETFD) >= 0)
            vec_push(&p->fds, fd);
}

static void read_rows(const struct step *step, struct plugstack *rows)
{
    for (size_t i = 0; i < step->start->n_spank_plugins; i++)
        vec_push(&rows->plugins, step->start->spank_plugins[i]);
}

static int load_plugins(struct step *step, struct err *err)
{
    struct plugin_state *p = step->plugin;
    const Pb__JobPayload *payload = step->batch ? step->batch->payload : NULL;
    const struct stack_host host = {.context = S_CTX_REMOTE,
                                    .ctx = step,
                                    .say = on_plugin_say,
                                    .env_get = on_env_get,
                                    .env_set = on_env_set,
                                    .env_unset = on_env_unset,
                                    .env_all = on_env_all,
                                    .argv_prepend = on_prepend};
    struct plugstack rows = {0};
    int rc;

    read_rows(step, &rows);
    rc = stack_open(&rows, &host, &p->stack, err);
    vec_done(&rows.plugins); /* rows are borrowed */
    if (rc < 0)
        return rc;
    make_facts(step, &p->facts);
    stack_set_facts(p->stack, &p->facts.facts);
    if (step->launch)
        stack_give_options(p->stack, step->launch->spank_options, step->launch->n_spank_options);
    else if (payload)
        stack_give_options(p->stack, payload->spank_options, payload->n_spank_options);
    rc = stack_init(p->stack, err);
    return rc < 0 ? rc : call_plugins(step, STACK_INIT_POST_OPT, SIZE_MAX, err);
}

int plugin_limit_rights(const struct step *step, struct err *err)
{
    return 0;
}

int plugin_open(struct step *step, struct err *err)
{
    bool before[DESCRIPTORS_SEEN];
    int rc;

    if (!step->start->n_spank_plugins)
        return 0;
    step->plugin = mem_new(struct plugin_state);
    step->plugin->tasks = mem_new_array(struct stack_task, step->task_count);
    count_descriptors(before);
    rc = load_plugins(step, err);
    keep_descriptors(step->plugin, before);
    return rc;
}

bool plugin_is_open(const struct step *step)
{
    return step->plugin && step->plugin->stack;
}

/* For the duration of a call: changes the effective ids only, so that the user cannot signal this
   process. */
static int lower_rights(const struct step *step, struct err *err)
{
    if (setgroups(step->group_count, step->groups) || setegid(step->gid) || seteuid(step->uid))
        return err_set(err, -errno, "cannot become user %u for plugins: %s", (unsigned)step->uid,
                       strerror(errno));
    return 0;
}

static int raise_again(gid_t gid, size_t count, const gid_t *groups, struct err *err)
{
    if (seteuid(0) || setegid(gid) || setgroups(count, groups))
        return err_set(err, -errno, "cannot become root again: %s", strerror(errno));
    return 0;
}

int plugin_user_init(struct step *step, struct err *err)
{
    bool before[DESCRIPTORS_SEEN], root = geteuid() == 0;
    int count = getgroups(0, NULL), rc = 0, back = 0;
    _cleanup_free_ gid_t *groups = mem_new_array(gid_t, count > 0 ? (size_t)count : 1);
    gid_t gid = getegid();

    if (!plugin_is_open(step) || !stack_has(step->plugin->stack, STACK_USER_INIT))
        return 0;
    count = getgroups(count, groups);
    count_descriptors(before);
    if (root)
        rc = lower_rights(step, err);
    if (rc == 0)
        rc = call_plugins(step, STACK_USER_INIT, SIZE_MAX, err);
    if (root)
        back = raise_again(gid, count > 0 ? (size_t)count : 0, groups, err);
    keep_descriptors(step->plugin, before);
    return rc ? rc : back;
}

int plugin_task_privileged(struct task *t, struct child_plan *plan, struct err *err)
{
    struct step *step = t->step;

    if (!plugin_is_open(step))
        return 0;
    step->plugin->in_child = true;
    step->plugin->plan = plan;
    str_clear(&step->plugin->pending);
    t->pid = getpid();
    return call_plugins(step, STACK_TASK_INIT_PRIVILEGED, t->local, err);
}

int plugin_task_init(struct task *t, struct child_plan *plan, struct err *err)
{
    if (!plugin_is_open(t->step))
        return 0;
    t->step->plugin->has_streams = true;
    flush_lines(t->step);
    return call_plugins(t->step, STACK_TASK_INIT, t->local, err);
}

const int *plugin_descriptors(const struct step *step, size_t *count)
{
    *count = step->plugin ? step->plugin->fds.len : 0;
    return step->plugin ? step->plugin->fds.data : NULL;
}

int plugin_task_forked(struct task *t, struct err *err)
{
    return plugin_is_open(t->step) ? call_plugins(t->step, STACK_TASK_POST_FORK, t->local, err) : 0;
}

void plugin_task_ended(struct task *t)
{
    struct err err = {0};

    if (plugin_is_open(t->step) && call_plugins(t->step, STACK_TASK_EXIT, t->local, &err) < 0)
        on_plugin_say(t->step, STACK_ERROR, err.text);
}

void plugin_started(struct step *step)
{
    if (!plugin_is_open(step))
        return;
    step->plugin->has_streams = true;
    flush_lines(step);
}

void plugin_exit(struct step *step)
{
    struct err err = {0};

    if (!plugin_is_open(step) || step->plugin->exited)
        return;
    step->plugin->exited = true;
    if (call_plugins(step, STACK_EXIT, SIZE_MAX, &err) < 0)
        on_plugin_say(step, STACK_ERROR, err.text);
}

void plugin_done(struct step *step)
{
    struct plugin_state *p = take_ptr(step->plugin);

    if (!p)
        return;
    stack_close(p->stack);
    free_facts(&p->facts);
    str_done(&p->pending);
    vec_done(&p->fds);
    free(p->last);
    free(p->tasks);
    free(p);
}
