/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmctld/script/burst_report.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "slurmctld/script/burst_lua.h"

#define LOG_LINES 1000

static size_t logged; /* number of bytes logged by this process */

/* The output must fit in the pipe, because it is not read while the function runs; the excess is
   dropped. */
void burst_report_put(int fd, char kind, const char *text)
{
    uint32_t len = (uint32_t)strnlen(text, BURST_LUA_OUTPUT);
    char head[5] = {kind};
    if (fd < 0)
        return;
    if (kind == BURST_REPORT_LOG) {
        len = len < 1024 ? len : 1024;
        logged += len + sizeof head;
        if (logged > BURST_LUA_LOG)
            return;
    }
    memcpy(head + 1, &len, sizeof len);
    if (write(fd, head, sizeof head) != sizeof head)
        return;
    for (uint32_t at = 0; at < len;) {
        ssize_t n = write(fd, text + at, len - at);
        if (n <= 0)
            return;
        at += (uint32_t)n;
    }
}

static void read_report(int fd, struct str *out)
{
    char piece[65536];
    ssize_t n;
    while ((n = read(fd, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            str_append(out, piece, (size_t)n);
}

const char *burst_lua_read_report(int report, Pb__ScriptEnded *e, struct arena *arena)
{
    _cleanup_str_ struct str all = STR_INIT;
    char *error = NULL;
    read_report(report, &all);
    e->log = arena_alloc(arena, sizeof(*e->log) * LOG_LINES);
    for (size_t at = 0; at + 5 <= all.len;) {
        uint32_t len;
        char kind = all.data[at];
        memcpy(&len, all.data + at + 1, sizeof len);
        at += 5;
        len = len > all.len - at ? (uint32_t)(all.len - at) : len;
        char *text = arena_alloc(arena, len + 1);
        memcpy(text, all.data + at, len);
        text[len] = '\0';
        at += len;
        if (kind == BURST_REPORT_LOG && e->n_log < LOG_LINES)
            e->log[e->n_log++] = text;
        else if (kind == BURST_REPORT_OUTPUT)
            e->output = text;
        else if (kind == BURST_REPORT_ERROR)
            error = text;
    }
    return error;
}
