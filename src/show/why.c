/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Explains the state of a job and the reason of its wait, as text and as JSON. */
#include "base/hostlist.h"
#include "base/mem.h"
#include "base/size.h"
#include "base/text.h"
#include "base/timefmt.h"
#include "show/job_ids.h"
#include "show/job_set.h"
#include "show/job_state.h"
#include "show/json_out.h"
#include "show/names.h"
#include "show/show.h"

#define AHEAD_SHOWN 10

static const struct {
    const char *word, *sentence;
} rules[] = {
#define WHY(id, word_, slurm, kinds, sentence_) {word_, sentence_},
#include "sched/why/why.def"
#undef WHY
};

/* NULL if the rule is unknown. */
static const char *find_sentence(const char *rule)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (str_eq(rules[i].word, rule))
            return rules[i].sentence;
    return NULL;
}

static void put_date(const char *before, int64_t at, struct str *out)
{
    char date[TIME_TEXT_MAX];
    str_printf(out, "%s%s", before, time_format_date(at, "Unknown", date));
}

/* Appends the title without the job's id. */
static void put_title(const Pb__JobRecord *job, struct str *out)
{
    const Pb__JobLive *live = job->live;
    str_printf(out, " (%s, partition %s): %s", names_user(job->spec->uid),
               live->partition ? live->partition : "(null)", job_state_word(live));
}

/* --- a job that is not pending ---------------------------------------------------------------
 */

static void put_resume(const Pb__JobLive *live, struct str *out)
{
    str_puts(out, "It is suspended until: scontrol resume ");
    job_ids_put_whole(live, out);
    str_putc(out, '\n');
}

static void put_suspended(const Pb__JobRecord *job, int64_t now, struct str *out)
{
    const Pb__JobLive *live = job->live;
    char left[TIME_TEXT_MAX];
    put_date("\n  It began ", live->start_at, out);
    str_printf(out, " on %s.\n  ", live->nodes ? live->nodes : "no node");
    bool has_turn = show_put_turn(live, out);
    if (!has_turn && live->yielded)
        str_puts(out, "It is suspended for a job of a higher tier, and goes on behind it.\n");
    else if (!has_turn)
        put_resume(live, out);
    int64_t sec = job_state_left_sec(live, now);
    if (sec != TIME_UNLIMITED)
        str_printf(out, "  Of its time limit %s is left.\n",
                   time_format_short(sec > 0 ? sec : 0, left));
}

static void put_running(const Pb__JobRecord *job, int64_t now, struct str *out)
{
    const Pb__JobLive *live = job->live;
    char left[TIME_TEXT_MAX];
    put_date("\n  It does not wait: it began ", live->start_at, out);
    str_printf(out, " on %s.\n", live->nodes ? live->nodes : "no node");
    int64_t sec = job_state_left_sec(live, now);
    if (sec == TIME_UNLIMITED)
        str_puts(out, "  It has no time limit.\n");
    else
        str_printf(out, "  Its time limit is over in %s.\n",
                   time_format_short(sec > 0 ? sec : 0, left));
}

static void put_ended(const Pb__JobRecord *job, struct str *out)
{
    const Pb__JobLive *live = job->live;
    put_date("\n  It has ended: ", live->end_at, out);
    str_puts(out, live->has_exit_status ? ", exit code " : "");
    if (live->has_exit_status)
        job_state_put_exit(live->exit_status, out);
    if (!job_state_stages_out(live)) {
        str_puts(out, live->completing ? ". Its nodes are still being cleaned up.\n" : ".\n");
        return;
    }
    bool failed = live->burst->failed && live->reason_detail;
    str_puts(out, ". Its data are being staged out of its burst buffer.\n");
    if (failed)
        str_printf(out, "  %s\n  End this without its data: scancel --hurry ", live->reason_detail);
    if (failed)
        job_ids_put(live, out);
    str_puts(out, failed ? "\n" : "");
}

/* --- a pending job ------------------------------------------------------------------------------
 */

static const char *size_text(uint64_t mib, char buf[SIZE_TEXT_MAX])
{
    return size_format_mib(mib, buf);
}

/* Appends the facts about the rule from the job's record. */
static void put_facts(const Pb__JobRecord *job, const Pb__WhyReply *why, struct str *out)
{
    const Pb__JobLive *live = job->live;
    if (live->dependency && *live->dependency)
        str_printf(out, "  Dependency: %s\n", live->dependency);
    if (str_eq(why->rule, "begin") && job->spec->has_begin_at_sec) {
        put_date("  It is to begin at ", job->spec->begin_at_sec, out);
        str_puts(out, " or later.\n");
    }
    if (job->spec->has_deadline_at_sec && job->spec->deadline_at_sec > 0) {
        put_date("  Its deadline: ", job->spec->deadline_at_sec, out);
        str_puts(out, "; when it could not end before that, it is ended.\n");
    }
    if (live->reason_detail && *live->reason_detail)
        str_printf(out, "  %s\n", live->reason_detail);
}

static void put_gres(const char *list, const char *of, struct str *out)
{
    if (list && *list)
        str_printf(out, ", %s %s", list, of);
}

static bool is_given(const char *list)
{
    return list && *list;
}

/* GPUs of each node, socket or task, and those that --ntasks-per-gpu makes, as one number. Where
 * the request names them in two ways, these are two views of the same. */
static void put_gpus_in_all(const Pb__JobSpec *spec, const Pb__WhyReply *why, struct str *out)
{
    bool of_nodes = is_given(spec->gres), of_tasks = is_given(spec->tres_per_task);
    bool of_sockets = is_given(spec->tres_per_socket), of_gpus = spec->ntasks_per_gpu > 0;
    bool is_one = of_nodes + of_tasks + of_sockets < 2 && !is_given(spec->tres_per_job);
    uint64_t sockets = (uint64_t)why->nodes * spec->sockets_per_node;
    bool is_product = (of_nodes && why->nodes > 1) || (of_tasks && why->tasks > 1) ||
                      (of_sockets && sockets > 1) || of_gpus;
    uint64_t count = job_state_count_gpus(spec, why->nodes, why->tasks);
    if (count && is_one && is_product)
        str_printf(out, ", %llu GPU%s in all", (unsigned long long)count, count == 1 ? "" : "s");
}

/* "node n1", "nodes n[1-2]" */
static void put_node_names(const char *nodes, struct str *out)
{
    _cleanup_hostlist_ struct hostlist *list = NULL;
    bool one = hostlist_parse(nodes, &list, NULL) == 0 && hostlist_count(list) == 1;
    str_printf(out, "node%s %s", one ? "" : "s", nodes);
}

static void put_need(const Pb__JobRecord *job, const Pb__WhyReply *why, struct str *out)
{
    char mem[SIZE_TEXT_MAX], limit[TIME_TEXT_MAX];
    str_printf(out, "  It needs %u%s node%s, %u task%s with %u CPU%s%s", why->nodes,
               why->whole_nodes ? " whole" : "", why->nodes == 1 ? "" : "s", why->tasks,
               why->tasks == 1 ? "" : "s", why->cpus_per_task, why->cpus_per_task == 1 ? "" : "s",
               why->tasks == 1 ? "" : " each");
    if (why->has_mem_node_mib)
        str_printf(out, ", %s of memory on each node", size_text(why->mem_node_mib, mem));
    if (why->has_mem_cpu_mib)
        str_printf(out, ", %s of memory for each CPU", size_text(why->mem_cpu_mib, mem));
    put_gres(job->spec->gres, "on each node", out);
    put_gres(job->spec->tres_per_job, "in all", out);
    put_gres(job->spec->tres_per_task, "for each task", out);
    put_gres(job->spec->tres_per_socket, "on each socket", out);
    put_gpus_in_all(job->spec, why, out);
    if (job->spec->licenses && *job->spec->licenses)
        str_printf(out, ", licences %s", job->spec->licenses);
    if (job->spec->features && *job->spec->features)
        str_printf(out, ", constraint %s", job->spec->features);
    if (job->spec->req_nodes && *job->spec->req_nodes) { /* the other nodes are arbitrary */
        str_puts(out, ", on ");
        put_node_names(job->spec->req_nodes, out);
    }
    str_printf(out, ", for %s.\n", time_format_short(job->live->time_limit_sec, limit));
}

static const char *cause_text(const char *cause)
{
    static const struct {
        const char *cause, *text;
    } texts[] = {{"free", "free"},
                 {"reserved", "reserved"},
#define NODE_RESOURCE(id, word, scarce, sentence, ...) {word, sentence},
#include "cluster/resource/resource_kind.def"
                 {"whole", "not idle"},
                 {"shared", "shared by as many jobs as OverSubscribe allows"},
                 {"user", "kept for another user"},
                 {"topo", "in blocks or switches that other jobs use"},
                 {"several", "too little of several things free"},
                 {"drained", "drained"},
                 {"down", "down"}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (str_eq(texts[i].cause, cause))
            return texts[i].text;
    return cause;
}

/* "16_3" for an array element; otherwise the id. */
static void put_job_name(const Pb__WhyReply *why, uint32_t job_id, struct str *out)
{
    for (size_t i = 0; i < why->n_elements; i++)
        if (why->elements[i]->job_id == job_id) {
            str_puts(out, why->elements[i]->name);
            return;
        }
    str_printf(out, "%u", job_id);
}

static void put_group(const Pb__WhyReply *why, const Pb__WhyNodes *g, struct str *out)
{
    str_printf(out, "    %6u  %s: %s", g->count, cause_text(g->cause), g->nodes ? g->nodes : "");
    if (g->reason && *g->reason)
        str_printf(out, " (%s)", g->reason);
    for (size_t i = 0; i < g->n_holders; i++) {
        str_puts(out, i ? ", " : g->n_holders == 1 ? "; job " : "; jobs ");
        put_job_name(why, g->holders[i]->job_id, out);
        if (g->holders[i]->has_end_at)
            put_date(" until ", g->holders[i]->end_at, out);
    }
    str_putc(out, '\n');
}

static void put_nodes(const Pb__WhyReply *why, struct str *out)
{
    if (why->resource && why->has_need)
        str_printf(out, "  Short of: %s (%llu of %llu).\n", why->resource,
                   (unsigned long long)why->have, (unsigned long long)why->need);
    for (size_t i = 0; i < why->n_holders; i++) {
        const Pb__WhyHolder *h = why->holders[i];
        str_puts(out, "    job ");
        put_job_name(why, h->job_id, out);
        str_printf(out, " of %s has %llu", names_user(h->uid), (unsigned long long)h->count);
        if (h->has_end_at)
            put_date(", until ", h->end_at, out);
        str_puts(out, h->has_end_at ? " at the latest\n" : ", without a time limit\n");
    }
    if (!why->n_groups)
        return;
    str_printf(out, "  Of %u node%s that could ever serve:\n", why->could_ever,
               why->could_ever == 1 ? "" : "s");
    for (size_t i = 0; i < why->n_groups; i++)
        put_group(why, why->groups[i], out);
}

static void put_reservations(const Pb__WhyReply *why, struct str *out)
{
    for (size_t i = 0; i < why->n_reservations; i++) {
        const Pb__WhyResv *r = why->reservations[i];
        str_printf(out, "  Reservation %s%s: %s%s", r->name,
                   r->own ? ", which the job is confined to" : "", r->keeps ? r->keeps : "",
                   r->keeps ? " of " : "");
        put_node_names(r->nodes && *r->nodes ? r->nodes : "(null)", out);
        if (r->has_start_at)
            put_date(", from ", r->start_at, out);
        if (r->has_end_at)
            put_date(" until ", r->end_at, out);
        str_putc(out, '\n');
    }
}

static void put_ahead(const Pb__WhyReply *why, struct str *out)
{
    if (!why->before && !why->n_ahead)
        return;
    str_printf(out, "  Before it in the queue: %u job%s%s.", why->before,
               why->before == 1 ? "" : "s", why->before_more ? " or more" : "");
    str_puts(out, why->n_ahead ? " With a place on the timeline:\n" : "\n");
    for (size_t i = 0; i < why->n_ahead && i < AHEAD_SHOWN; i++) {
        const Pb__WhyAhead *a = why->ahead[i];
        _cleanup_str_ struct str job = STR_INIT;
        put_job_name(why, a->job_id, &job);
        str_printf(out, "    %6s  priority %u, %u node%s, partition %s", str_cstr(&job),
                   a->priority, a->nodes, a->nodes == 1 ? "" : "s",
                   a->partition ? a->partition : "");
        if (a->has_start_at)
            put_date(", expected ", a->start_at, out);
        str_putc(out, '\n');
    }
    if (why->n_ahead > AHEAD_SHOWN)
        str_printf(out, "    and %zu more\n", why->n_ahead - AHEAD_SHOWN);
}

static void put_start(const Pb__WhyReply *why, struct str *out)
{
    if (why->has_start_at) {
        put_date("  Expected start: ", why->start_at, out);
    } else if (why->n_without_limit) {
        bool one = why->n_without_limit == 1;
        str_printf(out, "  Expected start: not foreseeable, no end is known: job%s ",
                   one ? "" : "s");
        for (size_t i = 0; i < why->n_without_limit; i++) {
            str_puts(out, i ? ", " : "");
            put_job_name(why, why->without_limit[i], out);
        }
        str_printf(out, " ha%s no time limit", one ? "s" : "ve");
    } else if (!why->starts_now) {
        str_puts(out, "  Expected start: not foreseeable");
    } else {
        return;
    }
    str_putc(out, '\n');
}

static void put_changes(const Pb__WhyReply *why, struct str *out)
{
    if (why->n_changes)
        str_puts(out, "  It would start\n");
    for (size_t i = 0; i < why->n_changes; i++) {
        const Pb__WhyChange *c = why->changes[i];
        char date[TIME_TEXT_MAX];
        str_printf(out, "    %-19s  with %s%s\n      %s\n",
                   c->now ? "now" : time_format_date(c->start_at, "some time", date), c->what,
                   c->by_operator ? ", which an operator may give it" : "", c->command);
    }
}

/* The controller holds a job whose launch failed, as a hold by the user. The cause is in the detail
 * of the reason. */
static const char *sentence_of(const Pb__JobRecord *job, const Pb__WhyReply *why)
{
    const char *detail = job->live->reason_detail;
    if (str_eq(why->rule, "held") && detail && str_starts(detail, "launch failed"))
        return "It is held since it could not be started; release it when the cause is mended.";
    return find_sentence(why->rule);
}

/* States that the following lines concern this component of the job set. */
static void put_component(const Pb__JobRecord *component, const Pb__WhyReply *why, struct str *out)
{
    _cleanup_str_ struct str whole = STR_INIT;
    if (!why->has_set_count)
        return;
    job_ids_put_whole(component->live, &whole);
    str_printf(out, "  Component %u of job %s (job %u, partition %s) keeps all %u from starting:\n",
               why->set_offset, str_cstr(&whole), why->job_id,
               component->live->partition ? component->live->partition : "(null)", why->set_count);
}

static void put_waiting(const Pb__JobRecord *job, const Pb__WhyReply *why, struct str *out)
{
    const char *sentence = sentence_of(job, why);
    str_printf(out, ", %s\n", why->reason);
    put_component(job, why, out);
    str_printf(out, "  %s\n", sentence ? sentence : why->rule);
    if (why->has_set_beside)
        str_printf(out, "  It never fits beside component %u.\n", why->set_beside);
    if (why->lack)
        str_printf(out, "  %s.\n", why->lack);
    put_facts(job, why, out);
    put_need(job, why, out);
    put_nodes(why, out);
    put_reservations(why, out);
    put_ahead(why, out);
    put_start(why, out);
    put_changes(why, out);
}

static void put_explanation(const Pb__JobRecord *job, const Pb__JobRecord *component,
                            const Pb__WhyReply *why, int64_t now, struct str *out)
{
    put_title(job, out);
    if (why)
        put_waiting(component, why, out);
    else if (job_state_is_final(job->live))
        put_ended(job, out);
    else if (job->live->state == PB__JOB_STATE__SUSPENDED)
        put_suspended(job, now, out);
    else
        put_running(job, now, out);
    if (!why && job->live->held_up && *job->live->held_up)
        str_printf(out, "  It is held up, %s\n", job->live->held_up);
}

void show_why_of(const Pb__JobRecord *job, const Pb__JobRecord *component, const Pb__WhyReply *why,
                 int64_t now, struct str *out)
{
    _cleanup_str_ struct str text = STR_INIT;
    put_explanation(job, component, why, now, &text);
    text_escape_lines(str_cstr(&text), out);
}

void show_why_text(const Pb__JobRecord *job, const Pb__JobRecord *component,
                   const Pb__WhyReply *why, int64_t now, struct str *out)
{
    str_puts(out, "Job ");
    job_ids_put(job->live, out);
    show_why_of(job, component, why, now, out);
}

/* --- JSON: every member is present; its value is null when the reply does not have it -----------
 */

static void put_member(json_t *o, const char *key, json_t *value)
{
    json_object_set_new(o, key, value);
}

static json_t *pack_number(bool known, int64_t value)
{
    return known ? json_integer(value) : json_null();
}

static json_t *pack_text(const char *s)
{
    return s && *s ? json_out_text(s) : json_null();
}

static json_t *pack_groups(const Pb__WhyReply *why)
{
    json_t *all = json_array();
    for (size_t i = 0; i < why->n_groups; i++) {
        const Pb__WhyNodes *g = why->groups[i];
        json_t *o = json_object(), *holders = json_array();
        for (size_t k = 0; k < g->n_holders; k++)
            json_array_append_new(
                holders,
                json_pack("{s:I, s:o}", "job_id", (json_int_t)g->holders[k]->job_id, "end_at",
                          pack_number(g->holders[k]->has_end_at, g->holders[k]->end_at)));
        put_member(o, "cause", json_out_text(g->cause));
        put_member(o, "count", json_integer(g->count));
        put_member(o, "nodes", pack_text(g->nodes));
        put_member(o, "reason", pack_text(g->reason));
        put_member(o, "jobs", holders);
        json_array_append_new(all, o);
    }
    return all;
}

static json_t *pack_jobs_ahead(const Pb__WhyReply *why)
{
    json_t *all = json_array();
    for (size_t i = 0; i < why->n_ahead; i++) {
        const Pb__WhyAhead *a = why->ahead[i];
        json_array_append_new(
            all,
            json_pack("{s:I, s:o, s:I, s:I, s:o}", "job_id", (json_int_t)a->job_id, "partition",
                      pack_text(a->partition), "priority", (json_int_t)a->priority, "nodes",
                      (json_int_t)a->nodes, "start_at", pack_number(a->has_start_at, a->start_at)));
    }
    return all;
}

static json_t *pack_holders(const Pb__WhyReply *why)
{
    json_t *all = json_array();
    for (size_t i = 0; i < why->n_holders; i++) {
        const Pb__WhyHolder *h = why->holders[i];
        json_array_append_new(all,
                              json_pack("{s:I, s:I, s:I, s:o}", "job_id", (json_int_t)h->job_id,
                                        "uid", (json_int_t)h->uid, "count", (json_int_t)h->count,
                                        "end_at", pack_number(h->has_end_at, h->end_at)));
    }
    return all;
}

static json_t *pack_reservations(const Pb__WhyReply *why)
{
    json_t *all = json_array();
    for (size_t i = 0; i < why->n_reservations; i++) {
        const Pb__WhyResv *r = why->reservations[i];
        json_array_append_new(all, json_pack("{s:o, s:o, s:o, s:b, s:o, s:o}", "name",
                                             json_out_text(r->name), "nodes", pack_text(r->nodes),
                                             "keeps", pack_text(r->keeps), "own", r->own,
                                             "start_at", pack_number(r->has_start_at, r->start_at),
                                             "end_at", pack_number(r->has_end_at, r->end_at)));
    }
    return all;
}

static json_t *pack_limitless(const Pb__WhyReply *why)
{
    json_t *all = json_array();
    for (size_t i = 0; i < why->n_without_limit; i++)
        json_array_append_new(all, json_integer(why->without_limit[i]));
    return all;
}

static json_t *pack_changes(const Pb__WhyReply *why)
{
    json_t *all = json_array();
    for (size_t i = 0; i < why->n_changes; i++) {
        const Pb__WhyChange *c = why->changes[i];
        json_array_append_new(all, json_pack("{s:o, s:o, s:o, s:b, s:o, s:b}", "kind",
                                             json_out_text(c->kind), "what", json_out_text(c->what),
                                             "command", json_out_text(c->command), "now", c->now,
                                             "start_at", pack_number(c->has_start_at, c->start_at),
                                             "by_operator", c->by_operator));
    }
    return all;
}

static void put_why(const Pb__WhyReply *why, json_t *o)
{
    put_member(o, "component", show_set_pack_why(why));
    put_member(o, "rule", json_out_text(why->rule));
    put_member(o, "sentence", pack_text(find_sentence(why->rule)));
    put_member(o, "resource", pack_text(why->resource));
    put_member(o, "have", pack_number(why->has_have, (int64_t)why->have));
    put_member(o, "need", pack_number(why->has_need, (int64_t)why->need));
    put_member(o, "lack", pack_text(why->lack));
    put_member(o, "could_ever", json_integer(why->could_ever));
    put_member(o, "nodes", pack_groups(why));
    put_member(o, "reservations", pack_reservations(why));
    put_member(o, "holders", pack_holders(why));
    put_member(o, "before", json_integer(why->before));
    put_member(o, "before_more", json_boolean(why->before_more));
    put_member(o, "ahead", pack_jobs_ahead(why));
    put_member(o, "starts_now", json_boolean(why->starts_now));
    put_member(o, "start_at", pack_number(why->has_start_at, why->start_at));
    put_member(o, "without_limit", pack_limitless(why));
    put_member(o, "changes", pack_changes(why));
}

json_t *show_why_json(const Pb__JobRecord *job, const Pb__WhyReply *why, int64_t now)
{
    static const Pb__WhyReply none = PB__WHY_REPLY__INIT;
    const Pb__JobLive *live = job->live;
    _cleanup_str_ struct str id = STR_INIT;
    json_t *o = json_object();
    job_ids_put(live, &id);
    put_member(o, "job", json_out_text(str_cstr(&id)));
    put_member(o, "job_id", json_integer(live->job_id));
    put_member(o, "user", json_out_text(names_user(job->spec->uid)));
    put_member(o, "partition", pack_text(live->partition));
    put_member(o, "state", json_out_text(job_state_word(live)));
    put_member(o, "reason", pack_text(why ? why->reason : NULL));
    put_member(o, "detail", pack_text(live->held_up ? live->held_up : live->reason_detail));
    put_member(o, "now", json_integer(why ? why->now : now));
    put_why(why ? why : &none, o);
    if (!why)
        put_member(o, "rule", json_null());
    if (!why)
        put_member(o, "start_at", pack_number(live->start_at > 0, live->start_at));
    return o;
}

/* --- a step that runs ----------------------------------------------------------------------------
 */

static const char *word_of_step(const Pb__StepRecord *step)
{
    return step->suspended ? "SUSPENDED" : "RUNNING";
}

void show_why_step_text(const Pb__StepRecord *step, struct str *out)
{
    _cleanup_str_ struct str text = STR_INIT;
    str_puts(&text, "Step ");
    show_put_step_id(step, &text);
    str_printf(&text, " (%s): %s", step->name ? step->name : "", word_of_step(step));
    put_date(step->suspended ? "\n  It began " : "\n  It does not wait: it began ", step->start_at,
             &text);
    str_printf(&text, " on %s.\n", step->nodes ? step->nodes : "no node");
    text_escape_lines(str_cstr(&text), out);
}

json_t *show_why_step_json(const Pb__StepRecord *step)
{
    _cleanup_str_ struct str id = STR_INIT;
    show_put_step_id(step, &id);
    return json_pack("{s:o, s:o, s:s, s:I, s:o}", "step", json_out_text(str_cstr(&id)), "name",
                     pack_text(step->name), "state", word_of_step(step), "start_at",
                     (json_int_t)step->start_at, "nodes", pack_text(step->nodes));
}

/* --- gates ---------------------------------------------------------------------------------------
 */

void show_gates_text(const Pb__GatesReply *gates, struct show_style style, struct str *out)
{
    str_printf(out, "JobId=%u", gates->job_id);
    for (size_t i = 0; i < gates->n_gates; i++) {
        const Pb__Gate *g = gates->gates[i];
        str_printf(out, "%sGate=%s", style.oneliner ? " " : "\n   ", g->name);
        if (g->partition)
            str_printf(out, " Partition=%s", g->partition);
        str_printf(out, " State=%s", g->reason ? "CLOSED" : "OPEN");
        if (g->reason)
            str_printf(out, " Reason=%s", g->reason);
    }
    str_putc(out, '\n');
}

json_t *show_gates_json(const Pb__GatesReply *gates)
{
    json_t *list = json_array();
    for (size_t i = 0; i < gates->n_gates; i++) {
        const Pb__Gate *g = gates->gates[i];
        json_array_append_new(list,
                              json_pack("{s:s, s:s?, s:b, s:s?}", "name", g->name, "partition",
                                        g->partition, "open", !g->reason, "reason", g->reason));
    }
    return json_pack("{s:I, s:o}", "job_id", (json_int_t)gates->job_id, "gates", list);
}
