/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmctld/core/ctld.h"

#include <string.h>

const struct conf *ctld_conf(const struct ctld *c)
{
    return c->control ? control_conf(c->control) : c->conf;
}

const struct conf_host *ctld_me(const struct ctld *c)
{
    return conf_find_controller(ctld_conf(c), c->name);
}

bool ctld_is_alone(const struct ctld *c)
{
    return ctld_conf(c)->controllers.len == 1;
}

bool ctld_debugs(const struct ctld *c, enum conf_debug flag)
{
    return c->control && control_get_debug(c->control) >> flag & 1;
}

void ctld_reply(struct ctld *c, uint64_t call, const ProtobufCMessage *reply)
{
    size_t len = protobuf_c_message_get_packed_size(reply);
    struct outbox_item *item = outbox_item_new(OUTBOX_REPLY, NULL, len);
    protobuf_c_message_pack(reply, (uint8_t *)item->data);
    item->call = call;
    outbox_add(c->outbox, item);
}

void ctld_reply_part(struct ctld *c, uint64_t call, const struct str *bytes, bool more)
{
    struct outbox_item *item = outbox_item_new(OUTBOX_REPLY, bytes->data, bytes->len);
    item->call = call;
    item->more = more;
    outbox_add(c->outbox, item);
}

void ctld_reply_error(struct ctld *c, uint64_t call, int code, const char *text)
{
    struct outbox_item *item = outbox_item_new(OUTBOX_ERROR, text, strlen(text));
    item->call = call;
    item->code = code;
    outbox_add(c->outbox, item);
}
