/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "defined options": the given options with their parsed values. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/size.h"
#include "base/text.h"
#include "base/timefmt.h"
#include "cli/opt_priv.h"

#define LINE "-------------------- --------------------"

/* "2G", "1500": MiB have no suffix. */
static void put_mib(uint64_t mib, struct str *out)
{
    char text[SIZE_TEXT_MAX];
    size_format_mib(mib, text);
    size_t len = strlen(text);
    str_append(out, text, len && text[len - 1] == 'M' ? len - 1 : len);
}

static void put_limit(int64_t sec, struct str *out)
{
    char text[TIME_TEXT_MAX];
    str_puts(out, time_format_limit(sec, text));
}

static void put_path(const struct opt *o, const char *path, struct str *out)
{
    if (str_eq(path, "none")) {
        str_puts(out, "/dev/null");
        return;
    }
    if (o->command == OPT_SBATCH && *path != '/') {
        _cleanup_free_ char *cwd = o->chdir ? mem_strdup(o->chdir) : getcwd(NULL, 0);
        str_printf(out, "%s/", cwd ? cwd : "");
    }
    str_puts(out, path);
}

/* Options with their own format, whose value differs from the argument. */
static bool put_special(const struct opt *o, const struct opt_row *row, struct str *out)
{
    char date[TIME_TEXT_MAX];
    switch (row->id) {
    case OPT_ID_begin:
        str_puts(out, time_format_date(o->begin_at_sec, "now", date));
        return true;
    case OPT_ID_deadline:
        str_puts(out, time_format_date(o->deadline_at_sec, "N/A", date));
        return true;
    case OPT_ID_exclusive:
        str_puts(out, o->given[row->id] ? o->given[row->id] : "exclusive");
        return true;
    case OPT_ID_oversubscribe:
        str_puts(out, "oversubscribe");
        return true;
    case OPT_ID_immediate:
        str_printf(out, "%u", o->given[row->id] ? o->immediate_sec : 1);
        return true;
    case OPT_ID_kill_bad_exit:
        str_puts(out, o->kill_on_bad_exit ? "1" : "0");
        return true;
    case OPT_ID_kill_command:
        str_puts(out, o->given[row->id] ? o->given[row->id] : "TERM");
        return true;
    case OPT_ID_mem:
        put_mib(o->mem_per_node_mib, out);
        return true;
    case OPT_ID_mem_per_cpu:
        put_mib(o->mem_per_cpu_mib, out);
        return true;
    case OPT_ID_mem_per_gpu:
        put_mib(o->mem_per_gpu_mib, out);
        return true;
    case OPT_ID_nice:
        str_printf(out, "%" PRId32, o->nice);
        return true;
    case OPT_ID_no_kill:
        str_puts(out, o->no_kill ? "set" : "unset");
        return true;
    case OPT_ID_nodelist:
        str_puts(out, o->nodelist ? o->nodelist : "");
        return true;
    case OPT_ID_nodes:
        if (o->node_counts) {
            str_puts(out, o->node_counts);
            return true;
        }
        str_printf(out, "%u", o->min_nodes);
        if (o->max_nodes != o->min_nodes)
            str_printf(out, "-%u", o->max_nodes);
        return true;
    case OPT_ID_open_mode:
        str_puts(out, o->open_append ? "a" : "t");
        return true;
    case OPT_ID_propagate:
        str_puts(out, o->propagate);
        return true;
    case OPT_ID_requeue:
    case OPT_ID_no_requeue:
        str_puts(out, row->name);
        return true;
    case OPT_ID_std_in:
    case OPT_ID_std_out:
    case OPT_ID_std_err:
        put_path(o, o->given[row->id] ? o->given[row->id] : "", out);
        return true;
    case OPT_ID_verbose:
        str_printf(out, "%u", o->verbose);
        return true;
    default:
        return false;
    }
}

static void put_option_value(const struct opt *o, const struct opt_row *row, struct str *out)
{
    const void *member = (const char *)o + row->offset;
    if (put_special(o, row, out))
        return;
    switch (row->type) {
    case OPT_T_FLAG:
    case OPT_T_TRUE:
        str_puts(out, "set");
        break;
    case OPT_T_COUNT:
    case OPT_T_NUMBER:
        str_printf(out, "%" PRIu32, *(const uint32_t *)member);
        break;
    case OPT_T_MEMORY:
        put_mib(*(const uint64_t *)member, out);
        break;
    case OPT_T_LIMIT:
        put_limit(*(const int64_t *)member, out);
        break;
    default:
        str_puts(out, o->given[row->id] ? o->given[row->id] : "set");
        break;
    }
}

void opt_format_value(const struct opt *o, enum opt_id id, struct str *out)
{
    put_option_value(o, &opt_rows[id], out);
}

void opt_format_defined(const struct opt *o, struct str *out)
{
    const char *program = opt_program(o);
    str_printf(out, "%s: defined options\n%s: " LINE "\n", program, program);
    for (size_t i = 0; i < opt_row_count; i++) {
        const struct opt_row *row = &opt_rows[i];
        _cleanup_str_ struct str value = STR_INIT, shown = STR_INIT;
        if (!(row->commands & o->command) || !opt_given(o, row->id))
            continue;
        put_option_value(o, row, &value);
        text_escape(str_cstr(&value), &shown);
        str_printf(out, "%s: %-20s: %s\n", program, row->name, str_cstr(&shown));
    }
    str_printf(out, "%s: " LINE "\n%s: end of defined options\n", program, program);
}
