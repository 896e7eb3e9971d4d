//go:build !race

package cli_test

// chatKills is at how many points a conversation is killed.
const chatKills = 100
