/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time: a queue of events in the order of (time, number), and the trace of a run. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "sim/state/find.h"

#define OFF_MS 20000 /* maximum time until somebody starts all daemons again */

void sim_event_done(struct sim_event *e)
{
    str_done(&e->body);
}

static bool slot_before(const struct sim_slot *a, const struct sim_slot *b)
{
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->number < b->number;
}

void sim_push(struct sim *s, int64_t after_ms, struct sim_event event)
{
    struct sim_event *kept = s->spare.len ? vec_pop(&s->spare) : mem_new(struct sim_event);
    event.at_ms = s->now_ms + (after_ms > 0 ? after_ms : 0);
    event.number = s->next_event++;
    event.ctl = event.ctl ? event.ctl : s->c->index + 1;
    *kept = event;
    struct sim_slot slot = {event.at_ms, event.number, kept};
    vec_push(&s->queue, slot);
    size_t i = s->queue.len - 1;
    while (i > 0 && slot_before(&slot, &s->queue.data[(i - 1) / 2])) {
        s->queue.data[i] = s->queue.data[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    s->queue.data[i] = slot;
}

bool sim_pop(struct sim *s, struct sim_event *event)
{
    if (s->queue.len == 0)
        return false;
    struct sim_slot first = s->queue.data[0], last = vec_pop(&s->queue);
    size_t i = 0, child;
    while ((child = 2 * i + 1) < s->queue.len) {
        if (child + 1 < s->queue.len &&
            slot_before(&s->queue.data[child + 1], &s->queue.data[child]))
            child++;
        if (slot_before(&last, &s->queue.data[child]))
            break;
        s->queue.data[i] = s->queue.data[child];
        i = child;
    }
    if (s->queue.len)
        s->queue.data[i] = last;
    *event = *first.event;
    vec_push(&s->spare, first.event);
    return true;
}

/* FNV-1a over words: the hash only has to differ if the run differs. */
void sim_trace(struct sim *s, const void *data, size_t len)
{
    const char *p = data;
    uint64_t h = s->result->trace ^ (uint64_t)s->now_ms, word;
    for (; len >= sizeof word; len -= sizeof word, p += sizeof word) {
        memcpy(&word, p, sizeof word);
        h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 29;
    }
    for (; len > 0; len--, p++)
        h = (h ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
    s->result->trace = h;
}

void sim_break_promise(struct sim *s, const char *promise, const char *fmt, ...)
{
    if (s->broken.code)
        return;
    va_list ap;
    va_start(ap, fmt);
    err_vset(&s->broken, -ERR_INTERNAL, fmt, ap);
    va_end(ap);
    err_prefix(&s->broken, "at %lld ms", (long long)(s->now_ms - SIM_START_MS));
    s->result->promise = promise;
    sim_say(s, "BROKEN: %s", s->broken.text);
}

void sim_say(struct sim *s, const char *fmt, ...)
{
    if (!s->options.verbose)
        return;
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "%9lld ms ", (long long)(s->now_ms - SIM_START_MS));
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
}

int64_t sim_wall_ms(const struct sim *s)
{
    return INT64_C(1700000000000) + s->now_ms + s->wall_offset_ms;
}

bool sim_net_loses(struct sim *s)
{
    return s->net_until_ms > s->now_ms && rng_between(&s->rng, 0, 99) < s->net_lost_percent;
}

int64_t sim_net_late_ms(struct sim *s)
{
    return s->net_until_ms > s->now_ms ? rng_between(&s->rng, 0, s->net_late_ms) : 0;
}

int64_t sim_off_ms(struct rng *rng)
{
    return rng_between(rng, 100, OFF_MS);
}

bool sim_is_stopped(const struct sim *s, const struct sim_node *n)
{
    return n->stopped_until_ms > s->now_ms;
}
