/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/node/rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT(capability) (UINT64_C(1) << (capability))

/* Files of users and of the spool; processes of users; the kernel's control groups, mounts and
 * namespaces; limits and priorities; a low port; the memory that -M locks. */
#define NEEDED                                                                                     \
    (BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_FOWNER) |         \
     BIT(CAP_FSETID) | BIT(CAP_KILL) | BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_SYS_PTRACE) |   \
     BIT(CAP_SYS_ADMIN) | BIT(CAP_SYS_CHROOT) | BIT(CAP_SYS_RESOURCE) | BIT(CAP_SYS_NICE) |        \
     BIT(CAP_NET_BIND_SERVICE) | BIT(CAP_IPC_LOCK))

int rights_reduce(struct err *err)
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
    return err_set(err, -errno, "the capabilities that slurmd does not need cannot be given up: %s",
                   strerror(errno));
}
