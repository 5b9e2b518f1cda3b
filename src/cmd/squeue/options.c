/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/squeue/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/timefmt.h"
#include "base/words.h"
#include "cli/cmd.h"
#include "cli/job_arg.h"
#include "show/job_columns.h"
#include "show/job_ids.h"

#define ARGS_DEF "cmd/squeue/squeue.def"
#include "cli/args_rows.h"

const struct args_table options_table = ARGS_TABLE("squeue", "");

/* Calls each() with the words of a comma list; stops at its first failure. */
static int each_word(struct options *o, const char *list, int (*each)(struct options *, char *))
{
    for (const char *s = list; *s;) {
        size_t len = job_ids_word(s);
        _cleanup_free_ char *word = mem_strndup(s, len);
        int r = len ? each(o, word) : 0;
        if (r)
            return r;
        s += len + (s[len] != 0);
    }
    return 0;
}

static int add_id(struct options *o, char *word)
{
    if (job_arg_parse_list(word, &o->ids, NULL) == 0)
        return 0;
    cmd_error("Invalid job id: %s", word);
    return 2;
}

static int add_user(struct options *o, char *word)
{
    uint32_t uid;
    if (cmd_find_user(word, &uid))
        vec_push(&o->uids, uid);
    return 0;
}

/* Job names may have blanks and brackets. */
static void add_names(struct options *o, const char *list)
{
    words_foreach (list, w)
        if (w.len)
            vec_push(&o->names, word_dup(w));
}

static int add_partition(struct options *o, char *word)
{
    vec_push(&o->partitions, mem_strdup(word));
    return 0;
}

static void clear_strings(char **data, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(data[i]);
}

void options_done(struct options *o)
{
    clear_strings(o->names.data, o->names.len);
    clear_strings(o->partitions.data, o->partitions.len);
    vec_done(&o->names);
    vec_done(&o->partitions);
    vec_done(&o->ids);
    vec_done(&o->uids);
}

enum list_option { LIST_IDS, LIST_USERS, LIST_NAMES, LIST_PARTITIONS, LIST_STATES, LIST_NODES };

/* As in Slurm, no job matches a list that names nothing, as -u "$user" with an unset variable. */
static void note_list(struct options *o, enum list_option list, bool is_empty)
{
    unsigned bit = 1u << list;
    o->empty_lists = is_empty ? o->empty_lists | bit : o->empty_lists & ~bit;
}

static int set_states(struct options *o, const char *list)
{
    _cleanup_str_ struct str names = STR_INIT;
    struct err err = {0};
    o->states = (struct job_states){0};
    if (job_states_parse(list, &o->states, &err) == 0) {
        note_list(o, LIST_STATES, !job_states_given(&o->states));
        return 0;
    }
    cmd_error("%s", err.text);
    job_states_list(&names);
    cmd_error("Valid job states include: %s", str_cstr(&names));
    return 2;
}

static int set_time(const char *name, const char *value, int64_t *sec)
{
    if (time_parse_limit(value, sec, NULL) == 0)
        return 0;
    cmd_error("invalid --%s '%s': use minutes, MM:SS, HH:MM:SS or D-HH[:MM[:SS]]", name, value);
    return 2;
}

/* NULL: an option without its optional list, which may follow as an operand. */
static int set_ids(struct options *o, const char *value)
{
    int r = value ? each_word(o, value, add_id) : 0;
    if (value)
        note_list(o, LIST_IDS, !o->ids.len);
    return r;
}

static int set_users(struct options *o, const char *value)
{
    vec_clear(&o->uids);
    int r = each_word(o, value, add_user);
    note_list(o, LIST_USERS, !o->uids.len);
    return r;
}

static int set_partitions(struct options *o, const char *value)
{
    clear_strings(o->partitions.data, o->partitions.len);
    vec_clear(&o->partitions);
    int r = each_word(o, value, add_partition);
    note_list(o, LIST_PARTITIONS, !o->partitions.len);
    return r;
}

/* Sets a list, which replaces that of the environment. */
static int set_list(struct options *o, int id, const char *value)
{
    switch (id) {
    case ID_jobs:
        vec_clear(&o->ids);
        return set_ids(o, value);
    case ID_steps:
        o->steps = true;
        return set_ids(o, value);
    case ID_user:
    case ID_users:
        return set_users(o, value);
    case ID_name:
        clear_strings(o->names.data, o->names.len);
        vec_clear(&o->names);
        add_names(o, value);
        note_list(o, LIST_NAMES, !o->names.len);
        return 0;
    case ID_partition:
    case ID_partitions:
        return set_partitions(o, value);
    case ID_states:
        return set_states(o, value);
    case ID_running_over:
        return set_time("running-over", value, &o->over_sec);
    case ID_running_under:
        return set_time("running-under", value, &o->under_sec);
    case ID_iterate:
        return args_iterate(value, &o->iterate_sec);
    default:
        return 0;
    }
}

static const char *this_host(void)
{
    static char host[256];
    gethostname(host, sizeof(host) - 1);
    host[strcspn(host, ".")] = 0;
    return host;
}

static void set_text(struct options *o, int id, const char *value)
{
    switch (id) {
    case ID_account:
    case ID_accounts:
        o->accounts = value;
        break;
    case ID_qos:
        o->qos = value;
        break;
    case ID_licenses:
        o->licenses = value;
        break;
    case ID_reservation:
        o->reservation = value;
        break;
    case ID_nodelist:
    case ID_nodes:
        o->nodes = str_eq(value, "localhost") ? this_host() : value;
        note_list(o, LIST_NODES, !value[strspn(value, ",")]);
        break;
    case ID_sort:
        o->sort = value;
        break;
    default:
        break;
    }
}

/* --format and --Format exclude each other. SQUEUE_FORMAT takes precedence over SQUEUE_FORMAT2, and
 * an option over both. */
static int set_columns(struct options *o, int id, const char *value)
{
    bool is_long = id == ID_format_long;
    bool from_env = value == getenv(is_long ? "SQUEUE_FORMAT2" : "SQUEUE_FORMAT");
    o->has_format |= !from_env && !is_long;
    o->has_format_long |= !from_env && is_long;
    if (o->has_format && o->has_format_long) {
        cmd_error("-O (--Format) is incompatible with -o (--format)");
        return 2;
    }
    if (is_long && from_env && o->format)
        return 0;
    o->format = is_long ? NULL : value;
    o->format_long = is_long ? value : NULL;
    return 0;
}

static void set_flag(struct options *o, int id)
{
    switch (id) {
    case ID_noheader:
        o->noheader = true;
        break;
    case ID_long:
        o->long_format = true;
        break;
    case ID_start:
        o->start = true;
        break;
    case ID_me:
        vec_clear(&o->uids);
        vec_push(&o->uids, getuid());
        note_list(o, LIST_USERS, false);
        break;
    case ID_noconvert:
        job_columns_keep_units();
        break;
    case ID_notme:
        o->not_me = true;
        break;
    case ID_priority:
        o->priority = true;
        break;
    case ID_all:
        o->all = true;
        break;
    case ID_hide:
        o->all = false;
        break;
    case ID_array:
        o->each = true;
        break;
    case ID_helpformat:
        o->help_format = true;
        break;
    case ID_expand_patterns:
        o->expand_patterns = true;
        break;
    case ID_json:
        o->json = true;
        break;
    case ID_yaml:
        o->yaml = true;
        break;
    default:
        break;
    }
}

static int set_squeue_option(void *ctx, int id, const char *value)
{
    struct options *o = ctx;
    o->bare |= (id == ID_jobs || id == ID_steps) && !value;
    set_flag(o, id);
    set_text(o, id, value);
    if (id == ID_format || id == ID_format_long)
        return set_columns(o, id, value);
    return set_list(o, id, value);
}

/* As in Slurm, the columns of --long, --start and --steps take precedence over those of a variable.
 */
static void drop_columns_of_environment(struct options *o)
{
    if (o->has_format || o->has_format_long || !(o->long_format || o->start || o->steps))
        return;
    o->format = o->format_long = NULL;
}

int options_parse(struct options *o, int argc, char **argv)
{
    int first;
    *o = (struct options){0};
    int status = args_parse(&options_table, argc, argv, set_squeue_option, o, &o->common, &first);
    drop_columns_of_environment(o);
    /* "squeue -j 5": the optional argument of an option as a separate word. */
    for (int i = first; status == 0 && i < argc; i++) {
        if (o->bare) {
            status = set_ids(o, argv[i]);
        } else {
            cmd_error("Unrecognized option: %s", argv[i]);
            status = 2;
        }
    }
    o->nobody = o->empty_lists != 0;
    return status;
}

/* Whether a word of the comma-separated list equals 'value'. */
static bool is_listed(const char *list, const char *value)
{
    if (!list)
        return true;
    size_t value_len = value ? strlen(value) : 0;
    words_foreach (list, w) {
        if (value && w.len == value_len && !strncasecmp(w.at, value, w.len))
            return true;
    }
    return false;
}

/* Whether a word of the comma-separated list is one of the names in "a:1,b". */
static bool is_any_listed(const char *list, const char *names)
{
    for (const char *s = names ? names : ""; list && *s; s += strcspn(s, ",|;"), s += *s != 0) {
        _cleanup_free_ char *name = mem_strndup(s, strcspn(s, ",|;:"));
        if (is_listed(list, name))
            return true;
    }
    return !list;
}

bool options_match_time(const struct options *o, const Pb__JobLive *live, int64_t now)
{
    int64_t used = job_state_used_sec(live, now);
    if (!o->over_sec && !o->under_sec)
        return true;
    return live->state == PB__JOB_STATE__RUNNING && (!o->over_sec || used > o->over_sec) &&
           (!o->under_sec || used < o->under_sec);
}

bool options_match(const struct options *o, const Pb__JobRecord *job)
{
    const Pb__JobSpec *spec = job->spec;
    if (o->not_me && spec->uid == getuid())
        return false;
    if (job_states_given(&o->states) && !job_states_match(&o->states, job->live))
        return false;
    return is_listed(o->accounts, spec->account) && is_listed(o->qos, spec->qos) &&
           is_any_listed(o->licenses, spec->licenses) &&
           (is_any_listed(o->reservation, spec->reservation) ||
            is_any_listed(o->reservation, job->live->reservation));
}
