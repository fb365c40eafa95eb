/* Dates, times and durations of RFC 3339. */
#include "schema/format.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Reads n digits at *at and advances. */
static bool number(Str s, size_t *at, size_t n, int *out) {
    int value = 0;
    if (s.n - *at < n) return false;
    for (size_t i = 0; i < n; i++) {
        if (!is_digit(s.at[*at + i])) return false;
        value = value * 10 + (s.at[*at + i] - '0');
    }
    return *at += n, *out = value, true;
}

static bool mark(Str s, size_t *at, char c) { return *at < s.n && s.at[*at] == c && (++*at, true); }

static int days_in(int year, int month) {
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : days[month - 1];
}

bool format_date(Str s) {
    size_t at = 0;
    int year, month, day;
    return number(s, &at, 4, &year) && mark(s, &at, '-') && number(s, &at, 2, &month) && mark(s, &at, '-') &&
           number(s, &at, 2, &day) && at == s.n && month >= 1 && month <= 12 && day >= 1 && day <= days_in(year, month);
}

/* Reads Z or +hh:mm at *at, to the end; *minutes is the offset east of UTC. */
static bool zone(Str s, size_t at, int *minutes) {
    *minutes = 0;
    if (at >= s.n) return false;
    if ((s.at[at] | 32) == 'z') return at + 1 == s.n;
    int sign = s.at[at] == '-' ? -1 : 1, hour, minute;
    if (s.at[at] != '+' && s.at[at] != '-') return false;
    at++;
    if (!number(s, &at, 2, &hour) || !mark(s, &at, ':') || !number(s, &at, 2, &minute)) return false;
    *minutes = sign * (hour * 60 + minute);
    return at == s.n && hour < 24 && minute < 60;
}

bool format_time(Str s) {
    enum { DAY = 24 * 60 };
    size_t at = 0;
    int hour, minute, second, offset;
    if (!number(s, &at, 2, &hour) || !mark(s, &at, ':') || !number(s, &at, 2, &minute) || !mark(s, &at, ':') ||
        !number(s, &at, 2, &second))
        return false;
    if (mark(s, &at, '.')) {
        size_t from = at;
        while (at < s.n && is_digit(s.at[at])) at++;
        if (at == from) return false;
    }
    if (!zone(s, at, &offset) || hour > 23 || minute > 59 || second > 60) return false;
    int utc = ((hour * 60 + minute - offset) % DAY + DAY) % DAY;
    return second < 60 || utc == DAY - 1;                /* a leap second is the last second of a UTC day */
}

bool format_date_time(Str s) {
    return s.n > 11 && (s.at[10] | 32) == 't' && format_date(str_sub(s, 0, 10)) && format_time(str_sub(s, 11, s.n));
}

/* Reads numbers with units from `units`, consecutive and in that order, at least one; advances. */
static bool elements(Str s, size_t *at, const char *units) {
    size_t last = 0;
    bool any = false;
    while (*at < s.n && is_digit(s.at[*at])) {
        while (*at < s.n && is_digit(s.at[*at])) ++*at;
        const char *unit = *at < s.n && s.at[*at] ? strchr(units, s.at[*at]) : NULL;
        if (!unit || (any && (size_t)(unit - units) != last + 1)) return false;
        last = (size_t)(unit - units);
        any = true;
        ++*at;
    }
    return any;
}

bool format_duration(Str s) {
    size_t at = 0;
    if (!mark(s, &at, 'P')) return false;
    size_t from = at;
    if (elements(s, &at, "W")) return at == s.n;
    at = from;
    if (at < s.n && s.at[at] != 'T' && !elements(s, &at, "YMD")) return false;
    if (at == s.n) return at > from;
    return mark(s, &at, 'T') && elements(s, &at, "HMS") && at == s.n;
}
