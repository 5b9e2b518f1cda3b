/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Input: a file name pattern, a NUL, and a job's name. The resulting name is bounded, or the
 * pattern is rejected. */
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/pattern.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *pattern = mem_strndup((const char *)data, size);
    size_t len = strlen(pattern);
    _cleanup_free_ char *name =
        mem_strndup((const char *)data + len + (len < size), size - len - (len < size));
    struct pattern_values v = {.job_id = 4294967295u,
                               .step_id = 0,
                               .node_index = 99999,
                               .task_id = 4294967294u,
                               .node = "n1.example.org",
                               .user = "user",
                               .job_name = name};
    _cleanup_str_ struct str out = STR_INIT;

    if (pattern_expand(pattern, &v, &out, NULL) != 0)
        return 0;
    if (out.len >= PATH_MAX)
        abort();
    /* A pattern without task fields gives the same name for every task. */
    if (pattern_scope(pattern) != PATTERN_PER_TASK && out.len) {
        _cleanup_str_ struct str other = STR_INIT;

        v.task_id = 0;
        if (pattern_expand(pattern, &v, &other, NULL) == 0 &&
            strcmp(str_cstr(&out), str_cstr(&other)) != 0)
            abort();
    }
    return 0;
}
