/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/pmixd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "loop/loop.h"
#include "rpc/link.h"

#define SHEPHERD_FD 3
#define DESCRIPTORS_MAX 65536
#define BLOB_MAX (15u << 20) /* what fits into a message, with its head */
#define MODULE_SIZE 1024     /* libpmix 5 knows more functions than we were compiled with */

/* How often a group has met. */
struct meetings {
    UT_hash_handle hh;
    char *group;
    uint32_t count;
};

struct pmixd {
    struct loop *loop;
    struct rpc_link *link;
    const struct pmixd_lib *lib;
    struct pmixd_job job;
    bool started;
    bool is_related; /* processes of other steps may wait for ours */
    int wake_fd;
    struct meetings *meetings;
    struct pmixd_call *calls; /* without an answer */
    uint32_t next_id;
};

static void on_released(void *data)
{
    free(data);
}

struct results {
    pmix_info_t info[2];
    size_t count;
};

static void on_results_read(void *ctx)
{
    struct results *r = ctx;

    for (size_t i = 0; i < r->count; i++) /* the library may have taken the bytes */
        if (r->info[i].value.type == PMIX_BYTE_OBJECT)
            free(r->info[i].value.data.bo.bytes);
    free(r);
}

/* What the members of a new group have brought, and its number. */
static void give_group(const struct pmixd_call *c, uint64_t context, const void *data, size_t len)
{
    struct results *r = mem_new(struct results);
    pmix_info_t *i = r->info;

    if (c->wants_context) {
        strncpy(i->key, PMIX_GROUP_CONTEXT_ID, sizeof(i->key) - 1);
        i->value.type = PMIX_SIZE;
        i->value.data.size = context;
        i++;
    }
    if (len) {
        strncpy(i->key, PMIX_GROUP_ENDPT_DATA, sizeof(i->key) - 1);
        i->value.type = PMIX_BYTE_OBJECT;
        i->value.data.bo = (pmix_byte_object_t){mem_dup(data, len), len};
        i++;
    }
    r->count = (size_t)(i - r->info);
    c->grouped(PMIX_SUCCESS, r->info, r->count, c->ctx, on_results_read, r);
}

/* Data for the library, which gives it back when it has read it. */
static void give(const struct pmixd_call *c, pmix_status_t status, const void *data, size_t len)
{
    char *copy = mem_alloc(len ? len : 1);

    if (len)
        memcpy(copy, data, len);
    if (c->modex) {
        c->modex(status, copy, len, c->ctx, on_released, copy);
        return;
    }
    free(copy);
    if (c->op)
        c->op(status, c->ctx);
}

static struct pmixd_call *remember(struct pmixd *p, struct pmixd_call *c)
{
    c->next = p->calls;
    p->calls = c;
    return c;
}

static void forget(struct pmixd *p, struct pmixd_call *c)
{
    struct pmixd_call **at = &p->calls;

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    pmixd_call_free(c);
}

static void end_step(struct pmixd *p, int code, const char *text, bool broken)
{
    Pb__KvsAbort m = PB__KVS_ABORT__INIT;

    m.exit_code = code;
    m.text = (char *)text;
    m.has_broken = m.broken = broken;
    rpc_link_send(p->link, RPC_PMIXD_ABORT, false, 0, &m.base);
}

/* Too much for a message would never arrive, and the others would wait for ever. */
static bool fits(struct pmixd *p, const struct pmixd_call *c)
{
    _cleanup_free_ char *text = NULL;

    if (c->len <= BLOB_MAX)
        return true;
    text = mem_printf("PMIx: a node puts %zu bytes into a fence, and %u are the limit", c->len,
                      BLOB_MAX);
    end_step(p, 1, text, true);
    return false;
}

static uint32_t count_meeting(struct pmixd *p, const char *group)
{
    struct meetings *m;

    HASH_FIND(hh, p->meetings, group, strlen(group), m);
    if (!m) {
        m = mem_new(struct meetings);
        m->group = mem_strdup(group);
        HASH_ADD_KEYPTR(hh, p->meetings, m->group, strlen(m->group), m);
    }
    return m->count++;
}

static void take_fence(struct pmixd *p, struct pmixd_call *c)
{
    Pb__PmixFence m = PB__PMIX_FENCE__INIT;
    char *name;

    bool alone = c->node_count == 1 && !c->step_count && !c->wants_context;

    if (alone || !fits(p, c)) {
        if (c->grouped)
            give_group(c, 0, c->data, c->len);
        else
            give(c, PMIX_SUCCESS, c->data, c->len);
        pmixd_call_free(c);
        return;
    }
    name = mem_printf("%s#%u", c->group, count_meeting(p, c->group));
    free(c->group);
    c->group = name;
    m.group = c->group;
    m.node = c->nodes;
    m.n_node = c->node_count;
    m.step = c->steps;
    m.n_step = c->step_count;
    m.has_data = true;
    m.data.data = (uint8_t *)c->data;
    m.data.len = c->len;
    rpc_link_send(p->link, RPC_PMIXD_FENCE, false, 0, &m.base);
    remember(p, c);
}

static void take_get(struct pmixd *p, struct pmixd_call *c)
{
    Pb__PmixGet m = PB__PMIX_GET__INIT;

    c->id = ++p->next_id;
    m.id = c->id;
    m.task = c->task;
    m.has_step = c->has_step;
    m.step = c->step;
    rpc_link_send(p->link, RPC_PMIXD_GET, false, 0, &m.base);
    remember(p, c);
}

static void take_got(struct pmixd *p, struct pmixd_call *c)
{
    Pb__PmixGot m = PB__PMIX_GOT__INIT;

    m.id = c->id;
    m.node = c->node;
    m.has_step = c->has_step;
    m.step = c->step;
    m.status = c->len > BLOB_MAX ? PMIX_ERROR : c->status;
    m.has_data = c->len <= BLOB_MAX;
    m.data.data = (uint8_t *)c->data;
    m.data.len = c->len;
    rpc_link_send(p->link, RPC_PMIXD_GOT, false, 0, &m.base);
    pmixd_call_free(c);
}

static void take_abort(struct pmixd *p, struct pmixd_call *c)
{
    _cleanup_free_ char *text = mem_printf("task %u: %s", c->task, c->text ? c->text : "");

    end_step(p, c->status, text, c->broken);
    give(c, PMIX_SUCCESS, NULL, 0);
    pmixd_call_free(c);
}

/* Who is left to wait is on other nodes. */
static void take_left(struct pmixd *p, struct pmixd_call *c)
{
    Pb__Empty m = PB__EMPTY__INIT;

    if (c->broken && (p->job.nodes > 1 || p->is_related))
        take_abort(p, c);
    else
        pmixd_call_free(c);
    rpc_link_send(p->link, RPC_PMIXD_LEFT, true, 0, &m.base);
}

static void names_done(struct pmixd *p, struct pmixd_call *c);

/* One question for each name; the answers come in any order. */
static void take_names(struct pmixd *p, struct pmixd_call *c)
{
    c->id = ++p->next_id;
    remember(p, c);
    c->left = c->name_count;
    if (!c->left)
        names_done(p, c);
    for (size_t i = 0, count = c->left; i < count; i++) {
        Pb__NameRequest m = PB__NAME_REQUEST__INIT;

        m.id = c->id;
        m.op = c->kind == PMIXD_PUBLISH ? 1 : c->kind == PMIXD_UNPUBLISH ? 2 : 3;
        m.name = c->names[i].key;
        m.task = c->task;
        m.has_value = c->kind == PMIXD_PUBLISH;
        m.value.data = (uint8_t *)c->names[i].data;
        m.value.len = c->names[i].len;
        m.has_wait = m.wait = c->wait;
        rpc_link_send(p->link, RPC_PMIXD_NAME, false, (uint64_t)c->id << 32 | i, &m.base);
    }
}

static void take_event(struct pmixd *p, struct pmixd_call *c)
{
    Pb__PmixEvent m = PB__PMIX_EVENT__INIT;

    m.has_signal = c->signal != 0;
    m.signal = c->signal;
    m.has_data = c->data != NULL;
    m.data.data = (uint8_t *)c->data;
    m.data.len = c->len;
    if (c->len <= BLOB_MAX)
        rpc_link_send(p->link, RPC_PMIXD_EVENT, false, 0, &m.base);
    pmixd_call_free(c);
}

static void take_spawn(struct pmixd *p, struct pmixd_call *c)
{
    c->id = c->spawn->id = ++p->next_id;
    rpc_link_send(p->link, RPC_PMIXD_SPAWN, false, 0, &c->spawn->base);
    remember(p, c);
}

static void on_wake(void *ctx, int fd, unsigned ready)
{
    struct pmixd *p = ctx;
    Pb__Spawned begun = PB__SPAWNED__INIT;
    struct pmixd_call *c;

    if (read(fd, &c, sizeof(c)) != sizeof(c))
        return;
    switch (c->kind) {
    case PMIXD_FENCE:
        take_fence(p, c);
        break;
    case PMIXD_GET:
        take_get(p, c);
        break;
    case PMIXD_GOT:
        take_got(p, c);
        break;
    case PMIXD_ABORT:
        take_abort(p, c);
        break;
    case PMIXD_LEFT:
        take_left(p, c);
        break;
    case PMIXD_SPAWN:
        take_spawn(p, c);
        break;
    case PMIXD_EVENT:
        take_event(p, c);
        break;
    case PMIXD_BEGUN:
        rpc_link_send(p->link, RPC_PMIXD_SPAWN, true, 0, &begun.base);
        pmixd_call_free(c);
        break;
    case PMIXD_PUBLISH:
    case PMIXD_UNPUBLISH:
    case PMIXD_LOOKUP:
        take_names(p, c);
        break;
    }
}

static bool unpack(const struct pmixd *p, const struct pmixd_name *n, pmix_pdata_t *out)
{
    pmix_byte_object_t bytes = {mem_dup(n->data, n->len), n->len};
    pmix_data_buffer_t buffer;
    int32_t count = 1;

    memset(&buffer, 0, sizeof(buffer));
    pmixd_job_nspace(&p->job, n->step, out->proc.nspace);
    out->proc.rank = n->task;
    strncpy(out->key, n->key, sizeof(out->key) - 1);
    return p->lib->PMIx_Data_load(&buffer, &bytes) == PMIX_SUCCESS &&
           p->lib->PMIx_Data_unpack(NULL, &buffer, &out->value, &count, PMIX_VALUE) == PMIX_SUCCESS;
}

static void names_done(struct pmixd *p, struct pmixd_call *c)
{
    pmix_pdata_t *list = mem_new_array(pmix_pdata_t, c->name_count + 1);
    pmix_status_t status = PMIX_SUCCESS;
    size_t found = 0, done = 0;

    for (size_t i = 0; i < c->name_count; i++) {
        done += c->names[i].found;
        if (c->names[i].found && c->lookup && unpack(p, &c->names[i], &list[found]))
            found++;
    }
    if (c->lookup && found < c->name_count)
        status = found ? PMIX_ERR_PARTIAL_SUCCESS : PMIX_ERR_NOT_FOUND;
    else if (c->kind == PMIXD_PUBLISH && done < c->name_count)
        status = PMIX_ERR_DUPLICATE_KEY;
    if (c->lookup)
        c->lookup(status, list, found, c->ctx); /* copies it */
    else if (c->op)
        c->op(status, c->ctx);
    free(list);
    forget(p, c);
}

/* --- from the shepherd ------------------------------------------------------------------------ */

static void on_fenced(struct pmixd *p, const Pb__PmixFence *m)
{
    for (struct pmixd_call *c = p->calls; c; c = c->next)
        if (c->kind == PMIXD_FENCE && !strcmp(c->group, m->group)) {
            for (size_t i = 0; i < m->n_job; i++)
                pmixd_job_add_other(&p->job, p->lib, m->job[i]);
            if (c->grouped)
                give_group(c, m->context, m->data.data, m->data.len);
            else
                give(c, PMIX_SUCCESS, m->data.data, m->data.len);
            forget(p, c);
            return;
        }
}

static void on_got(struct pmixd *p, const Pb__PmixGot *m)
{
    for (struct pmixd_call *c = p->calls; c; c = c->next)
        if (c->kind == PMIXD_GET && c->id == m->id) {
            give(c, m->status, m->data.data, m->data.len);
            forget(p, c);
            return;
        }
}

/* Another node asks for what a task here has put; the library answers when it has. */
static void on_get(struct pmixd *p, const Pb__PmixGet *m)
{
    struct pmixd_call *c = mem_new(struct pmixd_call);
    pmix_proc_t proc;
    pmix_status_t rc;

    memset(&proc, 0, sizeof(proc));
    memcpy(proc.nspace, p->job.nspace, sizeof(p->job.nspace));
    proc.rank = m->task;
    c->kind = PMIXD_GOT;
    c->id = m->id;
    c->node = m->node;
    c->has_step = m->has_from && m->from != p->job.step;
    c->step = m->from;
    rc = p->lib->PMIx_server_dmodex_request(&proc, pmixd_calls_found, c);
    if (rc == PMIX_SUCCESS)
        return;
    c->status = rc;
    take_got(p, c);
}

static void on_name(struct pmixd *p, uint64_t id, const Pb__NameReply *m)
{
    struct pmixd_call *c = p->calls;
    uint32_t index = (uint32_t)id;
    struct pmixd_name *n;

    while (c && (c->id != id >> 32 || !c->names))
        c = c->next;
    if (!c || index >= c->name_count)
        return;
    n = &c->names[index];
    n->found = m->done;
    if (c->kind == PMIXD_LOOKUP && m->has_value) {
        free(n->data);
        n->data = mem_alloc(m->value.len + 1);
        memcpy(n->data, m->value.data, m->value.len);
        n->len = m->value.len;
        n->task = m->task;
        n->step = m->has_step ? m->step : p->job.step;
    }
    if (!--c->left)
        names_done(p, c);
}

static void on_spawned(struct pmixd *p, const Pb__Spawned *m)
{
    char nspace[PMIX_MAX_NSLEN + 1] = "";

    for (struct pmixd_call *c = p->calls; c; c = c->next) {
        if (c->kind != PMIXD_SPAWN || c->id != m->id)
            continue;
        if (m->code == 0) {
            pmixd_job_nspace(&p->job, m->step_id, nspace);
            p->is_related = true;
        }
        if (m->job)
            pmixd_job_add_other(&p->job, p->lib, m->job);
        c->spawned(m->code ? PMIX_ERR_JOB_FAILED_TO_LAUNCH : PMIX_SUCCESS, nspace, c->ctx);
        forget(p, c);
        return;
    }
}

static int start(struct pmixd *p, const Pb__PmixStart *m, Pb__PmixStarted *answer, struct err *err)
{
    _Alignas(max_align_t) static char module[MODULE_SIZE];
    int fds[2], rc = pmixd_job_init(&p->job, m, err);
    long long major;

    p->is_related = p->job.is_spawned;
    if (!rc)
        rc = pmixd_lib_get(&p->lib, err);
    if (rc)
        return rc;
    major = strtoll(pmixd_lib_version(p->lib), NULL, 10);
    if (m->has_major && m->major != major)
        return err_set(err, -ERR_NOT_SUPPORTED, "--mpi=pmix_v%u: the libpmix here is version %s",
                       m->major, pmixd_lib_version(p->lib));
    if (pipe2(fds, O_CLOEXEC))
        return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
    p->wake_fd = fds[0];
    loop_fd_new(p->loop, fds[0], LOOP_READ, on_wake, p);
    pmixd_calls_init((pmix_server_module_t *)module, &p->job, p->lib, fds[1]);
    return pmixd_job_register(&p->job, p->lib, (pmix_server_module_t *)module, answer, err);
}

static void on_start(struct pmixd *p, uint64_t id, const Pb__PmixStart *m)
{
    Pb__PmixStarted answer = PB__PMIX_STARTED__INIT;
    struct err err = {0};

    answer.code = -start(p, m, &answer, &err);
    answer.text = err.text;
    if (answer.code)
        answer.n_env = 0;
    p->started = !answer.code;
    rpc_link_send(p->link, RPC_PMIXD_START, true, id, &answer.base);
}

static void on_message(void *ctx, struct rpc_link *l, const struct rpc_header *h,
                       const ProtobufCMessage *body)
{
    struct pmixd *p = ctx;
    bool reply = h->flags & RPC_FLAG_REPLY;

    if (h->rpc == RPC_PMIXD_START && !reply && !p->lib)
        on_start(p, h->id, (const Pb__PmixStart *)body);
    else if (!p->started)
        return;
    else if (h->rpc == RPC_PMIXD_LEFT && !reply)
        pmixd_calls_left();
    else if (h->rpc == RPC_PMIXD_SPAWN && reply)
        on_spawned(p, (const Pb__Spawned *)body);
    else if (h->rpc == RPC_PMIXD_EVENT && !reply)
        pmixd_more_event(((const Pb__PmixEvent *)body)->data.data,
                         ((const Pb__PmixEvent *)body)->data.len);
    else if (h->rpc == RPC_PMIXD_NAME && reply)
        on_name(p, h->id, (const Pb__NameReply *)body);
    else if (h->rpc == RPC_PMIXD_FENCE && !reply)
        on_fenced(p, (const Pb__PmixFence *)body);
    else if (h->rpc == RPC_PMIXD_GET && !reply)
        on_get(p, (const Pb__PmixGet *)body);
    else if (h->rpc == RPC_PMIXD_GOT && !reply)
        on_got(p, (const Pb__PmixGot *)body);
}

/* The shepherd has gone, and all tasks with it. */
static void on_close(void *ctx, struct rpc_link *l, const struct err *why)
{
    _exit(0);
}

/* The step's signals are for its tasks; our end comes by SIGKILL. */
static void ignore_signals(void)
{
    static const int ignored[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGPIPE, SIGALRM, SIGTERM,
                                  SIGUSR1, SIGUSR2, SIGTSTP, SIGXCPU, SIGURG};

    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        signal(ignored[i], SIG_IGN);
}

static int say_version(void)
{
    const struct pmixd_lib *lib;
    struct err err = {0};

    if (pmixd_lib_get(&lib, &err)) {
        fprintf(stderr, "slurmstepd-pmix: error: %s\n", err.text);
        return 1;
    }
    puts(pmixd_lib_version(lib));
    return 0;
}

int main(int argc, char **argv)
{
    struct pmixd p = {0};
    struct rpc_link_events events = {on_message, on_close, &p};
    struct stat st;

    if (argc > 1 && !strcmp(argv[1], "--libpmix"))
        return say_version();
    if (argc > 1 && (!strcmp(argv[1], "-V") || !strcmp(argv[1], "--version"))) {
        puts("slurm " SLURM_VERSION);
        return 0;
    }
    if (fd_begin(SHEPHERD_FD + 1) || fstat(SHEPHERD_FD, &st) || !S_ISSOCK(st.st_mode)) {
        fputs(
            "slurmstepd-pmix: error: this program is started by slurmstepd, for srun --mpi=pmix\n",
            stderr);
        return 1;
    }
    ignore_signals();
    fd_raise_limit(DESCRIPTORS_MAX);
    p.loop = loop_new(0);
    p.link = rpc_link_new(p.loop, SHEPHERD_FD, &events);
    loop_run(p.loop);
    return 0;
}
