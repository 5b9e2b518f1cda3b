/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The cluster key: its file, and hashes, MACs, comparison and randomness with it.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "auth/auth.h"
#include "auth/secret.h"
#include "base/mem.h"
#include "base/path.h"

void auth_hash(const void *data, size_t len, uint8_t hash[AUTH_HASH_SIZE])
{
    auth_hash2(data, len, NULL, 0, hash);
}

void auth_mac(const struct auth_key *key, const void *data, size_t len, uint8_t mac[AUTH_MAC_SIZE])
{
    auth_mac2(key, data, len, NULL, 0, mac);
}

int auth_equal(const void *a, const void *b, size_t len)
{
    const volatile uint8_t *x = a, *y = b;
    unsigned diff = 0;

    for (size_t i = 0; i < len; i++)
        diff |= x[i] ^ y[i];
    return diff == 0;
}

void auth_random(void *out, size_t len)
{
    uint8_t *p = out;

    while (len) {
        ssize_t n = getrandom(p, len, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            abort(); /* a predictable nonce or key would be worse than no daemon */
        p += n;
        len -= (size_t)n;
    }
}

void auth_key_from_bytes(const void *secret, size_t len, struct auth_key *key)
{
    static const char label[] = "sluice mac key 1";

    auth_hash2(label, sizeof(label), secret, len, key->mac_key);
}

void auth_key_done(struct auth_key *key)
{
    mem_wipe(key, sizeof(*key));
}

/* Bytes; the minimum for HS256 (RFC 7518, section 3.2), and for the cluster key. */
#define KEY_MIN 32
#define KEY_NEW_SIZE 64

/* The checks of path_check_secret() on the open file, so that the checked file is the one that is
   read. */
static int check_open_secret(int fd, const char *path, uid_t owner, struct err *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err_set(err, -errno, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_set(err, -ERR_CONFIG, "%s: not a regular file", path);
    if (st.st_uid != owner && st.st_uid != 0)
        return err_set(err, -ERR_CONFIG,
                       "%s: owned by uid %u, must be owned by uid %u or root; run: chown %u %s",
                       path, (unsigned)st.st_uid, (unsigned)owner, (unsigned)owner, path);
    if (st.st_mode & 077)
        return err_set(err, -ERR_CONFIG, "%s: mode %04o lets others in; run: chmod 0600 %s", path,
                       (unsigned)(st.st_mode & 07777), path);
    return 0;
}

int auth_secret_read(const char *path, uid_t owner, void *out, size_t max, struct err *err)
{
    size_t len = 0;
    int rc;

    _cleanup_close_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ELOOP)
        return err_set(err, -ERR_CONFIG, "%s: a symbolic link; a secret must be a file", path);
    if (fd < 0 && errno == EACCES)
        return err_set(err, -EACCES,
                       "uid %u cannot read '%s': run 'chown %u %s' and 'chmod 0600 %s', or start "
                       "the daemon as root",
                       (unsigned)geteuid(), path, (unsigned)owner, path, path);
    if (fd < 0)
        return err_set(err, -errno, "%s: %s", path, strerror(errno));
    rc = check_open_secret(fd, path, owner, err);
    if (rc < 0)
        return rc;
    while (len < max) {
        ssize_t n = read(fd, (char *)out + len, max - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, -errno, "%s: %s", path, strerror(errno));
        if (n == 0)
            break;
        len += (size_t)n;
    }
    return (int)len;
}

int auth_secret_create(const char *path, uid_t owner, gid_t group, const void *data, size_t len,
                       struct err *err)
{
    int rc;

    _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set(err, -errno, "%s: %s", path, strerror(errno));
    /* Independent of the umask: exactly 0600, and owned by the daemon before the content is
       written. */
    if (fchmod(fd, 0600) < 0 ||
        ((owner != geteuid() || group != getegid()) && fchown(fd, owner, group) < 0)) {
        rc = err_set(err, -errno, "%s: %s", path, strerror(errno));
        unlink(path);
        return rc;
    }
    rc = path_write_all(fd, data, len);
    if (rc == 0 && fsync(fd) < 0)
        rc = -errno;
    if (rc < 0) {
        unlink(path);
        return err_set(err, rc, "%s: %s", path, err_text(rc));
    }
    return 0;
}

int auth_secret_read_key(const char *path, uid_t owner, uint8_t secret[AUTH_KEY_MAX + 1],
                         struct err *err)
{
    int len = auth_secret_read(path, owner, secret, AUTH_KEY_MAX + 1, err);

    if (len >= 0 && len < KEY_MIN)
        return err_set(err, -ERR_CONFIG,
                       "%s: %d bytes, a key has at least %d; make one with: " AUTH_KEY_COMMAND,
                       path, len, KEY_MIN, path);
    if (len > AUTH_KEY_MAX)
        return err_set(err, -ERR_TOO_BIG, "%s: a key has at most %d bytes", path, AUTH_KEY_MAX);
    return len;
}

int auth_key_load(const char *path, uid_t owner, struct auth_key *key, struct err *err)
{
    uint8_t secret[AUTH_KEY_MAX + 1];
    int len = auth_secret_read_key(path, owner, secret, err);

    if (len > 0)
        auth_key_from_bytes(secret, (size_t)len, key);
    mem_wipe(secret, sizeof(secret));
    return len < 0 ? len : 0;
}

int auth_key_create(const char *path, uid_t owner, gid_t group, struct err *err)
{
    uint8_t secret[KEY_NEW_SIZE];
    int rc;

    auth_random(secret, sizeof(secret));
    rc = auth_secret_create(path, owner, group, secret, sizeof(secret), err);
    mem_wipe(secret, sizeof(secret));
    return rc;
}
