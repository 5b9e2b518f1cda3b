/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define WIDTH_MAX 10

enum names_kind names_kind(const char *spec, uint32_t *task)
{
    long long number;

    if (spec == NULL || *spec == '\0' || strcasecmp(spec, "all") == 0)
        return NAMES_DEFAULT;
    if (strcasecmp(spec, "none") == 0 || strcmp(spec, "/dev/null") == 0)
        return NAMES_NONE;
    if (str_parse_i64(spec, 0, UINT32_MAX - 1, &number) == 0) {
        *task = (uint32_t)number;
        return NAMES_TASK;
    }
    if (strchr(spec, '\\') != NULL)
        return NAMES_FILE;
    for (const char *p = spec; (p = strchr(p, '%')) != NULL;) {
        p += 1 + strspn(p + 1, "0123456789");
        if (*p == 't' || *p == 'n' || *p == 'N')
            return NAMES_ON_NODE;
        if (*p != '\0')
            p++;
    }
    return NAMES_FILE;
}

/* Of the element of a job array that srun runs in; else 'none'. */
static uint32_t of_array(const struct names_values *v, const char *name, uint32_t none)
{
    const char *job = getenv("SLURM_JOB_ID"), *value = getenv(name);
    long long id, number;
    bool here = job && str_parse_i64(job, 0, UINT32_MAX, &id) == 0 && id == v->job_id;
    bool given = here && value && str_parse_i64(value, 0, UINT32_MAX, &number) == 0;
    return given ? (uint32_t)number : none;
}

static bool put(char letter, int width, const struct names_values *v, struct str *out)
{
    switch (letter) {
    case '%':
        str_putc(out, '%');
        return true;
    case 'j':
        str_printf(out, "%0*u", width, v->job_id);
        return true;
    case 'A':
        str_printf(out, "%0*u", width, of_array(v, "SLURM_ARRAY_JOB_ID", v->job_id));
        return true;
    case 'J':
        str_printf(out, "%0*u.%u", width, v->job_id, v->step_id);
        return true;
    case 's':
        str_printf(out, "%0*u", width, v->step_id);
        return true;
    case 'a':
        str_printf(out, "%0*u", width, of_array(v, "SLURM_ARRAY_TASK_ID", 0));
        return true;
    case 'u':
        str_puts(out, v->user);
        return true;
    case 'x':
        str_puts(out, v->job_name);
        return true;
    default:
        return false;
    }
}

void names_expand(const char *pattern, const struct names_values *v, struct str *out)
{
    if (strchr(pattern, '\\') != NULL) {
        for (; *pattern != '\0'; pattern++)
            if (*pattern != '\\')
                str_putc(out, *pattern);
        return;
    }
    while (*pattern != '\0') {
        size_t digits = *pattern == '%' ? strspn(pattern + 1, "0123456789") : 0;
        int width = 0;

        if (*pattern != '%') {
            str_putc(out, *pattern++);
            continue;
        }
        for (size_t i = 1; i <= digits && width <= WIDTH_MAX; i++)
            width = width * 10 + (pattern[i] - '0');
        if (width > WIDTH_MAX)
            width = WIDTH_MAX;
        if (put(pattern[1 + digits], width, v, out))
            pattern += 2 + digits;
        else
            str_putc(out, *pattern++);
    }
}
