package resident

import (
	"os"
	"slices"
	"strings"
)

// variable looks a variable up in a list of name=value.
func variable(environ []string, name string) string {
	for _, e := range slices.Backward(environ) {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

// home is where ~ points.
func home(environ []string) string {
	if h := variable(environ, "HOME"); h != "" {
		return h
	}
	h, err := os.UserHomeDir()
	if err != nil {
		return "/"
	}
	return h
}

// temp is where temporary files go: what the variables say, else /tmp, else what else can be written.
func temp(environ []string) string {
	for _, d := range []string{variable(environ, "TMPDIR"), variable(environ, "TMP"), variable(environ, "TEMP"), "/tmp", "/var/tmp", "/dev/shm"} {
		if i, err := os.Stat(d); d != "" && err == nil && i.IsDir() {
			return d
		}
	}
	return home(environ)
}

// with puts variables over others.
func with(environ []string, over map[string]string) []string {
	if len(over) == 0 {
		return environ
	}
	out := slices.DeleteFunc(slices.Clone(environ), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		_, replaced := over[name]
		return replaced
	})
	for name, v := range over {
		out = append(out, name+"="+v)
	}
	return out
}
