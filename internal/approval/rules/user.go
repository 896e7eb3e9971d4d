package rules

var userRows []Row
var secretRows []Row
