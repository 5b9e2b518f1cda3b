/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/onehost.h"

#include "base/str.h"

const struct onehost_variable onehost_variables[ONEHOST_VARIABLES] = {
    {"OMPI_MCA_btl", "^vader,sm"}, {"OMPI_MCA_btl_tcp_if_include", "lo"}};

bool onehost_address(const char *addr)
{
    return addr &&
           (str_starts(addr, "127.") || str_eq(addr, "::1") || str_case_eq(addr, "localhost"));
}
