/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "conf/conf_freq.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "conf/conf.h"

#define KHZ_MAX 1000000000 /* a THz */
#define VALID                                                                                      \
    "it is P1[-P2[:P3]]: P1 a number of kHz, low, medium, highm1, high or a governor; with P2, a " \
    "higher number of kHz, medium, highm1 or high, P1 is the minimum and no governor; P3 a "       \
    "governor: Conservative, OnDemand, Performance, PowerSave, SchedUtil, UserSpace"

static const struct {
    const char *name;
    uint32_t value;
} words[] = {{"Low", CONF_FREQ_LOW},
             {"Medium", CONF_FREQ_MEDIUM},
             {"HighM1", CONF_FREQ_HIGHM1},
             {"High", CONF_FREQ_HIGH}};

static const char *const governors[CONF_GOVERNORS] = {
    [CONF_GOVERNOR_CONSERVATIVE] = "Conservative", [CONF_GOVERNOR_ONDEMAND] = "OnDemand",
    [CONF_GOVERNOR_PERFORMANCE] = "Performance",   [CONF_GOVERNOR_POWERSAVE] = "PowerSave",
    [CONF_GOVERNOR_SCHEDUTIL] = "SchedUtil",       [CONF_GOVERNOR_USERSPACE] = "UserSpace"};

const char *conf_governor_name(enum conf_governor g)
{
    return g > CONF_GOVERNOR_NONE && g < CONF_GOVERNORS ? governors[g] : "";
}

enum conf_governor conf_governor_find(const char *word)
{
    for (int g = CONF_GOVERNOR_NONE + 1; g < CONF_GOVERNORS; g++)
        if (!strcasecmp(word, governors[g]))
            return (enum conf_governor)g;
    return CONF_GOVERNOR_NONE;
}

static uint32_t frequency_of(const char *text)
{
    long long khz;

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (!strcasecmp(text, words[i].name))
            return words[i].value;
    return str_parse_i64(text, 1, KHZ_MAX, &khz) ? 0 : (uint32_t)khz;
}

/* Of a number and a word only a node knows. */
static bool is_range(uint32_t min, uint32_t max)
{
    return (min ^ max) & CONF_FREQ_WORD || min < max;
}

static int refuse_text(const char *text, struct err *err)
{
    return err_set(err, -ERR_PARSE, "'%.64s': " VALID, text);
}

int conf_freq_parse(const char *text, struct conf_freq *out, struct err *err)
{
    size_t one = strcspn(text, "-"), all = strcspn(text, ":");
    _cleanup_free_ char *first = mem_strndup(text, one);
    struct conf_freq f = {0};

    if (!text[one]) {
        f.max = frequency_of(first);
        f.governor = f.max ? CONF_GOVERNOR_NONE : conf_governor_find(first);
        if (!f.max && !f.governor)
            return refuse_text(text, err);
        *out = f;
        return 0;
    }
    if (all < one)
        return refuse_text(text, err);
    _cleanup_free_ char *second = mem_strndup(text + one + 1, all - one - 1);
    f.min = frequency_of(first);
    f.max = frequency_of(second);
    f.governor = text[all] ? conf_governor_find(text + all + 1) : CONF_GOVERNOR_NONE;
    if (!f.min || !f.max || !is_range(f.min, f.max) || (text[all] && !f.governor))
        return refuse_text(text, err);
    *out = f;
    return 0;
}

void conf_freq_put(uint32_t frequency, struct str *out)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (frequency == words[i].value)
            str_puts(out, words[i].name);
    if (frequency && !(frequency & CONF_FREQ_WORD))
        str_printf(out, "%u", frequency);
}

void conf_freq_format(const struct conf_freq *f, struct str *out)
{
    conf_freq_put(f->min, out);
    if (f->min)
        str_putc(out, '-');
    conf_freq_put(f->max, out);
    if (f->governor)
        str_printf(out, "%s%s", f->max ? ":" : "", conf_governor_name(f->governor));
}

int conf_freq_allowed(const struct conf_freq *f, const char *list, struct err *err)
{
    enum conf_governor g = f->governor ? f->governor
                           : f->min    ? CONF_GOVERNOR_NONE
                                       : CONF_GOVERNOR_USERSPACE;

    if (!g || conf_list_has(list, conf_governor_name(g)))
        return 0;
    return err_set(err, -ERR_ACCESS,
                   "Invalid --cpu-freq specification: governor %s%s is not one of "
                   "CpuFreqGovernors=%s in slurm.conf",
                   conf_governor_name(g), f->governor ? "" : ", which keeps a frequency,",
                   list ? list : "");
}
