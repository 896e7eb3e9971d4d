package rules

var netRows []Row
