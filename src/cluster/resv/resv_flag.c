/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Flags of reservations, by resv_flag.def. */
#include <string.h>

#include "base/timefmt.h"
#include "cluster/resv/resv.h"

static const struct {
    uint32_t flag;
    const char *shown, *other;
    enum resv_change change;
} rows[] = {
#define RESV_FLAG(id, bit, shown, other, change) {RESV_##id, shown, other, RESV_CHANGE_##change},
#include "cluster/resv/resv_flag.def"
#undef RESV_FLAG
};
#define ROWS (sizeof rows / sizeof rows[0])

static bool is_word(const char *word, const char *text, size_t len)
{
    return *word && strlen(word) == len && strncasecmp(word, text, len) == 0;
}

static uint32_t find_flag(const char *text, size_t len)
{
    for (size_t i = 0; i < ROWS; i++)
        if (is_word(rows[i].shown, text, len) || is_word(rows[i].other, text, len))
            return rows[i].flag;
    return 0;
}

static int parse_purge(const char *value, size_t len, int64_t *sec, struct err *err)
{
    _cleanup_free_ char *text = mem_strndup(value, len);
    int64_t got;
    int rc = time_parse_limit(text, &got, err);
    if (rc == 0 && (got <= 0 || got == TIME_UNLIMITED))
        rc = err_set(err, -ERR_PARSE, "PURGE_COMP=%s: not a time", text);
    if (rc == 0)
        *sec = (got + 59) / 60 * 60;
    return rc;
}

int resv_parse_flags(const char *list, uint32_t *flags, int64_t *purge_sec, struct err *err)
{
    uint32_t got = 0;
    int64_t purge = *purge_sec;
    for (const char *s = list; *s;) {
        size_t len = strcspn(s, ","), word = strcspn(s, ",=");
        uint32_t flag = find_flag(s, word);
        if (len && (!flag || (word < len && flag != RESV_PURGE_COMP)))
            return err_set(err, -ERR_PARSE, "Flags: unknown flag %.*s", (int)len, s);
        if (flag == RESV_PURGE_COMP) {
            purge = RESV_PURGE_SEC;
            int rc = word < len ? parse_purge(s + word + 1, len - word - 1, &purge, err) : 0;
            if (rc)
                return rc;
        }
        got |= flag;
        s += len + (s[len] == ',');
    }
    *flags = got;
    *purge_sec = purge;
    return 0;
}

void resv_format_flags(const struct resv *r, struct str *out)
{
    char text[TIME_TEXT_MAX];
    const char *comma = "";
    for (size_t i = 0; i < ROWS; i++) {
        if (!(r->flags & rows[i].flag))
            continue;
        str_printf(out, "%s%s", comma, rows[i].shown);
        if (rows[i].flag == RESV_PURGE_COMP)
            str_printf(out, "=%s", time_format_limit(r->purge_sec, text));
        comma = ",";
    }
}

int resv_check_change(uint32_t flags, bool added, struct err *err)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (!(flags & rows[i].flag) || rows[i].change == RESV_CHANGE_ALWAYS ||
            (added && rows[i].change == RESV_CHANGE_ADDED))
            continue;
        return err_set(err, -ERR_CANNOT_UPDATE, "%s: Flags%s=%s of a reservation that is there",
                       err_text(ERR_CANNOT_UPDATE), added ? "+" : "-", rows[i].shown);
    }
    return 0;
}
