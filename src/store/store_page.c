/* Many events of one run in one row: a row for each costs more than the call that it tells of. The counts that a list of runs needs stand
 * beside them. Of each event:
 *
 *     number, and time since the one before (signed) | depth | agent | parent | type | data: how many bytes are those of the one before, and the rest
 *
 * Numbers have seven bits in a byte, the lowest first, and go on where the eighth is set. A name is the number of one that the page has
 * had before, or 0, its length and its bytes, and then has the next number from 1, unless the page has NAMES_MAX. */
#include <stdlib.h>
#include "store/inside.h"

enum { NAMES_MAX = 100 };
typedef struct Names { Str at[NAMES_MAX]; size_t n; } Names;
typedef struct Page { Names names; Buf text; Str data; uint64_t first, last; int64_t time_ns, turns, calls; } Page;

/* ---- writing ---- */

static void put_number(Buf *out, uint64_t n) {
    char bytes[10];
    size_t used = 0;
    for (; n > 0x7f; n >>= 7) bytes[used++] = (char)(n | 0x80);
    bytes[used++] = (char)n;
    buf_add(out, (Str){ bytes, used });
}

static void put_text(Buf *out, Str s) {
    put_number(out, s.n);
    buf_add(out, s);
}

static void put_name(Page *p, Str s) {
    for (size_t i = 0; i < p->names.n; i++)
        if (str_eq(p->names.at[i], s)) return put_number(&p->text, i + 1);
    put_number(&p->text, 0);
    put_text(&p->text, s);
    if (p->names.n < NAMES_MAX) p->names.at[p->names.n++] = s;
}

/* The events of one call begin alike: its id, its tool, its arguments. */
static size_t same_start(Str a, Str b) {
    size_t n = a.n < b.n ? a.n : b.n, i = 0;
    while (i + 16 <= n && memcmp(a.at + i, b.at + i, 16) == 0) i += 16;
    while (i < n && a.at[i] == b.at[i]) i++;
    return i;
}

static void put_data(Page *p, Str data) {
    size_t same = same_start(p->data, data);
    put_number(&p->text, same);
    put_text(&p->text, str_sub(data, same, data.n));
    p->data = data;
}

static void put_event(Page *p, const Event *e) {
    const uint64_t later = (uint64_t)e->time_ns - (uint64_t)p->time_ns, earlier = later >> 63;
    put_number(&p->text, e->seq - p->last);
    put_number(&p->text, later << 1 ^ (0 - earlier));
    put_number(&p->text, (uint32_t)e->depth);
    put_name(p, e->agent);
    put_name(p, e->parent);
    put_name(p, e->type);
    put_data(p, e->data);
    if (!p->first) p->first = e->seq;
    p->last = e->seq;
    p->time_ns = e->time_ns;
    p->turns += e->depth == 0 && str_eq(e->type, STR("completion.completed"));
    p->calls += str_eq(e->type, STR("tool.started"));
}

/* The same page again does no harm: its run and first number are its key. */
static bool put_page(Store *s, Page *p, const Event *all, size_t n, Error *err) {
    buf_reset(&p->text);
    *p = (Page){ .text = p->text };
    for (size_t i = 0; i < n; i++) put_event(p, &all[i]);
    StoreQuery q = store_query(s, SQL_PAGE_PUT, "write events", err);
    return store_end(&q, store_bind(&q, "siiiib", all->run, (int64_t)p->first, (int64_t)p->last, p->turns, p->calls, buf_str(&p->text)) &&
                             store_row(&q, &(bool){ 0 }));
}

static int by_run(const void *x, const void *y) {
    const Event *a = x, *b = y;
    int order = str_cmp(a->run, b->run);
    return order ? order : (a->seq > b->seq) - (a->seq < b->seq);
}

static size_t same_run(const Event *all, size_t n) {
    size_t i = 1;
    while (i < n && str_eq(all[i].run, all->run)) i++;
    return i;
}

bool store_pages_put(Store *s, Event *all, size_t n, Error *err) {
    Page p = { 0 };
    bool ok = true;
    if (n && same_run(all, n) < n) qsort(all, n, sizeof *all, by_run);
    for (size_t some; ok && n; all += some, n -= some) ok = put_page(s, &p, all, some = same_run(all, n), err);
    buf_clear(&p.text);
    return ok;
}

/* ---- reading ---- */

static bool get_number(Str *in, uint64_t *out) {
    *out = 0;
    for (size_t i = 0; i < in->n && i < 10; i++) {
        const unsigned char c = (unsigned char)in->at[i];
        *out |= (uint64_t)(c & 0x7f) << (7 * i);
        if (c & 0x80) continue;
        *in = str_sub(*in, i + 1, in->n);
        return true;
    }
    return false;
}

static bool get_text(Str *in, Str *out) {
    uint64_t n;
    if (!get_number(in, &n) || n > in->n) return false;
    *out = str_sub(*in, 0, n);
    *in = str_sub(*in, n, in->n);
    return true;
}

static bool get_name(Str *in, Names *names, Str *out) {
    uint64_t number;
    if (!get_number(in, &number) || number > names->n) return false;
    if (number) return *out = names->at[number - 1], true;
    if (!get_text(in, out)) return false;
    if (names->n < NAMES_MAX) names->at[names->n++] = *out;
    return true;
}

/* `data` has that of the event before. */
static bool get_data(Str *in, Buf *data, Str *out) {
    uint64_t same;
    Str rest;
    if (!get_number(in, &same) || same > data->n || !get_text(in, &rest)) return false;
    data->n = same;
    buf_add(data, rest);
    *out = buf_str(data);
    return true;
}

static bool get_event(Str *in, Names *names, Buf *data, Event *e) {
    uint64_t step, later, depth;
    if (!get_number(in, &step) || !get_number(in, &later) || !get_number(in, &depth)) return false;
    e->seq += step;
    e->time_ns = (int64_t)((uint64_t)e->time_ns + ((later >> 1) ^ (0 - (later & 1))));
    e->depth = (int)(uint32_t)depth;
    return get_name(in, names, &e->agent) && get_name(in, names, &e->parent) && get_name(in, names, &e->type) && get_data(in, data, &e->data);
}

bool store_page_each(Str page, Str run, uint64_t from, bool (*each)(void *ctx, const Event *e), void *ctx, bool *whole) {
    Event e = { .run = run };
    Names names = { .n = 0 };
    Buf data = { 0 };
    bool more = true;
    for (*whole = true; more && *whole && page.n;) {
        *whole = get_event(&page, &names, &data, &e);
        if (*whole && e.seq >= from) more = each(ctx, &e);
    }
    buf_clear(&data);
    return more;
}
