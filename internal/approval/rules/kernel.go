package rules

var kernelRows []Row
var accountRows []Row
