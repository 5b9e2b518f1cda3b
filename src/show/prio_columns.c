/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/prio_columns.h"

#include "show/job_ids.h"
#include "show/listing_value.h"
#include "show/names.h"

#define WEIGHT(value) NUMBER(value)
#define FACTOR(value) make_factor_value((value), out)
#define WEIGHTED(value, weight) make_weighted_value((value) * (weight), out)

#define SORT_SCALE 1e9 /* turns factors into whole numbers as sort keys */

static struct listing_value make_factor_value(double value, struct str *out)
{
    str_printf(out, "%.7f", value);
    return RANKED(str_cstr(out), value * SORT_SCALE);
}

static struct listing_value make_weighted_value(double value, struct str *out)
{
    str_printf(out, "%.0f", value);
    return RANKED(str_cstr(out), value);
}

/* Uses the sum of the factors before rounding if the priority has such a sum that is not out
 * of the range of priorities. */
static const char *format_priority_fraction(const Pb__PrioJob *job, struct str *out)
{
    bool is_within = job->has_sum && job->sum >= 1 && job->sum <= UINT32_MAX;
    str_printf(out, "%.14f", (is_within ? job->sum : job->priority) / (double)UINT32_MAX);
    return str_cstr(out);
}

/* Writes "cpu=1000,mem=25". */
static const char *format_tres_factors(const struct prio_columns_view *view, bool times_weight,
                                       struct str *out)
{
    const Pb__PrioWeights *w = view->weights;
    for (size_t i = 0; i < view->job->n_tres; i++) {
        if (i >= w->n_tres_name || i >= w->n_tres_weight)
            break;
        str_printf(out, "%s%s=", i ? "," : "", w->tres_name[i]);
        if (times_weight)
            str_printf(out, "%.0f", view->job->tres[i] * w->tres_weight[i]);
        else
            str_printf(out, "%.2f", view->job->tres[i]);
    }
    return str_cstr(out);
}

#define FIELD(id, name, letter, title, value, line, help)                                          \
    static struct listing_value get_##id(const void *record, struct str *out)                      \
    {                                                                                              \
        const struct prio_columns_view *view = record;                                             \
        const Pb__PrioJob *job = view->job;                                                        \
        const Pb__PrioWeights *w = view->weights;                                                  \
        (void)out;                                                                                 \
        (void)w;                                                                                   \
        if (!job)                                                                                  \
            return line;                                                                           \
        return value;                                                                              \
    }
#include "show/prio_columns.def"
#undef FIELD

static const struct listing_field prio_fields[] = {
#define FIELD(id, name, letter, title, value, line, help) {name, letter, title, get_##id, help},
#include "show/prio_columns.def"
#undef FIELD
};
const struct listing_table prio_columns = {prio_fields,
                                           sizeof(prio_fields) / sizeof(prio_fields[0]), "job"};

static void add_factor(struct str *out, bool wanted, bool normalised, char letter)
{
    if (!wanted)
        return;
    if (normalised)
        str_printf(out, " %%10%c", letter);
    else
        str_printf(out, " %%.10%c", letter - 'a' + 'A');
}

void prio_columns_format(const Pb__PrioWeights *w, bool normalised, bool all, bool users,
                         struct str *out)
{
    str_puts(out, "%.15i %9r");
    if (users || all)
        str_puts(out, " %.8u");
    if (all && !normalised)
        str_puts(out, " %.8o");
    str_puts(out, normalised ? " %10y" : " %.10Y %.10S");
    add_factor(out, w->age || all, normalised, 'a');
    add_factor(out, w->assoc || all, normalised, 'b');
    add_factor(out, w->fairshare || all, normalised, 'f');
    add_factor(out, w->size || all, normalised, 'j');
    add_factor(out, w->part || all, normalised, 'p');
    if (all && !normalised)
        str_puts(out, " %.10n");
    add_factor(out, w->qos || all, normalised, 'q');
    if (all && !normalised)
        str_puts(out, " %.11N");
    if (w->n_tres_name || all)
        str_puts(out, normalised ? " %20t" : " %.20T");
}
