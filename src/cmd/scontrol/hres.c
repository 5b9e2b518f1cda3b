/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "scontrol update license", "scontrol show resources" and "scontrol write resources": changes,
 * shows and writes the counts of layers. */
#include <string.h>

#include "base/path.h"
#include "base/str.h"
#include "cli/cmd.h"
#include "cmd/scontrol/scontrol.h"
#include "cmd/scontrol/update.h"
#include "proto/common.pb-c.h"
#include "proto/license.pb-c.h"
#include "show/hres.h"

/* "flat(n[1-8])". Without nodes the controller names the existing layers. */
static int set_layer(struct update *u, const char *text, Pb__LicenseUpdate *r)
{
    const char *open = strchr(text, '('), *end = open ? strrchr(text, ')') : NULL;
    if (!*text || open == text || (open && (!end || end[1]))) {
        cmd_line("Invalid input: license=%s: expected NAME(NODES), as in license='power(n[1-2])'",
                 text);
        return -1;
    }
    r->name = arena_strdup(&u->arena, text);
    r->nodes = (char *)"";
    if (!open)
        return 0;
    r->name[open - text] = 0;
    r->nodes = arena_printf(&u->arena, "%.*s", (int)(end - open - 1), open + 1);
    return 0;
}

static int set_count(const char *text, Pb__LicenseUpdate *r)
{
    if (str_case_eq(text, "file"))
        return 0;
    long long count;
    if (str_parse_i64(text, -1, INT64_MAX, &count) != 0) {
        cmd_line("Invalid input: count=%s: expected a whole number, -1 for no limit, or file",
                 text);
        return -1;
    }
    r->count = count < 0 ? UINT64_MAX : (uint64_t)count;
    r->has_count = true;
    return 0;
}

const char *pool_is_meant(const char *arg)
{
    const char *value = update_value(arg, "LicenseName", 3);
    return value ? value : update_value(arg, "License", 3);
}

int pool_update(struct update *u, const char *layer)
{
    Pb__LicenseUpdate r = PB__LICENSE_UPDATE__INIT;
    struct err err = {0};
    if (set_layer(u, layer, &r) < 0)
        return 1;
    for (int i = 0; i < u->argc; i++) {
        const char *count = update_value(u->argv[i], "Count", 3);
        if (pool_is_meant(u->argv[i]))
            continue;
        if (!count)
            return update_refuse(u->argv[i]) < 0;
        if (set_count(count, &r) < 0)
            return 1;
        u->changes++;
    }
    if (update_check_any(u) < 0)
        return 1;
    if (cmd_call(RPC_LICENSE_UPDATE, &r.base, NULL, &err) < 0) {
        cmd_line("slurm_update error: %s", err.text);
        return 1;
    }
    return 0;
}

/* Keeps only the layers of the resource 'name'; NULL: keeps all. */
static size_t keep_layers(Pb__LicenseList *l, const char *name)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->n_licenses; i++)
        if (l->licenses[i]->nodes && (!name || str_eq(l->licenses[i]->name, name)))
            l->licenses[kept++] = l->licenses[i];
    return l->n_licenses = kept;
}

int show_resources(const char *name)
{
    Pb__Empty request = PB__EMPTY__INIT;
    Pb__LicenseList *reply = NULL;
    struct err err = {0};
    if (cmd_call(RPC_LICENSE_LIST, &request.base, &reply, &err) < 0)
        cmd_error("%s", err.text);
    else if (!keep_layers(reply, name) && name)
        cmd_error("no hierarchical resource '%s'", name);
    else {
        show_hres_file(reply, cmd_out());
        return 0;
    }
    return 1;
}

int write_resources(const char *file)
{
    Pb__Empty request = PB__EMPTY__INIT;
    Pb__LicenseList *reply = NULL;
    struct err err = {0};
    _cleanup_str_ struct str text = STR_INIT;
    int rc = cmd_call(RPC_LICENSE_LIST, &request.base, &reply, &err);
    if (rc == 0) {
        show_hres_file(reply, &text);
        if (!file || str_eq(file, "-")) {
            str_append(cmd_out(), text.data, text.len);
            return 0;
        }
        rc = path_write_file(file, text.data, text.len, 0644, &err);
    }
    if (rc != 0) {
        cmd_error("%s", err.text);
        return 1;
    }
    str_printf(cmd_out(), "resources saved to %s\n", file);
    return 0;
}
