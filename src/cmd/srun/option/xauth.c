/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/option/xauth.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define DISPLAYS_MOST 59535 /* the highest display number with a TCP port */
#define PORT_OF_DISPLAY_0 6000
#define SOCKETS "/tmp/.X11-unix/X"

enum { FAMILY_INTERNET = 0, FAMILY_INTERNET6 = 6, FAMILY_LOCAL = 256, FAMILY_WILD = 65535 };

static void add_path(struct xauth_display *d, bool abstract, const char *path)
{
    struct sockaddr_un *un = (struct sockaddr_un *)&d->addr[d->addr_count];
    size_t len = strlen(path);

    if (len + 1 >= sizeof(un->sun_path))
        return;
    memset(un, 0, sizeof(*un));
    un->sun_family = AF_UNIX;
    memcpy(un->sun_path + abstract, path, len);
    /* Includes the zero byte before an abstract name, or after another one. */
    d->addr_len[d->addr_count++] = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
}

static bool is_loopback(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 24 == 127;
    return a->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

static int add_host(struct xauth_display *d, const char *host, struct err *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_family = AF_UNSPEC}, *list;
    char port[8];
    int rc;

    snprintf(port, sizeof(port), "%u", PORT_OF_DISPLAY_0 + d->number);
    rc = getaddrinfo(host, port, &hints, &list);
    if (rc != 0)
        return err_set(err, -ERR_CONNECT, "DISPLAY: host %s: %s", host, gai_strerror(rc));
    d->local = is_loopback(list->ai_addr);
    for (struct addrinfo *a = list; a != NULL && d->addr_count < 2; a = a->ai_next) {
        memcpy(&d->addr[d->addr_count], a->ai_addr, a->ai_addrlen);
        d->addr_len[d->addr_count++] = a->ai_addrlen;
    }
    freeaddrinfo(list);
    return 0;
}

/* Parses "10" or "10.1" at the end of the name. */
static bool parse_numbers(const char *text, struct xauth_display *out)
{
    _cleanup_free_ char *number = mem_strndup(text, strcspn(text, "."));
    const char *dot = strchr(text, '.');
    long long n, screen = 0;

    if (str_parse_i64(number, 0, DISPLAYS_MOST, &n) < 0 ||
        (dot != NULL && str_parse_i64(dot + 1, 0, 255, &screen) < 0))
        return false;
    out->number = (unsigned)n;
    out->screen = (unsigned)screen;
    return true;
}

int xauth_parse_display(const char *name, struct xauth_display *out, struct err *err)
{
    const char *colon = strrchr(name, ':');
    _cleanup_free_ char *host = colon != NULL ? mem_strndup(name, (size_t)(colon - name)) : NULL;
    _cleanup_free_ char *path = NULL;

    *out = (struct xauth_display){0};
    if (host != NULL && str_starts(host, "unix:/")) { /* the long form of a path */
        memmove(host, host + strlen("unix:"), strlen(host) - strlen("unix:") + 1);
        name += strlen("unix:");
    }
    if (colon == NULL || !parse_numbers(colon + 1, out))
        return err_set(err, -ERR_PARSE, "DISPLAY=%s is not of the form HOST:NUMBER.SCREEN", name);
    assert(host != NULL);
    if (*host == '/') {
        out->local = true;
        add_path(out, false, name); /* some file names include the display number */
        add_path(out, false, host);
        return 0;
    }
    if (*host != '\0' && strcmp(host, "unix") != 0)
        return add_host(out, host, err);
    out->local = true;
    path = mem_printf(SOCKETS "%u", out->number);
    /* Only its owner can create a file; anyone can create the abstract name. */
    add_path(out, false, path);
    add_path(out, true, path);
    return 0;
}

/* --- the authority file: entries of a family and four counted strings */

struct reader {
    const uint8_t *at;
    size_t left;
};

static bool read_u16(struct reader *r, unsigned *out)
{
    if (r->left < 2)
        return false;
    *out = (unsigned)r->at[0] << 8 | r->at[1];
    r->at += 2;
    r->left -= 2;
    return true;
}

struct bytes {
    const uint8_t *data;
    size_t len;
};

static bool read_counted(struct reader *r, struct bytes *out)
{
    unsigned len;

    if (!read_u16(r, &len) || r->left < len)
        return false;
    *out = (struct bytes){r->at, len};
    r->at += len;
    r->left -= len;
    return true;
}

static bool is_text(const struct bytes *b, const char *text)
{
    return b->len == strlen(text) && (b->len == 0 || memcmp(b->data, text, b->len) == 0);
}

static bool is_address(unsigned family, const struct bytes *b, const struct sockaddr_storage *a)
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)a;
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)a;

    if (family == FAMILY_INTERNET && a->ss_family == AF_INET)
        return b->len == 4 && memcmp(b->data, &in->sin_addr, 4) == 0;
    return family == FAMILY_INTERNET6 && a->ss_family == AF_INET6 && b->len == 16 &&
           memcmp(b->data, &in6->sin6_addr, 16) == 0;
}

static bool is_of_host(unsigned family, const struct bytes *address, const struct xauth_display *d,
                       const char *host)
{
    if (family == FAMILY_WILD || (family == FAMILY_LOCAL && d->local && is_text(address, host)))
        return true;
    for (unsigned i = 0; i < d->addr_count; i++)
        if (is_address(family, address, &d->addr[i]))
            return true;
    return false;
}

bool xauth_find(const void *text, size_t len, const struct xauth_display *d, const char *host,
                struct xauth_cookie *out)
{
    struct reader r = {text, len};
    struct bytes address, number, name, data;
    unsigned family;
    char own[12];

    snprintf(own, sizeof(own), "%u", d->number);
    while (read_u16(&r, &family) && read_counted(&r, &address) && read_counted(&r, &number) &&
           read_counted(&r, &name) && read_counted(&r, &data)) {
        if ((number.len > 0 && !is_text(&number, own)) || !is_text(&name, XAUTH_NAME) ||
            data.len > sizeof(out->data) || !is_of_host(family, &address, d, host))
            continue;
        if (data.len > 0)
            memcpy(out->data, data.data, data.len);
        out->len = data.len;
        return true;
    }
    out->len = 0;
    return false;
}

/* --- the first message of a client: order, version, lengths; a name and a cookie, padded to 4 */

#define HEAD 12

static size_t pad_length(size_t len)
{
    return (len + 3) & ~(size_t)3;
}

static unsigned get_u16(const uint8_t *at, bool big)
{
    return big ? (unsigned)at[0] << 8 | at[1] : (unsigned)at[1] << 8 | at[0];
}

static void put_u16(uint8_t *at, bool big, size_t value)
{
    at[big ? 0 : 1] = (uint8_t)(value >> 8);
    at[big ? 1 : 0] = (uint8_t)value;
}

/* Takes the same time for all inputs of this length. */
static bool is_same(const uint8_t *a, const uint8_t *b, size_t len)
{
    uint8_t differ = 0;

    for (size_t i = 0; i < len; i++)
        differ |= a[i] ^ b[i];
    return differ == 0;
}

static void put_padded(struct str *out, const void *data, size_t len)
{
    str_append(out, data, len);
    str_append(out, "\0\0\0", pad_length(len) - len);
}

enum xauth_check xauth_replace(struct str *head, const uint8_t *shown, size_t shown_len,
                               const struct xauth_cookie *real)
{
    const uint8_t *at = (const uint8_t *)head->data;
    size_t name_len, data_len, whole, name_out = real->len > 0 ? strlen(XAUTH_NAME) : 0;
    struct str made = STR_INIT;
    bool big;

    if (head->len < HEAD)
        return XAUTH_MORE;
    big = at[0] == 'B';
    name_len = get_u16(at + 6, big);
    data_len = get_u16(at + 8, big);
    whole = HEAD + pad_length(name_len) + pad_length(data_len);
    if ((!big && at[0] != 'l') || name_len != strlen(XAUTH_NAME) || data_len != shown_len)
        return XAUTH_BAD;
    if (head->len < whole)
        return XAUTH_MORE;
    if (memcmp(at + HEAD, XAUTH_NAME, name_len) != 0 ||
        !is_same(at + HEAD + pad_length(name_len), shown, shown_len))
        return XAUTH_BAD;
    str_append(&made, at, HEAD);
    put_u16((uint8_t *)made.data + 6, big, name_out);
    put_u16((uint8_t *)made.data + 8, big, real->len);
    put_padded(&made, XAUTH_NAME, name_out);
    put_padded(&made, real->data, real->len);
    str_append(&made, at + whole, head->len - whole);
    str_done(head);
    *head = made;
    return XAUTH_GOOD;
}
