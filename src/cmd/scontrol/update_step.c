/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "scontrol update StepId=": the time limit of one step, or of all steps of a job. */
#include <string.h>

#include "base/timefmt.h"
#include "cli/cmd.h"
#include "cli/component.h"
#include "cmd/scontrol/update.h"
#include "proto/job.pb-c.h"

/* "60", "+30", "-0:30:00". */
static int parse_limit(const char *value, Pb__StepLimit *limit)
{
    bool relative = *value == '+' || *value == '-';
    int64_t sec;
    if (time_parse_limit(value + relative, &sec, NULL) < 0 || (relative && sec >= TIME_UNLIMITED)) {
        cmd_line("Invalid value: TimeLimit=%s\nRequest aborted", value);
        return -1;
    }
    if (relative) {
        limit->has_change_sec = true;
        limit->change_sec = *value == '-' ? -sec : sec;
    } else {
        limit->has_limit_sec = true;
        limit->limit_sec = sec;
    }
    return 0;
}

/* TimeLimit+=10 is TimeLimit=+10. */
static int read_argument(struct update *u, const char *arg, Pb__StepLimit *limit)
{
    static const char key[] = "TimeLimit";
    size_t len = strcspn(arg, "="), word = len;
    bool is_signed = len > 1 && arg[len] && strchr("+-", arg[len - 1]);
    word -= is_signed;
    if (!arg[len] || word < 3 || word > strlen(key) || strncasecmp(arg, key, word))
        return update_refuse(arg);
    *limit = (Pb__StepLimit)PB__STEP_LIMIT__INIT;
    u->changes++;
    if (!is_signed)
        return parse_limit(arg + len + 1, limit);
    return parse_limit(arena_printf(&u->arena, "%c%s", arg[len - 1], arg + len + 1), limit);
}

int update_step(struct update *u, const char *id_arg)
{
    const char *text = strchr(id_arg, '=') + 1;
    Pb__StepId id = PB__STEP_ID__INIT;
    Pb__StepLimit limit = PB__STEP_LIMIT__INIT;
    Pb__JobUpdate change = PB__JOB_UPDATE__INIT;
    struct err err = {0};
    for (int i = 0; i < u->argc; i++)
        if (!update_value(u->argv[i], "StepId", 4) && read_argument(u, u->argv[i], &limit) < 0)
            return 1;
    if (update_check_any(u) < 0)
        return 1;
    if (component_parse_id(text, &id, NULL) < 0) {
        cmd_line("%s for step %s", err_text(ERR_NO_STEP), text);
        return 1;
    }
    change.job_id = id.job_id;
    change.array_tasks = id.array_tasks;
    change.has_het_offset = id.has_het_offset;
    change.het_offset = id.het_offset;
    limit.has_step_id = id.has_step_id;
    limit.step_id = id.step_id;
    change.step_limit = &limit;
    if (cmd_call(RPC_JOB_UPDATE, &change.base, NULL, &err) == 0)
        return 0;
    cmd_line("%s for step %s", err.text, text);
    return 1;
}
