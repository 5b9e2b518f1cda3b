/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/sprio/options.h"

#include <string.h>

#include "base/mem.h"
#include "cli/cmd.h"
#include "cli/job_arg.h"

#define ARGS_DEF "cmd/sprio/sprio.def"
#include "cli/args_rows.h"

const struct args_table options_table = ARGS_TABLE("sprio", "");

/* Calls each() with the words of a comma list; stops at its first failure. */
static int each_word(struct options *o, const char *list, int (*each)(struct options *, char *))
{
    for (const char *s = list; *s;) {
        size_t len = strcspn(s, ", ");
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
    if (!strchr(word, '.') && job_arg_parse_list(word, &o->ids, NULL) == 0)
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

static int add_partition(struct options *o, char *word)
{
    vec_push(&o->partitions, mem_strdup(word));
    return 0;
}

static void set_flag(struct options *o, int id)
{
    o->noheader |= id == ID_noheader;
    o->long_format |= id == ID_long;
    o->norm |= id == ID_norm;
    o->weights |= id == ID_weights;
}

static int set_sprio_option(void *ctx, int id, const char *value)
{
    struct options *o = ctx;
    set_flag(o, id);
    switch (id) {
    case ID_format:
        o->format = value;
        return 0;
    case ID_sort:
        o->sort = value;
        return 0;
    case ID_jobs:
        o->bare |= !value;
        return value ? each_word(o, value, add_id) : 0;
    case ID_user:
    case ID_users:
        o->users = true;
        return each_word(o, value, add_user);
    case ID_partition:
    case ID_partitions:
        o->has_partitions = true;
        return each_word(o, value, add_partition);
    default:
        return 0;
    }
}

int options_parse(struct options *o, int argc, char **argv)
{
    int first;
    *o = (struct options){0};
    int status = args_parse(&options_table, argc, argv, set_sprio_option, o, &o->common, &first);
    /* "sprio -j 5": the optional argument of an option as a separate word. */
    for (int i = first; status == 0 && i < argc; i++) {
        if (o->bare) {
            status = each_word(o, argv[i], add_id);
        } else {
            cmd_error("Unrecognized option: %s", argv[i]);
            status = 2;
        }
    }
    /* As in Slurm, no job matches a list that names nothing. */
    o->nobody = (o->users && !o->uids.len) || (o->has_partitions && !o->partitions.len);
    return status;
}

void options_done(struct options *o)
{
    vec_foreach (&o->partitions, p)
        free(*p);
    vec_done(&o->partitions);
    vec_done(&o->ids);
    vec_done(&o->uids);
}
