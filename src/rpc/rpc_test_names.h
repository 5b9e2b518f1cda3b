/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A name service for a test program that replaces the system's: it resolves numeric addresses and
 * "two", which has two addresses. Packets to the first address, 127.0.0.3, can be dropped. Include
 * after rpc_test_util.h.
 */
#pragma once

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#define NAME_WITH_TWO "two"

static struct addrinfo *name_entry(const char *number, const char *service, struct addrinfo *next)
{
    struct sockaddr_in *in = calloc(1, sizeof(*in));
    struct addrinfo *a = calloc(1, sizeof(*a));

    in->sin_family = AF_INET;
    in->sin_port = htons((uint16_t)atoi(service));
    if (inet_pton(AF_INET, number, &in->sin_addr) != 1) {
        free(in);
        free(a);
        return NULL;
    }
    a->ai_family = AF_INET;
    a->ai_socktype = SOCK_STREAM;
    a->ai_addr = (struct sockaddr *)in;
    a->ai_addrlen = sizeof(*in);
    a->ai_next = next;
    return a;
}

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                struct addrinfo **out)
{
    bool two = host && strcmp(host, NAME_WITH_TWO) == 0;

    if (two && hints->ai_flags & AI_NUMERICHOST)
        return EAI_NONAME;
    if (two)
        *out = name_entry("127.0.0.3", service, name_entry("127.0.0.1", service, NULL));
    else
        *out = name_entry(host ? host : "0.0.0.0", service, NULL);
    return *out ? 0 : EAI_NONAME;
}

void freeaddrinfo(struct addrinfo *list)
{
    while (list) {
        struct addrinfo *next = list->ai_next;
        free(list->ai_addr);
        free(list);
        list = next;
    }
}

/* A listener that accepts no connections and whose queue is full, so that the kernel does not
   answer. */
struct vanishing {
    int listener, filler;
};

static struct vanishing vanish_begin(int port)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct vanishing v = {socket(AF_INET, SOCK_STREAM, 0), socket(AF_INET, SOCK_STREAM, 0)};

    inet_pton(AF_INET, "127.0.0.3", &in.sin_addr);
    assert_int_equal(bind(v.listener, (struct sockaddr *)&in, sizeof(in)), 0);
    assert_int_equal(listen(v.listener, 0), 0);
    assert_int_equal(connect(v.filler, (struct sockaddr *)&in, sizeof(in)), 0);
    return v;
}

static void vanish_end(struct vanishing *v)
{
    close(v->filler);
    close(v->listener);
}
