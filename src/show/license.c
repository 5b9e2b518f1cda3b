/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Licences as text and as JSON; licences that are tied to nodes have more members. */
#include "show/show.h"

static int64_t count_free(const Pb__LicenseRecord *l)
{
    return l->total > l->used ? (int64_t)(l->total - l->used) : 0;
}

static bool is_tied(const Pb__LicenseRecord *l)
{
    return l->nodes != NULL;
}

uint64_t show_license_unused(const Pb__LicenseRecord *l)
{
    return l->total == UINT64_MAX ? l->total : (uint64_t)count_free(l);
}

/* The configured count: what jobs may use, plus what is in use outside of jobs. */
static uint64_t count_total(const Pb__LicenseRecord *l)
{
    return is_tied(l) ? l->count : l->total;
}

static void put_count(struct str *out, const char *key, uint64_t count)
{
    if (count == UINT64_MAX)
        str_printf(out, "%s=INFINITE ", key);
    else
        str_printf(out, "%s=%llu ", key, (unsigned long long)count);
}

void show_license_text(const Pb__LicenseRecord *l, struct show_style style, struct str *out)
{
    str_printf(out, "LicenseName=%s%s", l->name, style.oneliner ? " " : "\n    ");
    put_count(out, "Total", count_total(l));
    put_count(out, "Used", l->used);
    put_count(out, "Free", show_license_unused(l));
    put_count(out, "Reserved", l->reserved);
    str_puts(out, "Remote=no");
    if (is_tied(l)) {
        str_printf(out, "%sNodes=%s Mode=MODE_%u", style.oneliner ? " " : "\n    ", l->nodes,
                   l->mode);
        if (l->base_use)
            str_printf(out, " Base=%llu", (unsigned long long)l->base_use);
        if (l->has_file_count) {
            str_puts(out, " ");
            put_count(out, "FileTotal", l->file_count);
            out->data[--out->len] = '\0'; /* removes the blank after the number */
        }
    }
    str_puts(out, "\n");
}

static json_t *pack_count(uint64_t count)
{
    return count == UINT64_MAX ? json_integer(-1) : json_integer((json_int_t)count);
}

json_t *show_license_json(const Pb__LicenseRecord *l)
{
    json_t *out = json_pack("{s:s, s:o, s:I, s:o, s:b, s:I}", "LicenseName", l->name, "Total",
                            pack_count(count_total(l)), "Used", (json_int_t)l->used, "Free",
                            pack_count(show_license_unused(l)), "Remote", 0, "Reserved",
                            (json_int_t)l->reserved);
    if (!is_tied(l))
        return out;
    json_object_set_new(out, "Nodes", json_string(l->nodes));
    json_object_set_new(out, "Mode", json_sprintf("MODE_%u", l->mode));
    json_object_set_new(out, "Base", pack_count(l->base_use));
    if (l->has_file_count)
        json_object_set_new(out, "FileTotal", pack_count(l->file_count));
    return out;
}
