/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One object; its members are there always, null where there is nothing to say. */
#include "cli/cmd.h"
#include "cmd/sluice/why.h"
#include "show/job_ids.h"
#include "show/job_state.h"
#include "show/json_out.h"
#include "show/names.h"

static void put(json_t *o, const char *key, json_t *value)
{
    json_object_set_new(o, key, value);
}

static json_t *number(bool known, int64_t value)
{
    return known ? json_integer(value) : json_null();
}

static json_t *text(const char *s)
{
    return s && *s ? json_out_text(s) : json_null();
}

static json_t *groups(const Pb__WhyReply *why)
{
    json_t *all = json_array();
    for (size_t i = 0; i < why->n_groups; i++) {
        const Pb__WhyNodes *g = why->groups[i];
        json_t *o = json_object(), *holders = json_array();
        for (size_t k = 0; k < g->n_holders; k++)
            json_array_append_new(
                holders,
                json_pack("{s:I, s:o}", "job_id", (json_int_t)g->holders[k]->job_id, "end_at",
                          number(g->holders[k]->has_end_at, g->holders[k]->end_at)));
        put(o, "cause", json_out_text(g->cause));
        put(o, "count", json_integer(g->count));
        put(o, "nodes", text(g->nodes));
        put(o, "reason", text(g->reason));
        put(o, "jobs", holders);
        json_array_append_new(all, o);
    }
    return all;
}

static json_t *ahead(const Pb__WhyReply *why)
{
    json_t *all = json_array();
    for (size_t i = 0; i < why->n_ahead; i++) {
        const Pb__WhyAhead *a = why->ahead[i];
        json_array_append_new(all, json_pack("{s:I, s:o, s:I, s:I, s:o}", "job_id",
                                             (json_int_t)a->job_id, "partition", text(a->partition),
                                             "priority", (json_int_t)a->priority, "nodes",
                                             (json_int_t)a->nodes, "start_at",
                                             number(a->has_start_at, a->start_at)));
    }
    return all;
}

static json_t *holders(const Pb__WhyReply *why)
{
    json_t *all = json_array();
    for (size_t i = 0; i < why->n_holders; i++) {
        const Pb__WhyHolder *h = why->holders[i];
        json_array_append_new(all,
                              json_pack("{s:I, s:I, s:I, s:o}", "job_id", (json_int_t)h->job_id,
                                        "uid", (json_int_t)h->uid, "count", (json_int_t)h->count,
                                        "end_at", number(h->has_end_at, h->end_at)));
    }
    return all;
}

static json_t *reservations(const Pb__WhyReply *why)
{
    json_t *all = json_array();
    for (size_t i = 0; i < why->n_reservations; i++) {
        const Pb__WhyResv *r = why->reservations[i];
        json_array_append_new(all, json_pack("{s:o, s:o, s:o, s:o}", "name", json_out_text(r->name),
                                             "nodes", text(r->nodes), "start_at",
                                             number(r->has_start_at, r->start_at), "end_at",
                                             number(r->has_end_at, r->end_at)));
    }
    return all;
}

static json_t *changes(const Pb__WhyReply *why)
{
    json_t *all = json_array();
    for (size_t i = 0; i < why->n_changes; i++) {
        const Pb__WhyChange *c = why->changes[i];
        json_array_append_new(all, json_pack("{s:o, s:o, s:o, s:b, s:o, s:b}", "kind",
                                             json_out_text(c->kind), "what", json_out_text(c->what),
                                             "command", json_out_text(c->command), "now", c->now,
                                             "start_at", number(c->has_start_at, c->start_at),
                                             "by_operator", c->by_operator));
    }
    return all;
}

static void put_why(const Pb__WhyReply *why, json_t *o)
{
    put(o, "rule", json_out_text(why->rule));
    put(o, "sentence", text(why_sentence(why->rule)));
    put(o, "resource", text(why->resource));
    put(o, "have", number(why->has_have, (int64_t)why->have));
    put(o, "need", number(why->has_need, (int64_t)why->need));
    put(o, "could_ever", json_integer(why->could_ever));
    put(o, "nodes", groups(why));
    put(o, "reservations", reservations(why));
    put(o, "holders", holders(why));
    put(o, "before", json_integer(why->before));
    put(o, "before_more", json_boolean(why->before_more));
    put(o, "ahead", ahead(why));
    put(o, "starts_now", json_boolean(why->starts_now));
    put(o, "start_at", number(why->has_start_at, why->start_at));
    put(o, "changes", changes(why));
}

void why_put_json(const Pb__JobRecord *job, const Pb__WhyReply *why, int64_t now, struct str *out)
{
    static const Pb__WhyReply none = PB__WHY_REPLY__INIT;
    const Pb__JobLive *live = job->live;
    _cleanup_str_ struct str id = STR_INIT;
    json_t *o = json_object();
    job_ids_put(live, &id);
    put(o, "job", json_out_text(str_cstr(&id)));
    put(o, "job_id", json_integer(live->job_id));
    put(o, "user", json_out_text(names_user(job->spec->uid)));
    put(o, "partition", text(live->partition));
    put(o, "state", json_out_text(job_state_word(live)));
    put(o, "reason", text(why ? why->reason : NULL));
    put(o, "detail", text(live->held_up ? live->held_up : live->reason_detail));
    put(o, "now", json_integer(why ? why->now : now));
    put_why(why ? why : &none, o);
    if (!why)
        put(o, "rule", json_null());
    if (!why)
        put(o, "start_at", number(live->start_at > 0, live->start_at));
    json_t *all = json_array();
    json_array_append_new(all, o);
    json_out_print(cmd_source(), "why", all, false, out);
}
