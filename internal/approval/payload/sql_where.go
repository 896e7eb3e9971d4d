package payload

// mergeDeletes tells whether a MERGE deletes by a condition in which no column takes part.
func mergeDeletes(stmt []sqlToken) bool {
	on, when := -1, -1
	for i, t := range stmt {
		switch {
		case t.quoted || t.parens != stmt[0].parens:
		case t.word == "ON" && on < 0:
			on = i
		case t.word == "WHEN" && when < 0:
			when = i
		case t.word == "DELETE" && stmt[i-1].word == "THEN" && on > 0 && when > on:
			return !depends(stmt[on+1 : when])
		}
	}
	return false
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
var constants = map[string]bool{"TRUE": true, "FALSE": true, "NULL": true, "AND": true, "OR": true, "XOR": true, "NOT": true, "IS": true, "IN": true,
	"LIKE": true, "ILIKE": true, "BETWEEN": true, "LIMIT": true, "ORDER": true, "RETURNING": true, "BY": true, "SELECT": true, "EXISTS": true, "ASC": true,
	"DESC": true, "DIV": true, "MOD": true, "CASE": true, "WHEN": true, "THEN": true, "ELSE": true, "END": true, "CAST": true, "AS": true, "CURRENT_TIMESTAMP": true,
	"CURRENT_DATE": true, "COLLATE": true, "ESCAPE": true, "SIMILAR": true, "TO": true, "UNKNOWN": true}

// restricted tells whether a statement has a WHERE of its own in which a column takes part.
func restricted(stmt []sqlToken) bool {
	for i, t := range stmt {
		if t.word != "WHERE" || t.quoted || t.parens != stmt[0].parens {
			continue
		}
		cond := stmt[i+1:]
		for k, c := range cond {
			if (c.word == "RETURNING" || c.word == "ORDER" || c.word == "LIMIT") && c.parens == t.parens && !c.quoted {
				cond = cond[:k]
				break
			}
		}
		return depends(cond)
	}
	return false
}

// depends tells whether a condition depends on a column: each of its alternatives must, but for those that are false.
func depends(cond []sqlToken) bool {
	for range maxBrackets {
		if len(cond) < 3 || cond[0].word != "(" || !closes(cond) {
			break
		}
		cond = cond[1 : len(cond)-1]
	}
	if len(cond) == 0 {
		return false
	}
	level, from, alternatives := cond[0].parens, 0, 0
	if cond[0].word == "(" {
		level = cond[0].parens
	}
	for i := 0; i <= len(cond); i++ {
		if i < len(cond) && !((cond[i].word == "OR" || cond[i].word == "|") && cond[i].parens == level && !cond[i].quoted) {
			continue
		}
		part := cond[from:i]
		from = i + 1
		if len(part) == 0 {
			continue
		}
		if len(part) == 1 && (part[0].word == "FALSE" || part[0].word == "0" || part[0].word == "NULL") {
			continue
		}
		alternatives++
		if !column(part) {
			return false
		}
	}
	return alternatives > 0
}

// maxBrackets bounds brackets around a condition, and statements inside one.
const maxBrackets = 32

// closes tells whether the bracket that a condition begins with ends at its end.
func closes(cond []sqlToken) bool {
	for i, t := range cond[1:] {
		if t.word == ")" && t.parens == cond[0].parens {
			return i+2 == len(cond)
		}
	}
	return false
}

// column tells whether a column takes part, other than compared with itself.
func column(part []sqlToken) bool {
	if len(part) == 3 && part[0].name && part[0].word == part[2].word && (part[1].word == "=" || part[1].word == "IS" || part[1].word == "LIKE") {
		return false
	}
	for i, t := range part {
		if !t.name || !t.quoted && constants[t.word] {
			continue
		}
		if !t.quoted && i+1 < len(part) && part[i+1].word == "(" { // a function
			continue
		}
		return true
	}
	return false
}
