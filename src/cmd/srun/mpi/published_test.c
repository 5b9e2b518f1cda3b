/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/mpi/published.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"

static void on_answer(void *ctx, uint32_t node, const struct Pb__NameReply *m)
{
    str_printf(ctx, "%u/%u:%s", node, m->id, m->done ? "yes" : "no");
    if (m->has_value)
        str_printf(ctx, "=%.*s of %u", (int)m->value.len, (const char *)m->value.data, m->task);
    str_putc(ctx, ' ');
}

static void send_name_request(struct published *p, uint32_t node, uint32_t id, uint32_t op,
                              const char *name, const char *value, bool wait)
{
    struct Pb__NameRequest m = PB__NAME_REQUEST__INIT;

    m.id = id;
    m.op = op;
    m.name = (char *)name;
    m.task = node + 10;
    m.has_value = value != NULL;
    m.value.data = (uint8_t *)value;
    m.value.len = value != NULL ? strlen(value) : 0;
    m.has_wait = 1;
    m.wait = wait;
    published_request(p, node, &m);
}

static void test_invalid_name_requests_are_refused(void **state)
{
    struct str said = STR_INIT;
    struct published *p = published_new(on_answer, &said);

    (void)state;
    send_name_request(p, 0, 1, PUBLISHED_FIND, "a", NULL, false);
    send_name_request(p, 0, 2, PUBLISHED_REMOVE, "a", NULL, false);
    send_name_request(p, 0, 3, 0, "a", "b", false);
    send_name_request(p, 0, 4, 99, "a", "b", false);
    send_name_request(p, 0, 5, PUBLISHED_ADD, "a", "mine", false);
    send_name_request(p, 1, 6, PUBLISHED_ADD, "a", "hers", false);
    send_name_request(p, 1, 7, PUBLISHED_REMOVE, "a", NULL, false);
    assert_string_equal(str_cstr(&said), "0/1:no 0/2:no 0/3:no 0/4:no 0/5:yes 1/6:no 1/7:no ");
    published_free(p);
    str_done(&said);
}

static void test_lookup_finds_a_published_name(void **state)
{
    struct str said = STR_INIT;
    struct published *p = published_new(on_answer, &said);

    (void)state;
    send_name_request(p, 2, 1, PUBLISHED_FIND, "port", NULL, true); /* waits */
    send_name_request(p, 3, 1, PUBLISHED_FIND, "other", NULL, true);
    send_name_request(p, 0, 1, PUBLISHED_ADD, "port", "4711", false);
    send_name_request(p, 1, 1, PUBLISHED_FIND, "port", NULL, false);
    send_name_request(p, 0, 2, PUBLISHED_REMOVE, "port", NULL, false);
    send_name_request(p, 1, 2, PUBLISHED_FIND, "port", NULL, false);
    assert_string_equal(str_cstr(&said),
                        "2/1:yes=4711 of 10 0/1:yes 1/1:yes=4711 of 10 0/2:yes 1/2:no ");
    published_free(p); /* while a lookup is waiting */
    str_done(&said);
}

/* Task 0 of a spawned step differs from task 0 of the spawning step. */
static void test_names_of_different_steps_are_distinguished(void **state)
{
    struct str said = STR_INIT;
    struct published *p = published_new(on_answer, &said);
    struct Pb__NameRequest m = PB__NAME_REQUEST__INIT;

    (void)state;
    m.name = (char *)"port";
    m.has_step = 1;
    m.op = PUBLISHED_ADD;
    published_request(p, 0, &m);
    m.step = 1;
    m.op = PUBLISHED_REMOVE;
    published_request(p, 0, &m);
    m.step = 0;
    published_request(p, 0, &m);
    assert_string_equal(str_cstr(&said), "0/0:yes 0/0:no 0/0:yes ");
    published_free(p);
    str_done(&said);
}

static void test_number_and_size_of_names_are_limited(void **state)
{
    struct str said = STR_INIT, value = STR_INIT;
    struct published *p = published_new(on_answer, &said);
    char name[16];

    (void)state;
    while (value.len < PUBLISHED_BYTES_MAX / 4)
        str_puts(&value, "0123456789abcdef");
    for (uint32_t i = 0; i < 5; i++) {
        snprintf(name, sizeof(name), "n%u", i);
        send_name_request(p, 0, i, PUBLISHED_ADD, name, str_cstr(&value), false);
    }
    assert_string_equal(str_cstr(&said), "0/0:yes 0/1:yes 0/2:yes 0/3:no 0/4:no ");
    published_free(p);
    str_done(&said);
    str_done(&value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invalid_name_requests_are_refused),
        cmocka_unit_test(test_lookup_finds_a_published_name),
        cmocka_unit_test(test_number_and_size_of_names_are_limited),
        cmocka_unit_test(test_names_of_different_steps_are_distinguished),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
