// Package recipes holds the tests of what the documents tell people to do: recipes and commands are taken from the pages and done, word
// for word, in a copy of the tree.
package recipes
