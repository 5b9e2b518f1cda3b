/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "slurmstepd/pmixd/pmixd_loop.h"

/* Number of fences so far of a set of tasks. */
struct pmixd_meetings {
    UT_hash_handle hh;
    char *group;
    uint32_t count;
};

static struct pmixd_call *remember_call(struct pmixd *p, struct pmixd_call *c)
{
    c->next = p->calls;
    p->calls = c;
    return c;
}

static void end_pmix_step(struct pmixd *p, int code, const char *text, bool broken)
{
    Pb__KvsAbort m = PB__KVS_ABORT__INIT;

    m.exit_code = code;
    m.text = (char *)text;
    m.has_broken = m.broken = broken;
    rpc_link_send(p->link, RPC_PMIXD_ABORT, false, 0, &m.base);
}

/* Data that does not fit into a message would never arrive, and the others would wait forever. */
static bool fits_message(struct pmixd *p, const struct pmixd_call *c)
{
    _cleanup_free_ char *text = NULL;

    if (c->len <= PMIXD_BLOB_MAX)
        return true;
    text = mem_printf("PMIx: a node puts %zu bytes into a fence, and %u are the limit", c->len,
                      PMIXD_BLOB_MAX);
    end_pmix_step(p, 1, text, true);
    return false;
}

static uint32_t count_meeting(struct pmixd *p, const char *group)
{
    struct pmixd_meetings *m;

    HASH_FIND(hh, p->meetings, group, strlen(group), m);
    if (!m) {
        m = mem_new(struct pmixd_meetings);
        m->group = mem_strdup(group);
        HASH_ADD_KEYPTR(hh, p->meetings, m->group, strlen(m->group), m);
    }
    return m->count++;
}

static void handle_fence(struct pmixd *p, struct pmixd_call *c)
{
    Pb__PmixFence m = PB__PMIX_FENCE__INIT;
    char *name;

    bool alone = c->node_count == 1 && !c->step_count && !c->wants_context;

    if (alone || !fits_message(p, c)) {
        if (c->grouped)
            pmixd_answer_group(c, 0, c->data, c->len);
        else
            pmixd_answer_give(c, PMIX_SUCCESS, c->data, c->len);
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
    remember_call(p, c);
}

static void handle_get(struct pmixd *p, struct pmixd_call *c)
{
    Pb__PmixGet m = PB__PMIX_GET__INIT;

    c->id = ++p->next_id;
    m.id = c->id;
    m.task = c->task;
    m.has_step = c->has_step;
    m.step = c->step;
    rpc_link_send(p->link, RPC_PMIXD_GET, false, 0, &m.base);
    remember_call(p, c);
}

void pmixd_ask_got(struct pmixd *p, struct pmixd_call *c)
{
    Pb__PmixGot m = PB__PMIX_GOT__INIT;

    m.id = c->id;
    m.node = c->node;
    m.has_step = c->has_step;
    m.step = c->step;
    m.status = c->len > PMIXD_BLOB_MAX ? PMIX_ERROR : c->status;
    m.has_data = c->len <= PMIXD_BLOB_MAX;
    m.data.data = (uint8_t *)c->data;
    m.data.len = c->len;
    rpc_link_send(p->link, RPC_PMIXD_GOT, false, 0, &m.base);
    pmixd_call_free(c);
}

static void handle_abort(struct pmixd *p, struct pmixd_call *c)
{
    _cleanup_free_ char *text = mem_printf("task %u: %s", c->task, c->text ? c->text : "");

    end_pmix_step(p, c->status, text, c->broken);
    pmixd_answer_give(c, PMIX_SUCCESS, NULL, 0);
    pmixd_call_free(c);
}

/* The remaining waiting tasks are on other nodes. */
static void handle_left(struct pmixd *p, struct pmixd_call *c)
{
    Pb__Empty m = PB__EMPTY__INIT;

    if (c->broken && (p->job.nodes > 1 || p->is_related))
        handle_abort(p, c);
    else
        pmixd_call_free(c);
    rpc_link_send(p->link, RPC_PMIXD_LEFT, true, 0, &m.base);
}

/* Sends one request per name; answers come in any order. */
static void handle_names(struct pmixd *p, struct pmixd_call *c)
{
    c->id = ++p->next_id;
    remember_call(p, c);
    c->left = c->name_count;
    if (!c->left) { /* only directives */
        pmixd_answer_names(p, c);
        return;
    }
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

static void handle_event(struct pmixd *p, struct pmixd_call *c)
{
    Pb__PmixEvent m = PB__PMIX_EVENT__INIT;

    m.has_signal = c->signal != 0;
    m.signal = c->signal;
    m.has_data = c->data != NULL;
    m.data.data = (uint8_t *)c->data;
    m.data.len = c->len;
    if (c->len <= PMIXD_BLOB_MAX)
        rpc_link_send(p->link, RPC_PMIXD_EVENT, false, 0, &m.base);
    pmixd_call_free(c);
}

static void handle_spawn(struct pmixd *p, struct pmixd_call *c)
{
    c->id = c->spawn->id = ++p->next_id;
    rpc_link_send(p->link, RPC_PMIXD_SPAWN, false, 0, &c->spawn->base);
    remember_call(p, c);
}

void pmixd_ask_wake(void *ctx, int fd, unsigned ready)
{
    struct pmixd *p = ctx;
    Pb__Spawned begun = PB__SPAWNED__INIT;
    struct pmixd_call *c;

    if (read(fd, &c, sizeof(c)) != sizeof(c))
        return;
    switch (c->kind) {
    case PMIXD_FENCE:
        handle_fence(p, c);
        break;
    case PMIXD_GET:
        handle_get(p, c);
        break;
    case PMIXD_GOT:
        pmixd_ask_got(p, c);
        break;
    case PMIXD_ABORT:
        handle_abort(p, c);
        break;
    case PMIXD_LEFT:
        handle_left(p, c);
        break;
    case PMIXD_SPAWN:
        handle_spawn(p, c);
        break;
    case PMIXD_EVENT:
        handle_event(p, c);
        break;
    case PMIXD_BEGUN:
        rpc_link_send(p->link, RPC_PMIXD_SPAWN, true, 0, &begun.base);
        pmixd_call_free(c);
        break;
    case PMIXD_PUBLISH:
    case PMIXD_UNPUBLISH:
    case PMIXD_LOOKUP:
        handle_names(p, c);
        break;
    }
}
