package analysis

import (
	"encoding/base64"
	"strings"
	"unicode/utf16"
)

// powerFlag reads an option of PowerShell: any case, any beginning of its name, / for -.
func powerFlag(text string, lang interpreter) (f langFlag) {
	name := strings.ToLower(strings.TrimLeft(text, "-/"))
	switch {
	case strings.HasPrefix("command", name):
		f.code, f.wants = true, true
	case strings.HasPrefix("encodedcommand", name), name == "ec":
		f.encoded, f.wants = true, true
	case strings.HasPrefix("file", name):
		f.file, f.wants = true, true
	default:
		for long := range strings.FieldsSeq(lang.valued) {
			f.wants = f.wants || (len(name) > 1 || name == "w") && strings.HasPrefix(long, name) && long != "workingdirectory" || long == name
		}
	}
	return f
}

// decoded reads UTF-16 in base64, as PowerShell's -EncodedCommand does.
func decoded(w Word) Word {
	raw, err := base64.StdEncoding.DecodeString(w.Text)
	if err != nil || len(raw)%2 != 0 || len(raw) > maxDecoded {
		w.Text, w.Alts = markUnknown, nil
		return w
	}
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = uint16(raw[2*i]) | uint16(raw[2*i+1])<<8
	}
	w.Text, w.Alts = strings.ReplaceAll(string(utf16.Decode(units)), "\x00", ""), nil
	return w
}
