/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The name of an X display, and its cookie in an authority file. These functions open no file. */
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
    struct sockaddr_storage addr[2]; /* tried in this order */
    socklen_t addr_len[2];
    unsigned addr_count;
    unsigned number, screen;
    bool local; /* on this host, however it is reached */
};

/* Parses $DISPLAY: ":0", "unix:0.1", "HOST:10.0", or the path of a socket. HOST is looked up by the
 * resolver. */
int xauth_parse_display(const char *name, struct xauth_display *out, struct err *err);

struct xauth_cookie {
    uint8_t data[XAUTH_COOKIE_MAX];
    size_t len; /* 0: none */
};

/* Finds the first entry for the display in an authority file's text; 'host' is this host's name.
 * False: there is none; a damaged file is read up to the damage. */
bool xauth_find(const void *text, size_t len, const struct xauth_display *d, const char *host,
                struct xauth_cookie *out);

enum xauth_check { XAUTH_MORE, XAUTH_GOOD, XAUTH_BAD };

/* Checks the first message of an X client, as far as it has arrived, for the cookie 'shown', and
 * replaces that cookie by 'real'. */
enum xauth_check xauth_replace(struct str *head, const uint8_t *shown, size_t shown_len,
                               const struct xauth_cookie *real);
