/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Limits the number of connections, per user and per address. Distinguishable callers never shut
 * each other out: a user gets at most as many connections as are left for all other users, so one
 * is always left. A new connection of a user closes that user's longest idle one; busy connections
 * stay open. Unauthenticated callers can only be distinguished by address; a new one closes the
 * oldest one. A well-behaved caller authenticates within one or two turns of the loop, long before
 * it is the oldest.
 */
#include <string.h>
#include <sys/resource.h>

#include <utlist.h>

#include "base/mem.h"
#include "rpc/server_priv.h"

#define DESCRIPTORS_MIN 64 /* basis of the shares if the limit of descriptors is lower */

static unsigned min_unsigned(uint64_t a, uint64_t b)
{
    return (unsigned)(a < b ? a : b);
}

void rpc_quota_init(struct rpc_server *s)
{
    struct rlimit l;
    uint64_t have = UINT64_MAX;

    if (!getrlimit(RLIMIT_NOFILE, &l) && l.rlim_cur != RLIM_INFINITY)
        have = l.rlim_cur > DESCRIPTORS_MIN ? l.rlim_cur : DESCRIPTORS_MIN;
    s->users_max = min_unsigned(RPC_CONNECTIONS_MAX, have / 4);
    s->reserved = min_unsigned(RPC_CONNECTIONS_RESERVED, have / 16);
    s->strangers_max = min_unsigned(RPC_STRANGERS_MAX, have / 8);
    /* All sessions may come from a single address, which gets half. */
    if (s->strangers_max < 2 * s->opt.sessions)
        s->strangers_max = 2 * s->opt.sessions;
}

static unsigned count_left(unsigned max, unsigned taken)
{
    return max > taken ? max - taken : 0;
}

/* Peers. */

static struct rpc_peer *peer_get(struct rpc_peer **table, const struct rpc_peer_key *key)
{
    struct rpc_peer *p;

    HASH_FIND(hh, *table, key, sizeof(*key), p);
    if (!p) {
        p = mem_new(struct rpc_peer);
        p->key = *key;
        HASH_ADD(hh, *table, key, sizeof(p->key), p);
    }
    p->refs++;
    return p;
}

static void peer_put(struct rpc_peer **table, struct rpc_peer *p)
{
    if (!p || --p->refs)
        return;
    HASH_DELETE(hh, *table, p);
    free(p);
}

static struct rpc_peer *peer_of_user(struct rpc_server *s, uid_t uid)
{
    struct rpc_peer_key key;

    memset(&key, 0, sizeof(key));
    memcpy(key.bytes, &uid, sizeof(uid));
    return peer_get(&s->users, &key);
}

/* Returns the peer of an address. A host can own the whole of 127.0.0.0/8, and a /64 of IPv6. */
static struct rpc_peer *peer_of_address(struct rpc_server *s, const struct rpc_addr *addr)
{
    struct rpc_peer_key key;

    memset(&key, 0, sizeof(key));
    key.family = addr->ss.ss_family;
    if (addr->ss.ss_family == AF_INET6) {
        memcpy(key.bytes, &((const struct sockaddr_in6 *)&addr->ss)->sin6_addr, 8);
    } else {
        memcpy(key.bytes, &((const struct sockaddr_in *)&addr->ss)->sin_addr, 4);
        if (key.bytes[0] == 127)
            memset(key.bytes + 1, 0, 3);
    }
    return peer_get(&s->addresses, &key);
}

/* Users. */

static const char *too_many(const struct rpc_server *s, const struct rpc_peer *p, unsigned roles)
{
    static const char all[] = "too many connections to this daemon; try again later";
    unsigned others = count_left(s->users_max, s->user_count);

    if (roles & (RPC_WHO_ADMIN | RPC_WHO_DAEMON))
        return s->user_count >= s->users_max + s->reserved ? all : NULL;
    if (others == 0)
        return all;
    if (p->connections >= RPC_CONNECTIONS_PER_PEER || p->connections >= others)
        return "too many connections of this caller; try again later";
    return NULL;
}

static bool is_idle(const struct rpc_caller *c)
{
    return c->conn && !c->open && !c->ended && rpc_conn_is_quiet(c->conn);
}

/* Closes the user's longest idle connection. A command that later reuses it sees the close, and
   connects again. */
static bool close_idle(struct rpc_server *s, struct rpc_peer *p)
{
    struct rpc_caller *c;

    DL_FOREACH2(p->served, c, served_next)
    if (is_idle(c))
        break;
    if (!c)
        return false;
    _cleanup_free_ char *who = mem_strdup(c->text);
    rpc_caller_free(c);
    rpc_server_refused(s, who, "closed for a newer connection of its user: it was idle longest");
    return true;
}

static int count_user(struct rpc_caller *c, unsigned roles, struct err *err)
{
    struct rpc_server *s = c->server;
    const char *why = too_many(s, c->user, roles);

    if (why && !close_idle(s, c->user))
        return err_set(err, -ERR_BUSY, "%s", why);
    c->user->connections++;
    s->user_count++;
    c->counted = true;
    return 0;
}

static void unlist_caller(struct rpc_caller *c)
{
    if (c->listed)
        DL_DELETE2(c->user->served, c, served_prev, served_next);
    c->listed = false;
}

void rpc_quota_used(struct rpc_caller *c)
{
    if (!c->counted)
        return;
    unlist_caller(c);
    DL_APPEND2(c->user->served, c, served_prev, served_next);
    c->listed = true;
}

int rpc_quota_local(struct rpc_caller *c, struct err *err)
{
    int rc;

    c->user = peer_of_user(c->server, c->who.uid);
    rc = count_user(c, c->roles, err);
    if (rc < 0)
        peer_put(&c->server->users, take_ptr(c->user));
    return rc;
}

void rpc_quota_payer(struct rpc_caller *c, uid_t uid)
{
    bool trusted = c->local && c->roles & (RPC_WHO_ADMIN | RPC_WHO_DAEMON);

    if (!c->user)
        c->user = peer_of_user(c->server, uid);
    rpc_quota_used(c);
    rpc_conn_share(c->conn, trusted ? NULL : &c->user->share);
}

/* Strangers. */

/* Returns the oldest unauthenticated caller of the busiest address; NULL: there is none. */
static struct rpc_caller *oldest_stranger(struct rpc_server *s)
{
    struct rpc_peer *busiest = s->addresses;

    for (struct rpc_peer *p = s->addresses; p; p = p->hh.next)
        if (p->connections > busiest->connections)
            busiest = p;
    return busiest ? busiest->strangers : NULL;
}

static void give_way(struct rpc_caller *c)
{
    _cleanup_free_ char *who = mem_strdup(c->text);
    struct rpc_server *s = c->server;

    rpc_caller_free(c);
    rpc_server_refused(s, who, "closed for newer connections: it has not said who it is");
}

bool rpc_quota_make_way(struct rpc_server *s)
{
    struct rpc_caller *c = oldest_stranger(s);

    if (c)
        give_way(c);
    return c != NULL;
}

void rpc_quota_stranger(struct rpc_caller *c, const struct rpc_addr *addr)
{
    struct rpc_server *s = c->server;
    struct rpc_peer *p = peer_of_address(s, addr);
    unsigned others = count_left(s->strangers_max, s->stranger_count);

    if (p->connections && p->connections >= others)
        give_way(p->strangers);
    else if (others == 0)
        rpc_quota_make_way(s);
    c->address = p;
    p->connections++;
    s->stranger_count++;
    DL_APPEND2(p->strangers, c, stranger_prev, stranger_next);
    rpc_conn_share(c->conn, &p->share);
    rpc_conn_expire(c->conn, RPC_STRANGER_TIMEOUT_MS);
}

static void release_stranger(struct rpc_caller *c)
{
    struct rpc_peer *p = c->address;

    if (!p)
        return;
    DL_DELETE2(p->strangers, c, stranger_prev, stranger_next);
    p->connections--;
    c->server->stranger_count--;
    peer_put(&c->server->addresses, take_ptr(c->address));
}

int rpc_quota_user(struct rpc_caller *c, unsigned roles, struct err *err)
{
    int rc;

    if (c->counted)
        return 0;
    rc = count_user(c, roles, err);
    if (rc < 0)
        return rc;
    release_stranger(c);
    rpc_quota_used(c);
    return 0;
}

void rpc_quota_session(struct rpc_caller *c)
{
    release_stranger(c);
}

void rpc_quota_leave(struct rpc_caller *c)
{
    release_stranger(c);
    unlist_caller(c);
    if (c->counted) {
        c->user->connections--;
        c->server->user_count--;
    }
    peer_put(&c->server->users, take_ptr(c->user));
}
