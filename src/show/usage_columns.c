/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Usage of all processes of a node, by user and by job, as text. */
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/step_id.h"
#include "base/timefmt.h"
#include "conf/conf_freq.h"
#include "show/job_ids.h"
#include "show/job_state.h"
#include "show/show.h"
#include "show/usage_columns.h"

#define NAMES_A_LINE 4
#define NAME_WIDTH 19

enum { MOST, LEAST };
#define CPU PB__USAGE_KIND__USAGE_CPU_USEC
#define RSS PB__USAGE_KIND__USAGE_RSS_KIB
#define VSIZE PB__USAGE_KIND__USAGE_VSIZE_KIB
#define PAGES PB__USAGE_KIND__USAGE_PAGES
#define READ PB__USAGE_KIND__USAGE_READ_BYTES
#define WRITE PB__USAGE_KIND__USAGE_WRITE_BYTES

/* --- values ---------------------------------------------------------------------------------- */

static uint32_t count_tasks(const struct usage_columns_view *v)
{
    if (v->usage->tasks)
        return v->usage->tasks;
    return v->step->num_tasks ? v->step->num_tasks : 1;
}

static uint64_t divide_by_tasks(const struct usage_columns_view *v, uint64_t sum)
{
    return sum / count_tasks(v);
}

static uint64_t total_cpu(const struct usage_columns_view *v)
{
    return v->usage->user_usec + v->usage->sys_usec;
}

static void put_cpu(uint64_t usec, struct str *out)
{
    char text[TIME_TEXT_MAX];

    str_puts(out, time_format_limit((int64_t)(usec / 1000000), text));
}

static void put_number(uint64_t number, struct str *out)
{
    str_printf(out, "%" PRIu64, number);
}

/* Writes the size in the largest unit in which the size is a whole number. */
static void put_size(const struct usage_columns_view *v, uint64_t size, struct str *out)
{
    static const char units[] = "KMGTPE";
    int unit = -1;

    while (!v->no_convert && size && size % 1024 == 0 && units[unit + 1]) {
        size /= 1024;
        unit++;
    }
    put_number(size, out);
    if (unit >= 0)
        str_putc(out, units[unit]);
}

static void put_kib(const struct usage_columns_view *v, uint64_t kib, struct str *out)
{
    put_size(v, kib > UINT64_MAX / 1024 ? UINT64_MAX : kib * 1024, out);
}

static void put_id(const struct usage_columns_view *v, struct str *out)
{
    show_put_step_id(v->step, out);
}

enum freq_part { FREQ_MIN, FREQ_MAX, FREQ_GOVERNOR };

static void put_freq(const struct usage_columns_view *v, enum freq_part part, struct str *out)
{
    struct conf_freq f = {0};

    if (!v->step->cpu_freq || conf_freq_parse(v->step->cpu_freq, &f, NULL))
        str_puts(out, v->step->step_id == STEP_ID_BATCH ? "0" : "Unknown");
    else if (part == FREQ_GOVERNOR)
        str_puts(out, conf_governor_name(f.governor));
    else
        conf_freq_put(part == FREQ_MIN ? f.min : f.max, out);
}

static const Pb__UsageMark *mark_of(const struct usage_columns_view *v, enum _Pb__UsageKind kind,
                                    int which)
{
    static const Pb__UsageMark none = PB__USAGE_MARK__INIT;
    const Pb__Usage *u = v->usage;
    size_t count = which == MOST ? u->n_most : u->n_least;
    Pb__UsageMark *const *list = which == MOST ? u->most : u->least;

    for (size_t i = 0; i < count; i++)
        if (list[i]->kind == kind)
            return list[i];
    return &none;
}

static void put_kind(const struct usage_columns_view *v, enum _Pb__UsageKind kind, uint64_t value,
                     struct str *out)
{
    if (kind == CPU)
        put_cpu(value, out);
    else if (kind == RSS || kind == VSIZE)
        put_kib(v, value, out);
    else
        put_size(v, value, out);
}

static void put_mark(const struct usage_columns_view *v, enum _Pb__UsageKind kind, int which,
                     struct str *out)
{
    put_kind(v, kind, mark_of(v, kind, which)->value, out);
}

static void put_node(const struct usage_columns_view *v, enum _Pb__UsageKind kind, int which,
                     struct str *out)
{
    const char *node = mark_of(v, kind, which)->node;

    str_puts(out, node ? node : v->first_node);
}

static void put_task(const struct usage_columns_view *v, enum _Pb__UsageKind kind, int which,
                     struct str *out)
{
    put_number(mark_of(v, kind, which)->task, out);
}

/* --- the same as TRES ------------------------------------------------------------------------ */

typedef uint64_t tres_value(const struct usage_columns_view *v, enum _Pb__UsageKind kind);

static const struct {
    const char *name;
    enum _Pb__UsageKind kind;
} tres_in[] = {{"fs/disk", READ}, {"mem", RSS}, {"pages", PAGES}, {"vmem", VSIZE}};

static uint64_t tres_total(const struct usage_columns_view *v, enum _Pb__UsageKind kind)
{
    switch (kind) {
    case CPU:
        return total_cpu(v);
    case RSS:
        return v->usage->rss_kib;
    case VSIZE:
        return v->usage->vsize_kib;
    case PAGES:
        return v->usage->pages;
    case READ:
        return v->usage->read_bytes;
    default:
        return v->usage->write_bytes;
    }
}

static uint64_t tres_average(const struct usage_columns_view *v, enum _Pb__UsageKind kind)
{
    return divide_by_tasks(v, tres_total(v, kind));
}

static uint64_t tres_most(const struct usage_columns_view *v, enum _Pb__UsageKind kind)
{
    return mark_of(v, kind, MOST)->value;
}

static uint64_t tres_least(const struct usage_columns_view *v, enum _Pb__UsageKind kind)
{
    return mark_of(v, kind, LEAST)->value;
}

static void put_in(const struct usage_columns_view *v, tres_value *value, struct str *out)
{
    str_puts(out, "cpu=");
    put_cpu(value(v, CPU), out);
    str_puts(out, ",energy=0");
    for (size_t i = 0; i < sizeof(tres_in) / sizeof(tres_in[0]); i++) {
        str_printf(out, ",%s=", tres_in[i].name);
        put_kind(v, tres_in[i].kind, value(v, tres_in[i].kind), out);
    }
}

static void put_where(const struct usage_columns_view *v, enum _Pb__UsageKind kind, int which,
                      bool node, struct str *out)
{
    if (node)
        put_node(v, kind, which, out);
    else
        put_task(v, kind, which, out);
}

static void put_in_where(const struct usage_columns_view *v, int which, bool node, struct str *out)
{
    str_puts(out, "cpu=");
    put_where(v, CPU, which, node, out);
    if (node)
        str_printf(out, ",energy=%s", v->first_node);
    for (size_t i = 0; i < sizeof(tres_in) / sizeof(tres_in[0]); i++) {
        str_printf(out, ",%s=", tres_in[i].name);
        put_where(v, tres_in[i].kind, which, node, out);
    }
}

static void put_out(const struct usage_columns_view *v, tres_value *value, struct str *out)
{
    str_puts(out, "energy=0,fs/disk=");
    put_size(v, value(v, WRITE), out);
}

static void put_out_where(const struct usage_columns_view *v, int which, bool node, struct str *out)
{
    if (node)
        str_printf(out, "energy=%s,", v->first_node);
    str_puts(out, "fs/disk=");
    put_where(v, WRITE, which, node, out);
}

/* --- columns --------------------------------------------------------------------------------- */

struct usage_field {
    const char *name;
    int width;
    void (*put)(const struct usage_columns_view *v, struct str *out);
};

#define FIELD(id, name, letter, width, value, help)                                                \
    static void field_##id(const struct usage_columns_view *v, struct str *out)                    \
    {                                                                                              \
        value;                                                                                     \
    }
#include "show/usage_columns.def"
#undef FIELD

static const struct usage_field fields[] = {
#define FIELD(id, name, letter, width, value, help) {name, width, field_##id},
#include "show/usage_columns.def"
#undef FIELD
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

/* Finds the first field whose name begins with the text. */
static const struct usage_field *find_usage_field(const char *name, size_t len)
{
    for (size_t i = 0; len && i < FIELDS; i++)
        if (!strncasecmp(fields[i].name, name, len))
            return &fields[i];
    return NULL;
}

int usage_columns_add(struct usage_columns *f, const char *list, struct err *err)
{
    while (*list) {
        size_t len = strcspn(list, ","), name_len = strcspn(list, ",%");
        struct usage_columns_column column = {.field = find_usage_field(list, name_len)};

        if (len && !column.field)
            return err_set(err, -ERR_PARSE, "Invalid field requested: \"%.*s\"", (int)name_len,
                           list);
        if (len) {
            long width = list[name_len] == '%' ? strtol(list + name_len + 1, NULL, 10) : 0;

            column.width =
                width && labs(width) <= USAGE_COLUMNS_WIDTH_MAX ? (int)width : column.field->width;
            vec_push(&f->columns, column);
        }
        list += len;
        list += *list == ',';
    }
    return 0;
}

void usage_columns_done(struct usage_columns *f)
{
    vec_done(&f->columns);
}

/* A value that does not fit ends with '+' in the last place. A title is only cut. */
static void put_cell(const struct usage_columns *f, size_t i, const char *text, bool title,
                     struct str *out)
{
    int width = f->columns.data[i].width;
    size_t room = (size_t)abs(width), len = strlen(text);
    bool last = i + 1 == f->columns.len;

    if (f->divided) {
        str_puts(out, text);
        if (!last || f->closed)
            str_putc(out, '|');
        return;
    }
    if (len > room && !title)
        str_printf(out, "%.*s+", (int)room - 1, text);
    else
        str_printf(out, "%*.*s", width, (int)room, text);
    str_putc(out, ' ');
}

void usage_columns_print_header(const struct usage_columns *f, struct str *out)
{
    for (size_t i = 0; i < f->columns.len; i++)
        put_cell(f, i, f->columns.data[i].field->name, true, out);
    str_putc(out, '\n');
    if (f->divided)
        return;
    vec_foreach (&f->columns, c) {
        for (int n = abs(c->width); n > 0; n--)
            str_putc(out, '-');
        str_putc(out, ' ');
    }
    str_putc(out, '\n');
}

void usage_columns_print(const struct usage_columns *f, const struct usage_columns_view *v,
                         struct str *out)
{
    struct str value = STR_INIT;

    for (size_t i = 0; i < f->columns.len; i++) {
        str_clear(&value);
        f->columns.data[i].field->put(v, &value);
        put_cell(f, i, str_cstr(&value), false, out);
    }
    str_putc(out, '\n');
    str_done(&value);
}

void usage_columns_print_names(struct str *out)
{
    for (size_t i = 0; i < FIELDS; i++) {
        bool last = i % NAMES_A_LINE == NAMES_A_LINE - 1 || i + 1 == FIELDS;

        str_printf(out, "%-*s%c", NAME_WIDTH, fields[i].name, last ? '\n' : ' ');
    }
}

#define OTHERS ((uint32_t)-2) /* users beyond those that a node counts separately */
#define KIB_SEC_PER_MIB_HOUR (1024.0 * 3600)

/* Each user is followed by the user's jobs. */
static int compare_rows(const void *a, const void *b)
{
    const Pb__NodeUsageRow *x = *(Pb__NodeUsageRow *const *)a, *y = *(Pb__NodeUsageRow *const *)b;

    if (x->uid != y->uid)
        return x->uid < y->uid ? -1 : 1;
    return (x->job_id > y->job_id) - (x->job_id < y->job_id);
}

static void put_user_name(uint32_t uid, char *out, size_t size)
{
    const struct passwd *entry = uid == OTHERS ? NULL : getpwuid(uid);

    if (entry)
        snprintf(out, size, "%s", entry->pw_name);
    else if (uid == OTHERS)
        snprintf(out, size, "others");
    else
        snprintf(out, size, "%u", uid);
}

static void put_row(const char *node, const Pb__NodeUsageRow *r, struct str *out)
{
    char user[64], cpu[TIME_TEXT_MAX], job[16] = "-";
    const Pb__Usage *u = r->usage;

    if (!u)
        return;
    put_user_name(r->uid, user, sizeof(user));
    if (r->has_job_id)
        snprintf(job, sizeof(job), "%u", r->job_id);
    time_format_limit((int64_t)((u->user_usec + u->sys_usec) / 1000000), cpu);
    str_printf(out, "%-10s %-12s %10s %5u %12s %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %10.1f\n",
               node, user, job, r->processes, cpu, u->rss_kib / 1024, u->max_rss_kib / 1024,
               u->max_vsize_kib / 1024, (double)u->rss_kib_sec / KIB_SEC_PER_MIB_HOUR);
}

static void put_times(const Pb__NodeUsage *m, bool period, struct str *out)
{
    const Pb__NodeTime *t = m->time;
    const struct {
        const char *name;
        uint64_t usec;
    } parts[] = {{"user", t->user_usec},         {"system", t->sys_usec},
                 {"interrupts", t->kernel_usec}, {"stolen", t->stolen_usec},
                 {"idle", t->idle_usec},         {"waiting", t->wait_usec},
                 {"down", t->down_usec}};
    char since[TIME_TEXT_MAX];
    uint64_t sum = 0;

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        sum += parts[i].usec;
    str_printf(out, "%-10s %u CPUs since %s", m->name, m->cpus,
               time_format_date(m->since, "Unknown", since));
    if (period)
        str_printf(out, ", period %" PRIu64, m->period);
    str_putc(out, ':');
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        str_printf(out, "%s %s %.1f %%", i ? "," : "", parts[i].name,
                   sum ? 100.0 * (double)parts[i].usec / (double)sum : 0.0);
    str_putc(out, '\n');
}

void show_node_usage_titles(struct str *out)
{
    str_puts(out, "NODE       USER              JOBID PROCS          CPU      RSS   MAXRSS    "
                  "MAXVM   MIB-HOUR\n");
}

void show_node_usage_text(Pb__NodeUsage *m, bool period, struct str *out)
{
    if (m->n_rows)
        qsort(m->rows, m->n_rows, sizeof(m->rows[0]), compare_rows);
    for (size_t i = 0; i < m->n_rows; i++)
        put_row(m->name, m->rows[i], out);
    if (m->time)
        put_times(m, period, out);
}
