/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/mpi/mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "slurmstepd/env/vars.h"
#include "slurmstepd/mpi/pmi.h"
#include "slurmstepd/stream/srun.h"

#define SEND_BUFFER                                                                                \
    (1 << 18) /* bytes of answers to one task, which asks one question at a time                   \
               */

static void on_mpi_abort(void *ctx, uint32_t local, int exit_code, const char *text)
{
    struct step *step = ctx;

    srun_abort(step, exit_code, text, false);
    step->life->terminate(step, step->kill_wait_sec, NULL);
}

static void break_off(struct step *step, const char *text)
{
    srun_abort(step, 1, text, true);
    step->life->terminate(step, step->kill_wait_sec, NULL);
}

/* A task that leaves this much unread is not using an MPI library. */
static void on_send(void *ctx, uint32_t local, const char *line, size_t len)
{
    struct step *step = ctx;
    struct task *t = &step->tasks[local];
    _cleanup_free_ char *text = NULL;
    ssize_t n;
    int e;

    if (t->pmi_fd < 0)
        return;
    n = send(t->pmi_fd, line, len, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n == (ssize_t)len)
        return;
    e = n < 0 ? errno : EAGAIN;
    shutdown(t->pmi_fd, SHUT_RDWR);
    if (e != EAGAIN || step_is_ordered(step))
        return; /* the task has ended, which is reported elsewhere */
    text = mem_printf("task %u: PMI: it does not read the answers to what it asks", t->id);
    break_off(step, text);
}

static void on_fence(void *ctx, uint32_t round, const struct pmi_pair *put, size_t count)
{
    struct step *step = ctx;
    Pb__KvsEntry *pairs = mem_new_array(Pb__KvsEntry, count ? count : 1);

    for (size_t i = 0; i < count; i++) {
        pb__kvs_entry__init(&pairs[i]);
        pairs[i].key = (char *)put[i].key;
        pairs[i].value = (char *)put[i].value;
    }
    srun_fence(step, round, pairs, count);
    free(pairs);
}

static void on_mpi_name(void *ctx, uint32_t local, uint32_t id, enum pmi_name_op op,
                        const char *name, const char *value)
{
    struct step *step = ctx;
    Pb__NameRequest m = PB__NAME_REQUEST__INIT;

    m.id = id;
    m.op = op;
    m.name = (char *)name;
    m.task = step->tasks[local].id;
    m.has_value = op == PMI_NAME_PUBLISH;
    if (m.has_value) {
        m.value.data = (uint8_t *)value;
        m.value.len = strlen(value);
    }
    srun_name(step, &m);
}

void mpi_name_done(struct step *step, const Pb__NameReply *m)
{
    _cleanup_free_ char *value = mem_strndup((const char *)m->value.data, m->value.len);

    if (step->pmi)
        pmi_name_done(step->pmi, m->id, m->done, m->has_value ? value : NULL);
}

static void on_spawn(void *ctx, uint32_t local, const Pb__Spawn *m)
{
    struct step *step = ctx;
    Pb__Spawn sent = *m;

    sent.task = step->tasks[local].id;
    srun_spawn(step, &sent);
}

static void on_begun(void *ctx)
{
    srun_begun(ctx);
}

/* The name of all processes of a step as a group. */
static char *format_step_name(uint32_t job_id, uint32_t step_id)
{
    return mem_printf("kvs_%u_%u", job_id, step_id);
}

void mpi_spawned(struct step *step, const Pb__Spawned *m)
{
    _cleanup_free_ char *name = m->code ? NULL : format_step_name(m->job_id, m->step_id);

    if (step->pmi)
        pmi_spawned(step->pmi, m->id, name, m->text ? m->text : "");
}

bool mpi_wanted(const struct step *step)
{
    const char *kind = step->launch ? step->launch->mpi : NULL;

    return str_eq(kind, "pmi2") || str_eq(kind, "pmi1"); /* one implementation serves both */
}

/* Also sets what spawned processes are told about their spawner. */
static void make_pmi(struct step *step, struct pmi_options *options,
                     const struct pmi_events *events)
{
    const Pb__SpawnOrigin *from = step->launch->spawned;
    _cleanup_free_ char *spawner = from ? format_step_name(from->job_id, from->step_id) : NULL;
    _cleanup_free_ struct pmi_pair *preput = NULL;

    if (from) {
        preput = mem_new_array(struct pmi_pair, from->n_preput + 1);
        for (size_t i = 0; i < from->n_preput; i++)
            preput[i] = (struct pmi_pair){from->preput[i]->key, from->preput[i]->value};
        options->spawner = spawner;
        options->preput = preput;
        options->preput_count = from->n_preput;
        options->app_tasks = from->tasks;
        options->app_count = from->n_tasks;
    }
    step->pmi = pmi_new(options, events);
}

void mpi_open(struct step *step)
{
    struct pmi_events events = {on_send,  on_fence, on_mpi_abort, on_mpi_name,
                                on_spawn, on_begun, step};
    const Pb__Cred *cred = step->granted;
    _cleanup_str_ struct str mapping = STR_INIT;
    _cleanup_free_ char *name = NULL;
    struct pmi_options options = {.local_count = (uint32_t)step->task_count};
    uint32_t *node_of, *ranks = mem_new_array(uint32_t, step->task_count);

    for (size_t i = 0; i < step->task_count; i++)
        ranks[i] = step->tasks[i].id;
    options.rank = ranks;
    for (size_t n = 0; n < cred->n_nodes; n++)
        options.size += (uint32_t)cred->nodes[n]->n_task_ids;
    node_of = mem_new_array(uint32_t, options.size);
    for (size_t n = 0; n < cred->n_nodes; n++)
        for (size_t i = 0; i < cred->nodes[n]->n_task_ids; i++)
            if (cred->nodes[n]->task_ids[i] < options.size)
                node_of[cred->nodes[n]->task_ids[i]] = (uint32_t)n;
    vars_format_mapping(node_of, options.size, &mapping);
    free(node_of);
    name = format_step_name(step_set_id_of(step->granted), step->step_id);
    options.kvs_name = name;
    options.universe_size = options.size;
    options.mapping = mapping.len < PMI_VALUE_MAX ? str_cstr(&mapping) : NULL;
    make_pmi(step, &options, &events);
    free(ranks);
}

void mpi_done(struct step *step)
{
    pmi_free(take_ptr(step->pmi));
}

void mpi_task_done(struct task *t)
{
    if (t->pmi_watch)
        loop_fd_free(take_ptr(t->pmi_watch));
    if (t->pmi_fd >= 0)
        close(take_fd(&t->pmi_fd));
}

static void on_readable(void *ctx, int fd, unsigned ready)
{
    struct task *t = ctx;
    struct err err = {0};
    char chunk[4096];
    ssize_t n;

    if (!srun_has_room(t->step)) { /* its requests go to srun and are longer than its messages */
        loop_fd_free(take_ptr(t->pmi_watch));
        return;
    }
    n = read(fd, chunk, sizeof(chunk));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0 && !pmi_feed(t->step->pmi, t->local, chunk, (size_t)n, &err))
        return;
    mpi_task_done(t);
    if (n <= 0)
        return;
    err_prefix(&err, "task %u", t->id);
    break_off(t->step, err.text);
}

void mpi_drained(struct step *step)
{
    for (size_t i = 0; step->pmi && i < step->task_count; i++) {
        struct task *t = &step->tasks[i];

        if (t->pmi_fd >= 0 && !t->pmi_watch)
            t->pmi_watch = loop_fd_new(step->loop, t->pmi_fd, LOOP_READ, on_readable, t);
    }
}

/* The last message of the ended task may be unread. Reads what is available now, but not what a
 * child of the task, which has the descriptor as well, writes later. */
static void read_rest(struct task *t)
{
    char chunk[4096];
    int left = 0;

    if (t->pmi_fd < 0 || ioctl(t->pmi_fd, FIONREAD, &left))
        return;
    while (left > 0) {
        size_t most = (size_t)left < sizeof(chunk) ? (size_t)left : sizeof(chunk);
        ssize_t n = read(t->pmi_fd, chunk, most);

        if (n <= 0 || pmi_feed(t->step->pmi, t->local, chunk, (size_t)n, NULL))
            return;
        left -= (int)n;
    }
}

void mpi_task_ended(struct task *t)
{
    struct step *step = t->step;
    struct err err = {0};

    if (!step->pmi)
        return;
    read_rest(t);
    if (step->phase == STEP_RUNNING && pmi_ended(step->pmi, t->local, t->wait_status != 0, &err)) {
        err_prefix(&err, "task %u", t->id);
        break_off(step, err.text);
    }
}

int mpi_task_open(struct task *t, struct err *err)
{
    int pair[2], size = SEND_BUFFER;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return err_set(err, -errno, "cannot make a socket pair: %s", strerror(errno));
    setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
    t->pmi_fd = pair[0];
    t->pmi_watch = loop_fd_new(t->step->loop, pair[0], LOOP_READ, on_readable, t);
    return pair[1];
}

void mpi_fence_done(struct step *step, const Pb__KvsFence *m)
{
    struct pmi_pair *pairs = mem_new_array(struct pmi_pair, m->n_put ? m->n_put : 1);

    for (size_t i = 0; i < m->n_put; i++)
        pairs[i] = (struct pmi_pair){m->put[i]->key, m->put[i]->value};
    if (step->pmi && pmi_fence_done(step->pmi, m->round, pairs, m->n_put, NULL))
        step->life->terminate(step, 0, "MPI KEY-VALUE SPACE FULL");
    free(pairs);
}
