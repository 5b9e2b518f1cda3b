/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Consistency of the keys about preemption. */
#include <string.h>
#include <strings.h>

#include "base/size.h"
#include "base/words.h"
#include "conf/conf_gang.h"
#include "conf/conf_internal.h"

const char conf_preempt_words[] = "OFF CANCEL GANG REQUEUE SUSPEND WITHIN PRIORITY";

static size_t count_modes(const char *list)
{
    return (size_t)(conf_list_has(list, "CANCEL") + conf_list_has(list, "REQUEUE") +
                    conf_list_has(list, "SUSPEND"));
}

static int number_check(struct conf_loader *l, const char *option, struct err *err)
{
    const struct conf_value *v = &l->priv->written[CONF_KEY_preempt_parameters];
    _cleanup_free_ char *text = conf_list_value(l->conf->preempt_parameters, option);
    long long value;
    if (text && str_parse_i64(text, 0, UINT32_MAX, &value) < 0)
        return conf_fail(v->at, err, "PreemptParameters: %s=%s: a number is expected", option,
                         text);
    return 0;
}

const char *conf_preempt_word(const char *mode)
{
    static const char *const modes[][4] = {
        {"SUSPEND", "GANG,SUSPEND", "SUSPEND,PRIORITY", "GANG,SUSPEND,PRIORITY"},
        {"REQUEUE", "GANG,REQUEUE", "REQUEUE,PRIORITY", "GANG,REQUEUE,PRIORITY"},
        {"CANCEL", "GANG,CANCEL", "CANCEL,PRIORITY", "GANG,CANCEL,PRIORITY"}};
    bool gang = conf_list_has(mode, "GANG");
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        if (conf_list_has(mode, modes[i][0]))
            return modes[i][gang + 2 * conf_list_has(mode, "PRIORITY")];
    return gang ? "GANG" : "OFF";
}

static bool is_off_with_others(const char *list)
{
    return conf_list_has(list, "OFF") && strcasecmp(list, "OFF") != 0;
}

int conf_preempt_check(struct conf_loader *l, struct err *err)
{
    const struct conf *c = l->conf;
    const struct conf_value *mode = &l->priv->written[CONF_KEY_preempt_mode],
                            *type = &l->priv->written[CONF_KEY_preempt_type];
    bool on = !strcasecmp(c->preempt_type, "preempt/partition_prio");
    if (count_modes(c->preempt_mode) > 1)
        return conf_fail(mode->at, err, "PreemptMode=%s: one of CANCEL, REQUEUE and SUSPEND",
                         c->preempt_mode);
    if (is_off_with_others(c->preempt_mode))
        return conf_fail(mode->at, err, "PreemptMode=%s: OFF with another word: remove one of them",
                         c->preempt_mode);
    if (on && !count_modes(c->preempt_mode))
        return conf_fail(type->at, err,
                         "PreemptType=preempt/partition_prio needs PreemptMode=CANCEL, REQUEUE or "
                         "SUSPEND,GANG; it is %s",
                         c->preempt_mode);
    if (conf_list_has(c->preempt_mode, "SUSPEND") && !conf_list_has(c->preempt_mode, "GANG"))
        return conf_fail(mode->at, err,
                         "PreemptMode=%s: SUSPEND needs GANG, by which suspended jobs go on: write "
                         "SUSPEND,GANG",
                         c->preempt_mode);
    if (count_modes(c->preempt_mode) && !strcasecmp(c->preempt_type, "preempt/none"))
        conf_warn(l, mode->at,
                  "PreemptMode=%s displaces no job with PreemptType=preempt/none: add "
                  "PreemptType=preempt/partition_prio",
                  c->preempt_mode);
    int rc = number_check(l, "min_exempt_priority", err);
    rc = rc < 0 ? rc : number_check(l, "suspend_grace_time", err);
    return rc < 0 ? rc : conf_gang_check(l, err);
}

const char *conf_part_preempt_fault(const struct conf *c, const char *mode)
{
    static const char expected[] =
        "expected OFF, CANCEL, REQUEUE or SUSPEND, optionally with PRIORITY";
    if (!mode || !*mode || !strcasecmp(mode, "OFF"))
        return NULL;
    if (conf_list_has(mode, "GANG"))
        return "GANG is of the whole cluster only";
    words_foreach (mode, w)
        if (!word_case_eq(w, "CANCEL") && !word_case_eq(w, "REQUEUE") &&
            !word_case_eq(w, "SUSPEND") && !word_case_eq(w, "PRIORITY"))
            return expected;
    if (count_modes(mode) != 1)
        return expected;
    if (conf_list_has(mode, "SUSPEND") && !conf_list_has(c->preempt_mode, "GANG"))
        return "SUSPEND needs GANG in the PreemptMode of the cluster";
    return NULL;
}

int conf_preempt_part_check(struct conf_loader *l, const struct conf_value *v, const char *part,
                            struct err *err)
{
    const char *fault = conf_part_preempt_fault(l->conf, v->text);
    if (!fault)
        return 0;
    return conf_fail(v->at, err, "partition %s: PreemptMode=%s: %s", part, v->text, fault);
}
