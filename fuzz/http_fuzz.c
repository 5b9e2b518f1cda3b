/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Input: an HTTP request to the port of a daemon. An incomplete request stays incomplete up to the
 * maximum length; an accepted request is printable and within its bounds; a complete request keeps
 * its meaning if more bytes follow.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rpc/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void require_printable(const char *text)
{
    require(strlen(text) <= RPC_HTTP_TARGET_MAX);
    for (; *text; text++)
        require(*text > ' ' && *text <= '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct rpc_http_probes probes = {
        .daemon = "d", .is_ready = true, .check = "c", .why = "w"};
    struct rpc_http first, again;
    struct rpc_http_answer a = {.status = 404};
    _cleanup_str_ struct str out = STR_INIT, more = STR_INIT;
    int rc = rpc_http_parse(data, size, &first);
    (void)rpc_http_begins(data, size);
    if (rc == RPC_HTTP_MORE) {
        require(size < RPC_HTTP_MAX);
        return 0;
    }
    if (size && size < RPC_HTTP_MAX) {
        str_append(&more, data, size);
        str_putc(&more, 'x');
        require(rpc_http_parse(more.data, more.len, &again) == rc);
        require(str_eq(first.path, again.path) && str_eq(first.query, again.query));
    }
    if (rc != RPC_HTTP_OK) {
        require(rc >= 400 && rc < 600);
        a.status = rc;
    } else {
        require(first.path[0] == '/');
        require_printable(first.path);
        require_printable(first.query);
        rpc_http_answer_probe(&first, &probes, &a);
    }
    rpc_http_format(&first, &a, &out);
    require(out.len > 0);
    str_done(&a.body);
    return 0;
}
