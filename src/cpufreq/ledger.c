/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cpufreq/ledger.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define HEAD "sluice-cpufreq 1"

void ledger_done(struct ledger *n)
{
    vec_foreach (&n->steps, s)
        idset_done(&s->cpus);
    vec_done(&n->steps);
    vec_done(&n->cpus);
}

/* Splits a line into exactly count words. */
static bool split_line(char *line, char **word, size_t count)
{
    char *save = NULL;

    for (size_t i = 0; i < count; i++) {
        word[i] = strtok_r(i ? NULL : line, " ", &save);
        if (!word[i])
            return false;
    }
    return strtok_r(NULL, " ", &save) == NULL;
}

static bool parse_ledger_number(const char *word, uint32_t max, uint32_t *out)
{
    long long value;

    if (str_parse_i64(word, 0, max, &value))
        return false;
    *out = (uint32_t)value;
    return true;
}

static bool read_cpu(char *line, struct ledger *out)
{
    struct ledger_cpu c = {0};
    char *w[6];

    if (!split_line(line, w, 6) || !parse_ledger_number(w[1], LEDGER_CPUS - 1, &c.cpu) ||
        !parse_ledger_number(w[2], UINT32_MAX, &c.was.min) ||
        !parse_ledger_number(w[3], UINT32_MAX, &c.was.max) ||
        !parse_ledger_number(w[4], UINT32_MAX, &c.was.speed) ||
        strlen(w[5]) >= sizeof(c.was.governor))
        return false;
    memcpy(c.was.governor, w[5], strlen(w[5]) + 1);
    vec_push(&out->cpus, c);
    return true;
}

static bool read_step(char *line, struct ledger *out)
{
    struct ledger_step s = {0};
    char *w[6];

    if (!split_line(line, w, 6) || !parse_ledger_number(w[1], UINT32_MAX, &s.who.job_id) ||
        !parse_ledger_number(w[2], UINT32_MAX, &s.who.restarts) ||
        !parse_ledger_number(w[3], UINT32_MAX, &s.who.step_id) ||
        conf_freq_parse(w[4], &s.want, NULL) || idset_parse(w[5], LEDGER_CPUS, &s.cpus, NULL))
        return false;
    vec_push(&out->steps, s);
    return true;
}

int ledger_parse(const char *text, const char *boot, struct ledger *out, struct err *err)
{
    _cleanup_free_ char *copy = mem_strdup(text), *head = mem_printf(HEAD " %s", boot);
    char *save = NULL, *line = strtok_r(copy, "\n", &save);

    if (!line)
        return 0;
    if (!str_starts(line, HEAD " "))
        return err_set(err, -ERR_PARSE, "its first line is not of such a note");
    if (strcmp(line, head) != 0)
        return 0;
    for (int n = 2; (line = strtok_r(NULL, "\n", &save)); n++)
        if (!(str_starts(line, "cpu ") ? read_cpu(line, out) : read_step(line, out)))
            return err_set(err, -ERR_PARSE, "line %d cannot be read", n);
    return 0;
}

void ledger_format(const struct ledger *n, const char *boot, struct str *out)
{
    str_printf(out, HEAD " %s\n", boot);
    vec_foreach (&n->cpus, c)
        str_printf(out, "cpu %u %u %u %u %s\n", c->cpu, c->was.min, c->was.max, c->was.speed,
                   c->was.governor);
    vec_foreach (&n->steps, s) {
        str_printf(out, "step %u %u %u ", s->who.job_id, s->who.restarts, s->who.step_id);
        conf_freq_format(&s->want, out);
        str_putc(out, ' ');
        idset_format(&s->cpus, out);
        str_putc(out, '\n');
    }
}

struct ledger_cpu *ledger_find_cpu(const struct ledger *n, uint32_t cpu)
{
    vec_foreach (&n->cpus, c)
        if (c->cpu == cpu)
            return c;
    return NULL;
}

long ledger_find_step(const struct ledger *n, const struct cpufreq_step *who)
{
    for (size_t i = 0; i < n->steps.len; i++) {
        const struct cpufreq_step *s = &n->steps.data[i].who;

        if (s->job_id == who->job_id && s->restarts == who->restarts && s->step_id == who->step_id)
            return (long)i;
    }
    return -1;
}

long ledger_last_on(const struct ledger *n, uint32_t cpu)
{
    for (size_t i = n->steps.len; i-- > 0;)
        if (idset_has(&n->steps.data[i].cpus, cpu))
            return (long)i;
    return -1;
}

void ledger_remove_step(struct ledger *n, size_t at)
{
    idset_done(&n->steps.data[at].cpus);
    vec_remove(&n->steps, at);
}

void ledger_drop_unused(struct ledger *n)
{
    for (size_t i = n->cpus.len; i-- > 0;)
        if (ledger_last_on(n, n->cpus.data[i].cpu) < 0)
            vec_remove(&n->cpus, i);
}
