/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/owner.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/proc.h"

#define LINES_MAX 1000000       /* of the kernel's table of connections */
#define DESCRIPTORS_MAX 1000000 /* per process */
#define ESTABLISHED 1

static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

int owner_end_of(const struct sockaddr_storage *sa, struct owner_end *out)
{
    struct sockaddr_in in;
    struct sockaddr_in6 in6;

    if (sa->ss_family == AF_INET) {
        memcpy(&in, sa, sizeof(in));
        memcpy(out->addr, mapped, sizeof(mapped));
        memcpy(out->addr + sizeof(mapped), &in.sin_addr, 4);
        out->port = ntohs(in.sin_port);
        return 0;
    }
    if (sa->ss_family != AF_INET6)
        return -EAFNOSUPPORT;
    memcpy(&in6, sa, sizeof(in6));
    memcpy(out->addr, &in6.sin6_addr, 16);
    out->port = ntohs(in6.sin6_port);
    return 0;
}

void owner_end_pack(const struct owner_end *end, uint8_t out[OWNER_END_SIZE])
{
    memcpy(out, end->addr, 16);
    out[16] = (uint8_t)(end->port >> 8);
    out[17] = (uint8_t)(end->port & 0xff);
}

void owner_end_unpack(const uint8_t in[OWNER_END_SIZE], struct owner_end *out)
{
    memcpy(out->addr, in, 16);
    out->port = (uint16_t)(in[16] << 8 | in[17]);
}

/* Parses "0100007F:0016": words of the address in this machine's byte order. */
static const char *parse_end(const char *at, struct owner_end *out)
{
    size_t digits = strspn(at, "0123456789ABCDEFabcdef"), words = digits / 8;
    uint8_t *to = out->addr;
    unsigned port;
    int used = 0;

    if ((digits != 8 && digits != 32) || at[digits] != ':')
        return NULL;
    if (words == 1) {
        memcpy(to, mapped, sizeof(mapped));
        to += sizeof(mapped);
    }
    for (size_t i = 0; i < words; i++) {
        char word[9] = {0};
        uint32_t value;

        memcpy(word, at + i * 8, 8);
        value = (uint32_t)strtoul(word, NULL, 16);
        memcpy(to + i * 4, &value, 4);
    }
    if (sscanf(at + digits, ":%4x%n", &port, &used) != 1)
        return NULL;
    out->port = (uint16_t)port;
    return at + digits + used;
}

bool owner_parse_line(const char *line, struct owner_end *local, struct owner_end *remote,
                      uid_t *uid, uint64_t *inode)
{
    const char *at = strchr(line, ':');
    unsigned state, user;

    if (!at)
        return false;
    at = parse_end(at + 1 + strspn(at + 1, " "), local);
    if (at)
        at = parse_end(at + strspn(at, " "), remote);
    if (!at || sscanf(at, " %x %*s %*s %*s %u %*s %" SCNu64, &state, &user, inode) != 3)
        return false;
    *uid = (uid_t)user;
    return state == ESTABLISHED && *inode;
}

static bool is_same_end(const struct owner_end *a, const struct owner_end *b)
{
    return a->port == b->port && !memcmp(a->addr, b->addr, sizeof(a->addr));
}

struct wanted {
    const struct owner_end *local, *remote;
    uid_t uid;
    char link[40]; /* path of one of its descriptors */
    pid_t pid;
};

static bool find_socket(const char *path, struct wanted *w)
{
    FILE *f = fopen(path, "re");
    char line[512];
    bool found = false;

    for (int i = 0; f && i < LINES_MAX && !found && fgets(line, sizeof(line), f); i++) {
        struct owner_end local, remote;
        uint64_t inode;
        uid_t uid;

        found = owner_parse_line(line, &local, &remote, &uid, &inode) && uid == w->uid &&
                is_same_end(&local, w->local) && is_same_end(&remote, w->remote);
        if (found)
            snprintf(w->link, sizeof(w->link), "socket:[%" PRIu64 "]", inode);
    }
    if (f)
        fclose(f);
    return found;
}

static int look_at(void *ctx, pid_t pid)
{
    struct wanted *w = ctx;
    struct dirent *entry;
    struct stat st;
    char path[64], link[64];
    DIR *d;

    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    if (stat(path, &st) || st.st_uid != w->uid)
        return 0;
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    d = opendir(path);
    for (int i = 0; d && i < DESCRIPTORS_MAX && !w->pid && (entry = readdir(d)); i++) {
        ssize_t n = readlinkat(dirfd(d), entry->d_name, link, sizeof(link) - 1);

        if (n < 0)
            continue;
        link[n] = '\0';
        if (!strcmp(link, w->link))
            w->pid = pid;
    }
    if (d)
        closedir(d);
    return w->pid != 0;
}

static bool find_in_tables(struct wanted *w)
{
    return find_socket("/proc/net/tcp", w) || find_socket("/proc/net/tcp6", w);
}

bool owner_has(const struct owner_end *local, const struct owner_end *remote, uid_t uid)
{
    struct wanted w = {.local = local, .remote = remote, .uid = uid};

    return find_in_tables(&w);
}

int owner_find(const struct owner_end *local, const struct owner_end *remote, uid_t uid, pid_t *pid)
{
    struct wanted w = {.local = local, .remote = remote, .uid = uid};

    if (!find_in_tables(&w))
        return -ENOENT;
    proc_each(look_at, &w);
    if (!w.pid)
        return -ENOENT;
    *pid = w.pid;
    return 0;
}
