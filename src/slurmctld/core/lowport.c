/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmctld/core/lowport.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOW 1024
#define BIND (1u << CAP_NET_BIND_SERVICE)

static int fail_lowport(struct err *err, int e)
{
    return err_set(err, -e, "the right to listen on a port below %d cannot be kept: %s", LOW,
                   strerror(e));
}

int lowport_keep(const struct conf *conf, struct err *err)
{
    if (conf->slurmctld_port >= LOW || !prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
        return 0;
    return fail_lowport(err, errno);
}

int lowport_hold(const struct conf *conf, struct err *err)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{.effective = BIND, .permitted = BIND}};
    if (conf->slurmctld_port >= LOW || !syscall(SYS_capset, &head, data))
        return 0;
    return fail_lowport(err, errno);
}

void lowport_hand_on(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    if (geteuid() == 0 || syscall(SYS_capget, &head, data) || !(data[0].permitted & BIND))
        return;
    data[0].inheritable |= BIND;
    /* Otherwise the new process reports that it cannot listen. */
    if (!syscall(SYS_capset, &head, data))
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_BIND_SERVICE, 0, 0);
}

void lowport_begun(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (syscall(SYS_capget, &head, data) || !(data[0].inheritable & BIND))
        return;
    data[0].inheritable &= ~BIND; /* dropping capabilities is always allowed */
    syscall(SYS_capset, &head, data);
}
