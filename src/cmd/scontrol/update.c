/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "scontrol update": the key that names the entity determines the meaning of the other keys. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/hostlist.h"
#include "base/mem.h"
#include "base/size.h"
#include "base/timefmt.h"
#include "base/vec.h"
#include "base/words.h"
#include "cli/cmd.h"
#include "cli/job_arg.h"
#include "cmd/scontrol/fields.h"
#include "cmd/scontrol/resv.h"
#include "cmd/scontrol/scontrol.h"
#include "cmd/scontrol/update.h"
#include "proto/job.pb-c.h"
#include "proto/node.pb-c.h"
#include "proto/part.pb-c.h"
#include "show/job_ids.h"

const char *update_value(const char *arg, const char *key, size_t least)
{
    size_t len = strcspn(arg, "=");
    if (!arg[len] || len < least || strncasecmp(arg, key, len) != 0 || len > strlen(key))
        return NULL;
    return arg + len + 1;
}

int update_refuse(const char *arg)
{
    cmd_line("Update of this parameter is not supported: %s\nRequest aborted", arg);
    return -1;
}

int update_apply(struct update *u, const struct field *table, const char *arg, void *message)
{
    size_t len = strcspn(arg, "=");
    const struct field *f = arg[len] ? field_find(table, arg, len) : NULL;
    struct err err = {0};
    if (!f)
        return update_refuse(arg);
    if (field_set(f, arg + len + 1, message, &u->arena, &err) < 0) {
        cmd_line("%s\nRequest aborted", err.text);
        return -1;
    }
    u->changes++;
    return 0;
}

int update_check_any(const struct update *u)
{
    if (u->changes)
        return 0;
    cmd_line("No changes specified");
    return -1;
}

/* Expands abbreviated states; states that this version does not have are rejected by name. */
static int complete_state(Pb__NodeUpdate *change)
{
    static const char *const states[] = {"RESUME", "DRAIN", "UNDRAIN", "DOWN",
                                         "IDLE",   "FAIL",  "FUTURE",  "CANCEL_REBOOT"};
    size_t len = strlen(change->state);
    for (size_t i = 0; len && i < sizeof(states) / sizeof(states[0]); i++) {
        if (!strncmp(states[i], change->state, len)) {
            change->state = (char *)states[i];
            return 0;
        }
    }
    if (str_case_eq(change->state, "NORESP")) {
        cmd_line("Update of this parameter is not supported: State=NoResp: a node that does not "
                 "answer gets this flag by itself; use State=DOWN or State=DRAIN\nRequest aborted");
        return -1;
    }
    cmd_line("Invalid input: State=%s\nRequest aborted\nValid states are: CANCEL_REBOOT, DOWN, "
             "DRAIN, FAIL, "
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
        if (!update_value(u->argv[i], "NodeName", 3) &&
            update_apply(u, fields_node, u->argv[i], &change) < 0)
            return 1;
    if (update_check_any(u) < 0)
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

/* Key=NEW: a new number makes the controller generate a new key. Returns 1 if the argument has
 * another key. */
static int renew_key(struct update *u, const char *arg, Pb__PartRecord *set)
{
    const char *value = update_value(arg, "Key", 3);
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

/* "DefCpuPerGPU=4,DefMemPerGPU=100"; an empty value clears both. */
static int set_job_defaults(struct update *u, const char *value, Pb__PartRecord *set)
{
    static const char *const keys[] = {"DefCpuPerGPU", "DefMemPerGPU"};
    for (size_t i = 0; !*value && i < 2; i++)
        update_apply(u, fields_part, arena_printf(&u->arena, "%s=0", keys[i]), set);
    words_foreach (value, w) {
        size_t key = strcspn(w.at, "=,");
        const char *word = arena_printf(&u->arena, "%.*s", (int)w.len, w.at);
        bool known = w.at[key] == '=' && key == strlen(keys[0]) &&
                     (!strncasecmp(w.at, keys[0], key) || !strncasecmp(w.at, keys[1], key));
        if (!known) {
            cmd_line("Invalid value: JobDefaults=%s: it is DefCpuPerGPU=N, DefMemPerGPU=MIB or "
                     "both\nRequest aborted",
                     word);
            return -1;
        }
        if (update_apply(u, fields_part, word, set) < 0)
            return -1;
    }
    return 0;
}

static int set_exclusive(struct update *u, const char *value, Pb__PartRecord *set)
{
    bool node = str_case_eq(value, "NODE"), user = str_case_eq(value, "USER");
    bool topo = str_case_eq(value, "TOPO");
    if (!node && !user && !topo && !str_case_eq(value, "NO") && !str_case_eq(value, "NONE")) {
        cmd_line("Invalid input: Exclusive=%s: use NO, NONE, NODE, USER or TOPO\nRequest aborted",
                 value);
        return -1;
    }
    if (update_apply(u, fields_part, user ? "ExclusiveUser=YES" : "ExclusiveUser=NO", set) < 0 ||
        update_apply(u, fields_part, topo ? "ExclusiveTopo=YES" : "ExclusiveTopo=NO", set) < 0)
        return -1;
    return update_apply(u, fields_part, node ? "OverSubscribe=EXCLUSIVE" : "OverSubscribe=NO", set);
}

static int set_part_nodes(struct update *u, const struct field *f, char sign, const char *value,
                          Pb__PartRecord *set)
{
    struct err err = {0};
    char *nodes = NULL;

    u->changes++;
    if (field_join_nodes(set->nodes, sign, value, &u->arena, &nodes, &err) == 0 &&
        field_set(f, nodes, set, &u->arena, &err) == 0)
        return 0;
    cmd_line("%s\nRequest aborted", err.text);
    return -1;
}

/* Sets one Key=VALUE, starting with the keys that are not plain members of the record. */
static int set_part_key(struct update *u, const char *arg, Pb__PartRecord *set)
{
    size_t len = strcspn(arg, "=");
    const char *value = update_value(arg, "JobDefaults", 3);
    if (value)
        return set_job_defaults(u, value, set);
    value = update_value(arg, "Exclusive", 9);
    if (value)
        return set_exclusive(u, value, set);
    char sign = len && (arg[len - 1] == '+' || arg[len - 1] == '-') ? arg[len - 1] : 0;
    size_t key = len - (sign != 0);
    const struct field *f = arg[len] ? field_find(fields_part, arg, key) : NULL;
    if (f && str_eq(f->key, "Nodes"))
        return set_part_nodes(u, f, sign, arg + len + 1, set);
    return update_apply(u, fields_part, arg, set);
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
        int r = update_value(u->argv[i], "PartitionName", 3) ? 0 : renew_key(u, u->argv[i], &set);
        if (r < 0 || (r > 0 && set_part_key(u, u->argv[i], &set) < 0))
            return 1;
    }
    if (how == PART_CHANGE && update_check_any(u) < 0)
        return 1;
    change.has_create = change.create = how == PART_CREATE;
    change.has_remove = change.remove = how == PART_DELETE;
    if (cmd_call(RPC_PART_UPDATE, &change.base, NULL, &err) < 0) {
        cmd_line("%s error: %s", calls[how], err.text);
        return 1;
    }
    return 0;
}

/* Appends a key of a node's line in the controller's format: values with blanks are quoted. */
static void put_update_key(struct str *out, const char *arg)
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
        if (!update_value(u->argv[i], "NodeName", 5))
            put_update_key(&keys, u->argv[i]);
    change.nodes = (char *)names;
    if (how == PART_CREATE)
        change.create = (char *)str_cstr(&keys);
    else
        change.has_remove = change.remove = true;
    if (how == PART_DELETE && keys.len)
        return update_refuse(str_cstr(&keys)) < 0;
    if (cmd_call(RPC_NODE_UPDATE, &change.base, NULL, &err) < 0) {
        cmd_line("%s error: %s", how == PART_CREATE ? "slurm_create_node" : "slurm_delete_node",
                 err.text);
        return 1;
    }
    return 0;
}

/* Whether the command is about a reservation: by the word, or by a key that names one. */
static bool means_resv(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (resv_is_meant(argv[i]) && (i == 0 || strchr(argv[i], '=')))
            return true;
    return false;
}

/* NodeName= or PartitionName= decides which entity is meant; a partition's Nodes= does not. */
static int make_one(int argc, char **argv, enum part_how how)
{
    struct update u = {.argc = argc, .argv = argv};
    const char *value;
    int status = -1;
    if (means_resv(argc, argv))
        return resv_command(argc, argv, how == PART_CREATE ? RESV_CREATE : RESV_DELETE);
    arena_init(&u.arena, 0);
    for (int i = 0; status < 0 && i < argc; i++) {
        if ((value = update_value(argv[i], "PartitionName", 3)))
            status = update_part(&u, value, how);
        else if ((value = update_value(argv[i], "NodeName", 5)))
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

/* A word without a value. */
static const char *find_flag_word(const char *arg)
{
    static const char *const words[] = {"Nice", "ResetAccrueTime", "Skip"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (str_case_eq(arg, words[i]))
            return words[i];
    return NULL;
}

/* Converts "jobid 7 timelimit 5" to "jobid=7 timelimit=5", and "nice" to "nice=". The texts live in
 * the arena. */
static int join_words(int argc, char **argv, char **out, struct arena *arena)
{
    int count = 0;
    for (int i = 0; i < argc; i++) {
        bool is_bare = !strchr(argv[i], '=');
        bool has_value = i + 1 < argc && !strchr(argv[i + 1], '=');
        if (is_bare && find_flag_word(argv[i]) && !str_case_eq(argv[i], "Skip"))
            out[count++] = arena_printf(arena, "%s=", argv[i]);
        else if (is_bare && has_value && !find_flag_word(argv[i]) && !find_flag_word(argv[i + 1])) {
            out[count++] = arena_printf(arena, "%s=%s", argv[i], argv[i + 1]);
            i++;
        } else
            out[count++] = argv[i];
    }
    return count;
}

static int update_entity(struct update *u)
{
    const char *value;
    int status = -1;
    /* Partition= of a job names no partition, so jobs and nodes are checked first. */
    for (int i = 0; status < 0 && i < u->argc; i++) {
        if (update_value(u->argv[i], "JobId", 3))
            status = update_job(u, u->argv[i]);
        else if (update_value(u->argv[i], "StepId", 4))
            status = update_step(u, u->argv[i]);
        else if ((value = update_value(u->argv[i], "NodeName", 3)))
            status = update_node(u, value);
    }
    for (int i = 0; status < 0 && i < u->argc; i++)
        if ((value = update_value(u->argv[i], "JobName", 4)))
            status = update_jobs_named(u, value);
    if (status < 0 && means_resv(u->argc, u->argv))
        status = resv_command(u->argc, u->argv, RESV_CHANGE);
    for (int i = 0; status < 0 && i < u->argc; i++)
        if ((value = update_value(u->argv[i], "PartitionName", 3)))
            status = update_part(u, value, PART_CHANGE);
    for (int i = 0; status < 0 && i < u->argc; i++)
        if ((value = pool_is_meant(u->argv[i])))
            status = pool_update(u, value);
    for (int i = 0; status < 0 && i < u->argc; i++)
        if ((value = update_value(u->argv[i], "SlurmctldDebug", 6)))
            status = run_setdebug(1, (char **)&value);
    for (int i = 0; status < 0 && i < u->argc; i++)
        if (!strncasecmp(u->argv[i], "SuspendExc", 10))
            status = update_refuse(u->argv[i]) < 0;
    return status;
}

int run_update(int argc, char **argv)
{
    struct update u = {0};
    arena_init(&u.arena, 0);
    u.argv = arena_alloc(&u.arena, (size_t)argc * sizeof *u.argv);
    u.argc = join_words(argc, argv, u.argv, &u.arena);
    int status = update_entity(&u);
    arena_done(&u.arena);
    if (status >= 0)
        return status;
    cmd_line("No valid entity in update command\nInput line must include \"NodeName\", "
             "\"PartitionName\", \"Reservation\", \"JobId\", \"StepId\", or \"SlurmctldDebug\"");
    return 1;
}

/* "60", "+30", "-0:30:00". */
static int parse_limit(const char *value, Pb__StepLimit *limit)
{
    bool relative = *value == '+' || *value == '-';
    int64_t sec;
    if (time_parse_limit(value + relative, &sec, NULL) < 0 || (relative && sec >= TIME_UNLIMITED)) {
        cmd_line("Invalid value: TimeLimit=%s\nRequest aborted", value);
        return -1;
    }
    if (relative) {
        limit->has_change_sec = true;
        limit->change_sec = *value == '-' ? -sec : sec;
    } else {
        limit->has_limit_sec = true;
        limit->limit_sec = sec;
    }
    return 0;
}

/* Treats TimeLimit+=10 as TimeLimit=+10. */
static int read_argument(struct update *u, const char *arg, Pb__StepLimit *limit)
{
    static const char key[] = "TimeLimit";
    size_t len = strcspn(arg, "="), word = len;
    bool is_signed = len > 1 && arg[len] && strchr("+-", arg[len - 1]);
    word -= is_signed;
    if (!arg[len] || word < 3 || word > strlen(key) || strncasecmp(arg, key, word) != 0)
        return update_refuse(arg);
    *limit = (Pb__StepLimit)PB__STEP_LIMIT__INIT;
    u->changes++;
    if (!is_signed)
        return parse_limit(arg + len + 1, limit);
    return parse_limit(arena_printf(&u->arena, "%c%s", arg[len - 1], arg + len + 1), limit);
}

/* text: the id as entered; NULL: the id means several steps. */
static int limit_step(const Pb__StepId *id, Pb__StepLimit *limit, const char *text)
{
    Pb__JobUpdate change = PB__JOB_UPDATE__INIT;
    struct err err = {0};
    _cleanup_str_ struct str name = STR_INIT;
    JOB_IDS_COPY(&change, id);
    limit->has_step_id = id->has_step_id;
    limit->step_id = id->step_id;
    change.step_limit = limit;
    if (cmd_call(RPC_JOB_UPDATE, &change.base, NULL, &err) == 0)
        return 0;
    if (!text)
        job_ids_put_asked(id, &name);
    cmd_line("%s for step %s", err.text, text ? text : str_cstr(&name));
    return 1;
}

int update_step(struct update *u, const char *id_arg)
{
    const char *text = strchr(id_arg, '=') + 1;
    struct job_id_list ids = {0};
    Pb__StepLimit limit = PB__STEP_LIMIT__INIT;
    for (int i = 0; i < u->argc; i++)
        if (!update_value(u->argv[i], "StepId", 4) && read_argument(u, u->argv[i], &limit) < 0)
            return 1;
    if (update_check_any(u) < 0)
        return 1;
    if (jobs_parse_word(text, &ids) < 0) {
        cmd_line("%s for step %s", err_text(ERR_NO_STEP), text);
        return 1;
    }
    int status = 0;
    vec_foreach (&ids, id)
        status |= limit_step(id, &limit, ids.len > 1 ? NULL : text);
    vec_done(&ids);
    return status;
}
