package rules

var containerRows []Row
var clusterRows []Row
