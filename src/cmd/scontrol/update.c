/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "scontrol update": the key that names the thing decides what the others mean. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/hostlist.h"
#include "base/mem.h"
#include "base/size.h"
#include "base/timefmt.h"
#include "base/vec.h"
#include "cmd/common/cmd.h"
#include "cmd/common/job_ids.h"
#include "cmd/scontrol/fields.h"
#include "cmd/scontrol/resize.h"
#include "cmd/scontrol/resv.h"
#include "cmd/scontrol/scontrol.h"
#include "proto/job.pb-c.h"
#include "proto/node.pb-c.h"
#include "proto/part.pb-c.h"

#define PRIORITY_TOP 0xfffffffdu

struct update {
    int argc;
    char **argv;
    struct arena arena;
    int changes;
};

/* The value of "Key=value" when its key begins as one of these does; NULL else. */
static const char *value_of(const char *arg, const char *key, size_t least)
{
    size_t len = strcspn(arg, "=");
    if (!arg[len] || len < least || strncasecmp(arg, key, len) || len > strlen(key))
        return NULL;
    return arg + len + 1;
}

static int refuse(const char *arg)
{
    cmd_line("Update of this parameter is not supported: %s\nRequest aborted", arg);
    return -1;
}

/* Sets the member an argument names. */
static int apply(struct update *u, const struct field *table, const char *arg, void *message)
{
    size_t len = strcspn(arg, "=");
    const struct field *f = arg[len] ? field_find(table, arg, len) : NULL;
    struct err err = {0};
    if (!f)
        return refuse(arg);
    if (field_set(f, arg + len + 1, message, &u->arena, &err) < 0) {
        cmd_line("%s\nRequest aborted", err.text);
        return -1;
    }
    u->changes++;
    return 0;
}

static int nothing_to_do(const struct update *u)
{
    if (u->changes)
        return 0;
    cmd_line("No changes specified");
    return -1;
}

/* TimeLimit=+10: relative to the limit in force. */
struct relative {
    const char *text;
    int64_t limit_sec; /* in force, then wanted */
    bool found;
};

static int on_job(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct relative *r = ctx;
    const Pb__JobList *part = (const Pb__JobList *)message;
    for (size_t i = 0; i < part->n_jobs; i++) {
        if (!part->jobs[i]->live)
            continue;
        r->limit_sec = part->jobs[i]->live->time_limit_sec;
        r->found = true;
    }
    return 0;
}

static int resolve_relative(struct relative *r, const Pb__StepId *job, struct err *err)
{
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    int64_t by;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    job_ids_filter(job, 1, &filter, &arena);
    filter.has_all_states = filter.all_states = 1;
    r->found = false;
    if (time_parse_limit(r->text + 1, &by, NULL) < 0 || by >= TIME_UNLIMITED)
        return err_set(err, -ERR_PARSE, "Invalid value: TimeLimit=%.40s", r->text);
    int code = rpc_call_stream(cmd_client(), RPC_JOB_LIST, &filter.base, on_job, r, err);
    if (code < 0)
        return code;
    if (!r->found)
        return err_set(err, -ERR_NO_JOB, "%s", err_text(ERR_NO_JOB));
    if (r->limit_sec >= TIME_UNLIMITED)
        return err_set(err, -ERR_TIME_LIMIT,
                       "%s: TimeLimit=%.20s: there is no limit to change; give one as TimeLimit=60",
                       err_text(ERR_TIME_LIMIT), r->text);
    r->limit_sec += *r->text == '+' ? by : -by;
    if (r->limit_sec < 60)
        return err_set(err, -ERR_TIME_LIMIT, "%s", err_text(ERR_TIME_LIMIT));
    return 0;
}

static int set_node_count(Pb__JobSpec *set, const char *value)
{
    _cleanup_free_ char *min_text = mem_strndup(value, strcspn(value, "-"));
    const char *max_text = value[strlen(min_text)] ? value + strlen(min_text) + 1 : min_text;
    uint64_t min, max;
    if (size_parse_count(min_text, INT32_MAX, &min, NULL) < 0 ||
        size_parse_count(max_text, INT32_MAX, &max, NULL) < 0 || max < min) {
        cmd_line("Invalid value: NumNodes=%s\nRequest aborted", value);
        return -1;
    }
    set->has_min_nodes = set->has_max_nodes = 1;
    set->min_nodes = (uint32_t)min;
    set->max_nodes = (uint32_t)max;
    return 0;
}

static int set_priority(Pb__JobUpdate *change, const char *value)
{
    long long priority = PRIORITY_TOP;
    if (!str_case_eq(value, "TOP") && str_parse_i64(value, 0, PRIORITY_TOP, &priority) < 0) {
        cmd_line("Invalid value: Priority=%s\nRequest aborted", value);
        return -1;
    }
    change->has_priority = 1;
    change->priority = (uint32_t)priority;
    return 0;
}

/* 0: no limit. */
static int set_throttle(Pb__JobUpdate *change, const char *value)
{
    long long most;
    if (str_parse_i64(value, 0, INT32_MAX, &most) < 0) {
        cmd_line("Invalid value: ArrayTaskThrottle=%s\nRequest aborted", value);
        return -1;
    }
    change->has_array_throttle = 1;
    change->array_throttle = (uint32_t)most;
    return 0;
}

/* Keys that are no plain members. 1: not one of them. */
static int apply_special(struct update *u, const char *arg, Pb__JobUpdate *change,
                         struct relative *limit)
{
    const char *value;
    int r;
    if ((value = value_of(arg, "Priority", 4))) {
        r = set_priority(change, value);
    } else if ((value = value_of(arg, "ArrayTaskThrottle", 10))) {
        r = set_throttle(change, value);
    } else if ((value = value_of(arg, "NumNodes", 8)) || (value = value_of(arg, "ReqNodes", 8))) {
        r = set_node_count(change->set, value);
    } else if ((value = value_of(arg, "NodeList", 8))) {
        change->keep_nodes = (char *)value;
        r = 0;
    } else if ((value = value_of(arg, "TimeLimit", 5)) && (*value == '+' || *value == '-')) {
        limit->text = value;
        r = 0;
    } else {
        return 1;
    }
    u->changes += r == 0;
    return r;
}

/* One of those named. */
static int change_job(const Pb__StepId *job, Pb__JobUpdate *change, struct relative *limit,
                      struct err *err)
{
    int r = limit->text ? resolve_relative(limit, job, err) : 0;
    if (limit->text) {
        change->set->has_time_limit_sec = 1;
        change->set->time_limit_sec = limit->limit_sec;
    }
    change->job_id = job->job_id;
    change->array_tasks = job->array_tasks;
    if (r == 0)
        r = cmd_call(RPC_JOB_UPDATE, &change->base, NULL, err);
    if (r == 0 && (change->keep_nodes || change->set->has_min_nodes))
        r = resize_tell(job, err);
    return r;
}

static int update_job(struct update *u, char *ids_arg)
{
    Pb__JobUpdate change = PB__JOB_UPDATE__INIT;
    Pb__JobSpec set = PB__JOB_SPEC__INIT;
    struct relative limit = {0};
    struct jobs jobs;
    int status = 0;
    change.set = &set;
    for (int i = 0; i < u->argc; i++) {
        if (value_of(u->argv[i], "JobId", 3))
            continue;
        int r = apply_special(u, u->argv[i], &change, &limit);
        if (r > 0)
            r = apply(u, fields_job, u->argv[i], &set);
        if (r < 0)
            return 1;
    }
    if (nothing_to_do(u) < 0 || jobs_parse(1, &ids_arg, &jobs) < 0)
        return 1;
    vec_foreach (&jobs, job) {
        struct err err = {0};
        if (change_job(job, &change, &limit, &err) == 0)
            continue;
        _cleanup_str_ struct str name = STR_INIT;
        job_ids_put_asked(job, &name);
        cmd_line("%s for job %s", err.text, str_cstr(&name));
        status = 1;
    }
    vec_done(&jobs);
    return status;
}

/* States may be abbreviated; what only Slurm's power saving knows is refused by name. */
static int complete_state(Pb__NodeUpdate *change)
{
    static const char *const states[] = {"RESUME", "DRAIN", "UNDRAIN", "DOWN",
                                         "IDLE",   "FAIL",  "FUTURE"};
    size_t len = strlen(change->state);
    for (size_t i = 0; len && i < sizeof(states) / sizeof(states[0]); i++) {
        if (!strncmp(states[i], change->state, len)) {
            change->state = (char *)states[i];
            return 0;
        }
    }
    cmd_line("Invalid input: State=%s\nRequest aborted\nValid states are: DOWN, DRAIN, FAIL, "
             "FUTURE, IDLE, RESUME, UNDRAIN",
             change->state);
    return -1;
}

static int update_node(struct update *u, const char *names)
{
    Pb__NodeUpdate change = PB__NODE_UPDATE__INIT;
    struct err err = {0};
    _cleanup_hostlist_ struct hostlist *hosts = NULL;
    for (int i = 0; i < u->argc; i++)
        if (!value_of(u->argv[i], "NodeName", 3) && apply(u, fields_node, u->argv[i], &change) < 0)
            return 1;
    if (nothing_to_do(u) < 0)
        return 1;
    if (!str_case_eq(names, "ALL") && hostlist_parse(names, &hosts, &err) < 0) {
        cmd_line("NodeName=%s: %s", names, err.text);
        return 1;
    }
    if (change.state && complete_state(&change) < 0)
        return 1;
    bool needs_reason =
        change.state && (str_eq(change.state, "DRAIN") || str_eq(change.state, "DOWN") ||
                         str_eq(change.state, "FAIL"));
    if (needs_reason && (!change.reason || !*change.reason)) {
        cmd_line("You must specify a reason when DOWNING or DRAINING a node. Request denied");
        return 1;
    }
    change.nodes = (char *)names;
    if (cmd_call(RPC_NODE_UPDATE, &change.base, NULL, &err) < 0) {
        cmd_line("slurm_update error: %s", err.text);
        return 1;
    }
    return 0;
}

enum part_how { PART_CHANGE, PART_CREATE, PART_DELETE };

/* Key=NEW: out of another number the controller makes another key. 1: the argument is not that. */
static int renew_key(struct update *u, const char *arg, Pb__PartRecord *set)
{
    const char *value = value_of(arg, "Key", 3);
    if (!value || !str_case_eq(value, "NEW"))
        return 1;
    if (getrandom(&set->key_number, sizeof set->key_number, 0) != sizeof set->key_number) {
        cmd_line("Key=NEW: no random number: %s", strerror(errno));
        return -1;
    }
    set->has_key = set->key = set->has_key_number = 1;
    u->changes++;
    return 0;
}

static int update_part(struct update *u, const char *name, enum part_how how)
{
    static const char *const calls[] = {"slurm_update", "slurm_create_partition",
                                        "slurm_delete_partition"};
    Pb__PartUpdate change = PB__PART_UPDATE__INIT;
    Pb__PartRecord set = PB__PART_RECORD__INIT;
    struct err err = {0};
    change.set = &set;
    set.name = (char *)name;
    for (int i = 0; i < u->argc; i++) {
        int r = value_of(u->argv[i], "PartitionName", 3) ? 0 : renew_key(u, u->argv[i], &set);
        if (r < 0 || (r > 0 && apply(u, fields_part, u->argv[i], &set) < 0))
            return 1;
    }
    if (how == PART_CHANGE && nothing_to_do(u) < 0)
        return 1;
    change.has_create = change.create = how == PART_CREATE;
    change.has_remove = change.remove = how == PART_DELETE;
    if (cmd_call(RPC_PART_UPDATE, &change.base, NULL, &err) < 0) {
        cmd_line("%s error: %s", calls[how], err.text);
        return 1;
    }
    return 0;
}

/* A node's line as the controller keeps it: values with blanks in quotes. */
static void put_key(struct str *out, const char *arg)
{
    size_t len = strcspn(arg, "=");
    bool quote = arg[len] && strchr(arg + len, ' ');
    str_printf(out, "%s%.*s=%s%s%s", out->len ? " " : "", (int)len, arg, quote ? "\"" : "",
               arg[len] ? arg + len + 1 : "", quote ? "\"" : "");
}

static int make_node(struct update *u, const char *names, enum part_how how)
{
    Pb__NodeUpdate change = PB__NODE_UPDATE__INIT;
    _cleanup_str_ struct str keys = STR_INIT;
    struct err err = {0};
    for (int i = 0; i < u->argc; i++)
        if (!value_of(u->argv[i], "NodeName", 5))
            put_key(&keys, u->argv[i]);
    change.nodes = (char *)names;
    if (how == PART_CREATE)
        change.create = (char *)str_cstr(&keys);
    else
        change.has_remove = change.remove = true;
    if (how == PART_DELETE && keys.len)
        return refuse(str_cstr(&keys)) < 0;
    if (cmd_call(RPC_NODE_UPDATE, &change.base, NULL, &err) < 0) {
        cmd_line("%s error: %s", how == PART_CREATE ? "slurm_create_node" : "slurm_delete_node",
                 err.text);
        return 1;
    }
    return 0;
}

/* Whether it is about a reservation: the word, or the key that names one. */
static bool means_resv(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (resv_is_meant(argv[i]) && (i == 0 || strchr(argv[i], '=')))
            return true;
    return false;
}

/* Which of the two it is says the key that is there; a partition's Nodes= is none. */
static int make_one(int argc, char **argv, enum part_how how)
{
    struct update u = {.argc = argc, .argv = argv};
    const char *value;
    int status = -1;
    if (means_resv(argc, argv))
        return resv_command(argc, argv, how == PART_CREATE ? RESV_CREATE : RESV_DELETE);
    arena_init(&u.arena, 0);
    for (int i = 0; status < 0 && i < argc; i++) {
        if ((value = value_of(argv[i], "PartitionName", 3)))
            status = update_part(&u, value, how);
        else if ((value = value_of(argv[i], "NodeName", 5)))
            status = make_node(&u, value, how);
    }
    arena_done(&u.arena);
    if (status >= 0)
        return status;
    cmd_line("No valid entity in %s command\nInput line must include \"NodeName\", "
             "\"PartitionName\" or \"Reservation\"",
             how == PART_CREATE ? "create" : "delete");
    return 1;
}

int run_create(int argc, char **argv)
{
    return make_one(argc, argv, PART_CREATE);
}

int run_delete(int argc, char **argv)
{
    return make_one(argc, argv, PART_DELETE);
}

int run_update(int argc, char **argv)
{
    struct update u = {.argc = argc, .argv = argv};
    const char *value;
    int status = -1;
    arena_init(&u.arena, 0);
    /* A job's Partition= is no partition, so jobs and nodes are looked for first. */
    for (int i = 0; status < 0 && i < argc; i++) {
        if (value_of(argv[i], "JobId", 3))
            status = update_job(&u, argv[i]);
        else if ((value = value_of(argv[i], "NodeName", 3)))
            status = update_node(&u, value);
    }
    if (status < 0 && means_resv(argc, argv))
        status = resv_command(argc, argv, RESV_CHANGE);
    for (int i = 0; status < 0 && i < argc; i++)
        if ((value = value_of(argv[i], "PartitionName", 3)))
            status = update_part(&u, value, PART_CHANGE);
    arena_done(&u.arena);
    for (int i = 0; status < 0 && i < argc; i++)
        if ((value = value_of(argv[i], "SlurmctldDebug", 6)))
            status = set_debug(value);
    if (status >= 0)
        return status;
    if (value_of(argv[0], "StepId", 4)) {
        cmd_error("update StepId= is not available in this version; that of the whole job is "
                  "'scontrol update JobId=JOB TimeLimit=TIME'");
        return 1;
    }
    cmd_line("No valid entity in update command\nInput line must include \"NodeName\", "
             "\"PartitionName\", \"Reservation\", \"JobId\" or \"SlurmctldDebug\"");
    return 1;
}
