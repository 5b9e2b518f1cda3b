/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/task/batch_script.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"

/* Larger scripts may not fit on every file system. */
#define SCRIPT_SMALL (64u << 10) /* bytes */

/* Binary format of an access control list (linux/posix_acl_xattr.h), little-endian. */
#define ACL_NAME "system.posix_acl_access"
#define ACL_VERSION 2
#define ACL_NO_ID 0xffffffffu
enum { ACL_USER_OBJ = 1, ACL_USER = 2, ACL_GROUP_OBJ = 4, ACL_MASK = 16, ACL_OTHER = 32 };
enum { ACL_EXECUTE = 1, ACL_READ = 4 };

struct acl_entry {
    uint16_t tag, perm;
    uint32_t id;
};

static int write_failed(const struct step *step, size_t size, int error, struct err *err)
{
    bool is_large = (error == ENOSPC || error == EDQUOT) && size > SCRIPT_SMALL;

    unlink(step->script);
    return err_set(err, is_large ? -ERR_SPOOL_FULL : -ERR_NODE_FAULT,
                   "cannot write %s (%zu bytes): %s", step->script, size, strerror(error));
}

/* Lets the owner and this user read and execute the file, and no other user. */
static int grant_to_user(int fd, uid_t uid)
{
    const uint16_t read_execute = htole16(ACL_READ | ACL_EXECUTE);
    struct {
        uint32_t version;
        struct acl_entry entry[5];
    } acl = {htole32(ACL_VERSION),
             {{htole16(ACL_USER_OBJ), read_execute, ACL_NO_ID},
              {htole16(ACL_USER), read_execute, htole32(uid)},
              {htole16(ACL_GROUP_OBJ), 0, ACL_NO_ID},
              {htole16(ACL_MASK), read_execute, ACL_NO_ID},
              {htole16(ACL_OTHER), 0, ACL_NO_ID}}};

    return fsetxattr(fd, ACL_NAME, &acl, sizeof(acl), 0) ? -errno : 0;
}

static int give_to_user(const struct step *step, int fd)
{
    if (geteuid() != 0 || step->uid == 0 || !grant_to_user(fd, step->uid))
        return 0;
    /* No access control lists on this file system. */
    return fchown(fd, step->uid, step->gid) ? -errno : 0;
}

int batch_script_write(struct step *step, struct err *err)
{
    const Pb__JobPayload *payload = step->batch->payload;
    _cleanup_free_ char *dir = mem_printf("%s/job%05u", step->dir, step->job_id);
    _cleanup_close_ int dir_fd = -1, fd = -1;
    int rc;

    if (mkdir(dir, 0711) && errno != EEXIST)
        return err_set(err, -ERR_NODE_FAULT, "cannot make %s: %s", dir, strerror(errno));
    dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir_fd < 0 || (unlinkat(dir_fd, "slurm_script", 0) && errno != ENOENT))
        return err_set(err, -ERR_NODE_FAULT, "cannot use %s: %s", dir, strerror(errno));
    fd = openat(dir_fd, "slurm_script", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0500);
    if (fd < 0)
        return err_set(err, -ERR_NODE_FAULT, "cannot write %s/slurm_script: %s", dir,
                       strerror(errno));
    rc = path_write_all(fd, payload->script.data, payload->script.len);
    if (!rc)
        rc = give_to_user(step, fd);
    step->script = mem_printf("%s/slurm_script", dir);
    return rc ? write_failed(step, payload->script.len, -rc, err) : 0;
}

void batch_script_remove(struct step *step)
{
    char *slash;

    if (!step->script)
        return;
    unlink(step->script);
    slash = strrchr(step->script, '/');
    *slash = '\0';
    rmdir(step->script);
    free(take_ptr(step->script));
}
