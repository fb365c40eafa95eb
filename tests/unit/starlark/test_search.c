#include "unit.h"
#include "base/utf8.h"
#include "starlark/vm/search.h"

/* A slow reference implementation. */
static ptrdiff_t plain_first(Str h, Str n) {
    for (size_t i = 0; i + n.n <= h.n; i++)
        if (memcmp(h.at + i, n.at, n.n) == 0) return (ptrdiff_t)i;
    return -1;
}

static ptrdiff_t plain_last(Str h, Str n) {
    for (size_t i = h.n + 1; i-- > 0;)
        if (i + n.n <= h.n && memcmp(h.at + i, n.at, n.n) == 0) return (ptrdiff_t)i;
    return -1;
}

static size_t plain_count(Str h, Str n) {
    size_t count = 0;
    for (ptrdiff_t at; (at = plain_first(h, n)) >= 0; count++) h = str_sub(h, (size_t)at + n.n, h.n);
    return count;
}

static void check(Vm *vm, Str hay, Str needle) {
    Error err = { 0 };
    Work w = { .vm = vm };
    ptrdiff_t at;
    size_t count;
    assert_true(search_first(&w, hay, needle, &at, &err));
    assert_int_equal(at, plain_first(hay, needle));
    assert_true(search_last(&w, hay, needle, &at, &err));
    assert_int_equal(at, plain_last(hay, needle));
    if (!needle.n) return;
    assert_true(search_count(&w, hay, needle, &count, &err));
    assert_int_equal(count, plain_count(hay, needle));
}

/* All needles that are, and nearly are, substrings of short texts over two letters. */
static void test_small(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Vm *vm = vm_new(h, &(VmConfig){ 0 });
    char hay[12], needle[8];
    for (unsigned bits = 0; bits < 4096; bits += 7)
        for (size_t n = 0; n <= 12; n += 3)
            for (unsigned b = 0; b < 64; b += 5)
                for (size_t m = 0; m <= 6; m += 1 + m / 3) {
                    for (size_t i = 0; i < n; i++) hay[i] = (char)('a' + (bits >> i & 1));
                    for (size_t i = 0; i < m; i++) needle[i] = (char)('a' + (b >> i & 1));
                    check(vm, (Str){ hay, n }, (Str){ needle, m });
                }
    vm_free(vm);
    heap_free(h);
}

/* Across windows, with needles too long for the C library's search, and texts that are slow for naive algorithms. */
static void test_large(void **state) {
    (void)state;
    enum { N = 3 << 20, M = 100000 };
    Heap *h = heap_new(0);
    Vm *vm = vm_new(h, &(VmConfig){ 0 });
    char *hay = malloc(N), *needle = malloc(M);
    memset(hay, 'a', N);
    memset(needle, 'a', M);
    Error err = { 0 };
    Work w = { .vm = vm };
    ptrdiff_t at;
    needle[M / 2] = 'b';
    assert_true(search_first(&w, (Str){ hay, N }, (Str){ needle, M }, &at, &err) && at == -1);
    assert_true(search_last(&w, (Str){ hay, N }, (Str){ needle, M }, &at, &err) && at == -1);
    assert_true(search_last(&w, (Str){ hay, N }, (Str){ needle + M / 2 - 500, 1000 }, &at, &err) && at == -1);
    for (size_t place = (1 << 20) - 3; place < (1 << 20) + 3; place++) {
        hay[place] = 'b';
        assert_true(search_first(&w, (Str){ hay, N }, STR("ab"), &at, &err) && at == (ptrdiff_t)place - 1);
        assert_true(search_last(&w, (Str){ hay, N }, STR("ba"), &at, &err) && at == (ptrdiff_t)place);
        assert_true(search_first(&w, (Str){ hay, N }, STR("b"), &at, &err) && at == (ptrdiff_t)place);
        assert_true(search_last(&w, (Str){ hay, N }, (Str){ needle, M }, &at, &err) && at == (ptrdiff_t)place - M / 2);
        assert_true(search_first(&w, (Str){ hay, N }, (Str){ needle, M }, &at, &err) && at == (ptrdiff_t)place - M / 2);
        hay[place] = 'a';
    }
    free(hay);
    free(needle);
    vm_free(vm);
    heap_free(h);
}

/* A search ends when its call is cancelled. */
static void test_cancelled(void **state) {
    (void)state;
    enum { N = 8 << 20 };
    Heap *h = heap_new(0);
    Cancel *cancel = cancel_new(NULL, 0);
    Vm *vm = vm_new(h, &(VmConfig){ .cancel = cancel });
    char *hay = calloc(1, N);
    Error err = { 0 };
    Work w = { .vm = vm };
    ptrdiff_t at;
    size_t count;
    cancel_fire(cancel);
    assert_false(search_first(&w, (Str){ hay, N }, STR("x"), &at, &err));
    assert_false(search_last(&w, (Str){ hay, N }, STR("x"), &at, &err));
    assert_false(search_count(&w, (Str){ hay, N }, STR("x"), &count, &err));
    free(hay);
    vm_free(vm);
    heap_free(h);
    cancel_free(cancel);
}

/* Characters are counted in pieces, which must not cut a character. */
static void test_characters(void **state) {
    (void)state;
    static const char *const letters[] = { "a", "é", "世", "😿", "\xff", "\x80", "\xe4\xb8", "\xf0\x9f\x98" };
    Heap *h = heap_new(0);
    Vm *vm = vm_new(h, &(VmConfig){ 0 });
    Work w = { .vm = vm };
    Error err = { 0 };
    uint32_t seed = 7;
    for (int round = 0; round < 200; round++) {
        Buf text = { 0 };
        for (int i = 0; i < 6000; i++) {
            seed = seed * 1664525 + 1013904223;
            buf_add(&text, str_from(letters[seed >> 29 & (round % 2 ? 7 : 3)]));
        }
        size_t n;
        assert_true(search_characters(&w, buf_str(&text), &n, &err));
        assert_int_equal(n, utf8_count(buf_str(&text)));
        buf_clear(&text);
    }
    vm_free(vm);
    heap_free(h);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_small), cmocka_unit_test(test_characters), cmocka_unit_test(test_large),
                                        cmocka_unit_test(test_cancelled) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
