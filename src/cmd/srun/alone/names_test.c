/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/alone/names.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define MISSING "no-such-name.invalid"

static jmp_buf left;
static char directory[] = "/tmp/names_test.XXXXXX", program[64];

/* The real function would replace the process. */
_Noreturn void alone_leave(const char *what)
{
    longjmp(left, 1);
}

static void write_program(const char *script)
{
    int fd = open(program, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, script, strlen(script)), strlen(script));
    assert_int_equal(close(fd), 0);
}

static int make_directory(void **state)
{
    if (mkdtemp(directory) == NULL)
        return -1;
    snprintf(program, sizeof(program), "%s/getent", directory);
    return 0;
}

static int remove_directory(void **state)
{
    unlink(program);
    return rmdir(directory);
}

/* "ADDRESS ADDRESS ..." in the order of the list. */
static void format_list(const struct addrinfo *list, char *text, size_t size)
{
    *text = '\0';
    for (const struct addrinfo *a = list; a != NULL; a = a->ai_next) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)a->ai_addr;
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)a->ai_addr;
        bool six = a->ai_family == AF_INET6;
        size_t len = strlen(text);

        assert_int_equal(a->ai_socktype, SOCK_STREAM);
        assert_int_equal(ntohs(six ? in6->sin6_port : in->sin_port), 6818);
        snprintf(text + len, size - len, "%s", len ? " " : "");
        len = strlen(text);
        assert_non_null(inet_ntop(a->ai_family, six ? (const void *)&in6->sin6_addr : &in->sin_addr,
                                  text + len, (socklen_t)(size - len)));
    }
}

static void getent_resolves_a_host(void **state)
{
    static const struct {
        const char *script, *list;
        int code;
    } rows[] = {
        {"#!/bin/sh\nexit 2\n", "", EAI_NONAME},
        {"#!/bin/sh\necho; echo nonsense; echo x STREAM y; echo 10.0.0.1\n", "", EAI_NONAME},
        {"#!/bin/sh\n[ \"$*\" = 'ahosts -- n1' ] && echo '10.0.0.1 STREAM'; echo '10.0.0.1 "
         "DGRAM'\n",
         "10.0.0.1", 0},
        {"#!/bin/sh\necho 'fd00::1 STREAM n1'; echo '10.0.0.2  STREAM'; echo '10.0.0.2 RAW'\n",
         "fd00::1 10.0.0.2", 0},
        {"#!/bin/sh\nfor i in 1 2 3 4 5 6 7 8 9 10; do echo 10.0.0.$i STREAM; done\n",
         "10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4 10.0.0.5 10.0.0.6 10.0.0.7 10.0.0.8", 0},
    };
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct addrinfo *list = NULL;
        char text[512];

        write_program(rows[i].script);
        assert_int_equal(names_ask(program, "n1", "6818", &hints, &list), rows[i].code);
        format_list(list, text, sizeof(text));
        assert_string_equal(text, rows[i].list);
        if (list != NULL)
            freeaddrinfo(list);
    }
    unlink(program);
    assert_int_equal(names_ask(program, "n1", "6818", &hints, &(struct addrinfo *){NULL}),
                     EAI_AGAIN);
}

static void addresses_and_names_of_files_need_nothing(void **state)
{
    assert_true(names_know_host("10.0.0.1"));
    assert_true(names_know_host("fd00::1"));
    assert_true(names_know_host("localhost"));
    assert_false(names_know_host(MISSING));
}

enum ask { GETPWNAM, GETPWUID, GETGRNAM, GETGRGID, GETPWNAM_R, GETPWUID_R };
enum answer { FOUND, UNKNOWN, LEFT };

/* LEFT: the look-up needed shared libraries. */
static enum answer look_up(enum ask how, bool missing)
{
    struct passwd entry, *found = &entry;
    char buf[4096];
    const char *name = missing ? MISSING : "root";
    uid_t uid = missing ? UINT32_MAX - 7 : 0;
    bool is_found = false;

    if (setjmp(left))
        return LEFT;
    switch (how) {
    case GETPWNAM:
        is_found = getpwnam(name) != NULL;
        break;
    case GETPWUID:
        is_found = getpwuid(uid) != NULL;
        break;
    case GETGRNAM:
        is_found = getgrnam(name) != NULL;
        break;
    case GETGRGID:
        is_found = getgrgid(uid) != NULL;
        break;
    case GETPWNAM_R:
        is_found = getpwnam_r(name, &entry, buf, sizeof(buf), &found) == 0 && found;
        break;
    case GETPWUID_R:
        is_found = getpwuid_r(uid, &entry, buf, sizeof(buf), &found) == 0 && found;
        break;
    }
    return is_found ? FOUND : UNKNOWN;
}

static void users_that_are_in_no_file_need_libraries(void **state)
{
    for (enum ask how = GETPWNAM; how <= GETPWUID_R; how++) {
        assert_int_equal(look_up(how, false), FOUND);
        assert_int_equal(look_up(how, true), LEFT);
    }
}

/* Also if the buffer is too small. */
static void names_are_unknown_after_the_first_request(void **state)
{
    struct passwd entry, *found = &entry;
    char buf[1];

    names_forbid_leaving();
    for (enum ask how = GETPWNAM; how <= GETPWUID_R; how++) {
        assert_int_equal(look_up(how, false), FOUND);
        assert_int_equal(look_up(how, true), UNKNOWN);
    }
    assert_int_equal(getpwuid_r(0, &entry, buf, sizeof(buf), &found), 0);
    assert_null(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(getent_resolves_a_host, make_directory, remove_directory),
        cmocka_unit_test(addresses_and_names_of_files_need_nothing),
        cmocka_unit_test(users_that_are_in_no_file_need_libraries),
        cmocka_unit_test(names_are_unknown_after_the_first_request),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
