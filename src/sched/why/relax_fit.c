/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which option stands in the way of a request that fits on no nodes, whatever runs on them. */
#include "sched/why/relax.h"

#include <string.h>

#define MAKES_MOST 64 /* requests that are tried for one answer: it is given to whoever asks */

struct fit {
    const struct cluster *c;
    const struct job *j;
    const Pb__JobSpec *spec;
    unsigned makes;
};

static bool fits(struct fit *f, const struct relax *r, uint64_t number)
{
    struct job_copy as;
    if (f->makes++ >= MAKES_MOST || relax_make(f->c, f->j, f->spec, r, number, &as) != 0)
        return false;
    relax_done(&as);
    return true;
}

/* The number nearest to what was asked for that fits. */
static bool find_number(struct fit *f, const struct relax *r, uint64_t *number)
{
    uint64_t low = r->least, high = r->most;
    if (!fits(f, r, low))
        return false;
    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;
        if (fits(f, r, middle))
            low = middle;
        else
            high = middle - 1;
    }
    *number = low;
    return true;
}

/* The first that does, as relax_say() says it. */
static bool find_first(const struct cluster *c, const struct job *j, const Pb__JobSpec *spec,
                       struct str *out)
{
    struct fit f = {c, j, spec, 0};
    struct relax_list found = {0};
    uint64_t number = 0;
    bool said = false;
    relax_find(c, j, spec, RELAX_OF_FIT, &found);
    for (size_t i = 0; i < found.list.len && !said; i++) {
        const struct relax *r = &found.list.data[i];
        if (!find_number(&f, r, &number))
            continue;
        _cleanup_str_ struct str command = STR_INIT;
        relax_say(j, spec, r, number, out, &command);
        said = true;
    }
    vec_done(&found.list);
    return said;
}

int relax_explain_misfit(const struct cluster *c, const struct job *j, const Pb__JobSpec *spec,
                         struct err *err)
{
    _cleanup_str_ struct str what = STR_INIT;
    const char *bare = err_text(ERR_NODE_CONFIG);
    if (err->code != -ERR_NODE_CONFIG || strcmp(err->text, bare) != 0)
        return err->code;
    if (!find_first(c, j, spec, &what))
        return err_set(err, -ERR_NODE_CONFIG,
                       "%s: several options together exceed what partition %s has; no single "
                       "change makes the job fit",
                       bare, j->part->conf.name);
    if (str_eq(str_cstr(&what), RELAX_NO_EXCLUDE))
        return err_set(err, -ERR_NODE_CONFIG, "%s: --exclude leaves no node", bare);
    return err_set(err, -ERR_NODE_CONFIG, "%s: it would fit with %s", bare, str_cstr(&what));
}
