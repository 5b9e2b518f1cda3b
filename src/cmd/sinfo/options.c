/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/sinfo/options.h"

#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/mem.h"
#include "cli/cmd.h"

#define ARGS_DEF "cmd/sinfo/sinfo.def"
#include "cli/args_rows.h"

const struct args_table options_table = ARGS_TABLE("sinfo", "");

static int set_states(struct options *o, const char *list)
{
    struct err err = {0};
    o->states = (struct node_states){0};
    o->no_states = !*list;
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

static int set_nodes(struct options *o, const char *list)
{
    _cleanup_hostlist_ struct hostlist *nodes = NULL;
    struct err err = {0};
    o->nodes = list;
    o->no_nodes = !list[strspn(list, ",")];
    if (o->no_nodes)
        return 0;
    if (hostlist_parse(list, &nodes, &err) == 0)
        return 0;
    cmd_error("Invalid node name %s: %s", list, err.text);
    return 2;
}

static int set_value(struct options *o, int id, const char *value)
{
    switch (id) {
    case ID_format:
        o->format = value;
        o->format_long = NULL;
        o->format_of_environment = value == getenv("SINFO_FORMAT");
        return 0;
    case ID_format_long:
        o->format_long = value;
        o->format = NULL;
        return 0;
    case ID_sort:
        o->sort = value;
        return 0;
    case ID_nodes:
        return set_nodes(o, value);
    case ID_partition:
        o->partitions = value;
        return 0;
    case ID_states:
        return set_states(o, value);
    case ID_iterate:
        return args_iterate(value, &o->iterate_sec);
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
    case ID_helpformat:
        return &o->help_format;
    case ID_json:
        return &o->json;
    case ID_yaml:
        return &o->yaml;
    default:
        return NULL;
    }
}

static int set_sinfo_option(void *ctx, int id, const char *value)
{
    struct options *o = ctx;
    bool *flag = flag_of(o, id);
    if (flag)
        *flag = true;
    if (id == ID_hide)
        o->all = false;
    return set_value(o, id, value);
}

/* As in Slurm, the columns of --summarize, --Node and --list-reasons take precedence over those of
 * SINFO_FORMAT. */
static void drop_columns_of_environment(struct options *o)
{
    if (o->format_of_environment && (o->summarize || o->by_node || o->reasons))
        o->format = NULL;
}

int options_parse(struct options *o, int argc, char **argv)
{
    *o = (struct options){0};
    int status = args_parse_all(&options_table, argc, argv, set_sinfo_option, o, &o->common);
    drop_columns_of_environment(o);
    return status;
}

/* --list-reasons lists these nodes, unless --states selects others. */
static bool is_out_of_service(const Pb__NodeRecord *n)
{
    return n->drain || n->fail || n->state == PB__NODE_BASE__NODE_DOWN ||
           n->state == PB__NODE_BASE__NODE_ERROR;
}

bool options_match(const struct options *o, const Pb__NodeRecord *n)
{
    bool by_state = o->states.wanted || o->states.unwanted;
    if (o->no_nodes || o->no_states)
        return false;
    if (n->state == PB__NODE_BASE__NODE_FUTURE && !o->future && !by_state)
        return false;
    if ((o->dead && !n->no_respond) || (o->responding && n->no_respond))
        return false;
    if (o->reasons && (!n->reason || !*n->reason || (!by_state && !is_out_of_service(n))))
        return false;
    return !by_state || node_states_match(&o->states, n);
}
