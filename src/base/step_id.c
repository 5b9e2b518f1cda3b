/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/step_id.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>

#include "base/str.h"

static const struct {
    uint32_t id;
    const char *name;
} special[] = {
    {STEP_ID_BATCH, "batch"}, {STEP_ID_EXTERN, "extern"}, {STEP_ID_INTERACTIVE, "interactive"}};

#define SPECIALS (sizeof(special) / sizeof(special[0]))

const char *step_id_name(uint32_t step_id, char buf[STEP_ID_NAME_MAX])
{
    for (size_t i = 0; i < SPECIALS; i++)
        if (special[i].id == step_id) {
            snprintf(buf, STEP_ID_NAME_MAX, "%s", special[i].name);
            return buf;
        }
    snprintf(buf, STEP_ID_NAME_MAX, "%u", step_id);
    return buf;
}

const char *step_id_text(uint32_t job_id, uint32_t step_id, char buf[STEP_ID_TEXT_MAX])
{
    char name[STEP_ID_NAME_MAX];
    snprintf(buf, STEP_ID_TEXT_MAX, "%u.%s", job_id, step_id_name(step_id, name));
    return buf;
}

bool step_id_parse(const char *name, uint32_t *step_id)
{
    for (size_t i = 0; i < SPECIALS; i++)
        if (str_case_eq(name, special[i].name)) {
            *step_id = special[i].id;
            return true;
        }
    long long id;
    if (!isdigit((unsigned char)*name) || str_parse_i64(name, 0, INT32_MAX, &id) != 0)
        return false;
    *step_id = (uint32_t)id;
    return true;
}
