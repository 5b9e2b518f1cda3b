/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Input: a slurm.conf. For any input, a load results in a configuration that can be printed,
 * compared and freed, or in an error that starts with the file and line.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_loaded(const struct conf *c)
{
    _cleanup_str_ struct str out = STR_INIT;

    if (!c->controllers.len || conf_format(c, NULL, &out, NULL) != 0)
        abort();
    conf_diff(c, c, &out);
    for (size_t i = 0; i < c->nodes.len; i++)
        if (conf_find_node(c, c->nodes.data[i].name) != (long)i ||
            c->nodes.data[i].row >= c->node_rows.len)
            abort();
    for (size_t i = 0; i < c->node_rows.len; i++) {
        const struct conf_node_row *r = &c->node_rows.data[i];
        if (!r->cpus || !r->boards || !r->sockets || !r->cores || !r->threads)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum conf_scope scopes[] = {CONF_FULL, CONF_NODE, CONF_CLIENT};

    for (size_t i = 0; i < sizeof(scopes) / sizeof(scopes[0]); i++) {
        struct conf_report report = {0};
        struct conf *c = NULL;
        struct err err = {0};
        int rc =
            conf_load_text((const char *)data, size, "fuzz", scopes[i], "n1", &c, &report, &err);
        if (rc == 0)
            check_loaded(c);
        else if (c || err.code != rc || strncmp(err.text, "fuzz:", 5) != 0)
            abort();
        conf_free(c);
        conf_report_done(&report);
    }
    return 0;
}
