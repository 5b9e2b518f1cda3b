/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * scancel: ends or signals jobs and steps.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/cmd.h"
#include "cli/node_names.h"
#include "cmd/scancel/options.h"
#include "show/job_ids.h"

#define LINE_MAX_BYTES 4096
#define TARGETS_AT_ONCE 4096 /* what a request may name */

struct filter {
    Pb__JobFilter message;
    Pb__JobState states[PB__JOB_STATE__SUSPENDED + 1];
    struct arena arena;
    char *name, *partition;
};

static void make_filter(const struct options *o, struct filter *f)
{
    Pb__JobFilter *m = &f->message;
    *f = (struct filter){0};
    pb__job_filter__init(m);
    arena_init(&f->arena, 0);
    job_ids_filter(o->ids.data, o->ids.len, m, &f->arena);
    for (unsigned i = 0; i <= PB__JOB_STATE__SUSPENDED; i++)
        if (o->states.wanted >> i & 1)
            f->states[m->n_state++] = (Pb__JobState)i;
    m->state = f->states;
    m->has_completing = job_states_given(&o->states);
    f->name = (char *)o->name;
    f->partition = (char *)o->partition;
    m->name = &f->name;
    m->n_name = o->name != NULL;
    m->partition = &f->partition;
    m->n_partition = o->partition != NULL;
    m->uid = (uint32_t *)&o->uid;
    m->n_uid = o->has_uid;
    m->nodes = (char *)o->nodes;
}

static void filter_done(struct filter *f)
{
    arena_done(&f->arena);
}

struct chosen {
    const struct options *options;
    struct job_id_list ids;
    struct arena *arena;
    bool stop;
};

/* A line from standard input without its end; NULL at the end of input. */
static char *read_line(char line[LINE_MAX_BYTES])
{
    if (!fgets(line, LINE_MAX_BYTES, stdin))
        return NULL;
    line[strcspn(line, "\n")] = 0;
    return line;
}

static bool ask_user(const Pb__JobRecord *job, const Pb__StepId *id, bool *stop)
{
    char line[LINE_MAX_BYTES];
    for (;;) {
        _cleanup_str_ struct str question = STR_INIT;
        if (id->has_step_id) {
            str_puts(&question, "Cancel step_id=");
            job_ids_put_asked(id, &question);
        } else {
            str_puts(&question, "Cancel job_id=");
            if (job->live->has_set_id)
                job_ids_put_asked(id, &question);
            else
                job_ids_put(job->live, &question);
        }
        str_printf(&question, " name=%s partition=%s [y/n]? ",
                   job->spec->name ? job->spec->name : "",
                   job->live->partition ? job->live->partition : "");
        for (size_t i = 0; i < question.len; i++)
            if ((unsigned char)question.data[i] < 0x20)
                question.data[i] = '?';
        fputs(str_cstr(&question), stdout);
        fflush(stdout);
        if (!read_line(line)) {
            *stop = true;
            return false;
        }
        if (*line == 'y' || *line == 'Y' || *line == 'n' || *line == 'N')
            return *line == 'y' || *line == 'Y';
    }
}

/* Whether the request ends jobs, and is no mere signal to what runs of them. */
static bool ends_jobs(const struct options *o)
{
    return !o->has_signal || (o->signal == SIGKILL && !o->batch && !o->full);
}

static bool names_component(const struct job_id_list *list, uint32_t leader_id)
{
    vec_foreach (list, id)
        if (id->job_id == leader_id && id->has_set_offset && !id->has_step_id)
            return true;
    return false;
}

/* All components of the heterogeneous job: of a job array those of this element alone, whose id may
 * be that of the array. */
static Pb__StepId make_whole_id(const Pb__JobLive *live, struct arena *arena)
{
    Pb__StepId id = PB__STEP_ID__INIT;
    id.job_id = live->has_array_job_id ? live->array_job_id : live->set_id;
    id.array_tasks = live->has_array_job_id ? arena_printf(arena, "%u", live->array_task_id) : NULL;
    return id;
}

static bool has_whole_id(const struct job_id_list *list, const Pb__StepId *whole)
{
    vec_foreach (list, id)
        if (job_ids_are_equal(id, whole))
            return true;
    return false;
}

/* The end of a heterogeneous job's leader ends the other components: it stands for all of them
 * where nobody has named it as a component. False: it has done so for this one. */
static bool settle_component(const struct chosen *c, const Pb__JobLive *live, Pb__StepId *target)
{
    if (!target->has_set_offset)
        return true;
    _cleanup_str_ struct str name = STR_INIT;
    job_ids_put_whole(live, &name);
    job_ids_remember(live->set_id, str_cstr(&name));
    if (target->has_step_id || !ends_jobs(c->options))
        return true;
    Pb__StepId whole = make_whole_id(live, c->arena);
    if (target->set_offset == 0 && !names_component(&c->options->ids, target->job_id))
        *target = whole;
    return !has_whole_id(&c->ids, &whole);
}

static int on_jobs(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct chosen *c = ctx;
    const Pb__JobList *part = (const Pb__JobList *)message;
    for (size_t i = 0; i < part->n_jobs && !c->stop; i++) {
        const Pb__JobRecord *job = part->jobs[i];
        Pb__StepId *targets;
        if (!job->spec || !job->live || !options_match(c->options, job))
            continue;
        size_t count = job_ids_targets(c->options->ids.data, c->options->ids.len, job->live,
                                       c->arena, &targets);
        for (size_t k = 0; k < count && !c->stop; k++)
            if (settle_component(c, job->live, &targets[k]) &&
                (!c->options->interactive || ask_user(job, &targets[k], &c->stop)))
                vec_push(&c->ids, targets[k]);
    }
    return 0;
}

/* Replaces the filters by the ids of the jobs that pass them, or of their steps that were named. */
static int choose_targets(struct options *o, struct filter *f, struct err *err)
{
    struct chosen c = {.options = o, .arena = &f->arena};
    int r = rpc_call_stream(cmd_client(), RPC_JOB_LIST, &f->message.base, on_jobs, &c, err);
    if (r == 0) {
        vec_clear(&o->ids);
        vec_foreach (&c.ids, id)
            vec_push(&o->ids, *id);
    }
    vec_done(&c.ids);
    return r;
}

static void print_error(const Pb__StepId *id, const char *text)
{
    _cleanup_str_ struct str name = STR_INIT;
    job_ids_put_asked(id, &name);
    cmd_error("Kill job error on job %s %s: %s", id->has_step_id ? "step id" : "id",
              str_cstr(&name), text);
}

struct known {
    const struct job_id_list *ids;
    bool *is_known; /* by the place of the id */
};

static int on_known_jobs(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct known *k = ctx;
    const Pb__JobList *part = (const Pb__JobList *)message;
    (void)err;
    for (size_t i = 0; i < part->n_jobs; i++) {
        const Pb__JobLive *live = part->jobs[i]->live;
        if (!live || job_state_is_final(live))
            continue;
        for (size_t at = 0; at < k->ids->len; at++)
            k->is_known[at] = k->is_known[at] || job_ids_has_target(&k->ids->data[at], live);
    }
    return 0;
}

/* With a filter or -i, an id is an error if its job does not exist or has ended, whether or not the
 * filter would have chosen the job. */
static int report_unknown_ids(const struct options *o)
{
    _cleanup_arena_ struct arena arena;
    _cleanup_free_ bool *is_known = mem_new_array(bool, o->ids.len);
    struct known known = {&o->ids, is_known};
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    struct err err = {0};
    int status = 0;
    arena_init(&arena, 0);
    job_ids_filter(o->ids.data, o->ids.len, &filter, &arena);
    if (rpc_call_stream(cmd_client(), RPC_JOB_LIST, &filter.base, on_known_jobs, &known, &err) < 0)
        return 0; /* the request itself meets the same failure */
    for (size_t i = 0; i < o->ids.len; i++) {
        if (is_known[i])
            continue;
        status = 1;
        if (!o->quiet)
            print_error(&o->ids.data[i], err_text(ERR_NO_JOB));
    }
    return status;
}

static const char *put_name(const Pb__JobSignalReply__Result *r, struct str *out)
{
    Pb__StepId id = PB__STEP_ID__INIT;
    JOB_IDS_COPY(&id, r);
    id.has_step_id = r->has_step_id;
    id.step_id = r->step_id;
    job_ids_put_asked(&id, out);
    return str_cstr(out);
}

static void print_refusal(const struct options *o, const Pb__JobSignalReply__Result *result)
{
    _cleanup_str_ struct str name = STR_INIT;
    const char *what = result->has_step_id ? "step" : "job", *buf = put_name(result, &name);
    if (!o->has_signal)
        cmd_detail(1, "Terminating %s %s", what, buf);
    else
        cmd_detail(1, "Signal %d to %s%s %s", o->signal,
                   result->has_step_id ? ""
                   : o->full           ? "full "
                   : o->batch          ? "batch "
                                       : "",
                   what, buf);
}

/* Whether the job was to be ended and has ended: that is no failure. The record of a job that ended
 * some time ago has been purged, so an unknown job is no failure either. */
static bool is_done(const struct options *o, const Pb__JobSignalReply__Result *r)
{
    bool ends = !o->batch && (!o->has_signal || o->signal == SIGKILL);
    int code = abs(r->code);
    return ends && !r->has_step_id && (code == ERR_JOB_DONE || code == ERR_NO_JOB);
}

/* Some nodes of it, or all, are away. */
static int tell_unreached(const struct options *o, const Pb__JobSignalReply__Result *r)
{
    _cleanup_str_ struct str name = STR_INIT;
    if (!r->unreached)
        return 0;
    cmd_error("Signal %d of %s %s did not reach %s: away from the controller, and it is not kept "
              "for them%s",
              o->signal, r->has_step_id ? "step" : "job", put_name(r, &name), r->unreached,
              r->code ? "" : "; the other nodes have it");
    return 1;
}

static void tell_no_match(void)
{
    cmd_detail(1, "No active jobs match all filters");
}

/* Prints what came of it; the status to exit with. */
static int print_results(const struct options *o, const Pb__JobSignalReply *reply)
{
    int status = 0;
    if (!reply->n_results)
        tell_no_match();
    for (size_t i = 0; i < reply->n_results; i++) {
        const Pb__JobSignalReply__Result *r = reply->results[i];
        int code = r->code < 0 ? -r->code : r->code;
        print_refusal(o, r);
        status |= tell_unreached(o, r);
        if (code == 0)
            continue;
        if (!is_done(o, r))
            status = 1;
        else if (code == ERR_JOB_DONE && !o->common.verbose)
            continue;
        if (o->quiet && (code == ERR_JOB_DONE || code == ERR_NO_JOB || code == ERR_NO_STEP))
            continue;
        _cleanup_str_ struct str name = STR_INIT;
        cmd_error("Kill job error on job %s %s: %s", r->has_step_id ? "step id" : "id",
                  put_name(r, &name), r->text ? r->text : err_text(code));
    }
    return status;
}

/* Errors of a call that reached nobody are told of every job, as Slurm does. */
static int report_failure(const Pb__StepId *ids, size_t count, const struct err *err)
{
    for (size_t i = 0; i < count; i++)
        print_error(&ids[i], err->text);
    if (!count)
        cmd_error("%s", err->text);
    return 1;
}

static int send_request(const struct options *o, Pb__JobSignal *request, const Pb__StepId *ids,
                        size_t count)
{
    Pb__JobSignalReply *reply = NULL;
    struct err err = {0};
    if (cmd_call(RPC_JOB_SIGNAL, &request->base, &reply, &err) < 0)
        return report_failure(ids, count, &err);
    return print_results(o, reply);
}

/* Any number of jobs, as many at a time as a request may name. */
static int send_targets(const struct options *o, Pb__JobSignal *request)
{
    size_t count = o->ids.len;
    int status = 0;
    _cleanup_free_ Pb__StepId **targets = mem_new_array(Pb__StepId *, count);
    for (size_t i = 0; i < count; i++)
        targets[i] = &o->ids.data[i];
    for (size_t i = 0; i < count; i += TARGETS_AT_ONCE) {
        request->target = targets + i;
        request->n_target = count - i < TARGETS_AT_ONCE ? count - i : TARGETS_AT_ONCE;
        if (send_request(o, request, &o->ids.data[i], request->n_target))
            status = 1;
    }
    return status;
}

static int cancel_known_jobs(struct options *o)
{
    _cleanup_(filter_done) struct filter f;
    Pb__JobSignal request = PB__JOB_SIGNAL__INIT;
    struct err err = {0};
    bool by_filter = options_has_filter(o);
    make_filter(o, &f);
    if (o->nodes && node_names_check(o->nodes, &err) < 0) {
        cmd_error("%s", err.text);
        return 1;
    }
    if (options_needs_list(o)) {
        if (choose_targets(o, &f, &err) < 0)
            return report_failure(o->ids.data, o->ids.len, &err);
        if (!o->ids.len) {
            tell_no_match();
            return 0;
        }
        by_filter = false;
    }
    request.has_signal = o->has_signal;
    request.signal = o->signal;
    request.has_batch_only = request.batch_only = o->batch && !o->full;
    request.has_full = request.full = o->full;
    request.has_hurry = request.hurry = o->hurry;
    if (!by_filter)
        return send_targets(o, &request);
    request.filter = &f.message;
    return send_request(o, &request, o->ids.data, o->ids.len);
}

static int cancel_jobs(struct options *o)
{
    bool chooses = options_has_filter(o) || o->interactive;
    int status = chooses && o->ids.len ? report_unknown_ids(o) : 0;
    return cancel_known_jobs(o) || status;
}

/* Adds the ids of a line, which has commas or blanks between them; those in brackets belong to an
 * id, "7_[1,3]". */
static int add_ids(struct options *o, char *line)
{
    int status = 0;
    for (char *word = line + strspn(line, " \t,"); *word && status == 0;) {
        size_t len = job_ids_word(word);
        char *next = word + len + strspn(word + len, " \t,");
        word[len] = 0;
        status = options_add_id(o, word);
        word = next;
    }
    return status;
}

/* Nothing was selected: a person is asked, a script is told. */
static int select_jobs(struct options *o)
{
    char line[LINE_MAX_BYTES];
    int status = 0;
    if (isatty(STDIN_FILENO)) {
        fputs("Job id(s) to cancel, each job_id[.step_id]: ", stdout);
        fflush(stdout);
        if (read_line(line))
            status = add_ids(o, line);
    }
    if (status == 0 && !o->ids.len) {
        cmd_error("No job identification provided");
        status = 2;
    }
    return status;
}

int main(int argc, char **argv)
{
    static struct options o; /* also of an early exit: in use until the process ends */
    cmd_start("scancel");
    int status = options_parse(&o, argc, argv);
    if (status == 0 && !args_is_info(&o.common) && !o.ids.len && !options_has_filter(&o))
        status = select_jobs(&o);
    if (args_leave(&options_table, &o.common, &status))
        return status;
    status = cancel_jobs(&o);
    options_done(&o);
    return status;
}
