/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "conf/conf_sched.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "conf/conf_internal.h"
#include "conf/conf_sets.h"

enum kind { FLAG, NUMBER, CHOICE, NOTE };

static const struct param {
    const char *name;
    enum kind kind;
    size_t at; /* in struct conf_sched */
    int64_t least, most, otherwise;
    const char *text, *words;
} params[] = {
#define SCHED_FLAG(name, text) {#name, FLAG, offsetof(struct conf_sched, name), 0, 0, 0, text},
#define SCHED_NUMBER(name, least, most, otherwise, text)                                           \
    {#name, NUMBER, offsetof(struct conf_sched, name), least, most, otherwise, text},
#define SCHED_CHOICE(name, words, text)                                                            \
    {#name, CHOICE, offsetof(struct conf_sched, name), 0, 0, 0, text, words},
#define SCHED_NOTE(name, text) {#name, NOTE, 0, 0, 0, 0, text},
#include "conf/conf_sched.def"
#undef SCHED_FLAG
#undef SCHED_NUMBER
#undef SCHED_CHOICE
#undef SCHED_NOTE
};

#define COUNT (sizeof(params) / sizeof(params[0]))

static const struct param *find_parameter(const char *name, size_t len)
{
    for (size_t i = 0; i < COUNT; i++)
        if (strlen(params[i].name) == len && !strncasecmp(params[i].name, name, len))
            return &params[i];
    return NULL;
}

/* Returns the number of the word in "a|b|c"; 0: not found. */
static int64_t find_word(const char *words, const char *text)
{
    int64_t n = 1;
    for (; text; words += strcspn(words, "|") + 1, n++) {
        size_t len = strcspn(words, "|");
        if (strlen(text) == len && !strncasecmp(words, text, len))
            return n;
        if (!words[len])
            break;
    }
    return 0;
}

static int set_parameter(struct conf_sched *s, const struct param *p, const char *text,
                         struct conf_place at, struct err *err)
{
    char *field = (char *)s + p->at;
    long long value;
    if (p->kind == FLAG && text)
        return conf_fail(at, err, "SchedulerParameters: %s=%s: it takes no value", p->name, text);
    if (p->kind == FLAG)
        *(bool *)field = true;
    if (p->kind == CHOICE) {
        *(int64_t *)field = find_word(p->words, text);
        if (!*(int64_t *)field)
            return conf_fail(at, err, "SchedulerParameters: %s=%s: expected one of %s", p->name,
                             text ? text : "", p->words);
    }
    if (p->kind != NUMBER)
        return 0;
    if (!text || str_parse_i64(text, p->least, p->most, &value) < 0)
        return conf_fail(
            at, err, "SchedulerParameters: %s=%s: expected a number from %lld to %lld: %s", p->name,
            text ? text : "", (long long)p->least, (long long)p->most, p->text);
    *(int64_t *)field = value;
    return 0;
}

int conf_sched_read(struct conf_loader *l, const char *list, struct conf_place at,
                    struct conf_sched *out, struct err *err)
{
    int rc = 0;
    *out = (struct conf_sched){0};
    for (size_t i = 0; i < COUNT; i++)
        if (params[i].kind == NUMBER)
            *(int64_t *)((char *)out + params[i].at) = params[i].otherwise;
    while (rc == 0 && list && *(list += strspn(list, " ,"))) {
        size_t len = strcspn(list, ","), name = strcspn(list, "=, ");
        const struct param *p = find_parameter(list, name);
        char *value = list[name] == '=' ? mem_strndup(list + name + 1, len - name - 1) : NULL;
        if (!p)
            conf_fault(l, at, "SchedulerParameters: unknown parameter '%.*s'", (int)name, list);
        else if (p->kind == NOTE)
            conf_warn(l, at, "SchedulerParameters: '%s' has no effect: %s", p->name, p->text);
        else
            rc = set_parameter(out, p, value, at, err);
        free(value);
        list += len;
    }
    if (rc == 0)
        conf_sets_complete(l, at, out);
    return rc;
}
