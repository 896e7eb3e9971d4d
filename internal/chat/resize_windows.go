package chat

import "os"

// resizes are the signals that tell of a new size of the terminal: none, it is looked for every second.
var resizes []os.Signal
