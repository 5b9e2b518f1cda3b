/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A display's name, and the cookie that its authority file has for it. No file is opened here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/err.h"
#include "base/str.h"

#define XAUTH_NAME "MIT-MAGIC-COOKIE-1"
#define XAUTH_COOKIE_MAX 64

struct xauth_display {
    struct sockaddr_storage addr[2]; /* to be tried in order */
    socklen_t addr_len[2];
    unsigned addr_count;
    unsigned number, screen;
    bool local; /* this host's, whatever way it is reached */
};

/* Of $DISPLAY: ":0", "unix:0.1", "HOST:10.0", or the path of a socket. Asks the resolver about
 * HOST. */
int xauth_parse_display(const char *name, struct xauth_display *out, struct err *err);

struct xauth_cookie {
    uint8_t data[XAUTH_COOKIE_MAX];
    size_t len; /* 0: none */
};

/* The first entry for the display of an authority file's text; 'host' is our own name. False: there
 * is none; a file that is damaged ends where it is. */
bool xauth_find(const void *text, size_t len, const struct xauth_display *d, const char *host,
                struct xauth_cookie *out);

enum xauth_check { XAUTH_MORE, XAUTH_GOOD, XAUTH_BAD };

/* The first message of an X client, as far as it is there: whether it shows the cookie 'shown';
 * then 'real' is put in its place. */
enum xauth_check xauth_replace(struct str *head, const uint8_t *shown, size_t shown_len,
                               const struct xauth_cookie *real);
