package rules

var permRows []Row
