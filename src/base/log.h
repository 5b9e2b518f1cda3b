/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The log of a daemon, to a file, syslog and stderr, each with its own level. Libraries never log:
 * this is for programs, and for the one place that handles a failure. Thread-safe; one write() per
 * line.
 *
 * A line:  [2026-11-21T04:30:00.123] error: room: text
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

enum log_level {
    LOG_LVL_QUIET,
    LOG_LVL_FATAL,
    LOG_LVL_ERROR,
    LOG_LVL_INFO,
    LOG_LVL_VERBOSE,
    LOG_LVL_DEBUG,
    LOG_LVL_DEBUG2,
    LOG_LVL_DEBUG3
};

#define LOG_LVL_UNSET UINT32_MAX /* not set in slurm.conf */

enum log_time { /* LogTimeFormat */
                LOG_TIME_ISO8601_MS,
                LOG_TIME_ISO8601,
                LOG_TIME_RFC5424_MS,
                LOG_TIME_RFC5424,
                LOG_TIME_RFC3339,
                LOG_TIME_CLOCK,
                LOG_TIME_SHORT,
                LOG_TIME_THREAD_ID
};

/* If stderr is systemd's journal (JOURNAL_STREAM), a line begins with its severity, "<3>". */
struct log_options {
    const char *program; /* "slurmctld": the prefix on stderr ("slurmctld: error: ...") and the
                            syslog ident */
    const char *file;    /* NULL: none; opened for append, a new file with mode 0600 */
    enum log_level file_level;
    enum log_level stderr_level;
    enum log_level syslog_level;
    enum log_time time; /* time format of lines in the file */
    /* NULL, or receives each line as well, without time and severity: used by a helper that passes
       them on. */
    void (*sink)(enum log_level level, const char *room, const char *text);
    enum log_level sink_level;
};

/* Opens the log, or reopens it. Returns 0, or -errno of the file; then the old log stays in use. */
int log_open(const struct log_options *options);
void log_close(void);
/* A second file for decisions of the scheduler (SlurmSchedLogFile), whose lines have no level.
 * Opens or reopens it; NULL: closes it. Returns 0 or -errno, as log_open(). */
int log_open_sched(const char *file);
bool log_has_sched(void); /* whether the second file is open */
void log_write_sched(const char *text);
void log_set_stderr(
    enum log_level level); /* LOG_LVL_QUIET: used when the daemon detaches from its terminal */
/* Returns the level of syslog: as given, or its default if slurm.conf has none. */
enum log_level log_syslog_level(uint32_t given, bool file, bool foreground, enum log_level level);
/* Parses a comma-separated list, whose last known word is used; default LOG_TIME_ISO8601_MS. */
enum log_time log_parse_time(const char *words);
int log_parse_level(const char *word); /* "debug2", "info", "5"...; negative if unknown */
bool log_wants(enum log_level level);

void log_write(enum log_level level, const char *room, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* A file defines LOG_ROOM, for example "control", before including this header. */
#define log_error(...) log_write(LOG_LVL_ERROR, LOG_ROOM, __VA_ARGS__)
#define log_info(...) log_write(LOG_LVL_INFO, LOG_ROOM, __VA_ARGS__)
#define log_verbose(...) log_write(LOG_LVL_VERBOSE, LOG_ROOM, __VA_ARGS__)
#define log_debug(...)                                                                             \
    (log_wants(LOG_LVL_DEBUG) ? log_write(LOG_LVL_DEBUG, LOG_ROOM, __VA_ARGS__) : (void)0)

/* At most 'burst' lines per minute for events that a user can cause (invalid frames, refusals);
 * counts the dropped lines. */
struct log_limit {
    long minute;
    unsigned count, burst;
};
bool log_allow(struct log_limit *limit);

/* The same limit per source of such events, so that lines about one user do not hide those about
 * another. A source is a uid, or log_source() of a peer. In one minute, sources beyond LOG_SOURCES
 * share one count. */
#define LOG_SOURCES 64
struct log_limits {
    unsigned burst;
    long minute;
    unsigned len;
    struct log_source_count {
        uint64_t source;
        unsigned count;
    } of[LOG_SOURCES + 1];
};
struct log_left_out {
    unsigned lines, sources; /* number of dropped lines, and of their sources */
};
/* Pure. At the beginning of a new minute, *out has the number of lines dropped in the previous
   one; otherwise zeros. */
bool log_limits_allow(struct log_limits *limits, uint64_t source, long minute,
                      struct log_left_out *out);
bool log_allow_source(struct log_limits *limits, uint64_t source);
/* "10.0.0.1:4711": the address with any port; "local uid 1000" */
uint64_t log_source(const char *peer);
