package search

// noLinks is nothing: there is no such flag here.
const noLinks = 0
