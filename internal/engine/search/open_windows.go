package search

// openFlags are none: there are no such flags here.
const openFlags = 0
