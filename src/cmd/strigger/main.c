/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * strigger: programs that the controller runs on events.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/mem.h"
#include "base/vec.h"
#include "cli/cmd.h"
#include "cluster/trigger.h"
#include "cmd/strigger/options.h"
#include "show/names.h"

#define REQUEST_ID_SIZE 16
#define COLUMNS 7 /* columns with a width; the program, the last column, has none */

/* --- set ---------------------------------------------------------------------------------------
 */

/* Whether --quiet suppresses the error. */
static bool is_no_matter(const struct options *o, int code)
{
    if (o->clear)
        return code == ERR_NO_TRIGGER;
    return code == ERR_TRIGGER_EXISTS || code == ERR_JOB_DONE;
}

static int fail_request(const struct options *o, const char *what, const struct err *err)
{
    if (o->quiet && is_no_matter(o, -err->code))
        return 0;
    cmd_error("%s: %s", what, err->text);
    return 1;
}

static int set_trigger(struct options *o)
{
    uint8_t id[REQUEST_ID_SIZE];
    Pb__TriggerReply *reply = NULL;
    struct err err = {0};
    if (getrandom(id, sizeof id, 0) != sizeof id) {
        cmd_error("getrandom: %s", strerror(errno));
        return 1;
    }
    o->ask.has_request_id = true;
    o->ask.request_id = (ProtobufCBinaryData){sizeof id, id};
    if (cmd_call(RPC_TRIGGER_SET, &o->ask.base, &reply, &err) < 0)
        return fail_request(o, "cannot set the trigger", &err);
    if (reply->note)
        cmd_say("%s", reply->note);
    cmd_detail(1, "trigger %u set", reply->id);
    return 0;
}

/* --- selection ---------------------------------------------------------------------------------
 */

static void make_filter(struct options *o, Pb__TriggerFilter *f)
{
    pb__trigger_filter__init(f);
    f->id = &o->id;
    f->n_id = o->has_id;
    f->uid = &o->user;
    f->n_uid = o->has_user;
    f->job_id = &o->ask.job_id;
    f->n_job_id = o->ask.has_job_id ? 1 : 0;
    f->has_set_offset = o->ask.has_set_offset;
    f->set_offset = o->ask.set_offset;
    f->has_array_task = o->ask.has_array_task;
    f->array_task = o->ask.array_task;
    f->has_types = o->ask.types != 0;
    f->types = o->ask.types;
    f->nodes = o->ask.nodes;
}

static int clear_triggers(struct options *o)
{
    Pb__TriggerFilter filter;
    Pb__TriggerReply *reply = NULL;
    struct err err = {0};
    make_filter(o, &filter);
    if (cmd_call(RPC_TRIGGER_CLEAR, &filter.base, &reply, &err) < 0)
        return fail_request(o, "cannot clear a trigger", &err);
    cmd_detail(1, "%u triggers cleared", reply->cleared);
    return 0;
}

/* --- get ---------------------------------------------------------------------------------------
 */

struct line {
    char *cell[COLUMNS + 1];
};

struct table {
    VEC(struct line) lines;
    bool nodes_only;
};

/* Slurm's widths: negative for left-justified columns. Longer text is not cut. */
static const struct {
    const char *title;
    int width;
} columns[COLUMNS] = {{"TRIG_ID", 7}, {"RES_TYPE", -9}, {"RES_ID", 7}, {"TYPE", -35},
                      {"OFFSET", 6},  {"USER", -8},     {"FLAGS", -5}};

static char *format_resource(const Pb__TriggerRecord *m)
{
    const char *component = m->has_set_offset ? "+0" : "";
    if (m->has_array_task)
        return mem_printf("%u_%u%s", m->job_id, m->array_task, component);
    if (m->has_job_id)
        return mem_printf("%u%s", m->job_id, component);
    return mem_strdup(m->nodes ? m->nodes : "*");
}

static void add_line(struct table *t, const Pb__TriggerRecord *m)
{
    struct str types = STR_INIT;
    trigger_format_types(m->types, &types);
    struct line l = {{
        mem_printf("%u", m->id),
        mem_strdup(trigger_resource(m->types, m->flags, m->has_job_id)),
        format_resource(m),
        str_take(&types),
        mem_printf("%lld", (long long)m->offset_sec),
        mem_strdup(names_user(m->uid)),
        mem_strdup(m->flags & TRIGGER_PERM ? "PERM" : ""),
        mem_strdup(m->program),
    }};
    vec_push(&t->lines, l);
}

static int on_part(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct table *t = ctx;
    const Pb__TriggerList *part = (const Pb__TriggerList *)message;
    for (size_t i = 0; i < part->n_triggers; i++) {
        const Pb__TriggerRecord *m = part->triggers[i];
        const char *resource = trigger_resource(m->types, m->flags, m->has_job_id);
        if (!t->nodes_only || str_eq(resource, "node"))
            add_line(t, m);
    }
    return 0;
}

static void print_line(const char *const cell[])
{
    for (size_t i = 0; i < COLUMNS; i++)
        str_printf(cmd_out(), "%*s ", columns[i].width, cell[i]);
    str_printf(cmd_out(), "%s\n", cell[COLUMNS]);
}

static void print_titles(void)
{
    const char *cell[COLUMNS + 1] = {[COLUMNS] = "PROGRAM"};
    for (size_t i = 0; i < COLUMNS; i++)
        cell[i] = columns[i].title;
    print_line(cell);
}

static int list_triggers(struct options *o)
{
    Pb__TriggerFilter filter;
    struct table t = {.nodes_only = o->any_node};
    struct err err = {0};
    make_filter(o, &filter);
    int rc = rpc_call_stream(cmd_client(), RPC_TRIGGER_LIST, &filter.base, on_part, &t, &err);
    if (rc == 0)
        cmd_detail(1, "%zu triggers match", t.lines.len);
    if (rc == 0 && !o->noheader) {
        args_print_cluster(&o->common, cmd_out());
        print_titles();
    }
    vec_foreach (&t.lines, l) {
        if (rc == 0)
            print_line((const char *const *)l->cell);
        for (size_t i = 0; i <= COLUMNS; i++)
            free(l->cell[i]);
    }
    vec_done(&t.lines);
    return rc == 0 ? 0 : fail_request(o, "cannot get the triggers", &err);
}

int main(int argc, char **argv)
{
    static struct options o; /* static: lives until the process ends, also after an early return */
    cmd_start("strigger");
    int status = options_parse(&o, argc, argv);
    if (args_leave(&options_table, &o.common, &status))
        return status;
    cmd_set_level(o.quiet, o.common.verbose);
    status = o.set ? set_trigger(&o) : o.clear ? clear_triggers(&o) : list_triggers(&o);
    int written = cmd_flush();
    return status ? status : written;
}
