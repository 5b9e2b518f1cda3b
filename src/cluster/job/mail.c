/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/job/mail.h"

#include <string.h>

#include "base/words.h"

bool mail_parse(const char *list, unsigned *mail)
{
    static const struct {
        const char *word;
        unsigned mail;
    } words[] = {
        {"NONE", 0},
        {"BEGIN", JOB_MAIL_BEGIN},
        {"END", JOB_MAIL_END},
        {"FAIL", JOB_MAIL_FAIL},
        {"REQUEUE", JOB_MAIL_REQUEUE},
        {"ALL", JOB_MAIL_BEGIN | JOB_MAIL_END | JOB_MAIL_FAIL | JOB_MAIL_INVALID_DEPEND |
                    JOB_MAIL_REQUEUE | JOB_MAIL_STAGE_OUT},
        {"TIME_LIMIT", JOB_MAIL_LIMIT},
        {"TIME_LIMIT_90", JOB_MAIL_LIMIT_90},
        {"TIME_LIMIT_80", JOB_MAIL_LIMIT_80},
        {"TIME_LIMIT_50", JOB_MAIL_LIMIT_50},
        {"INVALID_DEPEND", JOB_MAIL_INVALID_DEPEND},
        {"STAGE_OUT", JOB_MAIL_STAGE_OUT},
        {"ARRAY_TASKS", JOB_MAIL_TASKS},
    };
    bool none = false;
    *mail = 0;
    words_foreach (list, w) {
        size_t i = 0, count = sizeof words / sizeof words[0];
        for (; i < count; i++)
            if (word_case_eq(w, words[i].word))
                break;
        if (i == count && w.len)
            return false;
        *mail |= w.len ? words[i].mail : 0;
        none |= word_case_eq(w, "NONE");
    }
    if (none) /* overrides all other words */
        *mail = 0;
    return true;
}
