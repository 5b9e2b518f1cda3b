/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmctld/script/scriptwire.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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
