/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options about sockets, cores and threads of nodes. */
#include <string.h>

#include "base/mem.h"
#include "cli/opt_priv.h"

/* "N" or "MIN-MAX", of which the minimum is used; "*": any. */
static int parse_min(const char *text, size_t len, uint32_t *out)
{
    _cleanup_free_ char *word = mem_strndup(text, len);
    long long first, last;
    if (str_eq(word, "*") || !*word)
        return 0;
    char *dash = strchr(word, '-');
    if (dash)
        *dash = 0;
    if (str_parse_i64(word, 1, INT32_MAX, &first) < 0 ||
        (dash && (str_parse_i64(dash + 1, 1, INT32_MAX, &last) < 0 || last < first)))
        return -ERR_PARSE;
    *out = (uint32_t)first;
    return 0;
}

int opt_set_sockets_per_node(struct opt *o, const char *arg, struct err *err)
{
    return parse_min(arg, strlen(arg), &o->sockets_per_node) < 0
               ? opt_bad_number(o, "--sockets-per-node", arg, err)
               : 0;
}

int opt_set_cores_per_socket(struct opt *o, const char *arg, struct err *err)
{
    return parse_min(arg, strlen(arg), &o->cores_per_socket) < 0
               ? opt_bad_number(o, "--cores-per-socket", arg, err)
               : 0;
}

/* -B SOCKETS[:CORES[:THREADS]] */
int opt_set_extra_node_info(struct opt *o, const char *arg, struct err *err)
{
    static const char *const ordinals[] = {"first arg of -B", "second arg of -B",
                                           "third arg of -B"};
    uint32_t *const members[] = {&o->sockets_per_node, &o->cores_per_socket, &o->threads_per_core};
    const char *at = arg;
    for (size_t i = 0; i < 3; i++) {
        size_t len = strcspn(at, ":");
        _cleanup_free_ char *word = mem_strndup(at, len);
        if (parse_min(at, len, members[i]) < 0)
            return opt_bad_number(o, ordinals[i], word, err);
        at += len;
        if (!*at)
            return 0;
        at++;
    }
    return opt_bad_spec(o, "extra-node-info", arg, err);
}

/* One of the hints changes the allocation; the others only set the binding. */
int opt_set_hint(struct opt *o, const char *arg, struct err *err)
{
    bool memory = str_case_eq(arg, "memory_bound");
    if (str_case_eq(arg, "none") || str_case_eq(arg, "multithread"))
        return 0;
    if (str_eq(arg, "help")) {
        o->hint_help = true;
        return 0;
    }
    if (!memory && !str_case_eq(arg, "nomultithread") && !str_case_eq(arg, "compute_bound"))
        return opt_fail(o, OPT_FAIL_ERROR, 1, err,
                        "unrecognized --hint argument \"%s\", see --hint=help", arg);
    if (o->from[OPT_ID_threads_per_core] != o->source &&
        o->from[OPT_ID_extra_node_info] != o->source)
        o->threads_per_core = 1;
    if (memory && !opt_given(o, OPT_ID_ntasks_per_socket)) {
        o->ntasks_per_socket = 1;
        o->from[OPT_ID_ntasks_per_socket] = (uint8_t)o->source;
    }
    return 0;
}

/* Whether -B determines the task count. A step needs all three numbers for that; a step whose nodes
 * come from its allocation uses the allocation's task count. */
static bool counts_tasks(const struct opt *o)
{
    bool step = o->command == OPT_SRUN;
    bool whole = o->sockets_per_node && o->cores_per_socket && o->threads_per_core;
    bool range = opt_given(o, OPT_ID_nodes) && o->min_nodes != o->max_nodes;

    if (!opt_given(o, OPT_ID_extra_node_info) || opt_given(o, OPT_ID_ntasks) || range)
        return false;
    if (step)
        return whole && o->from[OPT_ID_nodes] != OPT_FROM_ENV;
    return !opt_given(o, OPT_ID_ntasks_per_node);
}

/* -B without a task count: one task for each thread that -B requests, on the minimum number of
 * nodes. */
int opt_count_tasks_of_cores(struct opt *o, struct err *err)
{
    const uint32_t counts[] = {o->sockets_per_node, o->cores_per_socket, o->threads_per_core,
                               opt_given(o, OPT_ID_nodes) ? o->min_nodes : 1};
    uint64_t tasks = 1;

    if (!counts_tasks(o))
        return 0;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        tasks *= counts[i] ? counts[i] : 1;
        if (tasks > INT32_MAX)
            return opt_fail(o, OPT_FAIL_ERROR, 1, err, "--extra-node-info=%s: too many threads",
                            o->given[OPT_ID_extra_node_info]);
    }
    o->ntasks = (uint32_t)tasks;
    o->from[OPT_ID_ntasks] = OPT_FROM_ARGV;
    return 0;
}
