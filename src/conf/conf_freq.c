/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "conf/conf_freq.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "conf/conf.h"

#define KHZ_MAX 1000000000 /* a THz */
#define VALID                                                                                      \
    "it is P1[-P2][:P3]: P1 a number of kHz, low, medium, highm1, high or a governor; with P2, a " \
    "higher number of kHz, medium, highm1 or high, P1 is the minimum and no governor; P3 a "       \
    "governor: for P1-P2 Conservative, OnDemand, Performance, PowerSave or SchedUtil, for P1 "     \
    "alone UserSpace"

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

/* The order of a number and a word is known on a node only. */
static bool is_range(uint32_t min, uint32_t max)
{
    return (min ^ max) & CONF_FREQ_WORD || min < max;
}

static int refuse_text(const char *text, struct err *err)
{
    return err_set(err, -ERR_PARSE, "'%.64s': " VALID, text);
}

/* Parses "P1" or "P1:UserSpace". */
static bool parse_one(const char *first, const char *governor, struct conf_freq *f)
{
    f->max = frequency_of(first);
    if (governor) {
        f->governor = conf_governor_find(governor);
        return f->max && f->governor == CONF_GOVERNOR_USERSPACE;
    }
    f->governor = f->max ? CONF_GOVERNOR_NONE : conf_governor_find(first);
    return f->max || f->governor;
}

/* Parses "P1-P2" or "P1-P2:P3". UserSpace means a fixed frequency, without a range. */
static bool parse_range(const char *first, const char *second, const char *governor,
                        struct conf_freq *f)
{
    f->min = frequency_of(first);
    f->max = frequency_of(second);
    f->governor = governor ? conf_governor_find(governor) : CONF_GOVERNOR_NONE;
    return f->min && f->max && is_range(f->min, f->max) &&
           (!governor || (f->governor && f->governor != CONF_GOVERNOR_USERSPACE));
}

int conf_freq_parse(const char *text, struct conf_freq *out, struct err *err)
{
    _cleanup_free_ char *first = mem_strdup(text);
    struct conf_freq f = {0};
    char *governor = strchr(first, ':');
    if (governor)
        *governor++ = '\0';
    char *second = strchr(first, '-');
    if (second)
        *second++ = '\0';
    if (second ? !parse_range(first, second, governor, &f) : !parse_one(first, governor, &f))
        return refuse_text(text, err);
    *out = f;
    return 0;
}

bool conf_freq_complete(struct conf_freq *f, const char *fallback)
{
    if (f->min && !f->governor && fallback)
        f->governor = conf_governor_find(fallback);
    return !f->min || (f->governor && f->governor != CONF_GOVERNOR_USERSPACE);
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
