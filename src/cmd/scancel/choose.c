/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/scancel/choose.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "show/job_ids.h"

#define LINE_MAX_BYTES 4096

void choose_filter_init(const struct options *o, struct choose_filter *f)
{
    Pb__JobFilter *m = &f->message;
    *f = (struct choose_filter){0};
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

void choose_filter_done(struct choose_filter *f)
{
    arena_done(&f->arena);
}

struct chosen {
    const struct options *options;
    struct job_id_list ids;
    struct arena *arena;
    bool stop;
};

/* Reads a line from standard input without its newline; NULL at the end of input. */
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

/* Whether the request ends jobs, and does not only signal their processes. */
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

static bool has_whole_id(const struct job_id_list *list, const Pb__StepId *whole)
{
    vec_foreach (list, id)
        if (job_ids_are_equal(id, whole))
            return true;
    return false;
}

/* Ending the leader of a job set ends all components, so one target with the leader's id is used,
 * unless a component was named explicitly. False: that target exists already. */
static bool settle_component(const struct chosen *c, const Pb__JobLive *live, Pb__StepId *target)
{
    if (!target->has_set_offset)
        return true;
    _cleanup_str_ struct str name = STR_INIT;
    job_ids_put_whole(live, &name);
    job_ids_remember(job_ids_set_id(live), str_cstr(&name));
    if (target->has_step_id || !ends_jobs(c->options))
        return true;
    Pb__StepId whole = job_ids_make_whole(live, c->arena);
    if (target->set_offset == 0 && !names_component(&c->options->ids, target->job_id))
        *target = whole;
    return !has_whole_id(&c->ids, &whole);
}

static int on_scancel_jobs(void *ctx, const ProtobufCMessage *message, struct err *err)
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

int choose_targets(struct options *o, struct choose_filter *f, struct err *err)
{
    struct chosen c = {.options = o, .arena = &f->arena};
    int r = rpc_call_stream(cmd_client(), RPC_JOB_LIST, &f->message.base, on_scancel_jobs, &c, err);
    if (r == 0) {
        vec_clear(&o->ids);
        vec_foreach (&c.ids, id)
            vec_push(&o->ids, *id);
    }
    vec_done(&c.ids);
    return r;
}

/* Adds the ids of a line, separated by commas or blanks; text in brackets belongs to an id,
 * "7_[1,3]". */
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

/* Nothing was selected: an interactive user is asked, a script gets an error. */
int choose_ids(struct options *o)
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
