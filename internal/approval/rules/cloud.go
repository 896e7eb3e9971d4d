package rules

var cloudRows []Row
