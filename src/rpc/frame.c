/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rpc/frame.h"

#include <endian.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "proto/common.pb-c.h"
#include "rpc/rpc.h"

#define FLAGS_KNOWN                                                                                \
    (RPC_FLAG_REPLY | RPC_FLAG_ERROR | RPC_FLAG_MORE | RPC_FLAG_SESSION | RPC_FLAG_BULK |          \
     RPC_FLAG_CHANNEL)
/* Bytes of an error text in a reply, before it is truncated to fit struct err. */
#define ERROR_TEXT_MAX 65536

static const char magic[4] = {'S', 'L', 'U', 'I'};

/* Layout of a header in both directions; the packed struct is accessed with memcpy() only. */
struct wire_header {
    char magic[4];
    uint16_t version, rpc, flags, token_len;
    uint32_t body_len;
    uint64_t id;
};
_Static_assert(sizeof(struct wire_header) == RPC_HEADER_SIZE, "the header has no holes");

void rpc_header_pack(const struct rpc_header *h, uint8_t out[RPC_HEADER_SIZE])
{
    struct wire_header w = {
        .version = htole16(h->version),
        .rpc = htole16(h->rpc),
        .flags = htole16(h->flags),
        .token_len = htole16(h->token_len),
        .body_len = htole32(h->body_len),
        .id = htole64(h->id),
    };

    memcpy(w.magic, magic, sizeof(magic));
    memcpy(out, &w, sizeof(w));
}

int rpc_header_unpack(const uint8_t in[RPC_HEADER_SIZE], uint32_t body_max, struct rpc_header *h,
                      struct err *err)
{
    struct wire_header w;
    struct rpc_header got;

    memcpy(&w, in, sizeof(w));
    if (memcmp(w.magic, magic, sizeof(magic)) != 0)
        return err_set(err, -ERR_PROTOCOL, "not a message of this protocol");
    got = (struct rpc_header){
        .version = le16toh(w.version),
        .rpc = le16toh(w.rpc),
        .flags = le16toh(w.flags),
        .token_len = le16toh(w.token_len),
        .body_len = le32toh(w.body_len),
        .id = le64toh(w.id),
    };
    if (got.version != RPC_VERSION)
        return err_set(err, -ERR_VERSION, "message of version %u, version %d is understood here",
                       got.version, RPC_VERSION);
    if (got.flags & ~(unsigned)FLAGS_KNOWN ||
        (got.flags & RPC_FLAG_BULK && !(got.flags & RPC_FLAG_SESSION)))
        return err_set(err, -ERR_PROTOCOL, "unknown flags 0x%x in a message", got.flags);
    if (got.rpc ? !rpc_find(got.rpc)
                : !(got.flags & (RPC_FLAG_SESSION | RPC_FLAG_ERROR | RPC_FLAG_CHANNEL)))
        return err_set(err, -ERR_PROTOCOL, "unknown request number %u", got.rpc);
    if (got.token_len != 0 && got.token_len != AUTH_MAC_SIZE && got.token_len != AUTH_TOKEN_SIZE)
        return err_set(err, -ERR_PROTOCOL, "a token of %u bytes", got.token_len);
    if (got.body_len > body_max)
        return err_set(err, -ERR_TOO_BIG, "message of %u bytes, at most %u are taken here",
                       got.body_len, body_max);
    if (got.rpc && !(got.flags & RPC_FLAG_REPLY) &&
        rpc_check_size(rpc_find(got.rpc), got.body_len, err) < 0)
        return -ERR_TOO_BIG;
    *h = got;
    return 0;
}

void rpc_frame_hash(const struct rpc_header *h, const void *body, uint8_t hash[AUTH_HASH_SIZE])
{
    uint8_t head[RPC_HEADER_SIZE];

    rpc_header_pack(h, head);
    auth_hash2(head, sizeof(head), body, h->body_len, hash);
}

void rpc_frame_append(struct str *out, const struct rpc_header *h, const void *token,
                      const void *body)
{
    uint8_t head[RPC_HEADER_SIZE];

    rpc_header_pack(h, head);
    str_reserve(out, sizeof(head) + h->token_len + h->body_len);
    str_append(out, head, sizeof(head));
    if (h->token_len)
        str_append(out, token, h->token_len);
    if (h->body_len)
        str_append(out, body, h->body_len);
}

void rpc_error_pack(int code, const char *text, struct str *body)
{
    Pb__Error e = PB__ERROR__INIT;

    e.code = code < 0 ? -code : code;
    e.text = (char *)(text && text[0] ? text : err_text(code));
    pb_pack(&e.base, body);
}

int rpc_error_unpack(const void *body, size_t len, struct err *err)
{
    struct arena arena;
    Pb__Error *e = NULL;
    int rc;

    arena_init(&arena, ERROR_TEXT_MAX + 4096);
    if (len <= ERROR_TEXT_MAX)
        e = arena_unpack(&arena, &pb__error__descriptor, body, len);
    if (!e || e->code <= 0) {
        rc = err_set(err, -ERR_PROTOCOL, "a refusal that cannot be decoded");
    } else {
        rc = err_set(err, -e->code, "%s", e->text);
        if (err)
            rpc_text_clean(err->text);
    }
    arena_done(&arena);
    return rc;
}

void rpc_text_clean(char *text)
{
    for (size_t left = strlen(text), n; left; text += n, left -= n) {
        bool harmful;
        n = text_next(text, left, &harmful);
        if (harmful && *text != '\n' && *text != '\t')
            memset(text, '?', n);
    }
}
