/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rpc/http.h"

#include <string.h>

#define METHOD_BYTES 4 /* first bytes that distinguish a request from a frame */

struct text { /* a part of the received bytes */
    const char *data;
    size_t len;
};

static bool text_is(struct text t, const char *word)
{
    return t.len == strlen(word) && memcmp(t.data, word, t.len) == 0;
}

bool rpc_http_begins(const void *data, size_t len)
{
    static const char methods[][METHOD_BYTES + 1] = {"GET ", "HEAD", "POST", "PUT ", "DELE",
                                                     "OPTI", "PATC", "TRAC", "CONN"};

    for (size_t i = 0; len >= METHOD_BYTES && i < sizeof(methods) / sizeof(methods[0]); i++)
        if (memcmp(data, methods[i], METHOD_BYTES) == 0)
            return true;
    return false;
}

/* Takes the next line without its line end; false: it is incomplete. */
static bool take_line(struct text *rest, struct text *line)
{
    const char *end = memchr(rest->data, '\n', rest->len);
    size_t taken;

    if (!end)
        return false;
    taken = (size_t)(end - rest->data) + 1;
    *line = (struct text){rest->data, taken - 1};
    if (line->len && line->data[line->len - 1] == '\r')
        line->len--;
    *rest = (struct text){rest->data + taken, rest->len - taken};
    return true;
}

/* Takes the text up to the next space, or all of it. */
static struct text take_word(struct text *rest)
{
    const char *end = memchr(rest->data, ' ', rest->len);
    struct text word = {rest->data, end ? (size_t)(end - rest->data) : rest->len};
    size_t taken = word.len + (end ? 1 : 0);

    *rest = (struct text){rest->data + taken, rest->len - taken};
    return word;
}

static void copy_http_text(char *to, struct text from)
{
    memcpy(to, from.data, from.len);
    to[from.len] = '\0';
}

static int parse_target(struct text target, struct rpc_http *out)
{
    const char *mark;
    size_t path;

    if (target.len > RPC_HTTP_TARGET_MAX)
        return 414;
    if (!target.len || target.data[0] != '/')
        return 400;
    for (size_t i = 0; i < target.len; i++)
        if (target.data[i] <= ' ' || target.data[i] > '~')
            return 400;
    mark = memchr(target.data, '?', target.len);
    path = mark ? (size_t)(mark - target.data) : target.len;
    copy_http_text(out->path, (struct text){target.data, path});
    if (mark)
        copy_http_text(out->query, (struct text){mark + 1, target.len - path - 1});
    return RPC_HTTP_OK;
}

/* "GET /path?query HTTP/1.1" */
static int parse_request_line(struct text line, struct rpc_http *out)
{
    struct text method = take_word(&line), target = take_word(&line);
    int rc;

    out->head = text_is(method, "HEAD");
    if (!out->head && !text_is(method, "GET"))
        return 405;
    rc = parse_target(target, out);
    if (rc != RPC_HTTP_OK)
        return rc;
    if (!text_is(line, "HTTP/1.1") && !text_is(line, "HTTP/1.0"))
        return 505;
    return RPC_HTTP_OK;
}

int rpc_http_parse(const void *data, size_t len, struct rpc_http *out)
{
    struct text rest = {data, len < RPC_HTTP_MAX ? len : RPC_HTTP_MAX}, first, header;

    *out = (struct rpc_http){0};
    if (!take_line(&rest, &first))
        return len < RPC_HTTP_MAX ? RPC_HTTP_MORE : 414;
    do {
        if (!take_line(&rest, &header))
            return len < RPC_HTTP_MAX ? RPC_HTTP_MORE : 431;
    } while (header.len);
    return parse_request_line(first, out);
}

static const char *status_text(int status)
{
    switch (status) {
    case 200:
        return "OK";
    case 303:
        return "See Other";
    case 400:
        return "Bad Request";
    case 401:
        return "Unauthorized";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 414:
        return "URI Too Long";
    case 431:
        return "Request Header Fields Too Large";
    case 503:
        return "Service Unavailable";
    case 505:
        return "HTTP Version Not Supported";
    default:
        return "Internal Server Error";
    }
}

void rpc_http_format(const struct rpc_http *request, const struct rpc_http_answer *a,
                     struct str *out)
{
    const char *words = status_text(a->status);
    size_t len = a->body.len ? a->body.len : strlen(words) + 1;

    str_printf(out,
               "HTTP/1.1 %d %s\r\nContent-Type: %s; charset=utf-8\r\nContent-Length: %zu\r\n"
               "Connection: close\r\n",
               a->status, words, a->type ? a->type : "text/plain", len);
    if (a->status == 405)
        str_puts(out, "Allow: GET, HEAD\r\n");
    if (a->location)
        str_printf(out, "Location: %s\r\n", a->location);
    str_puts(out, "\r\n");
    if (request->head)
        return;
    if (a->body.len)
        str_append(out, a->body.data, a->body.len);
    else
        str_printf(out, "%s\n", words);
}

static void put_readiness(const struct rpc_http *request, const struct rpc_http_probes *p,
                          struct rpc_http_answer *a)
{
    a->status = p->is_ready ? 200 : 503;
    if (str_eq(request->query, "verbose"))
        str_printf(&a->body, "%s %s: %s\n", p->is_ready ? "[+]" : "[-]", p->check,
                   p->is_ready ? "ok" : p->why);
    str_printf(&a->body, p->is_ready ? "%s is ready\n" : "%s is not ready: %s\n", p->daemon,
               p->why);
}

bool rpc_http_answer_probe(const struct rpc_http *request, const struct rpc_http_probes *p,
                           struct rpc_http_answer *a)
{
    a->status = 200;
    if (str_eq(request->path, "/"))
        str_printf(&a->body, "%s endpoints:\n/healthz\n/livez\n/readyz\n%s", p->daemon,
                   p->endpoints ? p->endpoints : "");
    else if (str_eq(request->path, "/healthz") || str_eq(request->path, "/livez"))
        str_puts(&a->body, "ok\n");
    else if (str_eq(request->path, "/readyz"))
        put_readiness(request, p, a);
    else
        a->status = 404;
    return a->status != 404;
}
