/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The daemons' log, to a file, syslog and stderr, each with its own level. Libraries never log:
 * this is for the programs and for the one place that handles a failure. Thread-safe; one write()
 * per line.
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

#define LOG_LVL_UNSET UINT32_MAX /* a level that slurm.conf does not give */

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

/* Where stderr is systemd's journal (JOURNAL_STREAM), a line begins with its severity, "<3>". */
struct log_options {
    const char *program; /* "slurmctld": the prefix on stderr ("slurmctld: error: ...") and the
                            syslog ident */
    const char *file;    /* NULL: none; opened for append, 0600 for a new file */
    enum log_level file_level;
    enum log_level stderr_level;
    enum log_level syslog_level;
    enum log_time time; /* of lines in the file */
    /* NULL, or each line without time and severity goes here too: a helper hands them on. */
    void (*sink)(enum log_level level, const char *room, const char *text);
    enum log_level sink_level;
};

/* Opens or, called again, reopens. Returns 0 or -errno of the file, in which case the old log stays
 * in use. */
int log_open(const struct log_options *options);
void log_close(void);
/* A second file, for what the scheduler decides (SlurmSchedLogFile): its lines have no level. Opens
 * or, called again, reopens; NULL: no file any longer. Returns 0 or -errno, as log_open(). */
int log_open_sched(const char *file);
bool log_has_sched(void); /* whether a second file is open */
void log_write_sched(const char *text);
void log_set_stderr(
    enum log_level level); /* when the daemon lets go of its terminal: LOG_LVL_QUIET */
/* The level of syslog: as given, or what it is without a word of slurm.conf. */
enum log_level log_syslog_level(uint32_t given, bool file, bool foreground, enum log_level level);
/* A comma list, of which the last known word counts; LOG_TIME_ISO8601_MS without one. */
enum log_time log_parse_time(const char *words);
int log_parse_level(const char *word); /* "debug2", "info", "5"...; negative when unknown */
bool log_wants(enum log_level level);

void log_write(enum log_level level, const char *room, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* A file says  #define LOG_ROOM "control"  before including this. */
#define log_error(...) log_write(LOG_LVL_ERROR, LOG_ROOM, __VA_ARGS__)
#define log_info(...) log_write(LOG_LVL_INFO, LOG_ROOM, __VA_ARGS__)
#define log_verbose(...) log_write(LOG_LVL_VERBOSE, LOG_ROOM, __VA_ARGS__)
#define log_debug(...)                                                                             \
    (log_wants(LOG_LVL_DEBUG) ? log_write(LOG_LVL_DEBUG, LOG_ROOM, __VA_ARGS__) : (void)0)

/* At most 'burst' lines a minute for events that a user can cause (bad frames, refusals); counts
 * what it drops. */
struct log_limit {
    long minute;
    unsigned count, burst;
};
bool log_allow(struct log_limit *limit);

/* The same limit for each source of such events, so that the lines about one user do not hide those
 * about another. A source is a uid, or log_source() of a peer. The sources of a minute beyond
 * LOG_SOURCES share one count. */
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
    unsigned lines, sources; /* lines that were not allowed, and how many sources they had */
};
/* Pure. When a new minute begins, *out has what was left out of the one before; else zeroes. */
bool log_limits_allow(struct log_limits *limits, uint64_t source, long minute,
                      struct log_left_out *out);
bool log_allow_source(struct log_limits *limits, uint64_t source);
uint64_t log_source(const char *peer); /* "10.0.0.1:4711": of any port; "local uid 1000" */
