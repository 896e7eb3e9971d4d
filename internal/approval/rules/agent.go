package rules

var sudoRows []Row
var agentRows []Row
