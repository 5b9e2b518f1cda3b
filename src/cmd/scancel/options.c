/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/scancel/options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/signame.h"
#include "cli/cmd.h"
#include "cli/job_arg.h"
#include "cli/node_names.h"
#include "show/job_ids.h"
#include "show/names.h"

#define ARGS_DEF "cmd/scancel/scancel.def"
#include "cli/args_rows.h"

const struct args_table options_table =
    ARGS_TABLE("scancel", "[job_id[_array_id|+component][.step_id]...]");

int options_add_id(struct options *o, const char *text)
{
    struct err err = {0};
    if (job_arg_parse_list(text, &o->ids, &err) == 0)
        return 0;
    cmd_error("%s", err.text);
    return 2;
}

static int set_signal(struct options *o, const char *text)
{
    o->signal = signame_parse(text);
    o->has_signal = true;
    if (o->signal > 0)
        return 0;
    cmd_line("Unknown job signal: %s", text);
    return 2;
}

static int set_states(struct options *o, const char *list)
{
    const uint32_t allowed = 1u << PB__JOB_STATE__PENDING | 1u << PB__JOB_STATE__RUNNING |
                             1u << PB__JOB_STATE__SUSPENDED;
    o->states = (struct job_states){0};
    if (job_states_parse(list, &o->states, NULL) == 0 && !job_states_has_flag(&o->states) &&
        o->states.wanted && !(o->states.wanted & ~allowed))
        return 0;
    cmd_line("Invalid job state specified: %s\n"
             "Valid job states are PENDING, RUNNING, and SUSPENDED",
             list);
    return 2;
}

static int set_user(struct options *o, const char *name)
{
    o->has_uid = true;
    if (names_find_user(name, &o->uid) == 0)
        return 0;
    cmd_error("Invalid user name: %s", name);
    return 2;
}

/* Sets a node list, or the name of a file, which has a slash. */
static int set_nodes(struct options *o, const char *value)
{
    _cleanup_hostlist_ struct hostlist *hosts = hostlist_new();
    struct str list = STR_INIT;
    struct err err = {0};
    o->nodes = value;
    if (!value[strspn(value, ",")]) {
        cmd_error("Invalid --nodelist specification: it names no node");
        return 2;
    }
    if (!strchr(value, '/'))
        return 0;
    if (node_names_read_file(value, hosts, &err) < 0) {
        cmd_error("Invalid --nodelist specification: %s", err.text);
        return 2;
    }
    hostlist_uniq(hosts);
    hostlist_format(hosts, &list);
    free(o->file_nodes);
    o->nodes = o->file_nodes = list.data;
    return 0;
}

static int set_value(struct options *o, int id, const char *value)
{
    switch (id) {
    case ID_account:
        o->account = value;
        return 0;
    case ID_name:
    case ID_jobname:
        o->name = value;
        return 0;
    case ID_nodelist:
        return set_nodes(o, value);
    case ID_partition:
        o->partition = value;
        return 0;
    case ID_qos:
        o->qos = value;
        return 0;
    case ID_reservation:
        o->reservation = value;
        return 0;
    case ID_wckey:
        o->wckey = value;
        return 0;
    case ID_admin_comment:
        cmd_say("warning: --admin-comment is accepted and has no effect: 'scontrol update JobId= "
                "AdminComment=' sets the comment");
        return 0;
    case ID_sibling:
        cmd_error("--sibling=%s is not supported: there are no federations", value);
        return 2;
    case ID_signal:
        return set_signal(o, value);
    case ID_state:
        return set_states(o, value);
    case ID_user:
        return set_user(o, value);
    default:
        return 0;
    }
}

static void set_flag(struct options *o, int id)
{
    switch (id) {
    case ID_batch:
        o->batch = true;
        break;
    case ID_full:
        o->full = true;
        break;
    case ID_cron:
        cmd_say("warning: --cron is accepted and has no effect: there are no scrontab jobs");
        break;
    case ID_hurry:
        o->hurry = true;
        break;
    case ID_interactive:
        o->interactive = true;
        break;
    case ID_me:
        o->has_uid = true;
        o->uid = getuid();
        break;
    case ID_quiet:
        o->quiet = true;
        break;
    default:
        break;
    }
}

static int set_scancel_option(void *ctx, int id, const char *value)
{
    set_flag(ctx, id);
    return set_value(ctx, id, value);
}

int options_parse(struct options *o, int argc, char **argv)
{
    int first;
    *o = (struct options){0};
    int status = args_parse(&options_table, argc, argv, set_scancel_option, o, &o->common, &first);
    for (int i = first; status == 0 && i < argc; i++) {
        /* accepts "1,2" and "1 2" */
        for (const char *s = argv[i]; status == 0 && *s;) {
            size_t len = job_ids_word(s);
            _cleanup_free_ char *word = mem_strndup(s, len);
            status = options_add_id(o, word);
            s += len + (s[len] != 0);
        }
    }
    return status;
}

void options_done(struct options *o)
{
    vec_done(&o->ids);
    free(take_ptr(o->file_nodes));
}

bool options_needs_list(const struct options *o)
{
    bool by_filter = options_has_filter(o); /* the controller's filters apply to whole jobs */
    vec_foreach (&o->ids, id)
        if (id->has_step_id && by_filter)
            return true;
    return o->interactive || o->account || o->qos || o->reservation || o->wckey;
}

bool options_has_filter(const struct options *o)
{
    return o->has_uid || o->name || o->partition || o->nodes || job_states_given(&o->states) ||
           o->account || o->qos || o->reservation || o->wckey;
}

static bool is_value(const char *wanted, const char *value)
{
    return !wanted || str_eq(wanted, value);
}

/* Compares with the reservations that the job requested, or with the one that it uses. */
static bool has_reservation(const char *wanted, const Pb__JobRecord *job)
{
    const char *names = job->spec->reservation;
    for (const char *s = names ? names : ""; wanted && *s; s += strcspn(s, ","), s += *s != 0)
        if (strcspn(s, ",") == strlen(wanted) && strncmp(s, wanted, strlen(wanted)) == 0)
            return true;
    return is_value(wanted, job->live->reservation);
}

bool options_match(const struct options *o, const Pb__JobRecord *job)
{
    const Pb__JobSpec *spec = job->spec;
    return !job_state_is_final(job->live) && is_value(o->account, spec->account) &&
           is_value(o->qos, spec->qos) && has_reservation(o->reservation, job) &&
           is_value(o->wckey, spec->wckey);
}
