/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str.h"
#include "slurmctld/script/burst_lua.h"
#include "slurmctld/script/scriptwire.h"

#define HEADER 4

void scriptwire_put_any(struct str *out, const ProtobufCMessage *m)
{
    uint32_t len = htole32((uint32_t)protobuf_c_message_get_packed_size(m));
    str_append(out, &len, HEADER);
    pb_pack(m, out);
}

int scriptwire_take_any(struct str *in, struct arena *arena, const ProtobufCMessageDescriptor *type,
                        size_t most, ProtobufCMessage **m)
{
    uint32_t len;
    if (in->len < HEADER)
        return 0;
    memcpy(&len, in->data, HEADER);
    len = le32toh(len);
    if (len > most)
        return -1;
    if (in->len < HEADER + len)
        return 0;
    *m = arena_unpack(arena, type, in->data + HEADER, len);
    str_consume(in, HEADER + len);
    return *m ? 1 : -1;
}

void scriptwire_put(struct str *out, const Pb__ScriptMessage *m)
{
    scriptwire_put_any(out, &m->base);
}

int scriptwire_take(struct str *in, struct arena *arena, Pb__ScriptMessage **m)
{
    return scriptwire_take_any(in, arena, &pb__script_message__descriptor, SCRIPTWIRE_MAX,
                               (ProtobufCMessage **)(void *)m);
}

int scriptwire_read(int fd, struct str *in)
{
    char buffer[SCRIPTWIRE_READ];
    ssize_t n = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (n > 0)
        str_append(in, buffer, (size_t)n);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    return n > 0 ? 1 : -1;
}

int scriptwire_write(int fd, struct str *out)
{
    while (out->len) {
        ssize_t n = send(fd, out->data, out->len, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? 0 : -1;
        str_consume(out, (size_t)n);
    }
    return 0;
}

const char *scriptwire_name(Pb__ScriptKind kind)
{
    static const char *const names[] = {
        [PB__SCRIPT_KIND__SCRIPT_PROLOG] = "PrologSlurmctld",
        [PB__SCRIPT_KIND__SCRIPT_EPILOG] = "EpilogSlurmctld",
        [PB__SCRIPT_KIND__SCRIPT_MAIL] = "MailProg",
        [PB__SCRIPT_KIND__SCRIPT_RESV_PROLOG] = "ResvProlog",
        [PB__SCRIPT_KIND__SCRIPT_RESV_EPILOG] = "ResvEpilog",
        [PB__SCRIPT_KIND__SCRIPT_BURST] = "burst_buffer/lua:",
        [PB__SCRIPT_KIND__SCRIPT_BURST_ASK] = "burst_buffer/lua:",
        [PB__SCRIPT_KIND__SCRIPT_TRIGGER] = "the trigger's program",
        [PB__SCRIPT_KIND__SCRIPT_JOB_COMP] = "JobCompLoc",
    };
    unsigned k = (unsigned)kind;
    return k < sizeof names / sizeof names[0] && names[k] ? names[k] : "script";
}

#define LOG_LINES 1000

static size_t logged; /* number of bytes logged by this process */

/* The output must fit in the pipe, because it is not read while the function runs; the excess is
   dropped. */
void scriptwire_put_burst(int fd, char kind, const char *text)
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

const char *scriptwire_read_burst(int report, Pb__ScriptEnded *e, struct arena *arena)
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
