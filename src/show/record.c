/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/record.h"

#include <sys/wait.h>

#include "base/signame.h"
#include "base/text.h"
#include "base/timefmt.h"
#include "conf/conf_freq.h"

void record_break(struct show_style style, struct str *out)
{
    str_puts(out, style.oneliner ? " " : "\n   ");
}

void record_end(struct show_style style, struct str *out)
{
    str_puts(out, style.oneliner ? "\n" : "\n\n");
}

void record_pair(struct str *out, const char *key, const char *value)
{
    str_printf(out, "%s=", key);
    text_escape(value ? value : "(null)", out);
}

void record_date(struct str *out, const char *key, int64_t at, const char *zero)
{
    char buf[TIME_TEXT_MAX];
    str_printf(out, "%s=%s", key, time_format_date(at, zero, buf));
}

/* A time limit, in minutes as Slurm counts. */
json_t *record_limit(bool set, int64_t sec)
{
    bool infinite = set && sec >= TIME_UNLIMITED;
    return json_out_number(set, infinite, infinite ? 0 : sec / 60);
}

json_t *show_exit_code_json(int32_t status)
{
    int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    return json_pack("{s:[s], s:o, s:{s:o, s:s}}", "status",
                     signal ? "SIGNALED"
                     : code ? "ERROR"
                            : "SUCCESS",
                     "return_code", json_out_number(!signal, false, code), "signal", "id",
                     json_out_number(signal != 0, false, signal), "name",
                     signal ? signame_format(signal) : "");
}

/* The numbers of slurm.h for words and governors of --cpu-freq. */
static int64_t freq_number(uint32_t frequency)
{
    return frequency == CONF_FREQ_HIGH     ? 0x80000003
           : frequency == CONF_FREQ_HIGHM1 ? 0x80000004
                                           : frequency;
}

json_t *record_freq(const char *text, enum record_freq which)
{
    static const int64_t governors[CONF_GOVERNORS] = {
        [CONF_GOVERNOR_CONSERVATIVE] = 0x88000000, [CONF_GOVERNOR_ONDEMAND] = 0x84000000,
        [CONF_GOVERNOR_PERFORMANCE] = 0x82000000,  [CONF_GOVERNOR_POWERSAVE] = 0x81000000,
        [CONF_GOVERNOR_SCHEDUTIL] = 0x80400000,    [CONF_GOVERNOR_USERSPACE] = 0x80800000,
    };
    struct conf_freq f = {0};
    if (!text || conf_freq_parse(text, &f, NULL) < 0)
        return UNSET();
    int64_t value = which == RECORD_FREQ_MIN   ? freq_number(f.min)
                    : which == RECORD_FREQ_MAX ? freq_number(f.max)
                                               : governors[f.governor];
    return MAYBE(value > 0, value);
}
