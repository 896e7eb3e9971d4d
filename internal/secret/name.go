package secret

import "strings"

// words mark a variable as secret wherever they stand in its name (XE-2).
var words = [...]string{"KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "PASSWD", "AUTH", "DSN", "WEBHOOK"}

// IsSecretName reports whether a variable of this name must be taken for a secret: it has one of the words
// KEY, TOKEN, SECRET, PASSWORD, CREDENTIAL, PASSWD, AUTH, DSN or WEBHOOK in it, in any case, anywhere.
func IsSecretName(name string) bool {
	upper := strings.ToUpper(name)
	for _, word := range words {
		if strings.Contains(upper, word) {
			return true
		}
	}
	return false
}
