package memory

// streak is one and the same request made again and again.
type streak struct {
	key    string
	answer uint64 // what it was answered with
	count  int    // how often it was asked in a row
	same   int    // how often it had this answer in a row
	shown  int    // how often the answer was new
	number uint64 // of the call that asked last
}

// Repeat is what is known of a request that a task makes.
type Repeat struct {
	Asked int // how often in a row, this time included
	Same  int // how often in a row with the answer that it has now
	Shown int // how often in a row the answer was another than the time before
}

// Ask notes a request and the hash of its answer. Anything else that the task does in between begins a new row: other requests of
// the file tools, and calls of other tools where the runtime counts them.
func (b *Book) Ask(key string, answer uint64) Repeat {
	if b == nil {
		return Repeat{Asked: 1, Same: 1, Shown: 1}
	}
	t := b.task
	t.mu.Lock()
	defer t.mu.Unlock()
	l := &t.last
	if b.number < l.number { // one that was made after it has been answered first
		return Repeat{Asked: 1, Same: 1, Shown: 1}
	}
	if l.count == 0 || l.key != key || b.number > l.number+1 {
		*l = streak{key: key}
	}
	if l.count > 0 && l.answer != answer {
		l.same = 0
	}
	l.count++
	l.same++
	if l.same == 1 {
		l.shown++
	}
	l.answer, l.number = answer, b.number
	return Repeat{Asked: l.count, Same: l.same, Shown: l.shown}
}

// Peek is how often in a row a request would have been asked with this call, before its answer is known.
func (b *Book) Peek(key string) int {
	if b == nil {
		return 1
	}
	b.task.mu.Lock()
	defer b.task.mu.Unlock()
	if l := &b.task.last; l.key == key && b.number <= l.number+1 {
		return l.count + 1
	}
	return 1
}

// Other notes that the task did something else.
func (b *Book) Other() {
	if b == nil {
		return
	}
	b.task.mu.Lock()
	defer b.task.mu.Unlock()
	if b.number >= b.task.last.number {
		b.task.last = streak{number: b.number}
	}
}
