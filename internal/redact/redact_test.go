package redact_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/redact"
	"github.com/hermes-runtime/hermes/internal/secret"
)

// Built from parts, so that no scanner takes this file for a leak.
var (
	skKey  = "sk-" + "proj-Ab1" + strings.Repeat("cD2e", 8)
	ghKey  = "ghp_" + strings.Repeat("aB3d", 9)
	patKey = "github_pat_" + strings.Repeat("1Ab_", 12)
	slack  = "xoxb-" + "123456789012-" + strings.Repeat("aBc", 8)
	awsKey = "AKIA" + "IOSFODNN7" + "EXAMPLE"
	jwt    = "eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0" + ".dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
	pem    = "-----BEGIN RSA PRIVATE " + "KEY-----\nProc-Type: 4,ENCRYPTED\n\n" + strings.Repeat("MIIEowIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7\n", 20) + "-----END RSA PRIVATE " + "KEY-----"
)

var shapeCases = []struct{ name, in, want string }{ // RED-2
	{"sk", "key " + skKey + " end", "key [redacted:api-key] end"},
	{"sk of letters only", "sk-" + strings.Repeat("abcd", 6), "[redacted:api-key]"},
	{"ghp", ghKey + "\n", "[redacted:github-token]\n"},
	{"gho ghs ghu ghr", strings.ReplaceAll("gho_X ghs_X ghu_X ghr_X", "X", strings.Repeat("aB3d", 9)), "[redacted:github-token] [redacted:github-token] [redacted:github-token] [redacted:github-token]"},
	{"github_pat", "(" + patKey + ")", "([redacted:github-token])"},
	{"slack", "x=" + slack, "x=[redacted:slack-token]"},
	{"aws", "id: " + awsKey + ",", "id: [redacted:aws-key],"},
	{"jwt", "cookie " + jwt + ";", "cookie [redacted:jwt];"},
	{"pem", "a\n" + pem + "\nb", "a\n[redacted:private-key]\nb"},
	{"pem in json", `{"k":"` + strings.ReplaceAll(pem, "\n", `\n`) + `\n","x":1}`, `{"k":"[redacted:private-key]\n","x":1}`},
	{"pem named in json", `{"private_key": "` + strings.ReplaceAll(pem, "\n", `\n`) + `\n", "x": "y"}`, `{"private_key": "[redacted:private-key]", "x": "y"}`},
	{"pem as yaml value", "password: " + pem + "\nb", "password: [redacted:password]\nb"},
	{"pem header only", `grep "-----BEGIN PRIVATE ` + `KEY-----" file`, `grep "[redacted:private-key]" file`},
	{"public pem", "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----", "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----"},
	{"bearer", "Authorization: Bearer abc123def456", "Authorization: Bearer [redacted:bearer-token]"},
	{"bearer lower", "authorization: bearer abcDEF/+=~._-xyz\n", "authorization: bearer [redacted:bearer-token]\n"},
	{"bearer in json", `"Authorization": "Bearer abc123def456",`, `"Authorization": "Bearer [redacted:bearer-token]",`},
	{"password", "password=hunter2", "password=[redacted:password]"},
	{"pwd is a password or a directory", "PWD=/home/me\nOLDPWD=~/x\nexport PWD=\"/a b\"\npwd=hunter2", "PWD=/home/me\nOLDPWD=~/x\nexport PWD=\"/a b\"\npwd=[redacted:password]"},
	{"password short", "password=x y", "password=[redacted:password] y"},
	{"names around", "DB_PASSWORD=hunter2 PGPASSWORD=h1 my_token=t0k", "DB_PASSWORD=[redacted:password] PGPASSWORD=[redacted:password] my_token=[redacted:token]"},
	{"query", "?token=abc&secret=def&x=1", "?token=[redacted:token]&secret=[redacted:secret]&x=1"},
	{"api key forms", "api_key=a1 api-key=b2 apikey=c3 API_KEY=d4", "api_key=[redacted:api-key] api-key=[redacted:api-key] apikey=[redacted:api-key] API_KEY=[redacted:api-key]"},
	{"aws secret", "aws_secret_access_key = abcdEFGH/1234", "aws_secret_access_key = [redacted:access-key]"},
	{"json", `{"password": "x", "token":"a\"b", "n": 1}`, `{"password": "[redacted:password]", "token":"[redacted:token]", "n": 1}`},
	{"json ending in a backslash", `{"password": "a\\", "b": "c"}`, `{"password": "[redacted:password]", "b": "c"}`},
	{"json in json", `{"out": "{\"password\": \"a\\\"b\", \"n\": 1}"}`, `{"out": "{\"password\": \"[redacted:password]\", \"n\": 1}"}`},
	{"assignment in json", `{"out": "password=abc\nnext token=d\"e"}`, `{"out": "password=[redacted:password]\nnext token=[redacted:token]\"e"}`},
	{"json number", `{"secret": 12345, "b": 2}`, `{"secret": "[redacted:secret]", "b": 2}`},
	{"json other", `{"secret": null, "token": true, "password": {"a": [1]}}`, `{"secret": null, "token": true, "password": {"a": [1]}}`},
	{"json empty", `{"secret": "", "token": ""}`, `{"secret": "", "token": ""}`},
	{"yaml", "password: hunter2\nuser: me", "password: [redacted:password]\nuser: me"},
	{"single quotes", "'password' => 'it', secret='a b c'", "'password' => '[redacted:password]', secret='[redacted:secret]'"},
	{"go", `token := "abc def"`, `token := "[redacted:token]"`},
	{"url", "postgres://me:p@ss:w0rd@host:5432/db", "postgres://me:[redacted:url-password]@host:5432/db"},
	{"url with a token as user", "https://" + ghKey + ":x-oauth-basic@host/x", "https://[redacted:url-password]@host/x"},
	{"url without user", "redis://:secretpw@host/0", "redis://:[redacted:url-password]@host/0"},
	{"in sequence", "token=a1 " + skKey + " password=b2", "token=[redacted:token] [redacted:api-key] password=[redacted:password]"},
}

var innocent = []string{
	"", "plain text", "task-force-of-the-day", "the sk-learn-contrib-packages are here", "risk-assessment-and-other-things",
	"https://example.com/a:b@c", "https://example.com:8080/x", "ssh://git@github.com/x", "mailto:me@example.com",
	"Bearer authentication failed", "the bearer of bad news", `WWW-Authenticate: Bearer realm="x"`, `Bearer resource_metadata="https://a/b"`,
	"syntax error near unexpected token: newline", "password: incorrect", "Password: ", "max_tokens=100", `"prompt_tokens": 12`,
	`"nextPageToken": "abc123"`, "next_token=abc123", "page_token=xyz", "if password == other {", "token::Kind", "token = next()", "secret: load(path)",
	"${TOKEN} token=${TOKEN} password=$(cat x)", "AKIA", "AKIAshort", "eyJ", "eyJhbGciOi without dots", "keyJustLong", "-----BEGIN PUBLIC KEY-----\nMII\n-----END PUBLIC KEY-----",
	"xox", "xoxo-hugs", "ghp_short", "://", "a://b", "tokenizer: bpe", "arr[0] = [redacted]",
}

func TestAll_ReplacesWhatLooksSecret(t *testing.T) { // RED-2
	for _, c := range shapeCases {
		t.Run(c.name, func(t *testing.T) {
			var r *redact.Redactor
			if got := r.All(c.in); got != c.want {
				t.Errorf("\n in  %q\n got %q\nwant %q", c.in, got, c.want)
			}
			if got := r.Known(c.in); got != c.in {
				t.Errorf("Known changed %q", got) // RED-3
			}
		})
	}
}

func TestAll_LeavesTheInnocent(t *testing.T) {
	var r *redact.Redactor
	for _, s := range innocent {
		if got := r.All(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}

func TestAll_JSONStaysValid(t *testing.T) {
	r := redact.New(values())
	for _, c := range shapeCases {
		for _, v := range []any{c.in, map[string]any{"password": c.in, "out": c.in, "token": 5}, []string{c.in}} {
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			twice, _ := json.Marshal(string(b))
			for _, b := range [][]byte{b, twice} {
				if out := r.Bytes(redact.ModeAll, b); !json.Valid(out) {
					t.Errorf("%s: %s became %s", c.name, b, out)
				}
			}
		}
	}
}

func values() *secret.Set {
	var s secret.Set
	s.Add("OPENAI_API_KEY", "correct horse battery")
	s.Add("DB", `pa"ss\w`+"\n"+`ord<&>é`)
	s.Add("LONG", "correct horse battery staple, and more of it")
	s.Add("INNER", "battery staple")
	s.Add("WORD", "redacted")
	s.Add("ODD NAME]", "strange-name-value")
	s.Add("REP", "aaaaaaaa")
	return &s
}

var knownCases = []struct{ name, in, want string }{ // RED-1
	{"named", "say correct horse battery now", "say [redacted:OPENAI_API_KEY] now"},
	{"longest first", "correct horse battery staple, and more of it!", "[redacted:LONG]!"},
	{"overlapping are one", "correct horse battery staple!", "[redacted:OPENAI_API_KEY]!"},
	{"at both ends", "battery staplexbattery staple", "[redacted:INNER]x[redacted:INNER]"},
	{"raw with quotes", `pa"ss\w` + "\n" + `ord<&>é`, "[redacted:DB]"},
	{"json", `{"a":"pa\"ss\\w\nord<&>é"}`, `{"a":"[redacted:DB]"}`},
	{"json for html", `{"a":"pa\"ss\\w\nord\u003c\u0026\u003eé"}`, `{"a":"[redacted:DB]"}`},
	{"json in ascii", `{"a":"pa\"ss\\w\nord<&>\u00e9"}`, `{"a":"[redacted:DB]"}`},
	{"json in json", `{"a":"{\"b\":\"pa\\\"ss\\\\w\\nord<&>é\"}"}`, `{"a":"{\"b\":\"[redacted:DB]\"}"}`},
	{"terminal", `pa"ss\w` + "\r\n" + `ord<&>é`, "[redacted:DB]"},
	{"query", "?q=pa%22ss%5Cw%0Aord%3C%26%3E%C3%A9", "?q=[redacted:DB]"},
	{"a mark isn't looked into", "[redacted:DB] redacted", "[redacted:DB] [redacted:WORD]"},
	{"a made-up mark is", "[redacted:correct horse battery]", "[[redacted:WORD]:[redacted:OPENAI_API_KEY]]"},
	{"odd name", "strange-name-value", "[redacted:ODD_NAME_]"},
	{"repetition", strings.Repeat("a", 30), "[redacted:REP]"},
	{"almost", "correct horse batter", "correct horse batter"},
	{"as a user", "https://strange-name-value@host/x", "https://[redacted:ODD_NAME_]@host/x"},
	{"as a value", "password=strange-name-value", "password=[redacted:ODD_NAME_]"},
}

func TestKnown_ReplacesValuesInEverySpelling(t *testing.T) {
	r := redact.New(values())
	for _, c := range knownCases {
		t.Run(c.name, func(t *testing.T) {
			if got := r.Known(c.in); got != c.want {
				t.Errorf("\n in  %q\n got %q\nwant %q", c.in, got, c.want)
			}
		})
	}
}

func TestRedactor_FollowsTheSet(t *testing.T) {
	var s secret.Set
	r := redact.New(&s)
	const text = "the-value-of-it"
	if got := r.Known(text); got != text {
		t.Errorf("before Add: %q", got)
	}
	s.Add("V", text)
	if got := r.Known(text); got != "[redacted:V]" {
		t.Errorf("after Add: %q", got)
	}
	s.Remove("V", text)
	if got := r.Known(text); got != text {
		t.Errorf("after Remove: %q", got)
	}
}

func TestMarks_AreFoundByTheirForm(t *testing.T) { // RED-3
	for s, want := range map[string]int{
		"": 0, "[redacted:X]": 1, "a [redacted:A_B.c-1] b [redacted:A_B.c-1]": 2, "[redacted:]": 0, "[redacted: x]": 0,
		"[redacted:" + strings.Repeat("x", 100) + "]": 0, "[redacted:[redacted:X]]": 1, "[redacted]": 0, "[redacted:X": 0,
	} {
		if got := len(redact.Marks(s)); got != want || redact.HasMark(s) != (want > 0) {
			t.Errorf("%q: %d marks, HasMark %v; want %d", s, got, redact.HasMark(s), want)
		}
	}
	for _, name := range []string{"", "X", "a b]c\n", strings.Repeat("é", 80)} {
		if m := redact.Mark(name); !redact.HasMark(m) || len(redact.Marks(m)) != 1 || redact.Marks(m)[0] != m {
			t.Errorf("Mark(%q) = %q isn't one", name, m)
		}
	}
}

func TestText_NothingToReplaceAllocatesNothing(t *testing.T) {
	r := redact.New(values())
	s := strings.Repeat("an ordinary line with a token in it, and a secret\n", 4)
	if n := testing.AllocsPerRun(100, func() { r.All(s) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func everything() []string {
	all := append([]string{}, innocent...)
	for _, c := range shapeCases {
		all = append(all, c.in)
	}
	for _, c := range knownCases {
		all = append(all, c.in)
	}
	return all
}

func TestText_TwiceChangesNothingMore(t *testing.T) {
	for _, r := range []*redact.Redactor{nil, redact.New(values())} {
		for _, s := range everything() {
			for _, mode := range []redact.Mode{redact.ModeKnown, redact.ModeAll} {
				once := r.Text(mode, s)
				if twice := r.Text(mode, once); twice != once {
					t.Errorf("%q\nonce  %q\ntwice %q", s, once, twice)
				}
			}
		}
	}
}

func TestWriter_AnySplitGivesTheSame(t *testing.T) { // RED-4, ENG-18
	for _, r := range []*redact.Redactor{nil, redact.New(values())} {
		for _, s := range everything() {
			for _, mode := range []redact.Mode{redact.ModeKnown, redact.ModeAll} {
				want := r.Text(mode, s)
				for cut := 0; cut <= len(s); cut += 1 + len(s)/200 {
					if got := through(t, r, mode, s[:cut], s[cut:]); got != want {
						t.Fatalf("%q cut at %d\n got %q\nwant %q", s, cut, got, want)
					}
				}
				bytewise := make([]string, len(s))
				for i := range s {
					bytewise[i] = s[i : i+1]
				}
				for i := range len(s) {
					bytewise[i] = s[i : i+1]
				}
				if got := through(t, r, mode, bytewise...); got != want {
					t.Fatalf("%q by bytes\n got %q\nwant %q", s, got, want)
				}
			}
		}
	}
}

func through(t *testing.T, r *redact.Redactor, mode redact.Mode, pieces ...string) string {
	t.Helper()
	var out bytes.Buffer
	w := r.NewWriter(&out, mode)
	for _, p := range pieces {
		if n, err := io.WriteString(w, p); n != len(p) || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestWriter_LongSecretsNeedNoMemory(t *testing.T) { // RED-4
	long := strings.Repeat("Ab3", 1<<20)
	for in, want := range map[string]string{
		"token=" + long + " x":               "token=[redacted:token] x",
		`{"token": "` + long + `", "x": 1}`:  `{"token": "[redacted:token]", "x": 1}`,
		"Bearer " + long + "\n":              "Bearer [redacted:bearer-token]\n",
		"sk-" + long + ",":                   "[redacted:api-key],",
		strings.Repeat("a", 1<<20) + "!":     "[redacted:REP]!",
		"-----BEGIN PRIVATE " + "KEY-----!x": "[redacted:private-key]!x",
	} {
		var pieces []string
		for i := 0; i < len(in); i += 1000 {
			pieces = append(pieces, in[i:min(i+1000, len(in))])
		}
		if got := through(t, redact.New(values()), redact.ModeAll, pieces...); got != want {
			t.Errorf("%.20q…: got %.80q (%d bytes)", in, got, len(got))
		}
	}
}

func TestWriter_LetsGoOfWhatCannotBeSecret(t *testing.T) {
	var out bytes.Buffer
	w := redact.New(values()).NewWriter(&out, redact.ModeAll)
	for _, line := range []string{"Compiling 3 files\n", "ok\n", "token missing\n", "1 2 3"} {
		out.Reset()
		io.WriteString(w, line)
		if out.String() != line {
			t.Errorf("%q came out as %q", line, out.String())
		}
	}
}

func TestWriter_FlushShowsThePromptAndHidesTheRest(t *testing.T) {
	for _, c := range []struct{ name, before, shown, after, want string }{
		{"prompt", "Password: ", "Password: ", "hunter2\nok", "[redacted:password]\nok"},
		{"assignment", "password=", "password=", "hunter2 x", "[redacted:password] x"},
		{"half a value", "password=hun", "password=[redacted:password]", "ter2 x", " x"},
		{"half a string", `"token": "ab\`, `"token": "[redacted:token]`, `"c" x`, `" x`},
		{"half a bearer", "Bearer abc123def", "Bearer [redacted:bearer-token]", "456\n", "\n"},
		{"half a key", "sk-", "sk-", skKey[3:] + "\n", "[redacted:api-key]\n"},
		{"start of a known value", "co", "co", "rrect horse battery!", "[redacted:OPENAI_API_KEY]!"},
		{"most of a known value", "correct horse bat", "", "tery!", "[redacted:OPENAI_API_KEY]!"},
		{"not a value after all", "correct horse bat", "", "man", "correct horse batman"},
		{"word", "the token", "the token", " is bad\n", " is bad\n"},
		{"url", "see http://a", "see http://a", "b/c\n", "b/c\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			w := redact.New(values()).NewWriter(&out, redact.ModeAll)
			io.WriteString(w, c.before)
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if out.String() != c.shown {
				t.Errorf("flushed %q, want %q", out.String(), c.shown)
			}
			out.Reset()
			io.WriteString(w, c.after)
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if out.String() != c.want {
				t.Errorf("then %q, want %q", out.String(), c.want)
			}
		})
	}
}

func FuzzWriter(f *testing.F) {
	for _, s := range everything() {
		f.Add(s, uint16(len(s)/3), uint16(len(s)/4))
	}
	known := redact.New(values())
	f.Fuzz(func(t *testing.T, s string, a, b uint16) {
		i := min(int(a), len(s))
		j := min(i+int(b), len(s))
		for _, r := range []*redact.Redactor{nil, known} {
			want := r.All(s)
			if got := through(t, r, redact.ModeAll, s[:i], s[i:j], s[j:]); got != want {
				t.Fatalf("%q split at %d, %d\n got %q\nwant %q", s, i, j, got, want)
			}
			if twice := r.All(want); twice != want {
				t.Fatalf("%q\nonce  %q\ntwice %q", s, want, twice)
			}
			if json.Valid([]byte(s)) && !json.Valid([]byte(want)) {
				t.Fatalf("%s is JSON, %s isn't", s, want)
			}
		}
	})
}

func logText(size int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "2026-01-02T10:11:%02d.%03dZ INFO  worker %d: GET https://example.com/items/%d?page=2 took %dms (cache=miss)\n", i%60, i%1000, i%16, i, i%300)
		fmt.Fprintf(&b, `{"level":"info","msg":"request done","user_id":%d,"path":"/api/v1/items","status":200,"key":"k%d"}`+"\n", i, i)
		if i%500 == 0 {
			fmt.Fprintf(&b, "retrying with token=%d-abcdef and Bearer abc%ddef\n", i, i)
		}
	}
	return b.Bytes()[:size]
}

func manyValues() *secret.Set {
	s := values()
	for i := range 30 {
		s.Add(fmt.Sprintf("KEY_%d", i), fmt.Sprintf("%x-value-%d-%s", i*7919, i, strings.Repeat("q", i)))
	}
	return s
}

func BenchmarkText10MB(b *testing.B) { // RED-4: under 250 ms
	text := string(logText(10 << 20))
	r := redact.New(manyValues())
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.All(text)
	}
}

func BenchmarkWriter10MB(b *testing.B) { // RED-4: under 250 ms
	text := logText(10 << 20)
	r := redact.New(manyValues())
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		w := r.NewWriter(io.Discard, redact.ModeAll)
		for p := text; len(p) > 0; p = p[min(len(p), 32<<10):] {
			w.Write(p[:min(len(p), 32<<10)])
		}
		w.Close()
	}
}

func BenchmarkTextSmall(b *testing.B) { // under 300 ns for up to 200 bytes
	r := redact.New(manyValues())
	s := "2026-01-02T10:11:12.345Z INFO worker 7: GET https://example.com/items/1234?page=2 took 17ms (cache=miss), 3 retries, next attempt in 250ms; see the log for what went on before this line was written ok"[:200]
	b.ReportAllocs()
	for b.Loop() {
		r.All(s)
	}
}

func BenchmarkCompile(b *testing.B) {
	set := manyValues()
	r := redact.New(set)
	for b.Loop() {
		set.Add("X", "changing-value")
		set.Remove("X", "changing-value")
		r.Known("some text that is long enough")
	}
}
