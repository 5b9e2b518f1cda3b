/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rotation of gang scheduling, as text and as JSON. */
#include "show/gang.h"

#include <stdio.h>

#include "base/timefmt.h"
#include "show/show.h"

#define JOB_NAME_MAX 16 /* bytes of a number */

/* Of the partition; NULL: of any. */
static const Pb__GangMember *find_member(const Pb__GangReply *r, uint32_t job, const char *part)
{
    for (size_t i = 0; i < r->n_members; i++)
        if (r->members[i]->job_id == job)
            return !part || str_eq(r->members[i]->partition, part) ? r->members[i] : NULL;
    return NULL;
}

/* A controller of an older version gives no name. */
static const char *job_name(const char *name, uint32_t id, char buf[JOB_NAME_MAX])
{
    snprintf(buf, JOB_NAME_MAX, "%u", id);
    return name ? name : buf;
}

#define NAME_OF(m) job_name((m)->name, (m)->job_id, (char[JOB_NAME_MAX]){0})

static bool has_slot(const Pb__GangSlot *slot, uint32_t job)
{
    for (size_t i = 0; i < slot->n_job_id; i++)
        if (slot->job_id[i] == job)
            return true;
    return false;
}

/* Until each job of the partition has had its turn. */
static size_t count_slots(const Pb__GangReply *r, const char *part)
{
    size_t count = 0;
    for (size_t i = 0; i < r->n_members && count < r->n_slots; i++) {
        size_t n = 0;
        while (n < r->n_slots && !has_slot(r->slots[n], r->members[i]->job_id))
            n++;
        if (str_eq(r->members[i]->partition, part) && n >= count)
            count = n < r->n_slots ? n + 1 : n;
    }
    return count;
}

static void put_slot(const Pb__GangReply *r, size_t n, const char *part, struct str *out)
{
    bool any = false;
    for (size_t i = 0; i < r->slots[n]->n_job_id; i++) {
        const Pb__GangMember *m = find_member(r, r->slots[n]->job_id[i], part);
        if (!m)
            continue;
        if (!any)
            str_printf(out, "   Slot=%zu%s Jobs=", n, n ? "" : " (now)");
        str_printf(out, "%s%s", any ? "," : "", NAME_OF(m));
        any = true;
    }
    str_puts(out, any ? "\n" : "");
}

static unsigned share_percent(const Pb__GangMember *m)
{
    int64_t all = m->run_sec + m->suspended_sec;
    return all > 0 ? (unsigned)(m->run_sec * 100 / all) : 0;
}

static void put_time(struct str *out, const char *name, int64_t sec)
{
    char text[TIME_TEXT_MAX];
    str_printf(out, " %s=%s", name, time_format_limit(sec, text));
}

static void put_partition(const Pb__GangReply *r, const char *part, struct str *out)
{
    str_printf(out, "Partition=%s SchedulerTimeSlice=%lld", part, (long long)r->slice_sec);
    if (r->has_switch_ms)
        str_printf(out, " NextSwitch=%lld\n", (long long)(r->switch_ms + 999) / 1000);
    else
        str_puts(out, " NextSwitch=None\n");
    for (size_t i = 0, count = count_slots(r, part); i < count; i++)
        put_slot(r, i, part, out);
    for (size_t i = 0; i < r->n_members; i++) {
        const Pb__GangMember *m = r->members[i];
        if (!str_eq(m->partition, part))
            continue;
        str_printf(out, "   JobId=%s JobState=%s", NAME_OF(m), m->runs ? "RUNNING" : "SUSPENDED");
        put_time(out, "RunTime", m->run_sec);
        put_time(out, "SuspendedTime", m->suspended_sec);
        str_printf(out, " Share=%u%% NodeList=%s\n", share_percent(m), m->nodes ? m->nodes : "");
    }
    for (size_t i = 0; i < r->n_alone; i++) {
        const Pb__GangAlone *a = r->alone[i];
        if (str_eq(a->partition, part))
            str_printf(out, "   JobId=%s NodeList=%s takes no turns: %s\n", NAME_OF(a),
                       a->nodes ? a->nodes : "", a->reason ? a->reason : "");
    }
}

/* Of the members, and then of the jobs that share with nobody. */
static const char *part_at(const Pb__GangReply *r, size_t i)
{
    return i < r->n_members ? r->members[i]->partition : r->alone[i - r->n_members]->partition;
}

bool show_gang_text(const Pb__GangReply *r, const char *part, struct str *out)
{
    bool any = false;
    for (size_t i = 0; i < r->n_members + r->n_alone; i++) {
        const char *name = part_at(r, i);
        bool again = !name || (part && !str_eq(name, part));
        for (size_t k = 0; k < i && !again; k++)
            again = str_eq(part_at(r, k), name);
        if (!again)
            put_partition(r, name, out);
        any = any || !again;
    }
    return any;
}

void show_gang_none(const Pb__GangReply *r, const char *part, struct str *out)
{
    if (part)
        str_printf(out, "No job of partition %s takes part in gang scheduling%s", part,
                   r->on ? "" : ", which is off: PreemptMode has no GANG");
    else
        str_puts(out, r->on ? "No job takes part in gang scheduling"
                            : "Gang scheduling is off: PreemptMode has no GANG");
}

bool show_gang_has_partition(const Pb__GangReply *r, const char *part)
{
    for (size_t i = 0; part && i < r->n_partitions; i++)
        if (str_eq(r->partitions[i], part))
            return true;
    return !part;
}

void show_gang_turn(const Pb__GangReply *r, uint32_t job, struct str *out)
{
    char text[TIME_TEXT_MAX];
    for (size_t i = 1; i < r->n_slots; i++) {
        if (!has_slot(r->slots[i], job))
            continue;
        int64_t sec = (r->switch_ms + 999) / 1000 + (int64_t)(i - 1) * r->slice_sec;
        str_printf(out,
                   "  Its turn comes in %s, in slot %zu of the rotation; scontrol show gang "
                   "prints all slots.\n",
                   time_format_short(sec, text), i);
        return;
    }
    if (r->more_slots)
        str_printf(out, "  Its turn comes after the %zu slots that scontrol show gang prints.\n",
                   r->n_slots);
}

json_t *show_gang_json(const Pb__GangReply *r, const char *part)
{
    json_t *members = json_array(), *slots = json_array(), *alone = json_array();
    for (size_t i = 0; i < r->n_slots; i++) {
        json_t *slot = json_array();
        for (size_t k = 0; k < r->slots[i]->n_job_id; k++)
            if (find_member(r, r->slots[i]->job_id[k], part))
                json_array_append_new(slot, json_integer(r->slots[i]->job_id[k]));
        json_array_append_new(slots, slot);
    }
    for (size_t i = 0; i < r->n_members; i++) {
        const Pb__GangMember *m = r->members[i];
        if (part && !str_eq(m->partition, part))
            continue;
        json_array_append_new(
            members, json_pack("{s:I, s:s, s:s?, s:b, s:I, s:I, s:i, s:s?}", "job_id",
                               (json_int_t)m->job_id, "job", NAME_OF(m), "partition", m->partition,
                               "running", m->runs, "run_seconds", (json_int_t)m->run_sec,
                               "suspended_seconds", (json_int_t)m->suspended_sec, "share_percent",
                               (int)share_percent(m), "nodes", m->nodes));
    }
    for (size_t i = 0; i < r->n_alone; i++) {
        const Pb__GangAlone *a = r->alone[i];
        if (!part || str_eq(a->partition, part))
            json_array_append_new(alone,
                                  json_pack("{s:I, s:s, s:s?, s:s?, s:s?}", "job_id",
                                            (json_int_t)a->job_id, "job", NAME_OF(a), "partition",
                                            a->partition, "nodes", a->nodes, "reason", a->reason));
    }
    return json_pack("{s:b, s:I, s:o, s:o, s:o, s:o}", "enabled", r->on, "time_slice_seconds",
                     (json_int_t)r->slice_sec, "next_switch_milliseconds",
                     r->has_switch_ms ? json_integer(r->switch_ms) : json_null(), "slots", slots,
                     "jobs", members, "jobs_without_turns", alone);
}

bool show_put_turn(const Pb__JobLive *live, struct str *out)
{
    if (live->gang_suspended)
        str_puts(out, "It waits for its turn in gang scheduling: other jobs have its resources.\n");
    return live->gang_suspended;
}
