/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/envlist.h"
#include "base/hostlist.h"
#include "base/mem.h"
#include "base/vec.h"
#include "cli/bind.h"
#include "cli/export.h"
#include "cluster/job/job_env.h"
#include "cluster/job/step_nodes.h"
#include "cmd/srun/option/bind_default.h"
#include "cmd/srun/option/say.h"
#include "cmd/srun/run/command.h"
#include "cmd/srun/run/input.h"
#include "cmd/srun/run/launch.h"
#include "cmd/srun/run/output.h"
#include "cmd/srun/run/peers.h"
#include "cmd/srun/run/run.h"
#include "cmd/srun/run/spawned.h"
#include "cmd/srun/run/x11.h"
#include "launch/alloc.h"
#include "launch/jobenv.h"
#include "launch/origin.h"
#include "launch/proctable.h"
#include "rpc/tree.h"

/* As in variables, except that each count has its "(xN)". */
static void put_counts(const uint32_t *cpus, size_t n, struct str *out)
{
    for (size_t i = 0, same; i < n; i += same) {
        for (same = 1; i + same < n && cpus[i + same] == cpus[i]; same++)
            ;
        str_printf(out, "%s%u(x%zu)", i > 0 ? "," : "", cpus[i], same);
    }
}

void report_allocation(const struct run *run)
{
    const struct Pb__AllocReply *alloc = run->alloc;
    const struct Pb__StepReply *step = run->step;
    _cleanup_(step_nodes_done) struct step_nodes own;
    size_t n = alloc != NULL ? alloc->n_alloc : 0;
    _cleanup_free_ uint32_t *cpus = mem_new_array(uint32_t, n + 1);
    _cleanup_str_ struct str nodes = STR_INIT, counts = STR_INIT;

    for (size_t i = 0; i < n; i++)
        cpus[i] = alloc->alloc[i]->cpus;
    step_nodes_init(&own, alloc != NULL ? NULL : step->layout, alloc != NULL ? 0 : step->n_layout);
    if (alloc == NULL)
        n = own.cpus.len;
    put_counts(alloc != NULL ? cpus : own.cpus.data, n, &counts);
    if (alloc != NULL && alloc->nodes != NULL)
        str_puts(&nodes, alloc->nodes);
    else
        hostlist_format(own.names, &nodes);
    say_verbose("jobid %u: nodes(%zu):`%s', cpu counts: %s", run->job_id, n, str_cstr(&nodes),
                str_cstr(&counts));
}

/* Task numbers are formatted like a host list without names: "[0-1]", or "2". */
static void put_tasks(const struct Pb__StepNode *node, struct str *out)
{
    _cleanup_hostlist_ struct hostlist *ids = hostlist_new();
    char name[16];

    if (node->n_task_ids == 1) {
        str_printf(out, "%u", node->task_ids[0]);
        return;
    }
    for (size_t i = 0; i < node->n_task_ids; i++) {
        snprintf(name, sizeof(name), "%u", node->task_ids[i]);
        hostlist_push(ids, name);
    }
    hostlist_format(ids, out);
}

/* "launching StepId=12.0 on host n1, 2 tasks: [0-1]", one line per node. */
static void report_launch(const struct run *run)
{
    if (run->options->verbose < 1)
        return;
    for (size_t i = 0; i < run->step->n_layout; i++) {
        const struct Pb__StepNode *node = run->step->layout[i];
        _cleanup_str_ struct str tasks = STR_INIT;

        put_tasks(node, &tasks);
        say_verbose("launching %s on host %s, %zu tasks: %s", run->step_name, node->node,
                    node->n_task_ids, str_cstr(&tasks));
    }
}

#define ADDRESSES_MAX 4
#define RETRY_MS 250
#define SPARE_DESCRIPTORS 64

extern char **environ;

/* The launch request to the nodes of one part of the step. */
struct part {
    struct attempt *attempt;
    struct rpc_tree *tree;
    struct rpc_node_target *targets;
    uint32_t *nodes; /* step index of each target */
    size_t count;
};

/* One round of requests: first to all nodes, later to those that could not be reached. */
struct attempt {
    struct launch *launch;
    struct attempt *next;
    struct part *parts;
    size_t count, prepared; /* number of parts, and of those whose nodes are all prepared */
    bool decided;           /* all parts have started, or none will */
    /* A node could not be reached: no part has started, and a later attempt may succeed. */
    bool transient;
};

struct launch {
    struct run *run;
    struct Pb__LaunchTasks **requests; /* by part, in the run's arena */
    struct attempt *attempts;
    struct loop_timer *retry_timer;
    int64_t give_up_at_ms;
    bool here; /* all nodes of the step are on this host; cleared when one cannot be reached */
    VEC(uint32_t) again; /* nodes of the next attempt */
};

/* For a destination on this host the kernel uses a local address, and the destination itself if it
 * is one of the host's addresses. */
static bool same_address(const struct sockaddr *to, const struct sockaddr_storage *own)
{
    const void *a = own, *b = to;

    if (own->ss_family == AF_INET)
        return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
               ((const struct sockaddr_in *)b)->sin_addr.s_addr;
    return memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
                  &((const struct sockaddr_in6 *)b)->sin6_addr, sizeof(struct in6_addr)) == 0;
}

/* The address from which this host would reach another: a UDP socket determines it without sending.
 */
static bool local_towards(const struct sockaddr *to, socklen_t to_len, char out[46], bool *here)
{
    struct sockaddr_storage own = {0};
    socklen_t len = sizeof(own);
    int fd = socket(to->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool found = false;

    if (fd < 0)
        return false;
    if (connect(fd, to, to_len) == 0 && getsockname(fd, (struct sockaddr *)&own, &len) == 0) {
        const void *addr = own.ss_family == AF_INET6
                               ? (const void *)&((struct sockaddr_in6 *)&own)->sin6_addr
                               : (const void *)&((struct sockaddr_in *)&own)->sin_addr;

        found = inet_ntop(own.ss_family, addr, out, 46) != NULL;
        *here = own.ss_family == to->sa_family && same_address(to, &own);
    }
    close(fd);
    return found;
}

static bool local_towards_name(const char *addr, char out[46], bool *here)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(9)};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(9)};
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM, .ai_family = AF_UNSPEC}, *list;
    bool found;

    if (inet_pton(AF_INET, addr, &in.sin_addr) == 1)
        return local_towards((struct sockaddr *)&in, sizeof(in), out, here);
    if (inet_pton(AF_INET6, addr, &in6.sin6_addr) == 1)
        return local_towards((struct sockaddr *)&in6, sizeof(in6), out, here);
    if (getaddrinfo(addr, "9", &hints, &list) != 0)
        return false;
    found = local_towards(list->ai_addr, list->ai_addrlen, out, here);
    freeaddrinfo(list);
    return found;
}

/* The addresses at which nodes reach this host. *all_here: all nodes are on this host. */
static unsigned local_addresses(const struct run *run, char (*out)[46], unsigned max,
                                bool *all_here)
{
    const char *last = NULL;
    unsigned count = 0;

    *all_here = true;
    for (size_t i = 0; i < run->step->n_layout && count < max; i++) {
        const char *addr = run->step->layout[i]->addr;
        unsigned k = 0;
        bool here = false, found;

        if (last != NULL && strcmp(last, addr) == 0)
            continue;
        last = addr;
        found = local_towards_name(addr, out[count], &here);
        *all_here &= here;
        if (!found)
            continue;
        while (k < count && strcmp(out[k], out[count]) != 0)
            k++;
        count += k == count;
        if (i >= 16) /* a sample is enough: all hosts reach us alike */
            break;
    }
    return count;
}

static void free_part(struct part *p)
{
    rpc_tree_free(take_ptr(p->tree));
    free(p->targets);
    free(p->nodes);
    p->targets = NULL;
    p->nodes = NULL;
}

/* No part starts if one of them fails. */
static void abandon_others(struct attempt *a, const struct part *failed, const char *node,
                           const struct err *err)
{
    if (a->decided)
        return;
    a->decided = true;
    for (size_t i = 0; i < a->count; i++)
        if (&a->parts[i] != failed && a->parts[i].tree != NULL)
            rpc_tree_abandon(a->parts[i].tree, node, err->text);
}

static void on_prepared(void *ctx)
{
    struct attempt *a = ((struct part *)ctx)->attempt;

    if (++a->prepared < a->count || a->decided)
        return;
    a->decided = true;
    for (size_t i = 0; i < a->count; i++)
        rpc_tree_commit(a->parts[i].tree);
}

static void on_node(void *ctx, size_t index, int code, const ProtobufCMessage *reply,
                    const struct err *err)
{
    const struct part *p = ctx;
    struct attempt *a = p->attempt;
    struct launch *l = a->launch;
    uint32_t node = p->nodes[index];

    a->transient |= alloc_is_transient(code);
    if (code < 0)
        abandon_others(a, p, p->targets[index].node, err);
    if (code < 0 && (alloc_is_transient(code) || (a->transient && code == -ERR_NOT_BEGUN)) &&
        !l->run->aborting && loop_mono_ms() < l->give_up_at_ms) {
        vec_push(&l->again, node);
        loop_timer_set(l->retry_timer, RETRY_MS);
        return;
    }
    if (code < 0) {
        l->run->on->launch_failed(l->run, node, err);
        return;
    }
    say_debug("launched %s on host %s: shepherd %u", l->run->step_name, p->targets[index].node,
              ((const struct Pb__LaunchReply *)reply)->local_pid);
    peers_expect(l->run->peers, node);
}

static void on_launch_message(void *ctx, const char *text)
{
    say_debug("%s", text);
}

static void on_waits(void *ctx, const char *nodes)
{
    say_info("%s waits to be accepted by %s", ((struct part *)ctx)->attempt->launch->run->step_name,
             nodes);
}

/* Selects those of the nodes that belong to a part of the step. */
static void choose_targets(struct part *p, uint32_t number, const uint32_t *nodes, size_t count)
{
    struct launch *l = p->attempt->launch;
    struct run *run = l->run;

    p->nodes = mem_new_array(uint32_t, count);
    p->targets = mem_new_array(struct rpc_node_target, count);
    for (size_t i = 0; i < count; i++) {
        const struct Pb__StepNode *n = run->step->layout[nodes[i]];

        if (n->part != number)
            continue;
        p->nodes[p->count] = nodes[i];
        p->targets[p->count++] =
            (struct rpc_node_target){n->node, n->addr, (uint16_t)n->port, l->here,
                                     count == 1 ? peers_connection(run->peers) : NULL};
    }
}

static void start_part(struct part *p, struct Pb__LaunchTasks *message)
{
    struct run *run = p->attempt->launch->run;
    struct rpc_tree_request request = {.rpc = RPC_LAUNCH_TASKS,
                                       .message = &message->base,
                                       .has_cred = true,
                                       .timeout_ms = RPC_WAIT_FOREVER,
                                       .commit = RPC_TREE_TOGETHER,
                                       .width = run->options->tree_width,
                                       .tell = on_launch_message,
                                       .waits = on_waits,
                                       .prepared = p->attempt->count > 1 ? on_prepared : NULL};

    p->tree = rpc_tree_start(run->loop, run->conf, p->targets, p->count, &request, on_node, p);
}

static size_t count_parts(const struct run *run)
{
    return run->step->n_parts ? run->step->n_parts : 1;
}

/* Two phases: no task starts while a node can still reject its part. There is no time limit: a
 * prolog may take long, and a repeated request gets the result of the first. */
static void attempt_start(struct launch *l, const uint32_t *nodes, size_t count)
{
    struct attempt *a = mem_new(struct attempt);
    size_t parts = count_parts(l->run);

    a->launch = l;
    a->next = l->attempts;
    l->attempts = a;
    a->parts = mem_new_array(struct part, parts);
    for (uint32_t number = 0; number < parts; number++) {
        struct part *p = &a->parts[a->count];

        p->attempt = a;
        choose_targets(p, number, nodes, count);
        if (p->count > 0)
            a->count++;
        else
            free_part(p);
    }
    for (size_t i = 0; i < a->count; i++)
        start_part(&a->parts[i], l->requests[l->run->step->layout[a->parts[i].nodes[0]]->part]);
}

static void on_retry(void *ctx)
{
    struct launch *l = ctx;

    l->here = false;
    attempt_start(l, l->again.data, l->again.len);
    vec_clear(&l->again);
}

/* --preserve-env: the nodes pass these variables on unchanged. */
static void restore_counts(const struct run *run, struct envlist *env)
{
    static const char *const names[] = {"SLURM_JOB_NUM_NODES",  "SLURM_NNODES", "SLURM_NTASKS",
                                        "SLURM_TASKS_PER_NODE", "SLURM_NPROCS", "SLURM_NODELIST"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        /* In an existing job, unset variables stay unset. */
        if (getenv(names[i]) != NULL || run->alloc == NULL)
            envlist_replace(env, names[i], getenv(names[i]));
}

static const struct Pb__StepSpec *spec_of_part(const struct run *run, uint32_t number)
{
    const struct Pb__StepSpec *spec = run->options->step;

    return spec->n_parts ? spec->parts[number] : spec;
}

/* The CPUs of each task; 0: not set. */
static uint32_t cpus_of_part(const struct run *run, uint32_t number)
{
    if (run->step->n_parts)
        return run->step->parts[number]->cpus_per_task;
    return run->step->has_cpus_per_task ? run->step->cpus_per_task : 0;
}

/* As in Slurm, the tasks of a step without -m see whether its layout is block or cyclic. */
static void put_default_distribution(const struct run *run, uint32_t number, struct envlist *env)
{
    const struct Pb__StepReply *step = run->step;
    uint32_t tasks = step->n_parts ? step->parts[number]->num_tasks : step->num_tasks;
    uint32_t nodes = 0;
    _cleanup_str_ struct str word = STR_INIT;

    for (size_t i = 0; i < step->n_layout; i++)
        nodes += step->layout[i]->part == number;
    str_printf(&word, "%s%s", tasks > nodes ? "block" : "cyclic",
               run->conf->cr & CONF_CR_PACK ? ",pack" : "");
    envlist_set(env, "SLURM_DISTRIBUTION", str_cstr(&word));
    envlist_set(env, DISTRIBUTION_TOLD, str_cstr(&word));
    envlist_unset(env, "SLURM_DIST_PLANESIZE");
}

static void put_distribution(const struct run *run, uint32_t number, struct envlist *env)
{
    const char *distribution = spec_of_part(run, number)->distribution;

    if (distribution == NULL) {
        put_default_distribution(run, number, env);
        return;
    }
    const char *size = strchr(distribution, '=');
    size_t len = strcspn(distribution, "=");
    envlist_setf(env, "SLURM_DISTRIBUTION", "%.*s", (int)len, distribution);
    envlist_unset(env, DISTRIBUTION_TOLD);
    if (str_starts(distribution, "arbitrary"))
        envlist_set(env, JOB_ENV_LIST, spec_of_part(run, number)->nodes);
    if (size != NULL)
        envlist_set(env, "SLURM_DIST_PLANESIZE", size + 1);
}

/* Sets the requested options of the step, which override those of the job. */
static void put_requested(const struct run_options *o, const struct Pb__StepSpec *spec,
                          struct envlist *env)
{
    if (o->label)
        envlist_set(env, "SLURM_LABELIO", "1");
    if (spec->network != NULL)
        envlist_set(env, "SLURM_NETWORK", spec->network);
    if (spec->cpu_freq != NULL)
        envlist_set(env, "SLURM_CPU_FREQ_REQ", spec->cpu_freq);
    if (spec->has_ntasks_per_node)
        envlist_setf(env, "SLURM_NTASKS_PER_NODE", "%u", spec->ntasks_per_node);
    if (spec->has_overcommit && spec->overcommit)
        envlist_set(env, "SLURM_OVERCOMMIT", "1");
}

/* Sets the resources of each task; without such options of the step, the values of the job stay. */
static void put_task_tres(const struct run *run, uint32_t number, struct envlist *env)
{
    const struct Pb__StepSpec *spec = spec_of_part(run, number);
    uint32_t cpus = cpus_of_part(run, number);
    _cleanup_str_ struct str tres = STR_INIT;

    if (cpus > 0 && spec->has_cpus_per_task)
        envlist_setf(env, "SLURM_CPUS_PER_TASK", "%u", cpus);
    job_env_tres(spec->tres_per_task, spec->has_cpus_per_task ? cpus : 0, &tres);
    if (tres.len)
        envlist_set(env, "SLURM_TRES_PER_TASK", str_cstr(&tres));
}

/* In a job that srun creates: the directory where srun was started, not the one of the tasks
 * (--chdir). */
static void put_submit_directory(struct envlist *env)
{
    _cleanup_free_ char *cwd = getcwd(NULL, 0);

    if (cwd != NULL)
        envlist_set(env, "SLURM_SUBMIT_DIR", cwd);
}

static void build_env(const struct run *run, uint32_t number, const char *address,
                      struct envlist *env)
{
    const struct run_options *o = run_part_options(run, number);
    mode_t mask = umask(0);

    umask(mask);
    export_variables(env, o->export_spec, o->environment, false);
    if (run->alloc != NULL) {
        jobenv_alloc(env, run->alloc, run->conf);
        put_submit_directory(env);
    } else if (run->step->job_nodes != NULL) {
        envlist_replace(env, "SLURM_JOB_NODELIST", run->step->job_nodes);
        envlist_default(env, "SLURM_CLUSTER_NAME", run->conf->cluster_name);
        envlist_default(env, "SLURM_CONF", run->conf->path);
    }
    jobenv_cluster(env, run->conf);
    jobenv_step(env, run->step);
    put_requested(o, spec_of_part(run, number), env);
    put_distribution(run, number, env);
    put_task_tres(run, number, env);
    envlist_setf(env, "SLURM_UMASK", "%04o", (unsigned)mask);
    envlist_setf(env, ORIGIN_MASK_TOLD, "%04o", (unsigned)mask);
    envlist_setf(env, "SLURM_PRIO_PROCESS", "%d", getpriority(PRIO_PROCESS, 0));
    envlist_setf(env, "SRUN_DEBUG", "%d", 3 + o->verbose);
    envlist_setf(env, "SLURM_SRUN_COMM_PORT", "%u", peers_port(run->peers));
    envlist_setf(env, "SLURM_STEP_LAUNCHER_PORT", "%u", peers_port(run->peers));
    envlist_replace(env, "SLURM_SRUN_COMM_HOST", address);
    envlist_replace(env, "SLURM_LAUNCH_NODE_IPADDR", address);
    if (o->preserve_env)
        restore_counts(run, env);
}

/* Tasks that share a node and have different CPU counts are bound to all CPUs of the step there,
 * unless an option sets the binding. */
static void bind_shared(struct run *run, uint32_t number, struct Pb__LaunchTasks *m)
{
    bool differ = false;

    for (uint32_t i = 0; i < run->step->n_parts; i++)
        differ |= run->step->parts[i]->cpus_per_task != run->step->parts[number]->cpus_per_task;
    if (m->cpu_bind == NULL && differ && shared_has_others(run, number))
        bind_read_cpu("none", &run->arena, &m->cpu_bind, NULL);
}

static void fill_request(struct run *run, uint32_t number, struct Pb__LaunchTasks *m)
{
    const struct run_options *o = run_part_options(run, number);
    const struct Pb__StepReply *step = run->step;
    const struct Pb__StepSpec *spec = spec_of_part(run, number);
    const struct run_command *command = &run->commands[number];
    uint32_t cpus = cpus_of_part(run, number);

    m->cred = step->cred;
    m->signature = step->signature;
    m->has_part = number > 0;
    m->part = number;
    m->argv = command->argv;
    m->n_argv = (size_t)command->argc;
    m->work_dir = (char *)o->work_dir;
    m->io_port = peers_port(run->peers);
    m->io_local = (char *)peers_local(run->peers);
    m->io_key.data = (uint8_t *)peers_token(run->peers);
    m->io_key.len = AUTH_TOKEN_SIZE;
    m->std_in = (char *)input_node_file(run->input, number);
    m->std_in_mode = (char *)input_mode(run->input, number);
    m->std_out = (char *)output_node_pattern(run->output, number, 1);
    m->std_err = (char *)output_node_pattern(run->output, number, 2);
    m->has_open_append = 1;
    m->open_append = o->append;
    /* One value for all parts: their tasks form one application. */
    m->mpi = (char *)run->options->mpi;
    m->x11 = x11_request(run->x11);
    m->job_name = (char *)o->job_name;
    m->has_kill_on_bad_exit = 1;
    m->kill_on_bad_exit = run->options->kill_on_bad_exit;
    m->task_prolog = (char *)o->task_prolog;
    m->task_epilog = (char *)o->task_epilog;
    m->has_pty = 1;
    m->pty = run->options->pty;
    m->has_unbuffered = 1;
    m->unbuffered = run->options->unbuffered;
    m->has_label = 1;
    m->label = run->options->label;
    if (run->alloc != NULL)
        m->partition = run->alloc->partition;
    m->has_overcommit = 1;
    m->overcommit = spec->has_overcommit && spec->overcommit;
    m->has_debug = m->debug = proctable_is_debugged();
    m->has_preserve_env = 1;
    m->preserve_env = o->preserve_env;
    m->has_acctg_sec = o->job->has_acctg_sec;
    m->acctg_sec = o->job->acctg_sec;
    m->has_oom_kill_step = spec->has_oom_kill_step;
    m->oom_kill_step = spec->oom_kill_step;
    m->cpu_freq = spec->cpu_freq;
    m->has_wait_for_children = 1;
    m->wait_for_children = o->wait_for_children;
    m->has_slurmd_debug = o->slurmd_debug >= 0;
    m->slurmd_debug = m->has_slurmd_debug ? (uint32_t)o->slurmd_debug : 0;
    m->has_program_per_node = m->has_program_libs = 1;
    m->program_per_node = command->per_node;
    m->program_libs = command->has_libs;
    m->spank_options = o->spank_options;
    m->n_spank_options = o->spank_option_count;
    m->cpu_bind = o->cpu_bind;
    bind_shared(run, number, m);
    bind_settle(step->n_parts ? step->parts[number]->cpu_bind : step->cpu_bind,
                run->conf->task_plugin_param, &run->arena, &m->cpu_bind);
    m->mem_bind = o->mem_bind;
    m->gpu_bind = o->gpu_bind;
    m->spawned = spawned_origin(o->order, &run->arena);
    m->has_cpus_per_task = 1;
    m->cpus_per_task = cpus > 0 ? cpus : 1;
}

/* ANY: tasks are distributed over sockets, and cores follow. */
static void fill_orders(const struct dist *d, struct Pb__LaunchTasks *m)
{
    m->has_socket_order = 1;
    m->socket_order = d->sockets ? d->sockets - DIST_CYCLIC : 0;
    m->has_core_order = d->cores != DIST_ANY;
    m->core_order = m->has_core_order ? d->cores - DIST_CYCLIC : 0;
}

/* One descriptor per node, and as many for unauthenticated connections. Call after the limits for
 * the tasks were read. */
static void raise_descriptor_limit(size_t nodes)
{
    struct rlimit now;

    if (getrlimit(RLIMIT_NOFILE, &now) < 0 || now.rlim_cur >= 4 * nodes + SPARE_DESCRIPTORS)
        return;
    now.rlim_cur = now.rlim_max;
    setrlimit(RLIMIT_NOFILE, &now);
}

/* Makes the request to the nodes of a part, which stays in the run's arena for repeats. */
static struct Pb__LaunchTasks *make_request(struct run *run, uint32_t number, bool *here)
{
    struct Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT, *kept;
    char addresses[ADDRESSES_MAX][46], *address[ADDRESSES_MAX];
    struct origin_limits limits;
    struct envlist env = {0};
    struct str nodes = STR_INIT, bytes = STR_INIT;
    mode_t mask = umask(0);
    unsigned count = local_addresses(run, addresses, ADDRESSES_MAX, here);

    umask(mask);
    for (unsigned i = 0; i < count; i++)
        address[i] = addresses[i];
    fill_request(run, number, &m);
    fill_orders(&run_part_options(run, number)->dist, &m);
    m.io_addr = address;
    m.n_io_addr = count;
    origin_limits_init(&limits, run_part_options(run, number)->propagate, run->conf);
    m.rlimits = limits.list;
    m.n_rlimits = limits.count;
    m.has_umask = 1;
    m.umask = mask;
    build_env(run, number, count > 0 ? addresses[0] : NULL, &env);
    m.env = env.vars.data;
    m.n_env = env.vars.len;
    jobenv_step_nodes(run->step, &nodes);
    m.step_nodes = nodes.data;
    pb_pack(&m.base, &bytes);
    kept = arena_unpack(&run->arena, m.base.descriptor, bytes.data, bytes.len);
    envlist_done(&env);
    str_done(&nodes);
    str_done(&bytes);
    return kept;
}

struct launch *launch_start(struct run *run)
{
    struct launch *l = mem_new(struct launch);
    int *connection = peers_connection(run->peers);
    size_t count = run->step->n_layout;
    _cleanup_free_ uint32_t *all = mem_new_array(uint32_t, count);

    for (uint32_t i = 0; i < count; i++)
        all[i] = i;
    l->run = run;
    l->give_up_at_ms = loop_mono_ms() + run->conf->message_timeout_sec * 1000;
    l->retry_timer = loop_timer_new(run->loop, on_retry, l);
    l->requests = arena_alloc(&run->arena, count_parts(run) * sizeof(*l->requests));
    for (uint32_t number = 0; number < count_parts(run); number++)
        l->requests[number] = make_request(run, number, &l->here);
    raise_descriptor_limit(count);
    report_launch(run);
    attempt_start(l, all, count);
    if (*connection >= 0) /* the connection was not taken over */
        close(take_fd(connection));
    return l;
}

void launch_free(struct launch *l)
{
    if (l == NULL)
        return;
    while (l->attempts != NULL) {
        struct attempt *a = l->attempts;

        l->attempts = a->next;
        for (size_t i = 0; i < a->count; i++)
            free_part(&a->parts[i]);
        free(a->parts);
        free(a);
    }
    loop_timer_free(l->retry_timer);
    vec_done(&l->again);
    free(l);
}
