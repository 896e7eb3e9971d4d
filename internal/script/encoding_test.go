//go:build unix

package script_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/script"
)

func TestDecode_TheFileIsReadAsPythonReadsIt(t *testing.T) { // XC-8
	t.Parallel()
	for _, c := range []struct{ name, raw, want, err string }{
		{"UTF-8", "print('é')", "print('é')", ""},
		{"byte order mark", "\ufeffx = 1", "x = 1", ""},
		{"declared UTF-8", "# coding: utf-8\n'é'", "# coding: utf-8\n'é'", ""},
		{"latin-1", "# -*- coding: latin-1 -*-\n'\xe9\x80'", "# -*- coding: latin-1 -*-\n'é\u0080'", ""},
		{"second line", "#!/usr/bin/python\n# vim: set fileencoding=iso-8859-1 :\n'\xe9'", "#!/usr/bin/python\n# vim: set fileencoding=iso-8859-1 :\n'é'", ""},
		{"second line, CRLF", "\r\n# coding=cp1252\r\n'\x80'", "\r\n# coding=cp1252\r\n'€'", ""},
		{"Shift JIS", "# coding: shift_jis\n'\x82\xa0'", "# coding: shift_jis\n'あ'", ""},
		{"no cookie", "x = 1\ny = '\xe9'\n", "", "byte 0xe9 at offset 11 (line 2) is not UTF-8"},
		{"cookie too late", "x = 1\n# coding: latin-1\n'\xe9'", "", "offset 25"},
		{"third line", "#\n#\n# coding: latin-1\n'\xe9'", "", "offset 23"},
		{"declared UTF-8 and isn't", "# coding: utf-8\n'\xe9'", "", "offset 17"},
		{"declared ASCII and isn't", "# coding: ascii\n'\xe9'", "", "offset 17"},
		{"UTF-16", "\xff\xfex\x00", "", "offset 0"},
		{"unknown", "# coding: klingon\n", "", "klingon"},
		{"rot13", "# coding: rot13\n", "", "rot13"},
		{"not that encoding", "# coding: utf-16\nabc", "", "utf-16"},
		{"broken Shift JIS", "# coding: shift_jis\n'\x82'", "", "shift_jis"},
		{"mark and cookie", "\ufeff# coding: latin-1\n", "", "byte order mark"},
	} {
		got, err := script.Decode([]byte(c.raw))
		if c.err == "" && (err != nil || got != c.want) {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
		if c.err != "" && (!errors.Is(err, script.ErrEncoding) || !strings.Contains(err.Error(), c.err) || got != "") {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
}

func TestRun_ADeclaredEncodingDoesNotGarbleText(t *testing.T) { // XS-1
	t.Parallel()
	f := newFixture(t)
	f.want("é 2\n", "# -*- coding: latin-1 -*-\nimport inspect\nprint('é', inspect.currentframe().f_lineno - 1)")
	f.want("é\n", "#!/usr/bin/python\n# coding: no-such-encoding\nprint('é')")
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("# coding: latin-1\n\xe9"))
	f.Add([]byte("\r\n#coding=cp932\n\x82"))
	f.Add([]byte("\xef\xbb\xbf#"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		text, err := script.Decode(raw)
		if err != nil {
			if !errors.Is(err, script.ErrEncoding) || text != "" {
				t.Errorf("%q: %q, %v", raw, text, err)
			}
			return
		}
		if text != strings.ToValidUTF8(text, "") {
			t.Errorf("%q became %q", raw, text)
		}
	})
}
