package rules

var codeRows []Row
