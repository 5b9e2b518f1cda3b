/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HTTP requests are read from unauthenticated bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "rpc/http.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static int parse_request(const char *text, struct rpc_http *r)
{
    return rpc_http_parse(text, strlen(text), r);
}

static void requests_have_a_path_and_a_query(void **state)
{
    static const struct {
        const char *text, *path, *query;
        bool head;
    } rows[] = {
        {"GET / HTTP/1.0\r\n\r\n", "/", "", false},
        {"GET /metrics/jobs HTTP/1.1\r\nHost: a:6817\r\nAccept: */*\r\n\r\n", "/metrics/jobs", "",
         false},
        {"HEAD /readyz?verbose HTTP/1.1\n\n", "/readyz", "verbose", true},
        {"GET /a?b?c HTTP/1.1\r\n\r\nmore", "/a", "b?c", false},
        {"GET /? HTTP/1.1\r\n\r\n", "/", "", false},
    };
    struct rpc_http r;
    (void)state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_true(rpc_http_begins(rows[i].text, strlen(rows[i].text)));
        assert_int_equal(parse_request(rows[i].text, &r), RPC_HTTP_OK);
        assert_string_equal(r.path, rows[i].path);
        assert_string_equal(r.query, rows[i].query);
        assert_int_equal(r.head, rows[i].head);
    }
}

static void refused_requests_have_a_status(void **state)
{
    static const struct {
        const char *text;
        int status;
    } rows[] = {
        {"POST /metrics HTTP/1.1\r\n\r\n", 405},
        {"GETS / HTTP/1.1\r\n\r\n", 405},
        {"GET  / HTTP/1.1\r\n\r\n", 400},
        {"GET metrics HTTP/1.1\r\n\r\n", 400},
        {"GET http://other/ HTTP/1.1\r\n\r\n", 400},
        {"GET /a\tb HTTP/1.1\r\n\r\n", 400},
        {"GET /\xc3\xa9 HTTP/1.1\r\n\r\n", 400},
        {"GET /\r\n\r\n", 505},
        {"GET / HTTP/2.0\r\n\r\n", 505},
        {"GET / HTTP/1.1 \r\n\r\n", 505},
        {"GET", RPC_HTTP_MORE},
        {"GET / HTTP/1.1\r\n", RPC_HTTP_MORE},
        {"GET / HTTP/1.1\r\nHost: a\r\n", RPC_HTTP_MORE},
    };
    struct rpc_http r;
    (void)state;

    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(parse_request(rows[i].text, &r), rows[i].status);
}

static void requests_are_bounded(void **state)
{
    struct rpc_http r;
    (void)state;

    _cleanup_str_ struct str longest = STR_INIT, line = STR_INIT, headers = STR_INIT;
    str_puts(&longest, "GET /");
    while (longest.len < strlen("GET ") + RPC_HTTP_TARGET_MAX)
        str_putc(&longest, 'a');
    str_puts(&line, str_cstr(&longest));
    str_puts(&longest, " HTTP/1.1\r\n\r\n");
    assert_int_equal(rpc_http_parse(longest.data, longest.len, &r), RPC_HTTP_OK);
    assert_int_equal(strlen(r.path), RPC_HTTP_TARGET_MAX);
    str_puts(&line, "a HTTP/1.1\r\n\r\n");
    assert_int_equal(rpc_http_parse(line.data, line.len, &r), 414);
    str_puts(&headers, "GET / HTTP/1.1\r\n");
    while (headers.len < RPC_HTTP_MAX)
        str_puts(&headers, "X: y\r\n");
    str_puts(&headers, "\r\n");
    assert_int_equal(rpc_http_parse(headers.data, headers.len, &r), 431);
    str_clear(&headers);
    while (headers.len < RPC_HTTP_MAX)
        str_puts(&headers, "GET ");
    assert_int_equal(rpc_http_parse(headers.data, headers.len, &r), 414);
}

static void frames_are_not_taken_for_http(void **state)
{
    (void)state;
    assert_false(rpc_http_begins("SLUI....", 8));
    assert_false(rpc_http_begins("GET", 3));
    assert_false(rpc_http_begins("get /", 5));
    assert_true(rpc_http_begins("PUT /", 5));
}

static void http_answer_ends_with_the_connection(void **state)
{
    struct rpc_http r = {0};
    struct rpc_http_answer a = {.status = 200};
    _cleanup_str_ struct str out = STR_INIT, no_body = STR_INIT, other = STR_INIT;
    (void)state;

    str_puts(&a.body, "x 1\n");
    rpc_http_format(&r, &a, &out);
    assert_string_equal(str_cstr(&out),
                        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n"
                        "Content-Length: 4\r\nConnection: close\r\n\r\nx 1\n");
    r.head = true;
    rpc_http_format(&r, &a, &no_body);
    assert_string_equal(str_cstr(&no_body),
                        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n"
                        "Content-Length: 4\r\nConnection: close\r\n\r\n");
    str_done(&a.body);
    r.head = false;
    a = (struct rpc_http_answer){.status = 303, .location = (char *)"http://h:1/metrics"};
    rpc_http_format(&r, &a, &other);
    assert_non_null(strstr(str_cstr(&other), "HTTP/1.1 303 See Other\r\n"));
    assert_non_null(strstr(str_cstr(&other), "Location: http://h:1/metrics\r\n"));
    assert_non_null(strstr(str_cstr(&other), "Content-Length: 10\r\n"));
    assert_non_null(strstr(str_cstr(&other), "\r\n\r\nSee Other\n"));
}

static void check_probe(const struct rpc_http_probes *p, const char *path, const char *query,
                        int status, const char *body)
{
    struct rpc_http_answer a = {.status = 404};
    struct rpc_http r = {0};

    memcpy(r.path, path, strlen(path) + 1);
    memcpy(r.query, query, strlen(query) + 1);
    assert_int_equal(rpc_http_answer_probe(&r, p, &a), status != 404);
    assert_int_equal(a.status, status);
    assert_string_equal(str_cstr(&a.body), body);
    str_done(&a.body);
}

static void probes_tell_whether_a_daemon_is_ready(void **state)
{
    struct rpc_http_probes p = {
        .daemon = "slurmd", .is_ready = true, .check = "registration", .why = "it is not there"};
    (void)state;

    check_probe(&p, "/", "", 200, "slurmd endpoints:\n/healthz\n/livez\n/readyz\n");
    check_probe(&p, "/healthz", "", 200, "ok\n");
    check_probe(&p, "/livez", "", 200, "ok\n");
    check_probe(&p, "/readyz", "", 200, "slurmd is ready\n");
    check_probe(&p, "/readyz", "verbose", 200, "[+] registration: ok\nslurmd is ready\n");
    check_probe(&p, "/metrics", "", 404, "");
    p.is_ready = false;
    check_probe(&p, "/healthz", "", 200, "ok\n");
    check_probe(&p, "/readyz", "", 503, "slurmd is not ready: it is not there\n");
    check_probe(&p, "/readyz", "verbose", 503,
                "[-] registration: it is not there\nslurmd is not ready: it is not there\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_have_a_path_and_a_query),
        cmocka_unit_test(refused_requests_have_a_status),
        cmocka_unit_test(requests_are_bounded),
        cmocka_unit_test(frames_are_not_taken_for_http),
        cmocka_unit_test(http_answer_ends_with_the_connection),
        cmocka_unit_test(probes_tell_whether_a_daemon_is_ready),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
