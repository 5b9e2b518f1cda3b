/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "conf/conf_sets.h"

#include <string.h>
#include <strings.h>

#include "conf/conf_internal.h"

static const struct {
    const char *name, *text;
} limits[CONF_SETS_LIMITS] = {
#define SET_LIMIT(name, text) {#name, text},
#include "conf/conf_sets.def"
#undef SET_LIMIT
};

static bool is_word(const char *word, size_t len, const char *name)
{
    return strlen(name) == len && !strncasecmp(word, name, len);
}

/* Sets the bits of the word; false: unknown. */
static bool read_word(const char *word, size_t len, uint32_t *bits)
{
    if (is_word(word, len, "none"))
        return true;
    if (is_word(word, len, "documented")) {
        *bits |= (UINT32_C(1) << CONF_SETS_LIMITS) - 1;
        return true;
    }
    for (size_t i = 0; i < CONF_SETS_LIMITS; i++)
        if (is_word(word, len, limits[i].name)) {
            *bits |= UINT32_C(1) << i;
            return true;
        }
    return false;
}

static int refuse_word(const struct conf_value *v, const char *word, size_t len, struct err *err)
{
    _cleanup_str_ struct str known = STR_INIT;
    for (size_t i = 0; i < CONF_SETS_LIMITS; i++)
        str_printf(&known, " %s", limits[i].name);
    return conf_fail(v->at, err, "HetLimits=%s: '%.*s' is not one of: none documented%s", v->text,
                     (int)len, word, str_cstr(&known));
}

int conf_sets_check(struct conf_loader *l, struct err *err)
{
    const struct conf_value *v = &l->priv->written[CONF_KEY_het_limits];
    uint32_t bits = 0;
    for (const char *word = v->text ? v->text : ""; *word;) {
        size_t len = strcspn(word, ",");
        if (len && !read_word(word, len, &bits))
            return refuse_word(v, word, len, err);
        word += len;
        word += *word == ',';
    }
    l->conf->set_limits = bits;
    return 0;
}

bool conf_sets_keep(const struct conf *c, enum conf_sets_limit limit)
{
    return c->set_limits >> limit & 1;
}

int conf_sets_refuse(const struct conf *c, enum conf_sets_limit limit, int code,
                     const char *wording, struct err *err)
{
    if (!conf_sets_keep(c, limit))
        return 0;
    return err_set(err, code, "%s: %s (HetLimits=%s)", wording, limits[limit].text,
                   limits[limit].name);
}

int conf_sets_refuse_span(const struct conf *c, struct err *err)
{
    if (!c->sched.disable_hetjob_steps)
        return 0;
    return err_set(err, -ERR_NOT_SUPPORTED,
                   "%s: SchedulerParameters=disable_hetjob_steps forbids steps in several "
                   "components of a heterogeneous job",
                   err_text(ERR_NOT_SUPPORTED));
}

int conf_sets_refuse_shared(const struct conf *c, struct err *err)
{
    return conf_sets_refuse(c, CONF_SETS_het_steps, -ERR_NOT_SUPPORTED, "Allocation failure", err);
}

void conf_sets_complete(struct conf_loader *l, struct conf_place at, struct conf_sched *s)
{
    if (s->bf_hetjob_immediate && !s->bf_hetjob_prio)
        s->bf_hetjob_prio = CONF_RANK_LEAST;
    if (s->bf_hetjob_immediate && !s->hetjob_two_mode)
        conf_warn(
            l, at,
            "SchedulerParameters: 'bf_hetjob_immediate' without hetjob_two_mode has no effect "
            "but bf_hetjob_prio: a heterogeneous job always starts as soon as all of its "
            "components fit");
}

enum conf_sets_rank conf_sets_rank_by(const struct conf *c)
{
    return (enum conf_sets_rank)c->sched.bf_hetjob_prio;
}

bool conf_sets_have_two_modes(const struct conf *c)
{
    return c->sched.hetjob_two_mode;
}

bool conf_sets_start_at_once(const struct conf *c)
{
    return c->sched.bf_hetjob_immediate;
}

bool conf_sets_are_meant_whole(const struct conf *c)
{
    return c->sched.whole_hetjob || c->sched.whole_pack;
}
