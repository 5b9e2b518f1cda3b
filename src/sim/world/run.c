/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run: processes events until all jobs are over, and checks the promises at the end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/command/command.h"
#include "sim/controller/controller.h"
#include "sim/node/node.h"
#include "sim/world/world.h"

#define STUCK_MS (INT64_C(24) * 3600000) /* limit for any job after the last fault */
#define HEAL_AFTER_MS 5000
#define BOOTS 1000 /* maximum number of boots of each controller's machine */
#define CLOCKS_APART_MS 777777
#define STILL_EVENTS 100000 /* events within one millisecond before the run counts as stuck */

static void wake_client(struct sim *s, const struct sim_event *e)
{
    if (e->value)
        sim_client_break(s, e->index, true);
    else
        sim_client_act(s, e->index);
}

static void flush_or_start_node(struct sim *s, unsigned index)
{
    if (s->nodes.data[index].up)
        sim_node_flush(s, index);
    else
        sim_node_start(s, index);
}

static bool is_for_controller(enum sim_event_kind kind)
{
    switch (kind) {
    case SIM_TICK:
    case SIM_COMMITTED:
    case SIM_APPLY:
    case SIM_TO_CONTROL:
    case SIM_LOST:
    case SIM_REQUEST:
    case SIM_RESTART:
    case SIM_HOOK:
    case SIM_HOOK_END:
    case SIM_LOADED:
    case SIM_STANDBY:
    case SIM_PING:
    case SIM_PONG:
    case SIM_PING_OVER:
    case SIM_YIELD:
    case SIM_PROVE:
    case SIM_SUMMONS:
    case SIM_GONE:
        return true;
    default:
        return false;
    }
}

/* Events for a paused controller wait, except the replies of its store and of its helper. */
static bool must_wait(struct sim *s, struct sim_event *e)
{
    struct sim_event later = *e;
    if (!sim_lead_is_paused(s, s->c) || e->kind == SIM_APPLY || e->kind == SIM_HOOK ||
        e->kind == SIM_RESTART)
        return false;
    if (e->kind == SIM_REQUEST)
        sim_lead_waits(s, e->value);
    e->body = STR_INIT;
    sim_push(s, s->c->paused_until_ms - s->now_ms, later);
    return true;
}

static int apply_controller_event(struct sim *s, struct sim_event *e)
{
    switch (e->kind) {
    case SIM_APPLY:
        if (e->generation == s->c->life)
            sim_store_applied(s);
        break;
    case SIM_STANDBY:
        sim_lead_tick(s, e);
        break;
    case SIM_PING:
        sim_lead_pinged(s, e);
        break;
    case SIM_PONG:
    case SIM_PING_OVER:
        sim_lead_ponged(s, e);
        break;
    case SIM_YIELD:
        sim_lead_yield(s);
        break;
    case SIM_PROVE:
        sim_lead_prove(s, e);
        break;
    case SIM_SUMMONS:
        sim_lead_summon(s, e);
        break;
    case SIM_SUMMON:
        sim_node_summoned(s, e);
        break;
    case SIM_GIVE_UP:
        sim_lead_give_up(s, e);
        break;
    case SIM_GONE:
        sim_call_gone(s, e->value);
        break;
    default:
        break;
    }
    return 0;
}

static int restart_controller(struct sim *s, struct err *err)
{
    if (s->count == 1)
        return s->c->control ? 0 : sim_ctl_start(s, err);
    sim_lead_begin(s);
    return 0;
}

static int run_event(struct sim *s, struct sim_event *e, struct err *err)
{
    s->c = is_for_controller(e->kind) ? &s->ctls[e->ctl - 1] : s->lead;
    if (is_for_controller(e->kind) && must_wait(s, e))
        return 0;
    switch (e->kind) {
    case SIM_TICK:
        if (s->c->control && e->generation == s->c->life && (int64_t)e->value == s->c->wake_at_ms) {
            control_tick(s->c->control);
            sim_ctl_turn(s);
        }
        break;
    case SIM_COMMITTED:
        if (s->c->control && e->generation == s->c->life)
            sim_ctl_committed(s);
        break;
    case SIM_TO_NODE:
        sim_node_receive(s, e);
        break;
    case SIM_TO_CONTROL:
        sim_ctl_receive(s, e);
        break;
    case SIM_LOST:
        sim_ctl_lost(s, e);
        break;
    case SIM_CONNECT:
        sim_node_connect(s, e->index);
        break;
    case SIM_BEAT:
        sim_node_beat(s, e);
        break;
    case SIM_HANGUP:
        sim_node_hangup(s, e);
        break;
    case SIM_NODE_UP:
        flush_or_start_node(s, e->index);
        break;
    case SIM_NODE_WORK:
        sim_order_work(s, e);
        break;
    case SIM_REQUEST:
        sim_call_arrives(s, e);
        break;
    case SIM_REPLY:
        sim_call_answered(s, e);
        break;
    case SIM_CLIENT:
        wake_client(s, e);
        break;
    case SIM_SRUN:
        sim_srun_act(s, e->index);
        break;
    case SIM_STEP:
        sim_order_step(s, e);
        break;
    case SIM_ACT:
        sim_act(s, e->index);
        break;
    case SIM_FAULT:
        sim_fault(s, e->index);
        break;
    case SIM_RESTART:
        return restart_controller(s, err);
    case SIM_HEAL:
        sim_fault_heal(s);
        break;
    case SIM_HOOK:
        sim_hook_receive(s, e);
        break;
    case SIM_HOOK_END:
        sim_hook_end(s, e);
        break;
    case SIM_LOADED:
        sim_load_ready(s, e->index);
        break;
    case SIM_SETTLE:
        sim_fault_settle(s);
        break;
    default:
        return apply_controller_event(s, e);
    }
    return 0;
}

static struct rng make_stream(const struct sim *s, uint64_t kind, uint64_t number)
{
    struct rng r = {s->plan->seed * UINT64_C(0x9e3779b97f4a7c15) + kind * 1000003 + number};
    rng_next(&r);
    return r;
}

/* If several lines define the node, the first one has its resources. */
static void describe_node(const struct sim *s, int64_t number, struct sim_node *n)
{
    vec_foreach (&s->plan->items, item) {
        if (item->kind != SIM_ITEM_NODE || number < item->id || number >= item->id + item->count)
            continue;
        n->item = n->item ? n->item : item;
        n->dynamic = n->dynamic || item->dynamic;
        n->filed = n->filed || item->files;
    }
}

static void make_nodes(struct sim *s)
{
    int64_t most = 0;
    vec_foreach (&s->plan->items, item)
        if (item->kind == SIM_ITEM_NODE && item->id + item->count - 1 > most)
            most = item->id + item->count - 1;
    for (unsigned i = 0; i < most; i++) {
        struct sim_node node = {.up = true, .rng = make_stream(s, 1, i)};
        snprintf(node.name, sizeof node.name, "n%u", i + 1);
        describe_node(s, i + 1, &node);
        vec_push(&s->nodes, node);
        vec_push(&s->node_views, (struct sim_node_view){0});
        sim_push(s, rng_between(&node.rng, 0, 100),
                 (struct sim_event){.kind = SIM_CONNECT, .index = i});
    }
}

static void make_client(struct sim *s, const struct sim_item *item)
{
    struct sim_client c = {.item = item, .rng = make_stream(s, 2, (uint64_t)item->id)};
    if (item->component_of) /* submitted by its leader */
        c.state = SIM_OVER;
    vec_push(&s->clients, c);
    sim_push(s, item->at_ms,
             (struct sim_event){.kind = SIM_CLIENT, .index = (unsigned)s->clients.len - 1});
}

/* Notes OverSubscribe= of a partition's line or request. */
static void note_sharing(struct sim *s, const struct sim_item *item)
{
    bool asks = item->kind == SIM_ITEM_DO && item->what == SIM_DO_PART_SHARE;
    const char *option = strstr(item->text, "OverSubscribe=");
    const char *what = asks ? item->text : option ? option + strlen("OverSubscribe=") : "";
    if (strncmp(what, "FORCE:", 6) == 0 || strncmp(what, "YES:", 4) == 0)
        s->share_most = SIM_SHARE_MOST;
    if (item->kind == SIM_ITEM_CONF && strstr(item->text, "=CR_Socket"))
        s->whole_sockets = true;
    if (item->kind == SIM_ITEM_CONF && strcmp(item->text, "SelectType=select/linear") == 0)
        s->whole_nodes = true;
    sim_turn_note(s, item);
    s->shares_change = s->shares_change || asks ||
                       (item->kind == SIM_ITEM_PART && item->files != SIM_ALL_FILES && *what);
}

/* Creates an event for everything in the plan. */
static void make_world(struct sim *s)
{
    int64_t last_ms = 0;
    make_nodes(s);
    vec_foreach (&s->plan->items, item) {
        bool acts = item->kind == SIM_ITEM_DO, breaks = item->kind == SIM_ITEM_FAULT;
        note_sharing(s, item);
        if (item->kind == SIM_ITEM_CTL) {
            s->count = (unsigned)item->count;
            s->timeout_ms = item->timeout_ms;
        }
        if (item->kind == SIM_ITEM_JOB)
            make_client(s, item);
        if (acts || breaks) {
            vec_push(&s->acts, item);
            sim_push(s, item->at_ms,
                     (struct sim_event){.kind = acts ? SIM_ACT : SIM_FAULT,
                                        .index = (unsigned)s->acts.len - 1});
        }
        if (acts && item->what >= SIM_DO_IDLE && item->what != SIM_DO_ANNOUNCE &&
            item->what != SIM_DO_CALL_OFF) /* features of a node affect its jobs too */
            s->shrunk = true;
        if ((acts || breaks || item->kind == SIM_ITEM_JOB) && item->at_ms > last_ms)
            last_ms = item->at_ms;
    }
    s->result->jobs = (unsigned)s->clients.len;
    sim_push(s, last_ms + HEAL_AFTER_MS, (struct sim_event){.kind = SIM_HEAL});
}

static int run_events(struct sim *s, struct err *err)
{
    struct sim_event e;
    uint64_t at_once = 0;
    while (!s->broken.code && sim_pop(s, &e)) {
        at_once = e.at_ms == s->now_ms ? at_once + 1 : 0;
        if (at_once > STILL_EVENTS + 100 * s->clients.len)
            sim_break(s, "time stands still", "%llu events", (unsigned long long)at_once);
        s->now_ms = e.at_ms;
        s->result->events++;
        int rc = run_event(s, &e, err);
        sim_event_done(&e);
        s->c = s->lead;
        if (rc != 0)
            return rc;
        if (s->quiet && sim_check_all_over(s))
            return 0;
        if (s->healed_at_ms && s->now_ms > s->healed_at_ms + STUCK_MS)
            sim_break(s, "something is never over", "a day after the last fault");
    }
    if (!s->broken.code)
        sim_break(s, "something is never over", "and nothing more would happen");
    return 0;
}

static void world_done(struct sim *s)
{
    struct sim_start *start, *next;
    struct sim_event e;
    for (unsigned i = 0; i < s->count; i++)
        control_free(take_ptr(s->ctls[i].control));
    sim_lead_done(s);
    sim_store_done(s);
    sim_watch_done(s);
    sim_hook_done(s);
    sim_load_done(s);
    sim_array_done(s);
    sim_end_done(s);
    HASH_ITER (hh, s->ledger, start, next) {
        HASH_DEL(s->ledger, start);
        free(start);
    }
    while (sim_pop(s, &e))
        sim_event_done(&e);
    vec_foreach (&s->spare, spare)
        free(*spare);
    vec_done(&s->spare);
    vec_done(&s->queue);
    vec_foreach (&s->nodes, n)
        sim_node_done(n);
    vec_done(&s->nodes);
    vec_done(&s->node_views);
    vec_done(&s->clients);
    vec_done(&s->sruns);
    vec_done(&s->calls);
    vec_done(&s->acts);
    vec_done(&s->allocated);
    vec_done(&s->displaced);
    vec_done(&s->relicensed);
    vec_done(&s->counts);
    vec_done(&s->sets_put);
}

static int begin_leads(struct sim *s, struct err *err)
{
    if (s->count == 1)
        return sim_ctl_start(s, err);
    for (unsigned i = 0; i < s->count; i++) {
        s->c = &s->ctls[i];
        sim_lead_begin(s);
    }
    s->c = s->lead;
    return 0;
}

int sim_run(const struct sim_plan *plan, const struct sim_options *options,
            struct sim_result *result, struct err *err)
{
    struct sim s = {.plan = plan, .options = *options, .result = result, .now_ms = SIM_START_MS};
    s.rng = make_stream(&s, 0, 0);
    s.call_gone = sim_call_gone;
    s.count = 1;
    s.c = s.lead = s.ctls;
    for (unsigned i = 0; i < SIM_CTLS; i++) {
        s.ctls[i] = (struct sim_ctl){.index = i, .boot = i * BOOTS, .deposed_ms = INT64_MAX};
        s.ctls[i].mono_offset_ms = -(int64_t)i * CLOCKS_APART_MS;
    }
    *result = (struct sim_result){0};
    sim_ctl_env(&s);
    make_world(&s);
    int rc = begin_leads(&s, err);
    if (rc == 0)
        rc = run_events(&s, err);
    if (rc == 0 && !s.broken.code)
        sim_check_end(&s);
    result->virtual_ms = s.now_ms - SIM_START_MS;
    if (rc == 0 && s.broken.code)
        rc = err_set(err, s.broken.code, "%s", s.broken.text);
    world_done(&s);
    return rc;
}
