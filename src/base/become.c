/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/become.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"

#define BIT(capability) (UINT64_C(1) << (capability))

/* Files of users and of the spool; processes of users; the kernel's control groups, mounts and
 * namespaces; limits and priorities; a port below 1024; memory locked by -M. */
#define NEEDED                                                                                     \
    (BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_FOWNER) |         \
     BIT(CAP_FSETID) | BIT(CAP_KILL) | BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_SYS_PTRACE) |   \
     BIT(CAP_SYS_ADMIN) | BIT(CAP_SYS_CHROOT) | BIT(CAP_SYS_RESOURCE) | BIT(CAP_SYS_NICE) |        \
     BIT(CAP_NET_BIND_SERVICE) | BIT(CAP_IPC_LOCK))

static int fail_become(struct err *err, const char *what, uid_t uid)
{
    return err_set(err, -EPERM, "cannot become user %u: %s", (unsigned)uid, what);
}

/* Whether the supplementary groups are the given ones; the kernel sorts them and may add the
   primary group. */
static bool groups_hold(gid_t gid, const gid_t *groups, size_t count)
{
    gid_t few[BECOME_GROUPS_FEW];
    int n = getgroups(0, NULL);
    gid_t *have = n <= BECOME_GROUPS_FEW ? few : mem_new_array(gid_t, (size_t)n);
    bool same = n >= 0 && getgroups(n, have) == n;

    for (int i = 0; same && i < n; i++) {
        bool known = have[i] == gid;

        for (size_t j = 0; j < count && !known; j++)
            known = groups[j] == have[i];
        same = known;
    }
    if (have != few)
        free(have);
    return same;
}

static bool without_capabilities(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};

    if (syscall(SYS_capget, &head, data))
        return false;
    return !data[0].effective && !data[1].effective && !data[0].permitted && !data[1].permitted;
}

static int verify_ids(uid_t uid, gid_t gid, struct err *err)
{
    uid_t ru, eu, su;
    gid_t rg, eg, sg;

    if (getresuid(&ru, &eu, &su) || ru != uid || eu != uid || su != uid)
        return fail_become(err, "the user ids were not taken over", uid);
    if (getresgid(&rg, &eg, &sg) || rg != gid || eg != gid || sg != gid)
        return fail_become(err, "the group ids were not taken over", uid);
    return 0;
}

int become_user(uid_t uid, gid_t gid, const gid_t *groups, size_t count, struct err *err)
{
    int rc;

    if (geteuid() != 0) {
        if (uid != geteuid())
            return fail_become(err, "this process does not run as root", uid);
        return verify_ids(uid, getegid(), err);
    }
    if (setgroups(count, groups))
        return fail_become(err, strerror(errno), uid);
    if (setresgid(gid, gid, gid))
        return fail_become(err, strerror(errno), uid);
    if (setresuid(uid, uid, uid))
        return fail_become(err, strerror(errno), uid);
    rc = verify_ids(uid, gid, err);
    if (rc)
        return rc;
    if (!groups_hold(gid, groups, count))
        return fail_become(err, "the supplementary groups were not taken over", uid);
    if (uid != 0 && !without_capabilities())
        return fail_become(err, "capabilities are left", uid);
    return 0;
}

int become_limited(struct err *err)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};

    if (geteuid() != 0)
        return 0;
    if (syscall(SYS_capget, &head, data) == 0) {
        for (unsigned i = 0; i < 2; i++) {
            data[i].permitted &= (uint32_t)(NEEDED >> 32 * i);
            data[i].effective = data[i].permitted;
        }
        if (syscall(SYS_capset, &head, data) == 0)
            return 0;
    }
    return err_set(err, -errno, "cannot give up the capabilities that are not needed: %s",
                   strerror(errno));
}
