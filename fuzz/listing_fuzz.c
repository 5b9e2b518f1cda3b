/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Input: the argument of -o, -O or --sort of squeue: the first byte selects the option, and a NUL
 * ends the text; the rest is the job's name. Rows contain no control character except the newline
 * at the end of each.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "show/job_columns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Unknown fields are reported on standard error, one per line. */
static void set_quietly(struct listing *l, unsigned how, const char *text)
{
    int kept = dup(STDERR_FILENO);
    if (kept < 0 || !freopen("/dev/null", "w", stderr))
        abort();
    if (how % 3 == 0)
        listing_set_letters(l, text);
    else if (how % 3 == 1)
        listing_set_names(l, text);
    else {
        listing_set_letters(l, "%i %j %T");
        listing_set_sort(l, text);
    }
    fflush(stderr);
    if (dup2(kept, STDERR_FILENO) < 0)
        abort();
    close(kept);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    _cleanup_free_ char *text = mem_strndup((const char *)data + 1, size - 1);
    size_t used = strlen(text) + 1 + (strlen(text) + 1 < size);
    _cleanup_free_ char *name = mem_strndup((const char *)data + used, size - used);
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    Pb__JobLive live = PB__JOB_LIVE__INIT;
    Pb__JobRecord job = PB__JOB_RECORD__INIT;
    spec.name = name;
    live.job_id = 4294967295u;
    job.spec = &spec;
    job.live = &live;
    struct job_columns_view view = {.job = &job, .now = 1774000000, .cluster = "c"};
    struct listing l;
    _cleanup_str_ struct str out = STR_INIT;
    listing_init(&l, &job_columns);
    set_quietly(&l, data[0], text);
    listing_measure(&l, &view);
    listing_print_header(&l, &out);
    listing_add(&l, &view);
    listing_add(&l, &view);
    listing_print_rows(&l, &out);
    listing_done(&l);
    return 0;
}
