/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/signame.h"

#include <signal.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

static const struct {
    const char *name;
    int number;
} signals[] = {
    {"HUP", SIGHUP},       {"INT", SIGINT},   {"QUIT", SIGQUIT}, {"ILL", SIGILL},
    {"TRAP", SIGTRAP},     {"ABRT", SIGABRT}, {"IOT", SIGIOT},   {"BUS", SIGBUS},
    {"FPE", SIGFPE},       {"KILL", SIGKILL}, {"USR1", SIGUSR1}, {"SEGV", SIGSEGV},
    {"USR2", SIGUSR2},     {"PIPE", SIGPIPE}, {"ALRM", SIGALRM}, {"TERM", SIGTERM},
    {"STKFLT", SIGSTKFLT}, {"CHLD", SIGCHLD}, {"CONT", SIGCONT}, {"STOP", SIGSTOP},
    {"TSTP", SIGTSTP},     {"TTIN", SIGTTIN}, {"TTOU", SIGTTOU}, {"URG", SIGURG},
    {"XCPU", SIGXCPU},     {"XFSZ", SIGXFSZ}, {"PROF", SIGPROF}, {"VTALRM", SIGVTALRM},
    {"WINCH", SIGWINCH},   {"IO", SIGIO},     {"POLL", SIGPOLL}, {"PWR", SIGPWR},
    {"SYS", SIGSYS},
};

int signame_parse(const char *text)
{
    long long number;
    if (str_parse_i64(text, 0, SIGRTMAX, &number) == 0)
        return (int)number;
    if (!strncasecmp(text, "SIG", 3))
        text += 3;
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        if (!strcasecmp(text, signals[i].name))
            return signals[i].number;
    return -1;
}

const char *signame_format(int number)
{
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        if (signals[i].number == number)
            return signals[i].name;
    return "Unknown";
}
