/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/sinfo/options.h"

#include <string.h>

#include "base/mem.h"
#include "cmd/common/args.h"
#include "cmd/common/cmd.h"

#define ITERATE_MAX 86400
#define NO ARGS_NO
#define REQ ARGS_REQ
#define MAY ARGS_MAY

enum {
#define ARG(id, name, letter, argument, env, metavar, help) ID_##id,
#include "cmd/sinfo/sinfo.def"
#undef ARG
};
static const struct args_row rows[] = {
#define ARG(id, name, letter, argument, env, metavar, help)                                        \
    {ID_##id, name, letter, argument, env, metavar, help},
#include "cmd/sinfo/sinfo.def"
#undef ARG
};
#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

void options_format_help(struct str *out)
{
    args_format_help(rows, ROW_COUNT, "sinfo", "", out);
}

void options_format_usage(struct str *out)
{
    args_format_usage(rows, ROW_COUNT, "sinfo", "", out);
}

static int set_states(struct options *o, const char *list)
{
    struct err err = {0};
    o->states = (struct node_states){0};
    if (node_states_parse(list, &o->states, &err) == 0)
        return 0;
    for (char *line = err.text, *rest; line; line = rest) {
        rest = strchr(line, '\n');
        if (rest)
            *rest++ = 0;
        cmd_error("%s", line);
    }
    return 2;
}

static int set_interval(struct options *o, const char *text)
{
    long long sec;
    if (str_parse_i64(text, 1, ITERATE_MAX, &sec) < 0) {
        cmd_error("--iterate=%s is no number of seconds from 1 to %d", text, ITERATE_MAX);
        return 2;
    }
    o->iterate_sec = (uint32_t)sec;
    return 0;
}

static int set_value(struct options *o, int id, const char *value)
{
    switch (id) {
    case ID_format:
        o->format = value;
        o->format_long = NULL;
        return 0;
    case ID_format_long:
        o->format_long = value;
        o->format = NULL;
        return 0;
    case ID_sort:
        o->sort = value;
        return 0;
    case ID_nodes:
        o->nodes = value;
        return 0;
    case ID_partition:
        o->partitions = value;
        return 0;
    case ID_clusters:
    case ID_cluster:
        o->clusters = value;
        return 0;
    case ID_states:
        return set_states(o, value);
    case ID_iterate:
        return set_interval(o, value);
    default:
        return 0;
    }
}

static bool *flag_of(struct options *o, int id)
{
    switch (id) {
    case ID_all:
        return &o->all;
    case ID_dead:
        return &o->dead;
    case ID_responding:
        return &o->responding;
    case ID_exact:
        return &o->exact;
    case ID_future:
        return &o->future;
    case ID_list_reasons:
        return &o->reasons;
    case ID_long:
        return &o->long_format;
    case ID_node:
        return &o->by_node;
    case ID_noheader:
        return &o->noheader;
    case ID_summarize:
        return &o->summarize;
    case ID_reservation:
        return &o->reservations;
    case ID_json:
        return &o->json;
    case ID_yaml:
        return &o->yaml;
    case ID_help:
        return &o->help;
    case ID_usage:
        return &o->usage;
    case ID_version:
        return &o->version;
    default:
        return NULL;
    }
}

int options_parse(struct options *o, int argc, char **argv)
{
    struct args a;
    int id = 0, status = 0;
    *o = (struct options){0};
    args_init(&a, rows, ROW_COUNT, argc, argv);
    while (status == 0 && (id = args_next(&a)) != ARGS_END) {
        if (id == ARGS_BAD) {
            status = 2;
            break;
        }
        bool *flag = flag_of(o, id);
        if (flag)
            *flag = true;
        if (id == ID_hide)
            o->all = false;
        o->verbose += id == ID_verbose;
        status = set_value(o, id, a.value);
        if (o->help || o->usage || o->version)
            break;
    }
    if (status == 0 && id == ARGS_END && args_operands(&a) < argc) {
        cmd_error("Unrecognized option: %s", argv[args_operands(&a)]);
        status = 2;
    }
    args_done(&a);
    return status;
}

bool options_match(const struct options *o, const Pb__NodeRecord *n)
{
    if (n->state == PB__NODE_BASE__NODE_FUTURE && !o->future && !o->states.wanted)
        return false;
    if ((o->dead && !n->no_respond) || (o->responding && n->no_respond))
        return false;
    if (o->reasons && (!n->reason || !*n->reason))
        return false;
    return !o->states.wanted || node_states_match(&o->states, n);
}
