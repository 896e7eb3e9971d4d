package rules

var packageRows []Row
