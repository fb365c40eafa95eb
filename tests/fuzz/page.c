/* An untrusted page of events: what is read is inside of it, data is no longer than it, and reading stops on
 * request. */
#include <stdlib.h>
#include "store/sqlite_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct Seen { Str page; size_t left; bool stopped; } Seen;

static void within(const Seen *s, Str part) {
    if (part.n && (part.at < s->page.at || part.n > s->page.n || part.at + part.n > s->page.at + s->page.n)) abort();
}

static bool see(void *ctx, const Event *e) {
    Seen *s = ctx;
    if (s->stopped || !str_eq(e->run, STR("run"))) abort();
    within(s, e->agent);
    within(s, e->parent);
    within(s, e->type);
    unsigned sum = 0;
    for (size_t i = 0; i < e->data.n; i++) sum += (unsigned char)e->data.at[i];
    if (e->data.n > s->page.n || sum > 255 * s->page.n) abort();
    s->stopped = s->left-- == 0;
    return !s->stopped;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    Seen s = { .page = { (const char *)data + 2, size - 2 }, .left = data[0] };
    bool whole, more = sqlite_page_each(s.page, STR("run"), data[1], see, &s, &whole);
    if (more == s.stopped || (s.stopped && !whole)) abort();
    return 0;
}
