/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Node lists from an argument or a file, and their adjustment to the requested counts. */
#include <string.h>

#include "base/hostlist.h"
#include "base/mem.h"
#include "base/size.h"
#include "cli/node_names.h"
#include "cli/opt_priv.h"

static int set_hosts(struct opt *o, const char *name, const char *arg, char **member,
                     struct err *err)
{
    _cleanup_hostlist_ struct hostlist *hosts = NULL;
    struct err why = {0};
    if (hostlist_parse(arg, &hosts, &why) < 0)
        return opt_fail(o, OPT_FAIL_ERROR, OPT_STATUS_BAD_VALUE, err,
                        "Invalid --%s specification: %s", name, why.text);
    opt_set_string(member, *arg ? arg : NULL);
    return 0;
}

/* As in Slurm, the order of names in a file and repetitions do not matter. */
static int set_hosts_file(struct opt *o, const char *what, const char *path, char **member,
                          struct err *err)
{
    _cleanup_hostlist_ struct hostlist *hosts = hostlist_new();
    _cleanup_str_ struct str list = STR_INIT;
    struct err why = {0};
    if (node_names_read_file(path, hosts, &why) < 0)
        return opt_fail(o, OPT_FAIL_ERROR, OPT_STATUS_BAD_VALUE, err, "Invalid %s: %s", what,
                        why.text);
    hostlist_uniq(hosts);
    hostlist_format(hosts, &list);
    opt_set_string(member, str_cstr(&list));
    return 0;
}

int opt_apply_hostfile(struct opt *o, const char *path, struct err *err)
{
    _cleanup_hostlist_ struct hostlist *hosts = hostlist_new();
    _cleanup_str_ struct str list = STR_INIT;
    struct err why = {0};
    if (node_names_read_file(path, hosts, &why) < 0)
        return opt_fail(o, OPT_FAIL_ERROR, OPT_STATUS_BAD_VALUE, err, "Invalid SLURM_HOSTFILE: %s",
                        why.text);
    hostlist_format(hosts, &list);
    opt_set_string(&o->nodelist, str_cstr(&list));
    opt_set_string(&o->distribution, "arbitrary");
    o->from[OPT_ID_nodelist] = o->from[OPT_ID_distribution] = OPT_FROM_ENV;
    return 0;
}

static bool chooses_nodes(const struct opt *o)
{
    static const enum opt_id options[] = {OPT_ID_nodes, OPT_ID_nodelist, OPT_ID_exclude,
                                          OPT_ID_relative};
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (o->from[options[i]] == OPT_FROM_ARGV)
            return true;
    return o->interactive;
}

void opt_inherit_list(struct opt *o)
{
    _cleanup_hostlist_ struct hostlist *hosts = NULL;
    bool is_inherited = o->from[OPT_ID_distribution] == OPT_FROM_ENV;
    if (o->command != OPT_SRUN || !o->in_job || !o->job_list || !opt_is_arbitrary(o) ||
        hostlist_parse(o->job_list, &hosts, NULL) < 0)
        return;
    bool is_short = o->from[OPT_ID_ntasks] == OPT_FROM_ARGV && o->ntasks > hostlist_count(hosts);
    if (is_inherited && (is_short || chooses_nodes(o))) {
        opt_set_string(&o->distribution, NULL);
        o->from[OPT_ID_distribution] = OPT_FROM_NONE;
    } else if (!o->nodelist) {
        opt_set_string(&o->nodelist, o->job_list);
        o->from[OPT_ID_nodelist] = OPT_FROM_ENV;
    }
}

/* Keeps the first nodes of the list; an index list ("[0,2]") stays one. */
static void cut_hosts(struct opt *o, struct hostlist *hosts, size_t count)
{
    _cleanup_hostlist_ struct hostlist *kept = hostlist_new();
    _cleanup_str_ struct str list = STR_INIT;
    char name[HOSTLIST_NAME_MAX + 1];
    for (size_t i = 0; i < count; i++)
        hostlist_push(kept, hostlist_nth(hosts, i, name));
    hostlist_format(kept, &list);
    bool index = *o->nodelist == '[' && *str_cstr(&list) != '[';
    _cleanup_free_ char *text = mem_printf(index ? "[%s]" : "%s", str_cstr(&list));
    opt_set_string(&o->nodelist, text);
}

/* One task per name in turn: as many tasks as names, or as requested. */
int opt_fit_arbitrary(struct opt *o, struct err *err)
{
    _cleanup_hostlist_ struct hostlist *hosts = NULL;
    if (!o->nodelist || *o->nodelist == '[')
        return opt_fail(o, OPT_FAIL_ERROR, 1, err,
                        "With Arbitrary distribution you need to specify a nodelist or hostfile "
                        "with the -w option");
    if (hostlist_parse(o->nodelist, &hosts, err) < 0)
        return -ERR_PARSE;
    size_t count = hostlist_count(hosts);
    /* As for nodes below: a count inherited from the allocation is only a default. */
    bool given =
        opt_given(o, OPT_ID_ntasks) && !(o->from[OPT_ID_ntasks] == OPT_FROM_ENV && o->in_job);
    if (given && o->ntasks > count)
        return opt_fail(o, OPT_FAIL_ERROR, 1, err,
                        "--distribution=arbitrary: %u tasks, and the list names %zu nodes for them",
                        o->ntasks, count);
    if (given && o->ntasks < count)
        cut_hosts(o, hosts, o->ntasks);
    o->ntasks = given ? o->ntasks : (uint32_t)count;
    hostlist_free(take_ptr(hosts));
    if (hostlist_parse(o->nodelist, &hosts, err) < 0)
        return -ERR_PARSE;
    hostlist_uniq(hosts);
    o->min_nodes = o->max_nodes = (uint32_t)hostlist_count(hosts);
    o->from[OPT_ID_nodes] = o->from[OPT_ID_ntasks] = OPT_FROM_ARGV;
    return 0;
}

int opt_set_exclude(struct opt *o, const char *arg, struct err *err)
{
    if (strchr(arg, '/'))
        return set_hosts_file(o, "--exclude specification", arg, &o->exclude, err);
    return set_hosts(o, "exclude", arg, &o->exclude, err);
}

#define REPEATS_MAX 65535 /* maximum repetitions of one name */

/* The length of the first entry of a host list, up to a comma outside brackets. */
static size_t piece_length(const char *text)
{
    size_t len = 0;
    for (int depth = 0; text[len] && (depth > 0 || text[len] != ','); len++)
        depth += (text[len] == '[') - (text[len] == ']');
    return len;
}

/* Expands "n1*2,n3" to "n1,n1,n3". False: a count is invalid. */
static bool repeat_hosts(const char *arg, struct str *out)
{
    while (*arg) {
        size_t len = piece_length(arg);
        _cleanup_free_ char *piece = mem_strndup(arg, len);
        char *star = strchr(piece, '*');
        uint64_t count = 1;
        struct err why = {0};
        if (star && (size_parse_count(star + 1, REPEATS_MAX, &count, &why) < 0 || count == 0))
            return false;
        if (star)
            *star = '\0';
        for (uint64_t i = 0; i < count; i++)
            str_printf(out, "%s%s", out->len ? "," : "", piece);
        arg += len + (arg[len] == ',');
    }
    return true;
}

int opt_set_nodelist(struct opt *o, const char *arg, struct err *err)
{
    _cleanup_str_ struct str hosts = STR_INIT;
    if (strchr(arg, '/'))
        return set_hosts_file(o, "--nodelist specification", arg, &o->nodelist, err);
    if (!strchr(arg, '*'))
        return set_hosts(o, "nodelist", arg, &o->nodelist, err);
    if (!repeat_hosts(arg, &hosts))
        return opt_fail(o, OPT_FAIL_ERROR, OPT_STATUS_BAD_VALUE, err,
                        "Invalid --nodelist specification: '%s': a count after '*' is a number "
                        "from 1 to %d",
                        arg, REPEATS_MAX);
    return set_hosts(o, "nodelist", str_cstr(&hosts), &o->nodelist, err);
}

int opt_set_nodefile(struct opt *o, const char *arg, struct err *err)
{
    return set_hosts_file(o, "--nodefile node file", arg, &o->nodelist, err);
}

int opt_fit_nodelist(struct opt *o, struct err *err)
{
    _cleanup_hostlist_ struct hostlist *hosts = NULL;
    if (!o->nodelist || hostlist_parse(o->nodelist, &hosts, NULL) < 0)
        return 0;
    size_t count = hostlist_count(hosts), before = count;
    /* A count inherited from the allocation is no limit that the user set. */
    bool limited = opt_given(o, OPT_ID_nodes) && o->max_nodes &&
                   !(o->from[OPT_ID_nodes] == OPT_FROM_ENV && o->in_job);
    if (limited && count > o->max_nodes) {
        if (o->command != OPT_SRUN)
            return opt_fail(o, OPT_FAIL_ERROR, 1, err, "invalid number of nodes (-N %zu-%u)", count,
                            o->max_nodes);
        str_printf(&o->notes,
                   "error: Required nodelist includes more nodes than permitted by max-node count "
                   "(%zu > %u). Eliminating nodes from the nodelist.\n",
                   count, o->max_nodes);
        count = o->max_nodes;
    }
    if (opt_given(o, OPT_ID_ntasks) && count > o->ntasks) {
        /* Otherwise the message about the node count is printed. */
        if (!limited || o->min_nodes <= o->ntasks)
            str_printf(&o->notes,
                       "Warning: can't run %u processes on %zu nodes, setting nnodes to %u\n",
                       o->ntasks, count, o->ntasks);
        count = o->ntasks;
    }
    if (count < before)
        cut_hosts(o, hosts, count);
    return 0;
}
