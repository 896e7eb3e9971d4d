// Package payload reads the programs inside commands: texts in languages other than the shell's. It reads tokens, so that strings
// and comments of the language never count as acts. It does no input or output.
package payload

import "strings"

// SQLAct is what a statement does that can't be undone.
type SQLAct string

// The acts that a scan reports.
const (
	SQLDrop     SQLAct = "drop"
	SQLTruncate SQLAct = "truncate"
	SQLDelete   SQLAct = "delete" // of every row
	SQLUpdate   SQLAct = "update" // of every row
)

// SQLFinding is one act and the statement's first words.
type SQLFinding struct {
	Act  SQLAct
	Text string
}

// maxSQLDepth bounds procedural bodies inside each other.
const maxSQLDepth = 4

// SQL lists the destructive statements of a text. A DELETE or UPDATE counts when it has no WHERE of its own, or one in which no
// column takes part.
func SQL(text string, d SQLDialect) []SQLFinding {
	return scanSQL(sqlScanner{text: text, dialect: d}, 0)
}

// SQLDialect says how a server reads strings.
type SQLDialect uint8

// The dialects.
const (
	SQLStandard  SQLDialect = iota // a backslash in a string is a character
	SQLBackslash                   // it escapes the next one, as in MySQL
)

func scanSQL(s sqlScanner, depth int) []SQLFinding {
	var found []SQLFinding
	var stmt []sqlToken
	flush := func() {
		if act, ok := judge(stmt); ok {
			found = append(found, SQLFinding{act, headline(stmt)})
		}
		if depth < maxSQLDepth && len(stmt) > 0 && stmt[0].word == "DO" {
			for _, t := range stmt {
				if t.body != "" {
					found = append(found, scanSQL(sqlScanner{text: t.body, dialect: s.dialect}, depth+1)...)
				}
			}
		}
		stmt = stmt[:0]
	}
	for {
		t, ok := s.next()
		if !ok {
			flush()
			return found
		}
		switch {
		case len(stmt) == 0 && (t.word == "." || t.word == "\\"): // a command of the client, to the line's end
			s.skipTo("\n")
		case len(stmt) == 0 && t.word == "USE": // MySQL's client needs no semicolon behind it
			s.skipTo(";\n")
		case t.word == ";" && s.parens == 0:
			flush()
		case t.word == "BEGIN" && depth > 0, t.word == "THEN" && depth > 0, t.word == "LOOP" && depth > 0:
			stmt = stmt[:0]
		default:
			stmt = append(stmt, t)
		}
	}
}

type sqlToken struct {
	word   string // upper case for names; the text of other tokens
	name   bool   // an identifier or keyword
	quoted bool   // a quoted identifier
	body   string // a dollar-quoted string's
	parens int
}

type sqlScanner struct {
	text    string
	dialect SQLDialect
	at      int
	parens  int
}

func (s *sqlScanner) skipTo(chars string) {
	if i := strings.IndexAny(s.text[s.at:], chars); i >= 0 {
		s.at += i
		return
	}
	s.at = len(s.text)
}

// lineStart tells whether only blanks stand in front of the scanner on its line: there # begins a comment in MySQL, and elsewhere it
// may be an operator.
func (s *sqlScanner) lineStart() bool {
	before := strings.TrimRight(s.text[:s.at], " \t")
	return before == "" || before[len(before)-1] == '\n'
}

func nameByte(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// next returns the next token; comments are skipped.
func (s *sqlScanner) next() (sqlToken, bool) {
	for s.at < len(s.text) {
		rest := s.text[s.at:]
		c := rest[0]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			s.at++
		case strings.HasPrefix(rest, "--") || c == '#' && s.lineStart():
			s.at += lineEnd(rest)
		case strings.HasPrefix(rest, "/*!"): // MySQL runs what stands in these
			s.at += 3
			for s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9' {
				s.at++
			}
		case strings.HasPrefix(rest, "*/"):
			s.at += 2
		case strings.HasPrefix(rest, "/*"):
			s.at += blockEnd(rest)
		default:
			return s.token(rest, c), true
		}
	}
	return sqlToken{}, false
}

func lineEnd(rest string) int {
	if i := strings.IndexByte(rest, '\n'); i >= 0 {
		return i + 1
	}
	return len(rest)
}

func blockEnd(rest string) int {
	if i := strings.Index(rest[2:], "*/"); i >= 0 {
		return i + 4
	}
	return len(rest)
}

func (s *sqlScanner) token(rest string, c byte) sqlToken {
	t := sqlToken{parens: s.parens}
	switch {
	case c == '\'':
		s.at += quoteEnd(rest, c, s.dialect)
		t.word = "'"
	case c == '"' || c == '`':
		n := quoteEnd(rest, c, s.dialect)
		s.at += n
		t.word, t.name, t.quoted = rest[:n], true, true
	case c == '$' && dollarTag(rest) != "":
		tag := dollarTag(rest)
		end := strings.Index(rest[len(tag):], tag)
		if end < 0 {
			end = len(rest) - len(tag)
		}
		t.word, t.body = "'", rest[len(tag):len(tag)+end]
		s.at = min(len(s.text), s.at+2*len(tag)+end)
	case nameByte(c):
		n := 1
		for n < len(rest) && nameByte(rest[n]) {
			n++
		}
		s.at += n
		t.word, t.name = strings.ToUpper(rest[:n]), c < '0' || c > '9'
	default:
		s.at++
		t.word = rest[:1]
		if c == '(' {
			s.parens++
		} else if c == ')' {
			s.parens = max(0, s.parens-1)
			t.parens = s.parens
		}
	}
	return t
}

// quoteEnd returns the length of a quoted token; a doubled quote stays inside.
func quoteEnd(rest string, quote byte, d SQLDialect) int {
	for i := 1; i < len(rest); i++ {
		switch {
		case rest[i] == '\\' && d == SQLBackslash && quote != '`':
			i++
		case rest[i] == quote:
			if i+1 < len(rest) && rest[i+1] == quote {
				i++
				continue
			}
			return i + 1
		}
	}
	return len(rest)
}

func dollarTag(rest string) string {
	end := strings.IndexByte(rest[1:], '$')
	if end < 0 {
		return ""
	}
	tag := rest[:end+2]
	for i := 1; i < len(tag)-1; i++ {
		if !nameByte(tag[i]) || tag[i] == '$' || i == 1 && tag[i] >= '0' && tag[i] <= '9' {
			return ""
		}
	}
	return tag
}

// harmlessDrops are objects that a DROP may name without loss of stored data.
var harmlessDrops = map[string]bool{"TEMPORARY": true, "TEMP": true, "PREPARE": true}

// judge tells what a statement does.
func judge(stmt []sqlToken) (SQLAct, bool) {
	stmt = verbOf(stmt)
	if len(stmt) == 0 {
		return "", false
	}
	switch stmt[0].word {
	case "DROP":
		return SQLDrop, len(stmt) > 1 && !harmlessDrops[stmt[1].word]
	case "ALTER":
		for i, t := range stmt[1:] {
			if t.word == "DROP" && !t.quoted && t.parens == stmt[0].parens && i > 0 {
				return SQLDrop, !dropsRule(stmt[i+2:])
			}
		}
	case "TRUNCATE":
		return SQLTruncate, len(stmt) > 1 && stmt[1].word != "("
	case "DELETE":
		return SQLDelete, len(stmt) > 1 && !restricted(stmt)
	case "UPDATE":
		return SQLUpdate, hasWord(stmt, "SET") && !restricted(stmt)
	}
	return "", false
}

// dropsRule tells whether ALTER … DROP takes a default or a constraint away: no data is lost.
func dropsRule(after []sqlToken) bool {
	if len(after) == 0 {
		return false
	}
	switch after[0].word {
	case "DEFAULT", "NOT", "IDENTITY", "EXPRESSION":
		return true
	}
	return false
}

// verbOf skips what may stand in front of the verb: client commands, EXPLAIN ANALYZE, WITH … AS (…).
func verbOf(stmt []sqlToken) []sqlToken {
	if len(stmt) > 1 && stmt[0].word == "EXPLAIN" && stmt[1].word == "ANALYZE" {
		stmt = stmt[2:]
	}
	if len(stmt) == 0 || stmt[0].word != "WITH" {
		return stmt
	}
	for i, t := range stmt {
		if t.parens == stmt[0].parens && !t.quoted && (t.word == "DELETE" || t.word == "UPDATE" || t.word == "SELECT" || t.word == "INSERT") {
			return stmt[i:]
		}
	}
	return nil
}

func hasWord(stmt []sqlToken, word string) bool {
	for _, t := range stmt {
		if t.word == word && !t.quoted {
			return true
		}
	}
	return false
}

// constants are words in a condition that are no column.
var constants = map[string]bool{"TRUE": true, "FALSE": true, "NULL": true, "AND": true, "OR": true, "NOT": true, "IS": true, "IN": true,
	"LIKE": true, "BETWEEN": true, "LIMIT": true, "ORDER": true, "RETURNING": true, "BY": true}

// restricted tells whether a statement has a WHERE of its own in which a column takes part.
func restricted(stmt []sqlToken) bool {
	for i, t := range stmt {
		if t.word != "WHERE" || t.quoted || t.parens != stmt[0].parens {
			continue
		}
		for _, c := range stmt[i+1:] {
			if c.word == "RETURNING" || c.word == "ORDER" || c.word == "LIMIT" {
				return false
			}
			if c.name && (c.quoted || !constants[c.word]) {
				return true
			}
		}
		return false
	}
	return false
}

// headline returns a statement's first words, for people.
func headline(stmt []sqlToken) string {
	words := make([]string, 0, 5)
	for _, t := range stmt[:min(5, len(stmt))] {
		words = append(words, t.word)
	}
	return strings.Join(words, " ")
}
