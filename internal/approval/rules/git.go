package rules

var gitRows []Row
