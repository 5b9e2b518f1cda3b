/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/path.h"
#include "base/str.h"
#include "cli/opt_priv.h"

#define FILE_MAX (256u << 10)

/* --bbf: treats the lines of the file like the value of --bb. */
int opt_set_bbf(struct opt *o, const char *arg, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct err why = {0};
    if (path_read_text(arg, FILE_MAX, &text, &why) < 0)
        return opt_fail(o, OPT_FAIL_ERROR, 1, err, "Invalid --bbf specification: %s", why.text);
    while (text.len && text.data[text.len - 1] == '\n')
        text.data[--text.len] = '\0';
    opt_set_string(&o->job.burst_buffer, str_cstr(&text));
    return 0;
}
