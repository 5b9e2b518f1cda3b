/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/option/xauth.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static void test_displays_are_parsed(void **state)
{
    static const struct {
        const char *name;
        unsigned number, screen, count;
        int family;
        bool local;
    } rows[] = {
        {":0", 0, 0, 2, AF_UNIX, true},
        {"unix:3.2", 3, 2, 2, AF_UNIX, true},
        {"/tmp/launch/org.xquartz:0", 0, 0, 2, AF_UNIX, true},
        {"unix:/tmp/launch/x:1", 1, 0, 2, AF_UNIX, true},
        {"127.0.0.1:10.0", 10, 0, 1, AF_INET, true},
        {"::1:12.1", 12, 1, 1, AF_INET6, true},
        {"192.0.2.7:1", 1, 0, 1, AF_INET, false},
    };
    static const char *const bad[] = {"",    "0",      ":",      ":x",     ":-1",
                                      ":0.", ":0.256", ":0.0.0", ":59536", "no such host:0"};
    struct xauth_display d;
    struct err err;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(xauth_parse_display(rows[i].name, &d, &err), 0);
        assert_int_equal(d.number, rows[i].number);
        assert_int_equal(d.screen, rows[i].screen);
        assert_int_equal(d.addr_count, rows[i].count);
        assert_int_equal(d.addr[0].ss_family, rows[i].family);
        assert_int_equal(d.local, rows[i].local);
    }
    assert_int_equal(xauth_parse_display("127.0.0.1:10", &d, &err), 0);
    assert_int_equal(((struct sockaddr_in *)&d.addr[0])->sin_port, htons(6010));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_true(xauth_parse_display(bad[i], &d, &err) < 0);
        assert_non_null(strstr(err.text, "DISPLAY"));
    }
}

#define NAME "\0\022MIT-MAGIC-COOKIE-1"
#define OTHER "\0\004XDM1"
#define COOKIE(letter) "\0\004" letter letter letter letter

static const char authority[] = /* family, address, number, name, cookie */
    "\1\0\0\004away\0\0010" NAME COOKIE("a") "\1\0\0\004here\0\0010" OTHER COOKIE(
        "b") "\1\0\0\004here\0\0010" NAME COOKIE("c") "\1\0\0\004here\0\00210" NAME
        COOKIE("d") "\0\0\0\004\300\0\002\007\0\0011" NAME COOKIE(
            "e") "\377\377\0\0\0\0015" NAME COOKIE("f") "\377\377\0\0\0\0" NAME COOKIE("g");

static void test_cookie_of_the_display_is_found(void **state)
{
    static const struct {
        const char *display, *cookie;
    } rows[] = {
        {":0", "cccc"},          {"127.0.0.1:10.0", "dddd"},
        {"192.0.2.7:1", "eeee"}, {"192.0.2.7:0", "gggg"},
        {":5", "ffff"},          {":77", "gggg"},
    };
    struct xauth_display d;
    struct xauth_cookie c;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(xauth_parse_display(rows[i].display, &d, NULL), 0);
        assert_true(xauth_find(authority, sizeof(authority) - 1, &d, "here", &c));
        assert_int_equal(c.len, 4);
        assert_memory_equal(c.data, rows[i].cookie, 4);
    }
    /* Wherever the text ends, nothing after the end is read. */
    assert_int_equal(xauth_parse_display(":77", &d, NULL), 0);
    for (size_t len = 0; len < sizeof(authority) - 1; len++) {
        char *part = test_malloc(len + 1);

        memcpy(part, authority, len);
        assert_false(xauth_find(part, len, &d, "here", &c));
        assert_int_equal(c.len, 0);
        test_free(part);
    }
    assert_false(xauth_find(NULL, 0, &d, "here", &c));
}

static const uint8_t shown[] = "0123456789abcdef";

/* The first message of a client with that byte order. */
static void make_client_hello(struct str *out, bool big, const char *name, size_t name_len,
                              const void *cookie, size_t cookie_len)
{
    uint8_t head[12] = {big ? 'B' : 'l'};

    head[big ? 7 : 6] = (uint8_t)name_len;
    head[big ? 9 : 8] = (uint8_t)cookie_len;
    head[big ? 3 : 2] = 11;
    str_append(out, head, sizeof(head));
    str_append(out, name, name_len);
    str_append(out, "\0\0\0", (4 - name_len % 4) % 4);
    str_append(out, cookie, cookie_len);
    str_append(out, "\0\0\0", (4 - cookie_len % 4) % 4);
}

static void test_cookie_in_the_greeting_is_replaced(void **state)
{
    const struct xauth_cookie real = {.data = "the real cookie!!", .len = 17}, none = {.len = 0};

    for (int big = 0; big < 2; big++) {
        struct str whole = STR_INIT, wanted = STR_INIT, head = STR_INIT;

        make_client_hello(&whole, big, XAUTH_NAME, strlen(XAUTH_NAME), shown, 16);
        make_client_hello(&wanted, big, XAUTH_NAME, strlen(XAUTH_NAME), real.data, real.len);
        str_puts(&wanted, "more");
        for (size_t len = 0; len < whole.len; len++) {
            str_clear(&head);
            str_append(&head, whole.data, len);
            assert_int_equal(xauth_replace(&head, shown, 16, &real), XAUTH_MORE);
            assert_int_equal(head.len, len);
        }
        str_clear(&head);
        str_append(&head, whole.data, whole.len);
        str_puts(&head, "more");
        assert_int_equal(xauth_replace(&head, shown, 16, &real), XAUTH_GOOD);
        assert_int_equal(head.len, wanted.len);
        assert_memory_equal(head.data, wanted.data, wanted.len);
        assert_int_equal(xauth_replace(&whole, shown, 16, &none), XAUTH_GOOD);
        assert_int_equal(whole.len, 12);
        str_done(&whole);
        str_done(&wanted);
        str_done(&head);
    }
}

static void test_wrong_cookies_are_refused(void **state)
{
    static const struct {
        const char *name, *cookie;
        size_t len;
    } rows[] = {
        {XAUTH_NAME, "0123456789abcdeF", 16},
        {XAUTH_NAME, "0123456789abcde", 15},
        {XAUTH_NAME, "0123456789abcdef0", 17},
        {XAUTH_NAME, "", 0},
        {"MIT-MAGIC-COOKIE-2", "0123456789abcdef", 16},
        {"", "0123456789abcdef", 16},
        {"", "", 0},
    };
    const struct xauth_cookie real = {.data = "x", .len = 1};
    struct str head = STR_INIT;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        str_clear(&head);
        make_client_hello(&head, false, rows[i].name, strlen(rows[i].name), rows[i].cookie,
                          rows[i].len);
        assert_int_equal(xauth_replace(&head, shown, 16, &real), XAUTH_BAD);
    }
    str_clear(&head);
    make_client_hello(&head, false, XAUTH_NAME, strlen(XAUTH_NAME), shown, 16);
    head.data[0] = 'G'; /* as in GET */
    assert_int_equal(xauth_replace(&head, shown, 16, &real), XAUTH_BAD);
    str_done(&head);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_displays_are_parsed),
        cmocka_unit_test(test_cookie_of_the_display_is_found),
        cmocka_unit_test(test_cookie_in_the_greeting_is_replaced),
        cmocka_unit_test(test_wrong_cookies_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
