/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Licences as text and as JSON. */
#include "show/show.h"

static int64_t count_free(const Pb__LicenseRecord *l)
{
    return l->total > l->used ? (int64_t)(l->total - l->used) : 0;
}

void show_license_text(const Pb__LicenseRecord *l, struct show_style style, struct str *out)
{
    str_printf(out, "LicenseName=%s%sTotal=%llu Used=%llu Free=%lld Reserved=%llu Remote=no\n",
               l->name, style.oneliner ? " " : "\n    ", (unsigned long long)l->total,
               (unsigned long long)l->used, (long long)count_free(l),
               (unsigned long long)l->reserved);
}

json_t *show_license_json(const Pb__LicenseRecord *l)
{
    return json_pack("{s:s, s:I, s:I, s:I, s:b, s:I}", "LicenseName", l->name, "Total",
                     (json_int_t)l->total, "Used", (json_int_t)l->used, "Free",
                     (json_int_t)count_free(l), "Remote", 0, "Reserved", (json_int_t)l->reserved);
}
