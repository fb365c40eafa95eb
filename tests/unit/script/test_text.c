/* Modules without side effects: re, string, set, base64, url, shell, hash, crypto, uuid, template, validate, assert. */
#include "script_unit.h"

static const ScriptCase re_cases[] = {
    { "re.match('a(b)?', 'ab')", "[\"ab\", \"b\"]" }, { "re.match('a(b)?', 'ac')", "[\"a\", None]" }, { "re.match('b', 'ab')", "None" },
    { "re.match('a|b', 'xb')", "None" }, { "re.match('(?x) a # note', 'ab')", "[\"a\"]" }, { "re.match('', '')", "[\"\"]" },
    { "re.search('b+', 'abbc')", "[\"bb\"]" }, { "re.search('z', 'abc')", "None" }, { "re.search(p='é', s='né')", "[\"é\"]" },
    { "re.findall('[0-9]+', 'a1b22c333')", "[\"1\", \"22\", \"333\"]" }, { "re.findall('(a)(b)?', 'ab a')", "[[\"a\", \"b\"], [\"a\", None]]" },
    { "re.findall('(a)', 'aa')", "[[\"a\"], [\"a\"]]" }, { "re.find_all('x*', 'axb')", "[\"\", \"x\", \"\", \"\"]" },
    { "re.findall('', 'éa')", "[\"\", \"\", \"\"]" }, { "re.findall('^a', 'aaa')", "[\"a\"]" }, { "re.findall('(?m)^a', 'a\\na')", "[\"a\", \"a\"]" },
    { "re.findall('a', '')", "[]" }, { "re.findall('(?<=a)b', 'abab')", "[\"b\", \"b\"]" },
    { "re.replace('(\\\\w)(\\\\d)', '$2$1', 'a1 b2')", "\"1a 2b\"" }, { "re.replace('a', '${0}${0}', 'xay')", "\"xaay\"" },
    { "re.replace('(a)', '\\\\1\\\\1', 'xay')", "\"xaay\"" }, { "re.replace('a', '$$1', 'a')", "\"$1\"" }, { "re.replace('a', '\\\\\\\\', 'a')", "\"\\\\\"" },
    { "re.replace('a', '$ ${x} $', 'a')", "\"$ ${x} $\"" }, { "re.replace('', '-', 'ab')", "\"-a-b-\"" }, { "re.replace('(b)?a', '[$1]', 'a')", "\"[]\"" },
    { "re.replace('a', '$1', 'a')", "error: re.replace: for parameter repl: the pattern has no group 1 (it has 0); write $$ for a dollar sign" },
    { "re.replace('a', '${99999999999}', 'a')", "error: re.replace: for parameter repl: the pattern has no group …" },
    { "re.split(',\\\\s*', 'a, b,c')", "[\"a\", \"b\", \"c\"]" }, { "re.split('', 'ab')", "[\"a\", \"b\"]" }, { "re.split(',', '')", "[\"\"]" },
    { "re.split(',', ',a,')", "[\"\", \"a\", \"\"]" }, { "re.split('x', 'abc')", "[\"abc\"]" },
    { "re.match('(', 'a')", "error: re.match: regular expression: at 2: missing closing parenthesis" },
    { "re.match(1, 'a')", "error: re.match: for parameter p: got int, want string" },
    { "re.search('(a+)+$', 'a' * 60 + 'b')", "error: re.search: regular expression: too many steps" },
    { "re.search('a', 'é'[1:])", "error: re.search: regular expression: the text is not valid UTF-8" },
    { "[re.match('(a)', 'a') for i in range(3)]", "[[\"a\", \"a\"], [\"a\", \"a\"], [\"a\", \"a\"]]" },
    { "[re.search(str(i) + '+', '11 22 33') for i in range(200)][33]", "[\"33\"]" },
    { "len(re.findall('a', 'a' * 200000))", "200000" },
    { "re.match('(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)(k)(l)(m)(n)(o)(p)(q)(r)', 'abcdefghijklmnopqr')[18]", "\"r\"" },
};

static const ScriptCase string_cases[] = {
    { "string.truncate('hello', 5)", "\"hello\"" }, { "string.truncate('hello', 4)", "\"hel…\"" }, { "string.truncate('äöüß', 3)", "\"äö…\"" },
    { "string.truncate('hello', 4, '..')", "\"he..\"" }, { "string.truncate('hello', 2, ellipsis='...')", "\"he\"" },
    { "string.truncate('hello', 0)", "\"\"" }, { "string.truncate('', 0)", "\"\"" },
        { "string.truncate('a', -1)", "error: string.truncate: for parameter n: must be between 0 and …" },
    { "string.truncate('hello', 1 << 80)", "error: string.truncate: for parameter n: …" },
    { "string.upper('aé')", "\"AÉ\"" }, { "string.lower('AÉ')", "\"aé\"" }, { "string.trim('  a ')", "\"a\"" }, { "string.trim('xxaxx', 'x')", "\"a\"" },
    { "string.split('a b  c')", "[\"a\", \"b\", \"c\"]" }, { "string.split('a,b', ',')", "[\"a\", \"b\"]" }, { "string.split('a,b', sep=None)", "[\"a,b\"]" },
    { "string.join(['a', 'b'], '-')", "\"a-b\"" }, { "string.join(['a', 'b'])", "\"ab\"" },
    { "string.join([1])", "error: string.join: in list, want string, got int…" },
    { "string.pad_left('7', 3)", "\"  7\"" }, { "string.pad_left('7', 3, '0')", "\"007\"" }, { "string.pad_right('é', 3, '·')", "\"é··\"" },
    { "string.pad_left('abc', 2)", "\"abc\"" }, { "string.pad_left('a', 2, '')", "error: string.pad_left: for parameter fill: want one character" },
    { "string.pad_left('a', 2, 'ab')", "error: string.pad_left: for parameter fill: want one character" },
    { "string.pad_left('a', 2000000000)", "error: string.pad_left: heap limit of 67108864 bytes reached" },
};

static const ScriptCase set_cases[] = {
    { "set.new()", "set([])" }, { "set.new([1, 2, 1])", "set([1, 2])" }, { "set([1])", "set([1])" }, { "type(set.new())", "\"set\"" },
    { "set.contains(set.new([1]), 1)", "True" }, { "set.contains([1, 2], 3)", "False" }, { "set.size(set.new('a b'.split()))", "2" },
    { "set.values(set.new([2, 1]))", "[2, 1]" }, { "set.union(set.new([1]), [2])", "set([1, 2])" },
    { "set.intersect([1, 2], [2, 3])", "set([2])" }, { "set.diff([1, 2], [2])", "set([1])" },
    { "set.new([[]])", "error: set.new: unhashable type: list" }, { "set.size(1)", "error: set.size: for parameter s: got int, want iterable" },
    { "set.contains([1], [])", "error: set.contains: unhashable type: list" },
    { "s = set.new([1])\nt = set.union(s, [])\nt.add(2)\nreturn s", "set([1])" },
};

static const ScriptCase coding_cases[] = {
    { "base64.encode('')", "\"\"" }, { "base64.encode('f')", "\"Zg==\"" }, { "base64.encode('fo')", "\"Zm8=\"" }, { "base64.encode('foo')", "\"Zm9v\"" },
    { "base64.encode(b'\\xff\\xfe')", "\"//4=\"" }, { "base64.encode(b'\\xff\\xfe', url=True)", "\"__4\"" },
    { "base64.decode('Zm9v')", "\"foo\"" }, { "base64.decode('Zg==')", "\"f\"" }, { "base64.decode('Zg')", "\"f\"" }, { "base64.decode('')", "\"\"" },
    { "base64.decode('__4', as_bytes=True)", "b\"\\xff\\xfe\"" },
    { "base64.decode('//4=')", "error: base64.decode: the result is not UTF-8 text: use as_bytes=True" },
    { "base64.decode('Zg=')", "error: base64.decode: not base64: wrong padding" },
        { "base64.decode('Z')", "error: base64.decode: not base64: incomplete last group" },
    { "base64.decode('Zg==\\n')", "error: base64.decode: not base64: …" },
        { "base64.decode('Zh==')", "error: base64.decode: not base64: stray bits at the end" },
    { "base64.decode('Z*==')", "error: base64.decode: not base64: unexpected '*' at 2" },
    { "base64.decode('====')", "error: base64.decode: not base64: …" }, { "base64.decode(base64.encode('x' * 100000)) == 'x' * 100000", "True" },
    { "hash.md5('')", "\"d41d8cd98f00b204e9800998ecf8427e\"" }, { "hash.sha1('abc')", "\"a9993e364706816aba3e25717850c26c9cd0d89d\"" },
    { "hash.sha256(b'abc')", "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"" },
    { "hash.sha512('abc')[:16]", "\"ddaf35a193617aba\"" }, { "hash('a') == hash('a')", "True" },
        { "hash.md5(1)", "error: hash.md5: for parameter data: got int, want string or bytes" },
    { "crypto.hmac_sha256('key', 'The quick brown fox jumps over the lazy dog')", "\"f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8\"" },
    { "crypto.hmac_sha512(b'', '')[:16]", "\"b936cee86c9f87aa\"" },
    { "url.encode('a b&ü/~')", "\"a%20b%26%C3%BC%2F~\"" }, { "url.encode({'a': 1, 'b c': ['x', 'y&']})", "\"a=1&b%20c=x&b%20c=y%26\"" },
    { "url.encode({1: 2})", "error: url.encode: got a key of type int, want string" },
    { "url.parse('HTTPS://user:pw@Example.com:8080/a/b?x=1&y=a+b&x=2#top')",
      "{\"scheme\": \"https\", \"user\": \"user:pw\", \"host\": \"example.com\", \"port\": 8080, \"path\": \"/a/b\", \"query\": \"x=1&y=a+b&x=2\", "
      "\"params\": {\"x\": [\"1\", \"2\"], \"y\": \"a b\"}, \"fragment\": \"top\"}" },
    { "url.parse('http://[::1]:80/')['host']", "\"::1\"" }, { "url.parse('/only/path')['path']", "\"/only/path\"" },
    { "url.parse('mailto:a@b.c')['path']", "\"a@b.c\"" }, { "url.parse('http://a?%41=%42%zz')['params']", "error: url.parse: not an address: …" },
    { "url.parse('http://a?%41=%42')['params']", "{\"A\": \"B\"}" }, { "url.parse('http://a b/')", "error: url.parse: not an address: http://a b/" },
    { "url.parse('http://a:99999/')", "error: url.parse: not a port: 99999" }, { "url.parse('')['host']", "\"\"" },
    { "len(uuid.v4()), uuid.v4()[14], uuid.v7()[14], uuid.v4()[19] in '89ab'", "(36, \"4\", \"7\", True)" },
    { "a = uuid.v7()\nb = uuid.v7()\nreturn a <= b or a[:18] == b[:18]", "True" },
    { "template.render('{{a}} {{#each l}}[{{this}}]{{/each}}', {'a': 'x', 'l': [1, 2]})", "\"x [1][2]\"" }, { "template.render('a')", "\"a\"" },
    { "template.render('{{#if}}')", "error: template.render: …" },
    { "validate.email('a@b.de'), validate.email('a@'), validate.email('')", "(True, False, False)" },
    { "validate.url('http://a.b/c'), validate.url('ftp://a'), validate.url('http://'), validate.url('x')", "(True, False, False, False)" },
    { "validate.json('{\"a\": [1]}'), validate.json('{'), validate.json('')", "(True, False, False)" },
    { "assert(True)", "None" }, { "assert(1 == 2)", "error: assertion failed" }, { "assert([], 'no ' + 'items')", "error: assertion failed: no items" },
    { "[random(3, 3), random(-1, 1) in [-1, 0, 1], random(-(1 << 63), (1 << 63) - 1) != None]", "[3, True, True]" },
    { "random(2, 1)", "error: random: min is greater than max" }, { "random(0, 1 << 70)", "error: random: for parameter max: …" },
    { "type(time.unix()), len(time.now()), time.now()[-1]", "(\"int\", 30, \"Z\")" }, { "sleep(0)", "None" },
        { "sleep(-1)", "error: sleep: for parameter seconds: must be between 0 and 1000000" },
    { "sleep(float('nan'))", "error: sleep: …" }, { "os.platform(), os.cwd(), os.args(), len(os.hostname()) > 0", "(\"linux\", \"/workspace\", [], True)" },
};

static const ScriptCase shell_cases[] = {
    { "shell.parse('git push --force')", "[{\"program\": \"git\", \"args\": [\"push\", \"--force\"], \"exact\": True, \"redirects\": []}]" },
    { "shell.parse('/usr/bin/env rm \"a b\" > out 2>&1')",
      "[{\"program\": \"env\", \"args\": [\"rm\", \"a b\"], \"exact\": True, \"redirects\": [{\"op\": \">\", \"fd\": 1, \"target\": \"out\"}, "
      "{\"op\": \">&\", \"fd\": 2, \"target\": \"1\"}]}, {\"program\": \"rm\", \"args\": [\"a b\"], \"exact\": True, \"redirects\": []}]" },
    { "[(c['program'], c['args'], c['exact']) for c in shell.parse('$x a; ls $y *.c')]",
      "[(None, [\"a\"], False), (\"ls\", [None, \"*.c\"], False)]" },
    { "[c['program'] for c in shell.parse(\"a | (b && sh -c 'c; d') ; echo $(e)\")]", "[\"a\", \"b\", \"sh\", \"c\", \"d\", \"echo\", \"e\"]" },
    { "[(c['program'], c['exact']) for c in shell.parse('curl x | sh')]", "[(\"curl\", True), (\"sh\", False)]" },
    { "[c['redirects'] for c in shell.parse('> a < $b')]",
      "[[{\"op\": \">\", \"fd\": 1, \"target\": \"a\"}, {\"op\": \"<\", \"fd\": 0, \"target\": None}]]" },
    { "[c['redirects'][0]['target'] for c in shell.parse('cat <<E\\nhi\\nE\\n')]", "[\"hi\\n\"]" },
    { "[(c['program'], c['exact']) for c in shell.parse('ls; echo \"')]", "[(\"ls\", True), (\"echo\", True), (None, False)]" },
    { "shell.parse('')", "[]" }, { "shell.parse(1)", "error: shell.parse: for parameter text: got int, want string" },
    { "len(shell.parse('a;' * 1000))", "1000" },
    { "shell.parse('x' * 300000)[-1]", "{\"program\": None, \"args\": [], \"exact\": False, \"redirects\": []}" },
};

static void run(const ScriptCase *t, size_t n) {
    ScriptUnit u;
    script_begin(&u);
    script_check(&u, t, n);
    script_end(&u);
}

#define TEST(name) static void test_##name(void **state) { (void)state; run(name##_cases, sizeof name##_cases / sizeof *name##_cases); }
TEST(re)
TEST(string)
TEST(set)
TEST(coding)
TEST(shell)

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_re), cmocka_unit_test(test_string), cmocka_unit_test(test_set), cmocka_unit_test(test_coding),
                                        cmocka_unit_test(test_shell) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
