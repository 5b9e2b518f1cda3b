/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/job/burst.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/pb.h"
#include "base/str.h"

const struct burst_row burst_rows[BURST_PHASES] = {
#define PHASE(name, state, function, args, limit, done, failed, ended, again)                      \
    [BURST_##                                                                                      \
        name] = {#name,        state,          function,      args,         BURST_LIMIT_##limit,   \
                 BURST_##done, BURST_##failed, BURST_##ended, BURST_##again},
#include "cluster/job/burst.def"
#undef PHASE
};

const char *burst_state(const struct job_burst *b)
{
    if (b->phase == BURST_TEARDOWN && b->tries)
        return "teardown-fail";
    return burst_rows[b->phase].state;
}

void burst_free(struct job_burst *b)
{
    if (!b)
        return;
    free(b->pool);
    free(b->env);
    free(b);
}

Pb__BurstLive *burst_pack(const struct job_burst *b, struct arena *arena)
{
    if (!b)
        return NULL;
    Pb__BurstLive *m = arena_alloc(arena, sizeof(*m));
    pb__burst_live__init(m);
    m->phase = b->phase;
    m->state = (char *)burst_state(b);
    m->pool = b->pool;
    m->env = b->env;
    if (b->size)
        SET(m, size, b->size);
    if (b->create_at)
        SET(m, create_at, b->create_at);
    if (b->tries)
        SET(m, tries, b->tries);
    if (b->failed)
        SET(m, failed, true);
    if (b->ending)
        SET(m, ending, true);
    if (b->hurry)
        SET(m, hurry, true);
    return m;
}

struct job_burst *burst_unpack(const Pb__BurstLive *m)
{
    if (!m || m->phase >= BURST_PHASES)
        return NULL;
    struct job_burst *b = mem_new(struct job_burst);
    b->phase = (enum burst_phase)m->phase;
    b->pool = mem_strdup(m->pool);
    b->env = mem_strdup(m->env);
    b->size = m->size;
    b->create_at = m->create_at;
    b->tries = m->tries;
    b->failed = m->failed;
    b->ending = m->ending;
    b->hurry = m->hurry;
    return b;
}

/* --- sizes -------------------------------------------------------------------------------------
 */

static const struct {
    const char *word;
    uint64_t unit;
} units[] = {
    {"N", 1},
    {"K", UINT64_C(1) << 10},
    {"KiB", UINT64_C(1) << 10},
    {"KB", 1000},
    {"M", UINT64_C(1) << 20},
    {"MiB", UINT64_C(1) << 20},
    {"MB", 1000000},
    {"G", UINT64_C(1) << 30},
    {"GiB", UINT64_C(1) << 30},
    {"GB", 1000000000},
    {"T", UINT64_C(1) << 40},
    {"TiB", UINT64_C(1) << 40},
    {"TB", UINT64_C(1000000000000)},
    {"P", UINT64_C(1) << 50},
    {"PiB", UINT64_C(1) << 50},
    {"PB", UINT64_C(1000000000000000)},
};
#define UNITS (sizeof(units) / sizeof(units[0]))

bool burst_parse_size(const char *text, size_t len, uint64_t *size)
{
    uint64_t number = 0, unit = 1;
    size_t digits = 0, i;

    for (; digits < len && isdigit((unsigned char)text[digits]); digits++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(text[digits] - '0'), &number))
            return false;
    for (i = 0; i < UNITS; i++)
        if (strlen(units[i].word) == len - digits &&
            !strncasecmp(units[i].word, text + digits, len - digits)) {
            unit = units[i].unit;
            break;
        }
    if (!digits || (i == UNITS && digits < len) || __builtin_mul_overflow(number, unit, &number))
        return false;
    *size = number;
    return true;
}

/* As in Slurm: uses the power of 1024 or 1000 that gives the smallest number. */
void burst_format_size(uint64_t size, char out[32])
{
    size_t best = 0; /* "N" */

    for (size_t i = 1; size && i < UNITS; i++)
        if (strlen(units[i].word) > 1 && size % units[i].unit == 0 &&
            units[i].unit > units[best].unit)
            best = i;
    snprintf(out, 32, "%" PRIu64 "%s", size / units[best].unit, best ? units[best].word : "");
}

/* Finds the value of "key=" behind a blank; returns its length, 0: none. */
static size_t find_value(const char *lines, const char *key, const char **value)
{
    size_t len = strlen(key);

    for (const char *at = lines; (at = strcasestr(at, key)) != NULL; at += len)
        if (at > lines && isblank((unsigned char)at[-1])) {
            *value = at + len;
            return strcspn(*value, " \t\r\n");
        }
    return 0;
}

int burst_parse(const char *lines, const char **pool, size_t *len, uint64_t *size, struct err *err)
{
    const char *capacity = NULL;
    size_t bytes = find_value(lines, "capacity=", &capacity);

    *len = find_value(lines, "pool=", pool);
    *size = 0;
    if (bytes && !burst_parse_size(capacity, bytes, size))
        return err_set(err, -ERR_BURST,
                       "%s: invalid capacity '%.*s': expected a number with a unit such as K, KiB, "
                       "KB, G or N",
                       err_text(ERR_BURST), (int)(bytes < 64 ? bytes : 64), capacity);
    return 0;
}
