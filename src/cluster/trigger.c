/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/trigger.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/mem.h"

static const struct row {
    uint32_t type;
    const char *word;
    enum trigger_of of;
    bool ever;
} rows[] = {
#define EVER true
#define NEVER false
#define TRIGGER(id, bit, word, of, raised) {TRIGGER_##id, word, TRIGGER_OF_##of, raised},
#include "cluster/trigger.def"
#undef TRIGGER
#undef EVER
#undef NEVER
};
#define ROWS (sizeof rows / sizeof rows[0])

uint32_t trigger_find_type(const char *word)
{
    for (size_t i = 0; i < ROWS; i++)
        if (str_eq(rows[i].word, word))
            return rows[i].type;
    return 0;
}

uint32_t trigger_types_of(unsigned of)
{
    uint32_t types = 0;
    for (size_t i = 0; i < ROWS; i++)
        types |= rows[i].of & of ? rows[i].type : 0;
    return types;
}

void trigger_format_types(uint32_t types, struct str *out)
{
    const char *comma = "";
    for (size_t i = 0; i < ROWS; i++)
        if (types & rows[i].type) {
            str_printf(out, "%s%s", comma, rows[i].word);
            comma = ",";
        }
}

bool trigger_is_raised(uint32_t types, uint32_t flags)
{
    bool ever = false;
    for (size_t i = 0; i < ROWS; i++)
        ever = ever || (types & rows[i].type && rows[i].ever);
    return ever && !(flags & TRIGGER_FRONT_END);
}

const char *trigger_resource(uint32_t types, uint32_t flags, bool of_job)
{
    static const struct {
        enum trigger_of of;
        const char *word;
    } words[] = {{TRIGGER_OF_CTLD, "slurmctld"},
                 {TRIGGER_OF_DBD, "slurmdbd"},
                 {TRIGGER_OF_DB, "database"},
                 {TRIGGER_OF_BB, "burst_buffer"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (types & trigger_types_of(words[i].of))
            return words[i].word;
    if (of_job)
        return "job";
    return flags & TRIGGER_FRONT_END ? "front_end" : "node";
}

/* Whether all of the types can happen to the same object. */
static bool is_of_one(uint32_t types)
{
    static const enum trigger_of all[] = {TRIGGER_OF_NODES, TRIGGER_OF_JOBS, TRIGGER_OF_CTLD,
                                          TRIGGER_OF_DBD,   TRIGGER_OF_DB,   TRIGGER_OF_BB};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (!(types & ~trigger_types_of(all[i])))
            return true;
    return false;
}

static int check_program(const char *program, struct err *err)
{
    size_t len = strlen(program);
    if (*program != '/')
        return err_set(err, -ERR_PARSE,
                       "The --program value must start with \"/\": --program=%.200s", program);
    if (len > TRIGGER_PROGRAM_MAX)
        return err_set(err, -ERR_RANGE, "--program: %zu bytes, at most %d may be", len,
                       TRIGGER_PROGRAM_MAX);
    for (size_t i = 0; i < len; i++)
        if (iscntrl((unsigned char)program[i]))
            return err_set(err, -ERR_PARSE, "--program: there is a control character in it");
    return 0;
}

static int check_resource(const Pb__TriggerRecord *m, struct err *err)
{
    bool of_job = m->has_job_id;
    if (of_job && m->nodes)
        return err_set(err, -ERR_PARSE, "--jobid and --node exclude each other");
    if (m->types & trigger_types_of(TRIGGER_OF_JOBS) & ~trigger_types_of(TRIGGER_OF_NODES) &&
        !of_job)
        return err_set(err, -ERR_PARSE,
                       "You must specify a --jobid value: --time and --fini are about a job");
    if (of_job && m->types & ~trigger_types_of(TRIGGER_OF_JOBS))
        return err_set(err, -ERR_PARSE,
                       "--jobid goes with --time, --fini, --up, --down, --drained and --fail only");
    if (m->nodes && m->types & ~trigger_types_of(TRIGGER_OF_NODES))
        return err_set(err, -ERR_PARSE, "--node goes with events of nodes only");
    if (m->flags & TRIGGER_FRONT_END &&
        (m->types & ~(uint32_t)(TRIGGER_UP | TRIGGER_DOWN) || of_job))
        return err_set(err, -ERR_PARSE, "--front_end goes with --up and --down only");
    return 0;
}

int trigger_check(const Pb__TriggerRecord *m, struct err *err)
{
    if (!m->types || m->types & ~trigger_types_of(~0u))
        return err_set(err, -ERR_PARSE, "no event was specified: --down, --fini, ...");
    if (m->flags & ~(uint32_t)(TRIGGER_PERM | TRIGGER_FRONT_END))
        return err_set(err, -ERR_PARSE, "--flags: PERM is all there is");
    if (!is_of_one(m->types))
        return err_set(err, -ERR_PARSE, "one trigger is of one kind of thing: set several");
    if (m->has_array_task && ((m->has_set_offset && m->set_offset) || !m->has_job_id))
        return err_set(err, -ERR_PARSE, "--jobid: an element of a job array, or a component");
    if (m->offset_sec > TRIGGER_OFFSET_MAX || m->offset_sec < -TRIGGER_OFFSET_MAX)
        return err_set(err, -ERR_RANGE, "--offset=%lld: at most %d seconds, either way",
                       (long long)m->offset_sec, TRIGGER_OFFSET_MAX);
    int rc = check_resource(m, err);
    return rc ? rc : check_program(m->program, err);
}
