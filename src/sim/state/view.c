/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contents of records, parsed without control's own structures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/idset.h"
#include "base/mem.h"
#include "cluster/job/array.h"
#include "sim/state/find.h"

/* --- packed messages, field by field ------------------------------------------------------------
 */

struct cursor {
    const uint8_t *at, *end;
    unsigned field;
    uint64_t number;     /* value of a varint */
    const uint8_t *data; /* of a bytes field */
    size_t len;
};

static uint64_t read_varint(struct cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; c->at < c->end && shift < 64; shift += 7) {
        uint8_t byte = *c->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            break;
    }
    return value;
}

static bool next_field(struct cursor *c)
{
    if (c->at >= c->end)
        return false;
    uint64_t tag = read_varint(c);
    c->field = (unsigned)(tag >> 3);
    c->data = NULL;
    c->len = 0;
    c->number = 0;
    if ((tag & 7) == 0) {
        c->number = read_varint(c);
    } else if ((tag & 7) == 2) {
        c->len = (size_t)read_varint(c);
        if (c->len > (size_t)(c->end - c->at))
            c->len = (size_t)(c->end - c->at);
        c->data = c->at;
        c->at += c->len;
    } else {
        c->at += (tag & 7) == 1 ? 8 : 4;
    }
    return true;
}

static struct cursor cursor_over(const void *data, size_t len)
{
    return (struct cursor){.at = data, .end = data ? (const uint8_t *)data + len : NULL};
}

static void copy_text(char *to, size_t size, const struct cursor *c)
{
    size_t len = c->len < size - 1 ? c->len : size - 1;
    if (len)
        memcpy(to, c->data, len);
    to[len] = 0;
}

uint64_t sim_view_elements(const char *text)
{
    uint64_t tasks = 0;
    while (*text >= '0' && *text <= '9') {
        char *end;
        unsigned long first = strtoul(text, &end, 10), last = first, step = 1;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        if (*end == ':')
            step = strtoul(end + 1, &end, 10);
        for (unsigned long task = first; task <= last && task < 64; task += step ? step : 1)
            tasks |= UINT64_C(1) << task;
        text = end + (*end == ',');
    }
    return tasks;
}

static void scan_spec(struct cursor c, struct sim_view *v)
{
    char text[SIM_NAME];
    while (next_field(&c)) {
        if (c.field == 1)
            copy_text(v->name, sizeof v->name, &c);
        else if (c.field == 2)
            copy_text(v->asked_parts, sizeof v->asked_parts, &c);
        else if (c.field == 17)
            v->mem_node_mib = c.number;
        else if (c.field == 20)
            copy_text(v->features, sizeof v->features, &c);
        else if (c.field == 42)
            copy_text(v->asked_licenses, sizeof v->asked_licenses, &c);
        else if (c.field == 116)
            copy_text(v->prefer, sizeof v->prefer, &c);
        else if (c.field == 92)
            v->deadline_at = (int64_t)c.number;
        else if (c.field == 29)
            v->begin_at = (int64_t)c.number;
        else if (c.field == 30)
            v->nice = (uint32_t)c.number;
        else if (c.field == 37) {
            copy_text(text, sizeof text, &c);
            v->comment = strtoll(text + 1, NULL, 10);
        }
    }
}

/* The number of elements in "1-4,7". */
static uint32_t count_listed(const struct cursor *c)
{
    _cleanup_free_ char *text = mem_strndup((const char *)c->data, c->len);
    struct idset tasks = {0};
    idset_parse(text, ARRAY_SIZE_MAX, &tasks, NULL);
    uint32_t count = tasks.count;
    idset_done(&tasks);
    return count;
}

/* Run time and suspended time. */
static void scan_run_time(const struct cursor *c, struct sim_view *v)
{
    if (c->field == 13)
        v->end_at = (int64_t)c->number;
    else if (c->field == 31)
        v->suspended_sec = (int64_t)c->number;
    else if (c->field == 40)
        v->ran_ms = (int64_t)c->number;
    else if (c->field == 102)
        v->halts = (uint32_t)c->number;
}

static void scan_live(struct cursor c, struct sim_view *v)
{
    char text[SIM_TEXT];
    while (next_field(&c)) {
        scan_run_time(&c, v);
        switch (c.field) {
        case 1:
            v->job_id = (uint32_t)c.number;
            break;
        case 2:
            v->state = (int)c.number;
            break;
        case 3:
            v->completing = c.number;
            break;
        case 4:
            v->restarts = (uint32_t)c.number;
            break;
        case 5:
            copy_text(v->reason, sizeof v->reason, &c);
            break;
        case 470:
            copy_text(v->licenses, sizeof v->licenses, &c);
            break;
        case 7:
            v->priority = (uint32_t)c.number;
            break;
        case 8:
            v->admin_held = c.number;
            break;
        case 9:
            copy_text(v->part, sizeof v->part, &c);
            break;
        case 12:
            v->start_at = (int64_t)c.number;
            break;
        case 22:
            v->exit_status = (int)c.number;
            break;
        case 15:
            v->limit_sec = (int64_t)c.number;
            break;
        case 26:
            v->launched = c.number;
            break;
        case 60:
            v->array_id = (uint32_t)c.number;
            break;
        case 61:
            v->task = (uint32_t)c.number;
            v->elements |= c.number < 64 ? UINT64_C(1) << c.number : 0;
            break;
        case 62:
            v->tasks = count_listed(&c);
            copy_text(text, sizeof text, &c);
            v->elements = sim_view_elements(text);
            break;
        case 96:
            copy_text(v->resv, sizeof v->resv, &c);
            break;
        case 70:
            v->priority_given = c.number;
            break;
        case 34:
            v->requeue_after = c.number;
            break;
        case 35:
            v->held = c.number;
            break;
        case 63:
            v->throttle = (uint32_t)c.number;
            break;
        case 48:
            v->configuring = c.number;
            break;
        case 49:
            v->epilog_due = c.number;
            break;
        case 117:
            v->set_id = (uint32_t)c.number;
            break;
        case 118:
            v->set_offset = (uint32_t)c.number;
            break;
        case 119:
            v->set_count = (uint32_t)c.number;
            break;
        case 461:
            v->gang_suspended = c.number != 0;
            break;
        case 103:
        case 104:
            v->displaced = c.number != 0;
            break;
        }
    }
}

void sim_view_scan(const void *data, size_t len, struct sim_view *v)
{
    struct cursor c = cursor_over(data, len);
    *v = (struct sim_view){.there = true};
    while (next_field(&c)) {
        if (c.field == 1)
            scan_spec(cursor_over(c.data, c.len), v);
        else if (c.field == 2)
            scan_live(cursor_over(c.data, c.len), v);
    }
}

static void scan_gres(struct cursor c, struct sim_gres *g)
{
    while (next_field(&c)) {
        if (c.field == 1)
            copy_text(g->name, sizeof g->name, &c);
        else if (c.field == 2)
            copy_text(g->type, sizeof g->type, &c);
        else if (c.field == 3)
            g->count = c.number;
        else if (c.field == 5)
            g->parts = true, g->gpu = (unsigned)c.number % 64;
        for (struct cursor d = cursor_over(c.data, c.len); c.field == 4 && d.at < d.end;)
            g->devices |= UINT64_C(1) << (read_varint(&d) % 64);
    }
}

static void scan_share(const struct sim *s, struct cursor c, struct sim_share *share)
{
    char name[SIM_NAME];
    while (next_field(&c)) {
        if (c.field == 1) {
            copy_text(name, sizeof name, &c);
            long index = sim_node_index(s, name);
            share->node = index < 0 ? 0 : (unsigned)index;
        } else if (c.field == 2) {
            share->cpus = (uint32_t)c.number;
        } else if (c.field == 3) {
            memcpy(share->cores, c.data, c.len < sizeof share->cores ? c.len : sizeof share->cores);
        } else if (c.field == 4) {
            share->mem_mib = c.number;
        } else if (c.field == 5) {
            share->released = c.number;
        } else if (c.field == 8 && share->n_gres < SIM_GRES) {
            scan_gres(cursor_over(c.data, c.len), &share->gres[share->n_gres++]);
        } else if (c.field == 9) {
            share->parked = c.number;
        }
    }
}

void sim_view_shares(const struct sim *s, const void *data, size_t len, struct sim_watch *w)
{
    struct cursor c = cursor_over(data, len);
    vec_clear(&w->shares);
    while (next_field(&c)) {
        if (c.field != 2)
            continue;
        struct cursor live = cursor_over(c.data, c.len);
        while (next_field(&live)) {
            struct sim_share share = {0};
            if (live.field != 21)
                continue;
            scan_share(s, cursor_over(live.data, live.len), &share);
            vec_push(&w->shares, share);
        }
    }
}

void sim_view_meta(const struct sim_record *r, uint32_t *next_id, uint64_t *epoch)
{
    struct cursor c = cursor_over(r->data, r->len);
    while (next_field(&c)) {
        if (c.field == 1)
            *next_id = (uint32_t)c.number;
        else if (c.field == 2)
            *epoch = c.number;
    }
}

void sim_view_node(const struct sim_record *r, struct sim_node_view *v)
{
    struct cursor c = cursor_over(r->data, r->len);
    *v = (struct sim_node_view){0};
    while (next_field(&c)) {
        if (c.field == 2)
            v->down = c.number == PB__NODE_BASE__NODE_DOWN;
        else if (c.field == 3)
            v->drain = c.number;
        else if (c.field == 6)
            v->fail = c.number;
        else if (c.field == 20)
            v->weight = (uint32_t)c.number;
        else if (c.field == 21)
            copy_text(v->features, sizeof v->features, &c);
        else if (c.field == 35)
            copy_text(v->comment, sizeof v->comment, &c);
    }
}

void sim_view_named(const struct sim_record *r, char texts[2][SIM_NAME], uint64_t numbers[2])
{
    struct cursor c = cursor_over(r->data, r->len);
    memset(texts, 0, 2 * sizeof *texts);
    numbers[0] = numbers[1] = 0;
    while (next_field(&c)) {
        if (c.field == 1 || c.field == 2)
            copy_text(texts[c.field - 1], sizeof texts[0], &c);
        else if (c.field == 3 || c.field == 4)
            numbers[c.field - 3] = c.number;
    }
}

bool sim_view_made(const struct sim *s, const char *node)
{
    const struct sim_record *r = sim_store_find(s, RECORD_MADE, 0, NULL);
    struct cursor all = cursor_over(r ? r->data : NULL, r ? r->len : 0);
    char name[SIM_NAME];
    while (next_field(&all)) {
        struct cursor one = cursor_over(all.data, all.len);
        while (next_field(&one)) {
            if (one.field != 1)
                continue;
            copy_text(name, sizeof name, &one);
            if (strcmp(name, node) == 0)
                return true;
        }
    }
    return false;
}

bool sim_view_is_final(int state)
{
    return state != PB__JOB_STATE__PENDING && state != PB__JOB_STATE__RUNNING &&
           state != PB__JOB_STATE__SUSPENDED;
}

bool sim_view_stored(const struct sim *s, uint32_t job_id, struct sim_view *view)
{
    const struct sim_record *r = sim_store_find(s, RECORD_JOB, job_id, NULL);
    *view = (struct sim_view){0};
    if (r)
        sim_view_scan(r->data, r->len, view);
    return r != NULL;
}
